"""Which number format a device computes in: bfloat16 where it is native, float32 elsewhere."""

from __future__ import annotations

import platform

import torch

__all__ = ["autocast", "autocast_dtype"]


def autocast_dtype(precision: str, device: torch.device | str) -> torch.dtype | None:
    """The dtype for ``torch.autocast``, or None to stay in float32.

    ``float32`` is always None and ``bfloat16`` always bfloat16 (emulated, and slow, on hardware
    without it). ``auto`` is bfloat16 only where the device computes it natively: CPUs with AVX-512
    BF16, AMX or ARM BF16, and NVIDIA GPUs from Ampere on.
    """
    if precision not in ("auto", "float32", "bfloat16"):
        raise ValueError(f"precision must be auto, float32 or bfloat16, not {precision!r}")
    if precision == "float32":
        return None
    if precision == "bfloat16" or _native_bfloat16(torch.device(device)):
        return torch.bfloat16
    return None


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """The context in which a forward pass computes in that precision on that device."""
    dtype = autocast_dtype(precision, device)
    return torch.autocast(device.type, dtype=dtype or torch.bfloat16, enabled=dtype is not None)


def _native_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu" or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    if platform.machine().lower() in ("x86_64", "amd64"):
        # oneDNN's own check also says yes where bfloat16 is emulated with plain AVX-512.
        found = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
        return bool(found is not None and found())
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())

"""The fastest matrix products that this machine makes through torch, in float32 and bfloat16."""

from __future__ import annotations

import time

import torch

from hbgl.trained_model import default_device

__all__ = ["SIZES", "MatmulPeak"]

SIZES = (512, 1024, 2048, 4096)
_SLOW = 2.0  # seconds of one product from which larger ones are left out
_TIMES = 5


class MatmulPeak:
    """Measures the peak again and again; the first time over all sizes."""

    def __init__(self, sizes: tuple[int, ...] = SIZES) -> None:
        self.device = default_device()
        self.sizes = {"float32": sizes, "bfloat16": sizes}

    def measure(self) -> dict[str, float]:
        """GFLOP/s of the best product now, by precision."""
        found = {}
        for precision, sizes in self.sizes.items():
            rates = self._rates(getattr(torch, precision), sizes)
            best = max(rates, key=lambda size: rates[size])
            self.sizes[precision] = (best,)
            found[precision] = rates[best]
        return found

    @torch.inference_mode()
    def _rates(self, dtype: torch.dtype, sizes: tuple[int, ...]) -> dict[int, float]:
        """GFLOP/s by size: the best of several products, after one that warms up."""
        rates: dict[int, float] = {}
        for size in sizes:
            left, right = (torch.randn(size, size, device=self.device).to(dtype) for _ in range(2))
            product = torch.empty_like(left)
            warm_up = self._seconds(left, right, product)
            times = 1 if warm_up > _SLOW else _TIMES
            fastest = min(self._seconds(left, right, product) for _ in range(times))
            rates[size] = 2 * size**3 / fastest / 1e9
            if warm_up > _SLOW:
                break
        return rates

    def _seconds(self, left: torch.Tensor, right: torch.Tensor, product: torch.Tensor) -> float:
        started = time.perf_counter()
        torch.mm(left, right, out=product)
        if self.device.type != "cpu":
            torch.accelerator.synchronize()
        return time.perf_counter() - started

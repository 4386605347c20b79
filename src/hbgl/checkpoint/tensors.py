"""Named tensors in one safetensors file: no code in it, exact bits back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hbgl.errors import ModelFolderError

if TYPE_CHECKING:
    import torch

__all__ = ["load_tensors", "save_tensors", "tensor_metadata", "tensors_to_bytes"]


def tensors_to_bytes(
    tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str] | None = None
) -> bytes:
    """The content of a safetensors file."""
    from safetensors.torch import save

    return save(_plain(tensors), metadata=_metadata(metadata))


def save_tensors(
    path: Path, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write a safetensors file; within a folder use it with ``write_folder``."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file(_plain(tensors), path, metadata=_metadata(metadata))
    except (SafetensorError, OSError) as error:
        raise ModelFolderError(
            f"cannot write {path}: {error}; free space or choose another folder"
        ) from error


def load_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Read a safetensors file into tensors on the CPU that own their memory."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            return {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ModelFolderError(_unreadable(path, error)) from None


def tensor_metadata(path: Path) -> dict[str, str]:
    """Read only the metadata of a safetensors file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            return dict(file.metadata() or {})
    except (SafetensorError, OSError) as error:
        raise ModelFolderError(_unreadable(path, error)) from None


def _metadata(metadata: Mapping[str, str] | None) -> dict[str, str] | None:
    """None for an empty table: safetensors 0.8 writes a broken header for it without tensors."""
    return dict(metadata) if metadata else None


def _plain(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Contiguous tensors on the CPU; two names of one memory become two copies."""
    plain: dict[str, torch.Tensor] = {}
    taken: set[int] = set()
    for name, tensor in tensors.items():
        flat = tensor.detach().cpu().contiguous()
        memory = flat.untyped_storage()
        if memory.data_ptr() in taken:
            flat = flat.clone()
        taken.add(memory.data_ptr())
        plain[name] = flat
    return plain


def _unreadable(path: Path, error: Exception) -> str:
    if not path.is_file():
        return f"{path} is missing; take the folder from a copy or write it again"
    return f"{path} is damaged or not a safetensors file ({error}); take it from a copy"

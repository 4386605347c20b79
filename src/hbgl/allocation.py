"""Freed memory stays with the process, for the next tensor.

The allocator of glibc gives every large tensor's memory back to the system when it is freed, and
the next one pays for fresh pages: on a CPU that costs prediction and training a good part of their
time. Commands that compute ask it not to. Peak memory is the same; it is only given back later.
"""

from __future__ import annotations

import ctypes
import os

__all__ = ["keep_freed_memory"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_NEVER = 2**31 - 1
"""Bytes from which on memory would go back: no tensor here is as large."""


def keep_freed_memory() -> bool:
    """Tell the allocator; False where it is not glibc's, and nothing is changed."""
    if "CS_GNU_LIBC_VERSION" not in getattr(os, "confstr_names", {}):
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_MMAP_THRESHOLD, _NEVER)) and bool(mallopt(_TRIM_THRESHOLD, _NEVER))

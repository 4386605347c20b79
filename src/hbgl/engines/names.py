"""The engines by name."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["EngineName"]

EngineName: TypeAlias = Literal["onnx", "openvino"]

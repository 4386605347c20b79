"""Prediction by other runtimes than torch: ONNX Runtime and OpenVINO, in float or 8 bits.

Reading order: graphs (the model cut into what a runtime computes), writing and quantization (graphs
to files), sessions (a file to a call), engine (the walk over those calls), verification (beside
torch), export (all of it together).
"""

from __future__ import annotations

from hbgl.engines.engine import Engine
from hbgl.engines.export import (
    ExportReport,
    export_graphs,
    load_engine,
    require_export_packages,
)
from hbgl.engines.names import EngineName
from hbgl.engines.sessions import require_packages
from hbgl.engines.verification import Agreement, compare

__all__ = [
    "Agreement",
    "Engine",
    "EngineName",
    "ExportReport",
    "compare",
    "export_graphs",
    "load_engine",
    "require_export_packages",
    "require_packages",
]

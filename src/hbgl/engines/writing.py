"""Graphs to files: traced from the model's own modules, each in its runtime's format.

The files hold weights and operations only. What the tools that write them would send home about
their use is turned off.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from hbgl.engines.graphs import Graph
from hbgl.engines.names import EngineName
from hbgl.errors import UsageError

__all__ = ["SUFFIXES", "quietly", "write_graph"]

SUFFIXES: dict[EngineName, str] = {"onnx": ".onnx", "openvino": ".xml"}

_OPSET = 18
"""Of ONNX: from 17 on it has layer normalisation as one operation."""
_LARGEST_ONNX = 2_000_000_000
"""Bytes: protobuf ends at 2 GiB."""


def write_graph(graph: Graph, engine: EngineName, folder: Path) -> Path:
    """Write one graph into ``folder`` and return its file (OpenVINO's has a .bin beside it).

    :raises UsageError: if the format cannot hold a model of this size.
    """
    path = folder / f"{graph.name}{SUFFIXES[engine]}"
    with quietly(), torch.no_grad():
        if engine == "onnx":
            _write_onnx(graph, path)
        else:
            _write_openvino(graph, path)
    return path


def _write_onnx(graph: Graph, path: Path) -> None:
    size = sum(one.numel() * 4 for one in graph.module.parameters())
    if size > _LARGEST_ONNX:
        raise UsageError(
            f"the model's weights take {size / 1e9:.1f} GB and an ONNX file holds less than 2 GB; "
            "use --engine openvino"
        )
    # The exporter that traces: the newer one needs another package and fixes some dynamic sizes.
    torch.onnx.export(
        graph.module,
        tuple(graph.inputs.values()),
        path,
        input_names=list(graph.inputs),
        output_names=list(graph.outputs),
        dynamic_axes=graph.axes,
        opset_version=_OPSET,
        dynamo=False,
    )


def _write_openvino(graph: Graph, path: Path) -> None:
    import openvino

    model = openvino.convert_model(graph.module, example_input=tuple(graph.inputs.values()))
    for place, name in zip(model.inputs, graph.inputs, strict=True):
        place.get_tensor().set_names({name})
    for place, name in zip(model.outputs, graph.outputs, strict=True):
        place.get_tensor().set_names({name})
    openvino.save_model(model, path, compress_to_fp16=False)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep the exporters' warnings and usage statistics to themselves.

    Tracing is deprecated in torch, and remarks on every size that it reads.
    """
    switches = {"CI": "true", "NNCF_CI": "1"}  # OpenVINO's tools send nothing when run in a CI
    before = {name: os.environ.get(name) for name in switches}
    level = logging.root.manager.disable
    os.environ.update(switches)
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

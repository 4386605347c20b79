"""A trained method to the files of an engine, and back from them to something that predicts."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hbgl.batching import TokenizedTexts
from hbgl.checkpoint import load_tensors, save_tensors
from hbgl.decisions import Decision
from hbgl.engines.engine import Engine, EngineShape, FlatEngine, HBGLEngine, LabelTensors
from hbgl.engines.graphs import graphs_of
from hbgl.engines.names import EngineName
from hbgl.engines.quantization import quantize_graphs
from hbgl.engines.sessions import (
    ENGINE_PACKAGES,
    OnnxSession,
    OpenVinoSession,
    Session,
    require_packages,
)
from hbgl.engines.verification import Agreement, compare, random_texts
from hbgl.engines.writing import SUFFIXES, write_graph
from hbgl.errors import ModelFolderError, UsageError
from hbgl.methods import TorchMethod
from hbgl.methods.multilabel import Multilabel
from hbgl.methods.seq2seq import Seq2Seq
from hbgl.model import HBGL
from hbgl.precision import autocast_dtype
from hbgl.taxonomy import Taxonomy

__all__ = ["ExportReport", "export_graphs", "load_engine", "require_export_packages"]

TOLERANCE = 1e-3
"""Largest difference of a score between torch and a float32 export; int8 has none."""

_LABELS = "labels.safetensors"
_EXPORT_PACKAGES: dict[EngineName, tuple[str, ...]] = {"onnx": ("onnx",), "openvino": ()}
_INT8_PACKAGES: dict[EngineName, tuple[str, ...]] = {"onnx": ("onnx",), "openvino": ("nncf",)}


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written, and how it compares with the model in torch."""

    engine: EngineName
    int8: bool
    sample: str
    """What the two were compared on: ``texts`` that were given, or ``random tokens``."""
    agreement: Agreement
    in_use: Agreement | None = None
    """The same in the lower precision in which this machine runs a float export, if it does."""
    quantization: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """For a file or a machine."""
        return dataclasses.asdict(self)


def require_export_packages(engine: EngineName, *, int8: bool) -> None:
    """Refuse at once where something is not installed.

    :raises MissingExtraError: with the command that installs it.
    """
    require_packages(engine, *(_INT8_PACKAGES if int8 else _EXPORT_PACKAGES)[engine])


def export_graphs(
    method: TorchMethod,
    engine: EngineName,
    folder: Path,
    *,
    decision: Decision,
    texts: TokenizedTexts,
    int8: bool = False,
    precision: str = "auto",
) -> tuple[dict[str, Any], ExportReport]:
    """Write and verify the graphs of a method on the CPU, in eval mode.

    :param folder: an empty one.
    :param texts: documents to compare on; of int8, every second one is calibrated on instead.
        Without any, a float export is compared on random tokens.
    :param precision: of later use, see :func:`load_engine`; a float export is checked in float32.
    :returns: what :func:`load_engine` needs to know beside the files, and the report.
    :raises ModelFolderError: a float export that differs from torch.
    :raises UsageError: of the method seq2seq, which predicts in torch alone.
    """
    if isinstance(method, Seq2Seq):
        raise UsageError("models of the method seq2seq cannot be exported; they predict in torch")
    require_export_packages(engine, int8=int8)
    graphs = graphs_of(method, fused=engine == "openvino")
    paths = {graph.name: write_graph(graph, engine, folder) for graph in graphs}
    if isinstance(method, HBGL):
        save_tensors(folder / _LABELS, LabelTensors.of(method).tensors())
    description: dict[str, Any] = {
        "name": engine,
        "int8": int8,
        "shape": dataclasses.asdict(_shape(method)),
        "versions": _versions(engine),
    }
    quantization = None
    compared = texts
    if int8:
        odd = np.arange(len(texts)) % 2 == 1
        quantization = quantize_graphs(engine, paths, texts.subset(np.flatnonzero(~odd)))
        compared = texts.subset(np.flatnonzero(odd)) if odd.any() else texts
    if not len(compared):
        vocabulary = method.encoder.parts.word_embeddings.num_embeddings
        compared = random_texts(vocabulary, method.max_length)

    def agreement(precision: str) -> Agreement:
        loaded = load_engine(folder, description, method.taxonomy, precision=precision)
        return compare(method, loaded, compared, decision)

    found = agreement(precision if int8 else "float32")
    if not int8 and not found.largest_score_difference <= TOLERANCE:
        raise ModelFolderError(
            f"the export differs from the model by {found.largest_score_difference:.2g} in a "
            f"score, more than {TOLERANCE:g}; nothing was written. Try other versions of torch "
            f"and {ENGINE_PACKAGES[engine][0]}"
        )
    lower = not int8 and engine == "openvino" and _in_bfloat16(precision)
    report = ExportReport(
        engine=engine,
        int8=int8,
        sample="texts" if len(texts) else "random tokens",
        agreement=found,
        in_use=agreement(precision) if lower else None,
        quantization=quantization,
    )
    return description, report


def load_engine(
    folder: Path,
    description: Mapping[str, Any],
    taxonomy: Taxonomy,
    *,
    precision: str = "auto",
) -> Engine:
    """What :func:`export_graphs` wrote into a folder, which must be verified before.

    :param precision: auto and bfloat16 let OpenVINO compute in bfloat16, auto only where the CPU
        has it; ONNX Runtime knows float32 alone.
    :raises MissingExtraError: the engine's package is not installed.
    """
    name: EngineName = description["name"]
    if name not in SUFFIXES:
        raise ModelFolderError(
            f"{folder}: exported for the engine {name!r}, which this version does not know; "
            "install a newer hbgl"
        )
    require_packages(name)
    shape = EngineShape(**description["shape"])

    def session(graph: str) -> Session:
        path = folder / f"{graph}{SUFFIXES[name]}"
        if not path.is_file():
            raise ModelFolderError(f"{path} is missing; export the model again")
        if name == "onnx":
            return OnnxSession(path)
        return OpenVinoSession(path, bfloat16=_in_bfloat16(precision))

    if not (folder / _LABELS).is_file():
        return FlatEngine(name, {"flat": session("flat")}, taxonomy, shape)
    labels = LabelTensors.from_tensors(load_tensors(folder / _LABELS))
    sessions = {graph: session(graph) for graph in ("text", "step")}
    return HBGLEngine(name, sessions, taxonomy, shape, labels)


def _in_bfloat16(precision: str) -> bool:
    return autocast_dtype(precision, "cpu") is torch.bfloat16


def _shape(method: HBGL | Multilabel) -> EngineShape:
    parts = method.encoder.parts
    return EngineShape(
        max_length=method.max_length,
        pad_id=method.pad_id,
        layers=len(parts.layers),
        heads=parts.heads,
        head_width=parts.hidden_size // parts.heads,
        sep_class=isinstance(method, HBGL) and method.sep_class,
        level_input=method.settings.level_input,
        level_input_floor=method.settings.level_input_floor,
    )


def _versions(engine: EngineName) -> dict[str, str]:
    """What wrote the graphs."""
    packages = ("torch", *ENGINE_PACKAGES[engine])
    return {"python": platform.python_version()} | {one: metadata.version(one) for one in packages}

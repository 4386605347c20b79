"""A trained model to a folder that an engine predicts from, without its torch weights.

The folder is a model folder with the engine's graphs (and HBGL's label vectors) in place of
``model.safetensors``, and ``export.json`` with how it was made and how closely it agrees with
torch. ``TrainedModel.load`` reads it; ``hbgl predict`` and ``hbgl evaluate`` take it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from hbgl.batching import tokenize
from hbgl.checkpoint import json_bytes, write_folder
from hbgl.engines import EngineName, ExportReport, export_graphs, require_export_packages
from hbgl.errors import UsageError
from hbgl.trained_model import TrainedModel

__all__ = ["export_model"]


def export_model(
    model: TrainedModel,
    path: str | Path,
    engine: EngineName,
    *,
    texts: Sequence[str] = (),
    int8: bool = False,
    source: str | None = None,
) -> ExportReport:
    """Write a model as graphs for an engine, verified against torch; complete or not at all.

    :param texts: documents of the training corpus. They are what the two are compared on; of int8
        every second one is calibrated on instead. A float export can do without any.
    :param source: what names the state of the model that was exported, kept in the folder.
    :raises ModelFolderError: if a float export gives other scores than torch.
    """
    require_export_packages(engine, int8=int8)
    if int8 and len(texts) < 2:
        raise UsageError(
            "int8 needs documents of the training corpus, to calibrate on and to compare on; "
            "give two or more"
        )
    method = model.torch_method.eval()
    if model.device.type != "cpu":
        raise UsageError("an export begins on the CPU; load the model with device='cpu'")
    tokens = tokenize(texts, model.backbone.tokenizer, method.max_length)
    with tempfile.TemporaryDirectory(prefix="hbgl-export-") as place:
        folder = Path(place)
        description, report = export_graphs(
            method,
            engine,
            folder,
            decision=model.decision,
            texts=tokens,
            int8=int8,
            precision=model.settings.training.precision,
        )
        graphs: dict[str, bytes | Callable[[Path], None]] = {
            file.name: partial(shutil.copyfile, file) for file in sorted(folder.iterdir())
        }
        files = model.files_but_weights(engine={**description, "source": source})
        files["export.json"] = json_bytes(report.to_json())
        write_folder(Path(path), {**files, **graphs})
    return report

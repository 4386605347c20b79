"""Weights and activations in 8 bits.

ONNX Runtime: weights per output column; activations are scaled anew in each batch. OpenVINO: the
ranges of activations are measured beforehand on sample documents (NNCF), for the graph that reads
text; the step over labels, a few positions, stays as it is.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import torch

from hbgl.batching import TokenizedTexts
from hbgl.engines.names import EngineName
from hbgl.engines.writing import quietly
from hbgl.errors import UsageError

__all__ = ["quantize_graphs"]

_READS_TEXT = ("text", "flat")


def quantize_graphs(
    engine: EngineName, paths: dict[str, Path], sample: TokenizedTexts
) -> dict[str, object]:
    """Replace graph files by 8-bit ones.

    :param sample: documents of the training corpus.
    :returns: how it was done, for the export's description.
    """
    if not len(sample):
        raise UsageError("int8 needs sample documents; name their corpus with --calibrate")
    with quietly():
        if engine == "onnx":
            return _quantize_onnx(paths)
        return _quantize_openvino(paths, sample)


def _quantize_onnx(paths: dict[str, Path]) -> dict[str, object]:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # Without VNNI, pairs of 8-bit products are summed in 16 bits and can overflow; 7 bits cannot.
    narrow = not _has_vnni()
    for path in paths.values():
        target = path.with_name(f"int8-{path.name}")
        quantize_dynamic(
            path,
            target,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=narrow,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
        target.replace(path)
    return {"activations": "dynamic", "weight_bits": 7 if narrow else 8, "graphs": sorted(paths)}


def _has_vnni() -> bool:
    found = getattr(torch.cpu, "_is_vnni_supported", None)
    return found is None or bool(found())


def _quantize_openvino(paths: dict[str, Path], sample: TokenizedTexts) -> dict[str, object]:
    import nncf
    import openvino

    core = openvino.Core()
    core.set_property({"ENABLE_MMAP": False})  # the files are replaced below
    documents = [
        {
            "ids": sample.ids[None, start:end].astype("int64"),
            "lengths": (end - start)[None].astype("int64"),
        }
        for start, end in zip(sample.offsets[:-1], sample.offsets[1:], strict=True)
    ]
    done = sorted(paths.keys() & set(_READS_TEXT))
    for name in done:
        path = paths[name]
        with contextlib.redirect_stdout(io.StringIO()):  # its progress bars
            model = nncf.quantize(
                core.read_model(path),
                nncf.Dataset(documents),
                model_type=nncf.ModelType.TRANSFORMER,
                subset_size=len(documents),
            )
        target = path.with_name(f"int8-{path.name}")
        openvino.save_model(model, target, compress_to_fp16=False)
        target.with_suffix(".bin").replace(path.with_suffix(".bin"))
        target.replace(path)
    return {"activations": "calibrated", "calibrated_on": len(documents), "graphs": done}

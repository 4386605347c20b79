"""One loaded graph behind one call, whichever runtime computes it.

Values go in as torch tensors, or as what another graph of the same runtime gave, which is then not
copied. They come out in the runtime's own form; ``tensor`` makes one a torch tensor.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any, Protocol

import torch

from hbgl.engines.names import EngineName
from hbgl.errors import MissingExtraError, ModelFolderError

__all__ = [
    "ENGINE_PACKAGES",
    "OnnxSession",
    "OpenVinoSession",
    "Session",
    "require_packages",
]

ENGINE_PACKAGES: dict[EngineName, tuple[str, ...]] = {
    "onnx": ("onnxruntime",),
    "openvino": ("openvino",),
}
"""What an engine needs to predict; exporting may need more."""


class Session(Protocol):
    """A graph ready to run, by one thread at a time."""

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Values by the names of the graph's inputs -> values by the names of its outputs.

        What comes out holds until the run after the next one.
        """

    def tensor(self, value: Any) -> torch.Tensor:
        """A value that ``run`` gave, in float32."""


def require_packages(engine: EngineName, *more: str) -> None:
    """Refuse where the engine's packages, or ``more`` of its extra, are not installed.

    :raises MissingExtraError: with the command that installs them.
    """
    for package in (*ENGINE_PACKAGES[engine], *more):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(f"the engine {engine!r}", package, engine)


class OnnxSession:
    """ONNX Runtime on the CPU."""

    def __init__(self, path: Path) -> None:
        """Load a graph; it runs in as many threads as torch would use (``OMP_NUM_THREADS``)."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3  # errors; its warnings are advice to the exporter
        try:
            self._session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )
        except Exception as fault:  # the runtime's exceptions have no common parent of their own
            raise _unreadable(path, "onnxruntime", fault) from fault
        self._inputs = [one.name for one in self._session.get_inputs()]
        self._outputs = [one.name for one in self._session.get_outputs()]
        self._wrap = onnxruntime.OrtValue.ortvalue_from_numpy

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Compute; tensors that come in are shared, not copied."""
        # A graph lacks the inputs that nothing in it depends on.
        feeds = {
            name: self._wrap(value.contiguous().numpy())
            if isinstance(value, torch.Tensor)
            else value
            for name, value in inputs.items()
            if name in self._inputs
        }
        found = self._session.run_with_ort_values(self._outputs, feeds)
        return dict(zip(self._outputs, found, strict=True))

    def tensor(self, value: Any) -> torch.Tensor:
        """A copy in torch."""
        return torch.from_numpy(value.numpy())


class OpenVinoSession:
    """OpenVINO on the CPU."""

    def __init__(self, path: Path, *, bfloat16: bool) -> None:
        """Load ``path`` (.xml, with its .bin beside it).

        :param bfloat16: compute in it, and hand keys and values on in it.
        """
        import openvino

        try:
            core = openvino.Core()
            model = core.read_model(path)
            if bfloat16:
                model = _memory_in_bfloat16(model)
            self._model = core.compile_model(
                model,
                "CPU",
                {
                    "INFERENCE_PRECISION_HINT": "bf16" if bfloat16 else "f32",
                    "INFERENCE_NUM_THREADS": torch.get_num_threads(),
                    "NUM_STREAMS": 1,
                    # A thread bound to a core waits there for whoever else computes on it.
                    "ENABLE_CPU_PINNING": False,
                },
            )
        except Exception as fault:  # the runtime raises RuntimeError and children of its own
            raise _unreadable(path, "openvino", fault) from fault
        self._inputs = {one.get_any_name() for one in self._model.inputs}
        self._outputs = [one.get_any_name() for one in self._model.outputs]
        self._tensor = openvino.Tensor
        # A request keeps the memory of its outputs for the next run. With two in turn, what one
        # run gave can go into the next.
        self._requests = cycle([self._model.create_infer_request() for _ in range(2)])

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Compute; tensors that come in are shared, not copied."""
        feeds = {
            name: self._tensor(value.contiguous().numpy(), shared_memory=True)
            if isinstance(value, torch.Tensor)
            else value
            for name, value in inputs.items()
            if name in self._inputs
        }
        request = next(self._requests)
        request.infer(feeds, share_inputs=True, share_outputs=True)
        return {name: request.get_tensor(name) for name in self._outputs}

    def tensor(self, value: Any) -> torch.Tensor:
        """A copy in torch."""
        return torch.from_numpy(value.data.copy())


def _memory_in_bfloat16(model: Any) -> Any:
    """The same graph with the text's keys and values, its largest tensors, in bfloat16."""
    import openvino

    steps = openvino.preprocess.PrePostProcessor(model)
    for place in (*model.inputs, *model.outputs):
        name = place.get_any_name()
        if name.startswith(("text_key", "text_value")):
            part = steps.input if place in model.inputs else steps.output
            part(name).tensor().set_element_type(openvino.Type.bf16)
    return steps.build()


def _unreadable(path: Path, runtime: str, fault: Exception) -> ModelFolderError:
    reason = str(fault).strip().splitlines()[-1:] or [type(fault).__name__]
    return ModelFolderError(
        f"{path}: {runtime} cannot load this graph ({reason[0]}); export the model again with the "
        f"version of {runtime} that is installed here"
    )

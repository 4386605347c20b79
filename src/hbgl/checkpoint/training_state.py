"""Everything that resumes a training run, in one folder.

    model.safetensors       the parameters and buffers
    optimizer.safetensors   every tensor of the optimiser's state: ``state/0/exp_avg`` ...
    training.json           the rest of the optimiser's and the scheduler's state
    average.safetensors     where the run keeps one: the moving average of the parameters
    progress.json           epoch, step, best metric, history, settings, data fingerprint

Where a state holds a tensor, its JSON holds ``{"$tensor": NAME}``; tuples and dictionaries with
keys that are not strings are marked too, so that both states come back exactly. No state of
random generators: randomness in training is a function of seed, step and process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hbgl.checkpoint.folders import verify_folder, write_folder
from hbgl.checkpoint.manifest import json_bytes
from hbgl.checkpoint.tensors import load_tensors, save_tensors
from hbgl.errors import ModelFolderError

if TYPE_CHECKING:
    import torch

__all__ = [
    "TrainingState",
    "can_resume",
    "load_model_tensors",
    "load_training_state",
    "read_progress",
    "save_training_state",
]

_MODEL = "model.safetensors"
_AVERAGE = "average.safetensors"
_OPTIMIZER = "optimizer.safetensors"
_TRAINING = "training.json"
_PROGRESS = "progress.json"


@dataclass(frozen=True)
class TrainingState:
    """What ``load_training_state`` found."""

    folder: Path
    model: dict[str, torch.Tensor]  # parameters and buffers by name
    optimizer_state: dict[str, Any]  # as ``Optimizer.state_dict()`` gives it
    scheduler_state: dict[str, Any]
    progress: dict[str, Any]
    average: dict[str, torch.Tensor] | None = None  # parameters by name

    def restore_model(self, model: torch.nn.Module) -> None:
        """Load the parameters and buffers, all of them.

        Raises:
            ModelFolderError: The checkpoint belongs to a model of other names or shapes.
        """
        own = model.state_dict()
        faults = [f"{name} is missing" for name in sorted(own.keys() - self.model.keys())]
        faults += [f"{name} is unknown" for name in sorted(self.model.keys() - own.keys())]
        faults += [
            f"{name} has shape {tuple(tensor.shape)} instead of {tuple(own[name].shape)}"
            for name, tensor in sorted(self.model.items())
            if name in own and own[name].shape != tensor.shape
        ]
        if faults:
            raise self._foreign(_MODEL, faults)
        model.load_state_dict(self.model)

    def restore_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Give an optimiser over the same parameters, in the same order, its state back.

        Raises:
            ModelFolderError: The checkpoint belongs to other parameters.
        """
        faults = _optimizer_faults(self.optimizer_state, optimizer)
        if faults:
            raise self._foreign(_OPTIMIZER, faults)
        optimizer.load_state_dict(self.optimizer_state)

    def _foreign(self, file: str, faults: list[str]) -> ModelFolderError:
        more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
        return ModelFolderError(
            f"{self.folder / file} belongs to another model: {'; '.join(faults[:3])}{more}. "
            "Resume with the settings and the taxonomy of that run, or start a new one"
        )


def save_training_state(
    folder: Path,
    *,
    model_tensors: Mapping[str, torch.Tensor],
    progress: Mapping[str, Any],
    optimizer: torch.optim.Optimizer | None = None,
    scheduler_state: Mapping[str, Any] | None = None,
    average: Mapping[str, torch.Tensor] | None = None,
    files: Mapping[str, bytes | Callable[[Path], None]] | None = None,
) -> None:
    """Write a checkpoint folder, complete or not at all; see ``write_folder``.

    Args:
        folder: The place; what was there before is replaced.
        model_tensors: ``model.state_dict()``.
        progress: JSON values only; lists come back for tuples. ``step`` orders checkpoints.
        optimizer: Its whole state is kept: tensors bit by bit, numbers exactly. Without it the
            folder holds a model and its progress, and no run can go on from it.
        scheduler_state: ``scheduler.state_dict()``.
        average: The moving average of the parameters, by name.
        files: Further files for the folder.
    """
    try:
        progress_file = json_bytes(dict(progress))
    except (TypeError, ValueError) as error:
        raise ModelFolderError(f"{folder / _PROGRESS}: cannot be written: {error}") from None
    own: dict[str, bytes | Callable[[Path], None]] = {
        _MODEL: lambda path: save_tensors(path, model_tensors),
        _PROGRESS: progress_file,
    }
    if optimizer is not None:
        tensors: dict[str, torch.Tensor] = {}
        state = optimizer.state_dict()
        training = {
            "optimizer": _encode(state["state"], "state", tensors),
            "parameter_groups": _encode(state["param_groups"], "groups", tensors),
            "scheduler": _encode(dict(scheduler_state or {}), "scheduler", tensors),
        }
        own[_OPTIMIZER] = lambda path: save_tensors(path, tensors)
        own[_TRAINING] = json_bytes(training)
    if average is not None:
        own[_AVERAGE] = lambda path: save_tensors(path, average)
    write_folder(folder, {**(files or {}), **own}, replace_anything=True)


def can_resume(manifest: Mapping[str, Any]) -> bool:
    """Whether a folder of this manifest holds the whole state of a run."""
    return {_MODEL, _OPTIMIZER, _TRAINING, _PROGRESS} <= set(manifest["files"])


def load_model_tensors(folder: Path) -> dict[str, torch.Tensor]:
    """Verify a checkpoint folder and read only its model."""
    if _MODEL not in verify_folder(folder)["files"]:
        raise ModelFolderError(f"{folder} is not a checkpoint: it has no {_MODEL}")
    return load_tensors(folder / _MODEL)


def load_training_state(folder: Path) -> TrainingState:
    """Verify a checkpoint folder and read it.

    Raises:
        ModelFolderError: Names the file that is damaged, missing or not of a checkpoint.
    """
    manifest = verify_folder(folder)
    if not can_resume(manifest):
        raise ModelFolderError(
            f"{folder} is not a checkpoint that a run can go on from: it must have {_MODEL}, "
            f"{_OPTIMIZER}, {_TRAINING} and {_PROGRESS}"
        )
    tensors = load_tensors(folder / _OPTIMIZER)
    training = _read_json(folder / _TRAINING)
    try:
        optimizer_state = {
            "state": _decode(training["optimizer"], tensors),
            "param_groups": _decode(training["parameter_groups"], tensors),
        }
        scheduler_state = _decode(training["scheduler"], tensors)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFolderError(
            f"{folder / _TRAINING} does not fit {_OPTIMIZER}: {error!r}; use another checkpoint"
        ) from None
    return TrainingState(
        folder=folder,
        model=load_tensors(folder / _MODEL),
        optimizer_state=optimizer_state,
        scheduler_state=scheduler_state,
        progress=read_progress(folder),
        average=load_tensors(folder / _AVERAGE) if _AVERAGE in manifest["files"] else None,
    )


def read_progress(folder: Path) -> dict[str, Any]:
    """Read only how far a checkpoint is."""
    return _read_json(folder / _PROGRESS)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ModelFolderError(f"{path} is missing; use another checkpoint") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFolderError(f"{path} cannot be read: {error}; use another checkpoint") from None
    if not isinstance(value, dict):
        raise ModelFolderError(f"{path} is damaged: not a table; use another checkpoint")
    return value


def _encode(value: object, name: str, tensors: dict[str, torch.Tensor]) -> object:
    """JSON for a nested state; its tensors go to ``tensors`` under the path that leads there."""
    import torch

    if isinstance(value, torch.Tensor):
        tensors[name] = value
        return {"$tensor": name}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        encoded = [(key, _encode(item, f"{name}/{key}", tensors)) for key, item in value.items()]
        if all(isinstance(key, str) and not key.startswith("$") for key, _ in encoded):
            return dict(encoded)
        return {"$items": [[_encode(key, name, tensors), item] for key, item in encoded]}
    if isinstance(value, (list, tuple)):
        items = [_encode(item, f"{name}/{i}", tensors) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"$tuple": items}
    raise ModelFolderError(
        f"a checkpoint cannot hold {name}: {type(value).__name__} is neither a tensor nor JSON"
    )


def _decode(value: object, tensors: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(value, list):
        return [_decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if "$tensor" in value:
        return tensors[value["$tensor"]]
    if "$tuple" in value:
        return tuple(_decode(item, tensors) for item in value["$tuple"])
    if "$items" in value:
        return {_decode(key, tensors): _decode(item, tensors) for key, item in value["$items"]}
    return {key: _decode(item, tensors) for key, item in value.items()}


def _optimizer_faults(saved: dict[str, Any], optimizer: torch.optim.Optimizer) -> list[str]:
    """Where a saved optimiser state does not fit an optimiser."""
    groups = optimizer.param_groups
    if len(saved["param_groups"]) != len(groups):
        return [f"{len(saved['param_groups'])} parameter groups instead of {len(groups)}"]
    faults = []
    for number, (old, new) in enumerate(zip(saved["param_groups"], groups, strict=True)):
        if len(old["params"]) != len(new["params"]):
            faults.append(
                f"group {number} has {len(old['params'])} parameters instead of "
                f"{len(new['params'])}"
            )
            continue
        if old.get("param_names", []) != new.get("param_names", []):
            faults.append(f"group {number} has parameters of other names")
        for index, parameter in zip(old["params"], new["params"], strict=True):
            # A state of more than one number has the shape of its parameter in Adam and SGD.
            moment = saved["state"].get(index, {}).get("exp_avg")
            if moment is not None and moment.shape != parameter.shape:
                faults.append(
                    f"state of parameter {index} has shape {tuple(moment.shape)} instead of "
                    f"{tuple(parameter.shape)}"
                )
    return faults

"""Folders that are complete or absent, and the checkpoints of a training run in them.

Reading order: manifest (what a folder must contain), siblings and folders (atomic replacement),
tensors (safetensors), training_state (all that resumes a run), training_folder (last and best).
"""

from __future__ import annotations

from hbgl.checkpoint.folders import (
    check_replaceable,
    recover_folder,
    remove_folder,
    verify_folder,
    write_folder,
)
from hbgl.checkpoint.manifest import MANIFEST, json_bytes, read_object
from hbgl.checkpoint.tensors import (
    load_tensors,
    save_tensors,
    tensor_metadata,
    tensors_to_bytes,
)
from hbgl.checkpoint.training_folder import TrainingFolder
from hbgl.checkpoint.training_state import (
    TrainingState,
    load_model_tensors,
    load_training_state,
    read_progress,
    save_training_state,
)

__all__ = [
    "MANIFEST",
    "TrainingFolder",
    "TrainingState",
    "check_replaceable",
    "json_bytes",
    "load_model_tensors",
    "load_tensors",
    "load_training_state",
    "read_object",
    "read_progress",
    "recover_folder",
    "remove_folder",
    "save_tensors",
    "save_training_state",
    "tensor_metadata",
    "tensors_to_bytes",
    "verify_folder",
    "write_folder",
]

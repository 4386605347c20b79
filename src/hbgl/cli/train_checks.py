"""What `hbgl train` refuses at once: before torch is loaded and before anything is written.

Everything here is cheap beside a training run. Each check raises with one clear message; what
only the backbone can tell is refused when it has been loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hbgl.checkpoint import (
    TrainingFolder,
    check_replaceable,
    read_progress,
    recover_folder,
    verify_folder,
)
from hbgl.corpora import CorpusFolder
from hbgl.durable_files import try_lock
from hbgl.errors import CorpusError, Fault, ModelFolderError, RecordError, UsageError
from hbgl.records import SkippedRecords, read_records
from hbgl.settings import Settings

__all__ = [
    "check_documents",
    "check_place",
    "check_same_run",
    "check_writable",
    "checkpoint_folder",
    "finished_run",
    "forget_checkpoints",
    "last_step",
    "only_run",
]

_FAULTS_SHOWN = 5


def checkpoint_folder(model: Path) -> Path:
    """Where a run that will end as ``model`` keeps its checkpoints: beside it.

    Raises:
        ModelFolderError: No model can go there.
    """
    check_replaceable(model)
    return model.with_name(model.name + ".training")


def check_place(output: Path, checkpoints: Path, *, resume: bool, force: bool) -> None:
    """Nothing that took hours is lost by a repeated command, and the model can be written."""
    if resume and force:
        raise UsageError(
            "--resume and --force contradict each other: the one keeps the checkpoints of an "
            "interrupted run, the other throws them away"
        )
    recover_folder(output)
    if checkpoints.exists() and not checkpoints.is_dir():
        raise UsageError(f"{checkpoints} is a file, but checkpoints go there; move it away")
    check_writable(output)
    if force or resume:
        return
    if output.exists() and any(output.iterdir()):
        raise UsageError(
            f"{output} exists already; name another folder, or replace it with --force"
        )
    if TrainingFolder(checkpoints).exists():
        raise UsageError(
            f"{checkpoints} holds an interrupted run; go on with --resume, or "
            "begin anew with --force"
        )


def check_writable(output: Path) -> None:
    """The nearest folder above that exists takes new folders."""
    above = output.absolute().parent
    while not os.path.lexists(above):
        above = above.parent
    if not above.is_dir():
        raise ModelFolderError(f"cannot write {output}: {above} is a file; name another folder")
    if not os.access(above, os.W_OK | os.X_OK):
        raise ModelFolderError(
            f"cannot write {output}: no permission in {above}; change it or name another folder"
        )


def check_documents(corpus: CorpusFolder, settings: Settings) -> None:
    """Read train and dev once: a fault found now costs seconds, after the global stage minutes."""
    if "train" not in corpus.splits:
        raise CorpusError(f"{corpus.path} has no train split; add train.jsonl to train on it")
    if settings.model.description_weight > 0:
        corpus.descriptions()
    training = settings.training
    if "dev" not in corpus.splits and (training.patience or training.evaluate_every):
        raise UsageError(
            f"{corpus.path} has no dev split, which --patience and --evaluate-every need (the "
            "presets paper and authors set them); add dev.jsonl (`hbgl data split` makes one), or "
            "leave them out"
        )
    for split in ("train", "dev"):
        if split in corpus.splits:
            _check_split(corpus, split)


def _check_split(corpus: CorpusFolder, split: str) -> None:
    path = corpus.splits[split]
    labelled = 0
    with SkippedRecords() as skipped:
        for record in read_records(
            path, taxonomy=corpus.taxonomy, on_error="skip", skipped=skipped
        ):
            labelled += bool(record.labels)
    summary = skipped.summary
    if summary.skipped:
        raise RecordError(*_faults(skipped.faults, summary.skipped, corpus))
    if summary.read and not labelled:
        raise RecordError(f"{path}: none of its {summary.read:,} documents has labels; give some")
    if not summary.read and split == "train":
        raise RecordError(f"{path}: no documents, so there is nothing to train on")


def _faults(faults: list[Fault], count: int, corpus: CorpusFolder) -> tuple[str, list[Fault]]:
    shown = faults[:_FAULTS_SHOWN]
    records = "1 record" if count == 1 else f"{count:,} records"
    rest = f", the first {len(shown)}" if count > len(shown) else ""
    return (
        f"{records} cannot be used{rest} (correct or remove them; "
        f"`hbgl data check {corpus.path}` shows all faults):",
        shown,
    )


def finished_run(
    output: Path, checkpoints: Path, settings: Settings, corpus: str
) -> dict[str, Any] | None:
    """The metrics of the model that is in ``output`` already, so that nothing is left to resume.

    With checkpoints beside it, it counts as finished only if it came from them: then their loss
    curves are equal. Otherwise a new run was begun over an older model.

    Raises:
        UsageError: The model was trained with other options, or on a corpus of another name.
        ModelFolderError: The model is damaged.
    """
    if not output.is_dir() or not any(output.iterdir()):
        return None
    verify_folder(output)
    metrics: dict[str, Any] = json.loads((output / "metrics.json").read_bytes())
    progress = _progress(checkpoints)
    curve = (metrics.get("training") or {}).get("losses")
    if progress is not None and progress["progress"]["losses"] != curve:
        return None
    config = json.loads((output / "config.json").read_bytes())
    different = list(_differences(config["settings"], settings))
    if metrics.get("corpus") != corpus:
        different.insert(0, f"the corpus was {metrics.get('corpus')}, now {corpus}")
    if different:
        raise UsageError(
            f"{output} is complete, and from other options: {'; '.join(different)}. "
            "Name another folder, or replace it with --force"
        )
    return metrics


def check_same_run(checkpoints: Path, settings: Settings) -> None:
    """Refuse to go on from the checkpoints of other options, naming each."""
    progress = _progress(checkpoints)
    different = [] if progress is None else list(_differences(progress["fingerprint"], settings))
    if different:
        raise UsageError(
            f"the checkpoint in {checkpoints} belongs to a run with other options: "
            f"{'; '.join(different)}. Repeat that run's options, or begin anew with --force"
        )


def last_step(checkpoints: Path) -> int | None:
    """The step of the checkpoint that a run would go on from; None where there is none."""
    progress = _progress(checkpoints)
    return None if progress is None else int(progress["step"])


def _progress(checkpoints: Path) -> dict[str, Any] | None:
    latest = TrainingFolder(checkpoints).latest()
    return None if latest is None else read_progress(latest)


def _differences(then: Mapping[str, Any], settings: Settings) -> Iterator[str]:
    """Each option that is not what it was then."""
    now = settings.to_json()
    if then.get("backbone") != now["backbone"]:
        yield f"--backbone was {then.get('backbone')}, now {now['backbone']}"
    for part in (name for name in now if name != "backbone"):
        prefix = "global-" if part == "global_stage" else ""
        before = then.get(part) or {}
        for name in sorted(before.keys() | now[part].keys()):
            if before.get(name) != now[part].get(name):
                option = f"--{prefix}{name.replace('_', '-')}"
                yield f"{option} was {before.get(name)}, now {now[part].get(name)}"


@contextmanager
def only_run(checkpoints: Path) -> Iterator[None]:
    """Hold the run's folder: a second run into the same model is refused.

    At the end the folder goes, unless there are checkpoints in it.
    """
    try:
        checkpoints.mkdir(parents=True, exist_ok=True)
        lock = os.open(checkpoints, os.O_RDONLY)
    except PermissionError as error:
        if checkpoints.is_dir():  # a system that does not open folders has no such locks
            yield
            return
        raise ModelFolderError(f"cannot write {checkpoints}: {error.strerror}") from error
    try:
        if try_lock(lock) is False:
            raise UsageError(f"another run is writing to {checkpoints}; wait for its end")
        try:
            yield
        finally:
            _remove_empty(checkpoints)
    finally:
        os.close(lock)


def forget_checkpoints(checkpoints: Path) -> None:
    """Remove the checkpoints, and nothing that somebody else put into their folder."""
    TrainingFolder(checkpoints).clear()
    _remove_empty(checkpoints)


def _remove_empty(checkpoints: Path) -> None:
    for folder in (TrainingFolder(checkpoints).path, checkpoints):
        with suppress(OSError):
            folder.rmdir()

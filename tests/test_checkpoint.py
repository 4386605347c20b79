from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from hbgl.checkpoint import (
    MANIFEST,
    TrainingFolder,
    load_model_tensors,
    load_tensors,
    load_training_state,
    read_progress,
    recover_folder,
    remove_folder,
    save_tensors,
    save_training_state,
    tensor_metadata,
    tensors_to_bytes,
    verify_folder,
    write_folder,
)
from hbgl.checkpoint import folders as folders_module
from hbgl.errors import ModelFolderError

FILES: dict[str, bytes | Callable[[Path], None]] = {
    "model.bin": b"0123456789" * 50,
    "config.json": b"{}\n",
    "names.json": b'{"a": "b"}\n',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "model", FILES)
    return tmp_path / "model"


def hidden(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir() if path.name.startswith("."))


def test_a_written_folder_has_its_files_and_a_readable_manifest(folder: Path) -> None:
    """sha256(b"{}\\n") = ca3d163b..., 3 bytes."""
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, MANIFEST])
    manifest = verify_folder(folder)
    assert manifest["version"] == 1
    assert manifest["files"]["config.json"] == {
        "sha256": "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356",
        "size": 3,
    }
    text = (folder / MANIFEST).read_text()
    assert text == json.dumps(manifest, indent=2, sort_keys=True) + "\n"
    assert hidden(folder.parent) == []


def test_functions_write_files_into_subfolders_and_beside(tmp_path: Path) -> None:
    def two(path: Path) -> None:
        path.write_bytes(b"graph")
        path.with_suffix(".bin").write_bytes(b"weights")
        path.chmod(0o600)

    write_folder(tmp_path / "m", {"engine/net.xml": two})
    assert set(verify_folder(tmp_path / "m")["files"]) == {"engine/net.xml", "engine/net.bin"}
    modes = {(tmp_path / "m" / "engine" / name).stat().st_mode for name in ("net.xml", "net.bin")}
    assert len(modes) == 1  # readable by whom the folder is readable


def test_replacing_leaves_only_the_new_files(folder: Path) -> None:
    write_folder(folder, {"other.json": b"1"})
    assert set(verify_folder(folder)["files"]) == {"other.json"}
    assert hidden(folder.parent) == []


def truncate(folder: Path) -> None:
    (folder / "model.bin").write_bytes(b"0123456789" * 20)


def flip(folder: Path) -> None:
    content = bytearray((folder / "model.bin").read_bytes())
    content[100] ^= 1
    (folder / "model.bin").write_bytes(bytes(content))


def lengthen(folder: Path) -> None:
    with (folder / "model.bin").open("ab") as file:
        file.write(b"0")


def swap(folder: Path) -> None:
    (folder / "config.json").rename(folder / "x")
    (folder / "names.json").rename(folder / "config.json")
    (folder / "x").rename(folder / "names.json")


def remove(folder: Path) -> None:
    (folder / "names.json").unlink()


def add(folder: Path) -> None:
    (folder / "extra.txt").write_bytes(b"")


def link(folder: Path) -> None:
    (folder / "names.json").rename(folder.parent / "elsewhere")
    (folder / "names.json").symlink_to(folder.parent / "elsewhere")


def link_folder(folder: Path) -> None:
    (folder / "sub").symlink_to(folder.parent)


def break_manifest(folder: Path) -> None:
    (folder / MANIFEST).write_bytes(b'{"files": {')


def remove_manifest(folder: Path) -> None:
    (folder / MANIFEST).unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate, r"model\.bin is truncated: 200 of 500 bytes"),
        (flip, r"model\.bin is damaged: same size"),
        (lengthen, r"model\.bin is damaged: 501 bytes instead of 500"),
        (swap, r"config\.json has the content of names\.json \(swapped\); names\.json has"),
        (remove, r"names\.json is missing"),
        (add, r"extra\.txt is not listed"),
        (link, r"names\.json is a symbolic link"),
        (link_folder, r"sub is not listed"),
        (break_manifest, r"MANIFEST\.json is damaged: it is not JSON"),
        (remove_manifest, r"has no MANIFEST\.json"),
    ],
)
def test_what_is_wrong_with_a_folder_is_named(
    folder: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(folder)
    with pytest.raises(ModelFolderError, match=message) as caught:
        verify_folder(folder)
    assert str(folder) in str(caught.value)


def test_many_faults_are_one_message(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", {f"{i}.txt": b"" for i in range(9)})
    for i in range(9):
        (tmp_path / "m" / f"{i}.txt").unlink()
    with pytest.raises(ModelFolderError, match=r"4\.txt is missing; and 4 more"):
        verify_folder(tmp_path / "m")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not a manifest of hbgl"),
        ({"version": 2}, "install a newer hbgl"),
        ({"version": True}, "install a newer hbgl"),
        ({"files": []}, "is not a table"),
        ({"files": {"../a": {"sha256": "0" * 64, "size": 1}}}, r"'\.\./a' is not a name inside"),
        ({"files": {"/etc/passwd": {"sha256": "0" * 64, "size": 1}}}, "is not a name inside"),
        ({"files": {"a\\b": {"sha256": "0" * 64, "size": 1}}}, "is not a name inside"),
        ({"files": {"": {"sha256": "0" * 64, "size": 1}}}, "is not a name inside"),
        ({"files": {"a/./b": {"sha256": "0" * 64, "size": 1}}}, "is not a name inside"),
        ({"files": {"a": {"sha256": "zz", "size": 1}}}, "no usable sha256"),
        ({"files": {"a": {"sha256": "0" * 64, "size": -1}}}, "no usable sha256"),
        ({"files": {"a": 3}}, "no usable sha256"),
    ],
)
def test_a_foreign_or_dangerous_manifest_is_refused(
    folder: Path, change: dict[str, Any], message: str
) -> None:
    manifest = json.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_text(json.dumps({**manifest, **change}))
    with pytest.raises(ModelFolderError, match=message):
        verify_folder(folder)


def test_a_manifest_that_is_a_link_is_refused(folder: Path) -> None:
    (folder / MANIFEST).rename(folder.parent / "m")
    (folder / MANIFEST).symlink_to(folder.parent / "m")
    with pytest.raises(ModelFolderError, match="link"):
        verify_folder(folder)


def test_absent_folders_and_files_in_their_place(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="does not exist"):
        verify_folder(tmp_path / "none" / "model")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ModelFolderError, match="is a file"):
        verify_folder(tmp_path / "file")
    with pytest.raises(ModelFolderError, match="is a file"):
        write_folder(tmp_path / "file", FILES)
    with pytest.raises(ModelFolderError, match="cannot write"):
        write_folder(tmp_path / "file" / "model", FILES)


def test_a_folder_of_somebody_else_is_never_replaced(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "documents"
    mine.mkdir()
    write_folder(mine, {"a": b"1"})  # an empty folder may be filled
    (mine / "letter.txt").write_text("dear")
    with pytest.raises(ModelFolderError, match=r"letter\.txt, which hbgl did not write"):
        write_folder(mine, FILES)
    assert (mine / "letter.txt").read_text() == "dear"
    monkeypatch.chdir(folder)
    with pytest.raises(ModelFolderError, match="current or root folder"):
        write_folder(Path(), FILES)
    with pytest.raises(ModelFolderError, match="is not a name"):
        write_folder(tmp_path / "n", {"../x": b""})
    assert not (tmp_path / "n").exists()


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "current").symlink_to(folder)
    write_folder(tmp_path / "current", {"new": b"1"})
    assert (tmp_path / "current").is_symlink()
    assert set(verify_folder(folder)["files"]) == {"new"}


def full_disk(path: Path) -> None:
    path.write_bytes(b"half")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


@pytest.mark.parametrize("exists", [False, True])
def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, exists: bool) -> None:
    place = tmp_path / "model"
    if exists:
        write_folder(place, FILES)
    with pytest.raises(ModelFolderError, match=rf"cannot write {place}: No space left"):
        write_folder(place, {"a": b"1", "b": full_disk})
    assert sorted(path.name for path in tmp_path.iterdir()) == (["model"] if exists else [])
    if exists:
        assert set(verify_folder(place)["files"]) == set(FILES)


def test_a_writer_that_writes_nothing_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="a was not written"):
        write_folder(tmp_path / "m", {"a": lambda path: None})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failure", [PermissionError(13, "Permission denied"), KeyboardInterrupt()])
def test_a_failed_second_rename_puts_the_old_folder_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if ".new-" in self.name:
            raise failure
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises((ModelFolderError, KeyboardInterrupt)):
        write_folder(folder, {"other": b""})
    monkeypatch.undo()
    assert set(verify_folder(folder)["files"]) == set(FILES)
    assert hidden(folder.parent) == []


def test_a_swap_killed_between_the_renames_is_finished(folder: Path) -> None:
    """Absent `model`, complete new and old folders beside it: the new one takes the place."""
    folder.rename(folder.parent / ".model.old-1")
    write_folder(folder.parent / ".model.new-1", {"new": b"1"})
    assert set(verify_folder(folder)["files"]) == {"new"}
    assert hidden(folder.parent) == []


def test_a_swap_with_a_torn_new_folder_is_undone(folder: Path) -> None:
    folder.rename(folder.parent / ".model.old-1")
    write_folder(folder.parent / ".model.new-1", {"new": b"12"})
    (folder.parent / ".model.new-1" / "new").write_bytes(b"1")
    recover_folder(folder)
    assert set(verify_folder(folder)["files"]) == set(FILES)
    assert hidden(folder.parent) == []


@pytest.mark.parametrize("manifest", [b"", b'{"files": {', b"{}"], ids=["empty", "torn", "other"])
@pytest.mark.parametrize("replaced", [True, False])
def test_a_new_folder_whose_manifest_is_torn_is_never_taken(
    folder: Path, replaced: bool, manifest: bytes
) -> None:
    """Killed while the manifest was written: all other files are there, and count for nothing."""
    if replaced:
        folder.rename(folder.parent / ".model.old-1")
    else:
        remove_folder(folder)
    write_folder(folder.parent / ".model.new-1", {"new": b"12"})
    (folder.parent / ".model.new-1" / MANIFEST).write_bytes(manifest)
    recover_folder(folder)
    assert hidden(folder.parent) == []
    assert folder.exists() == replaced
    if replaced:
        assert set(verify_folder(folder)["files"]) == set(FILES)


def test_leftovers_of_dead_writers_are_removed(folder: Path) -> None:
    (folder.parent / ".model.new-1").mkdir()
    (folder.parent / ".model.new-1" / "model.bin").write_bytes(b"01")
    write_folder(folder.parent / ".model.old-2", FILES)
    (folder.parent / ".model.other").mkdir()
    recover_folder(folder)
    assert hidden(folder.parent) == [".model.other"]
    verify_folder(folder)


def test_a_half_deleted_old_folder_is_not_taken_for_a_model(tmp_path: Path) -> None:
    (tmp_path / ".model.old-1").mkdir()
    (tmp_path / ".model.old-1" / "model.bin").write_bytes(b"01")
    with pytest.raises(ModelFolderError, match="does not exist"):
        verify_folder(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_deleting_begins_with_the_manifest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the middle of it, what is left is not taken for a folder that was put aside."""
    with monkeypatch.context() as patch:
        patch.setattr("hbgl.checkpoint.siblings.shutil.rmtree", lambda *_, **__: None)
        remove_folder(folder)
    assert len(hidden(folder.parent)) == 1
    recover_folder(folder)
    assert list(folder.parent.iterdir()) == []


def test_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    def look(path: Path) -> None:
        recover_folder(tmp_path / "model")
        assert path.parent.exists()
        path.write_bytes(b"1")

    write_folder(tmp_path / "model", {"a": look})
    verify_folder(tmp_path / "model")


def test_without_locks_only_old_leftovers_are_removed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hbgl.checkpoint.siblings.try_lock", lambda descriptor: None)
    monkeypatch.setattr(folders_module, "_WAIT_SECONDS", 0.02)
    for age, token in ((0, "young"), (7200, "aged")):
        left = folder.parent / f".model.new-{token}"
        left.mkdir()
        os.utime(left, (time.time() - age,) * 2)
    recover_folder(folder)
    assert hidden(folder.parent) == [".model.new-young"]
    folder.rename(folder.parent / ".model.old-1")
    assert set(verify_folder(folder)["files"]) == set(FILES)
    write_folder(folder, {"a": b""})
    verify_folder(folder)


WRITER = """
import sys
from pathlib import Path
from hbgl.checkpoint import write_folder

place, generation = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
while True:
    generation += 1
    block = generation.to_bytes(8, "big") * 131072
    write_folder(place, {"a.bin": block, "b.bin": block, "n.txt": str(generation).encode()})
"""


def start_writer(place: Path, generation: int) -> subprocess.Popen[bytes]:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(place), str(generation)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(folders_module.__file__).parents[2])},
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"ready\n"
    return writer


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9")
def test_a_folder_is_complete_whenever_its_writer_is_killed(tmp_path: Path) -> None:
    """15 times kill -9 at a random instant: all files of one generation, never an older one."""
    place = tmp_path / "model"
    generation = 0
    clock = random.Random(0)
    for _ in range(15):
        writer = start_writer(place, generation)
        time.sleep(clock.uniform(0.0, 0.15))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        recover_folder(place)
        assert hidden(tmp_path) == []
        if generation or place.exists():
            verify_folder(place)
            found = int((place / "n.txt").read_text())
            assert found >= generation
            generation = found
            block = generation.to_bytes(8, "big") * 131072
            assert (place / "a.bin").read_bytes() == (place / "b.bin").read_bytes() == block
    assert generation > 0


@pytest.mark.skipif(sys.platform == "win32", reason="file locks")
def test_a_reader_beside_a_writer_always_finds_a_complete_folder(tmp_path: Path) -> None:
    place = tmp_path / "model"
    write_folder(place, {"a.bin": b"", "b.bin": b"", "n.txt": b"0"})
    writers = [start_writer(place, generation) for generation in (0, 1_000_000)]
    try:
        for _ in range(60):
            assert set(verify_folder(place)["files"]) == {"a.bin", "b.bin", "n.txt"}
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    verify_folder(place)
    assert hidden(tmp_path) == []


def test_tensors_come_back_bit_by_bit(tmp_path: Path) -> None:
    weight = torch.randn(4, 3)
    tensors = {
        "weight": weight,
        "tied": weight,
        "turned": weight.t(),
        "half": torch.randn(5).to(torch.bfloat16),
        "empty": torch.zeros(0, 3),
        "also empty": torch.zeros(0),
        "number": torch.tensor(7, dtype=torch.int64),
        "special": torch.tensor([float("nan"), float("inf"), -0.0]),
    }
    save_tensors(tmp_path / "t", tensors, {"kind": "test"})
    loaded = load_tensors(tmp_path / "t")
    assert tensor_metadata(tmp_path / "t") == {"kind": "test"}
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype
        assert loaded[name].shape == tensor.shape
        if name == "half":
            tensor, loaded[name] = tensor.float(), loaded[name].float()
        assert loaded[name].numpy().tobytes() == tensor.numpy().tobytes()
    save_tensors(tmp_path / "none", {})
    assert load_tensors(tmp_path / "none") == {}
    (tmp_path / "u").write_bytes(tensors_to_bytes(tensors, {"kind": "test"}))
    assert load_tensors(tmp_path / "u").keys() == tensors.keys()


def test_damaged_tensor_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(ModelFolderError, match=r"model\.safetensors is missing"):
        load_tensors(path)
    path.write_bytes(tensors_to_bytes({"a": torch.zeros(10)})[:-3])
    with pytest.raises(ModelFolderError, match=r"model\.safetensors is damaged"):
        load_tensors(path)
    with pytest.raises(ModelFolderError, match=r"model\.safetensors is damaged"):
        tensor_metadata(path)
    with pytest.raises(ModelFolderError, match="cannot write"):
        save_tensors(tmp_path / "none" / "a", {"a": torch.zeros(1)})


def small_model() -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))


def optimizer_for(name: str, model: torch.nn.Module) -> torch.optim.Optimizer:
    decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    rest = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": rest, "lr": 0.1 + 0.2}]
    if name == "adamw":
        return torch.optim.AdamW(groups, lr=1e-3)
    if name == "amsgrad":
        return torch.optim.Adam(groups, lr=torch.tensor(1e-3), amsgrad=True)
    if name == "named":
        return torch.optim.AdamW(model.named_parameters(), lr=1e-3)
    return torch.optim.SGD(groups, lr=1e-3, momentum=0.9)


def train(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LRScheduler,
    steps: range,
) -> None:
    for step in steps:
        batch = torch.randn(8, 4, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        scheduler.step()


def scheduler_for(optimizer: torch.optim.Optimizer) -> torch.optim.lr_scheduler.LRScheduler:
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))


@pytest.mark.parametrize("name", ["adamw", "amsgrad", "named", "sgd"])
def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path, name: str) -> None:
    """6 steps at once = 3 steps, a checkpoint, a new process' objects, 3 steps more."""
    whole = small_model()
    optimizer = optimizer_for(name, whole)
    train(whole, optimizer, scheduler_for(optimizer), range(6))

    model = small_model()
    optimizer = optimizer_for(name, model)
    scheduler = scheduler_for(optimizer)
    train(model, optimizer, scheduler, range(3))
    progress = {"step": 3, "best": float("-inf"), "history": [0.1 + 0.2, 1e-300]}
    save_training_state(
        tmp_path / "c",
        model_tensors=model.state_dict(),
        optimizer=optimizer,
        scheduler_state=scheduler.state_dict(),
        progress=progress,
        files={"note.txt": b"kept"},
    )
    state = load_training_state(tmp_path / "c")
    saved = optimizer.state_dict()
    assert state.optimizer_state["state"].keys() == saved["state"].keys()
    for index, entry in saved["state"].items():
        for key, value in entry.items():
            assert torch.equal(state.optimizer_state["state"][index][key], value)
    assert state.optimizer_state["param_groups"] == saved["param_groups"]
    assert state.scheduler_state == scheduler.state_dict()
    assert state.progress == progress
    assert (tmp_path / "c" / "note.txt").read_bytes() == b"kept"

    resumed = small_model()
    with torch.no_grad():
        for parameter in resumed.parameters():
            parameter.zero_()
    state.restore_model(resumed)
    optimizer = optimizer_for(name, resumed)
    scheduler = scheduler_for(optimizer)
    state.restore_optimizer(optimizer)
    scheduler.load_state_dict(state.scheduler_state)
    train(resumed, optimizer, scheduler, range(3, 6))
    for expected, found in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(expected, found)


def save(run: TrainingFolder, which: Literal["last", "best"], step: int) -> None:
    model = small_model()
    optimizer = optimizer_for("adamw", model)
    train(model, optimizer, scheduler_for(optimizer), range(1))
    if which == "last":
        run.save_last(model.state_dict(), optimizer, {"step": step})
    else:
        run.save_best(model.state_dict(), {"step": step}, optimizer=optimizer)


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    run = TrainingFolder(tmp_path)
    save(run, "last", 1)
    state = run.load_last()
    assert state is not None
    other = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    with pytest.raises(ModelFolderError, match=r"0\.bias has shape \(5,\) instead of \(6,\)"):
        state.restore_model(other)
    with pytest.raises(ModelFolderError, match=r"has shape \(5, 4\) instead of \(6, 4\)"):
        state.restore_optimizer(optimizer_for("adamw", other))
    with pytest.raises(ModelFolderError, match="2 parameter groups instead of 1"):
        state.restore_optimizer(optimizer_for("named", small_model()))
    deeper = torch.nn.Sequential(*small_model(), torch.nn.Linear(3, 3))
    with pytest.raises(ModelFolderError, match=r"3\.bias is missing; 3\.weight is missing"):
        state.restore_model(deeper)
    with pytest.raises(ModelFolderError, match="group 0 has 2 parameters instead of 3"):
        state.restore_optimizer(optimizer_for("adamw", deeper))


def test_states_that_json_cannot_hold_are_refused(tmp_path: Path) -> None:
    optimizer = optimizer_for("adamw", small_model())
    save_state: Any = lambda **changes: save_training_state(  # noqa: E731
        tmp_path / "c",
        **{
            "model_tensors": {},
            "optimizer": optimizer,
            "scheduler_state": {},
            "progress": {},
            **changes,
        },
    )
    with pytest.raises(ModelFolderError, match="scheduler/f: function is neither"):
        save_state(scheduler_state={"f": lambda: None})
    with pytest.raises(ModelFolderError, match=r"progress\.json"):
        save_state(progress={"x": object()})
    assert list(tmp_path.iterdir()) == []
    odd = {"milestones": {1: (2, 3), "x": [True, None]}, "$tensor": 1}
    save_state(scheduler_state=odd)
    assert load_training_state(tmp_path / "c").scheduler_state == odd


def test_the_newest_complete_checkpoint_is_found(tmp_path: Path) -> None:
    run = TrainingFolder(tmp_path)
    assert run.latest() is None
    assert run.load_last() is None
    assert run.load_best() is None
    assert not run.exists()
    assert list(tmp_path.iterdir()) == []
    save(run, "best", 10)
    assert run.latest() == run.best
    save(run, "last", 10)
    assert run.latest() == run.last
    save(run, "last", 20)
    assert run.latest() == run.last
    save(run, "best", 30)  # killed before `last` was written at this step
    assert run.latest() == run.best


def test_a_damaged_last_checkpoint_is_named_and_the_best_one_taken(tmp_path: Path) -> None:
    run = TrainingFolder(tmp_path)
    save(run, "best", 10)
    save(run, "last", 20)
    file = run.last / "optimizer.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    assert run.latest() == run.best
    assert len(run.damaged) == 1
    assert "optimizer.safetensors is truncated" in run.damaged[0]
    (run.best / "progress.json").unlink()
    with pytest.raises(ModelFolderError, match=r"no usable checkpoint .*progress\.json is missing"):
        run.latest()
    save(run, "last", 21)  # a damaged checkpoint is replaced
    assert run.latest() == run.last


def test_other_folders_are_not_checkpoints(folder: Path) -> None:
    with pytest.raises(ModelFolderError, match="not a checkpoint that a run can go on from"):
        load_training_state(folder)
    with pytest.raises(ModelFolderError, match=r"it has no model\.safetensors"):
        load_model_tensors(folder)
    write_folder(
        folder,
        {
            "model.safetensors": tensors_to_bytes({}),
            "optimizer.safetensors": tensors_to_bytes({}),
            "training.json": b'{"optimizer": {"$tensor": "state/0/exp_avg"}}',
            "progress.json": b"[]",
        },
    )
    with pytest.raises(ModelFolderError, match=r"training\.json does not fit"):
        load_training_state(folder)
    with pytest.raises(ModelFolderError, match=r"progress\.json is damaged: not a table"):
        read_progress(folder)


def test_a_best_model_without_optimizer_is_no_place_to_go_on_from(tmp_path: Path) -> None:
    run = TrainingFolder(tmp_path)
    model = small_model()
    run.save_best(model.state_dict(), {"step": 5})
    assert run.latest() is None
    assert not run.exists()
    best = run.load_best()
    assert best is not None
    assert torch.equal(best["0.weight"], model.state_dict()["0.weight"])
    save(run, "last", 3)
    assert run.exists()
    assert run.latest() == run.last
    run.clear()
    assert not run.exists()
    assert run.load_best() is None
    assert list(run.path.iterdir()) == []


def test_a_checkpoint_is_readable_json_and_safetensors_only(tmp_path: Path) -> None:
    run = TrainingFolder(tmp_path)
    save(run, "last", 3)
    assert sorted(path.name for path in run.last.iterdir()) == [
        MANIFEST,
        "model.safetensors",
        "optimizer.safetensors",
        "progress.json",
        "training.json",
    ]
    assert (run.last / "progress.json").read_text() == '{\n  "step": 3\n}\n'
    assert set(load_tensors(run.last / "optimizer.safetensors")) >= {
        "state/0/exp_avg",
        "state/0/exp_avg_sq",
        "state/0/step",
    }


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, hbgl.checkpoint; print('torch' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(folders_module.__file__).parents[2])}
    printed = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    assert printed.stdout == b"False\n"

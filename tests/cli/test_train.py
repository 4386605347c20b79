"""``hbgl train``: the folder it makes, what it refuses, how it is interrupted and goes on."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from hbgl import training_run
from hbgl.checkpoint import load_tensors, read_progress, verify_folder
from hbgl.cli import train as train_module
from hbgl.cli.progress import TrainingProgress
from hbgl.errors import UsageError
from hbgl.settings import (
    PRESETS,
    DecisionSettings,
    GlobalStage,
    ModelSettings,
    Settings,
    TrainingSettings,
    settings_from_json,
)
from hbgl.trained_model import TrainedModel
from hbgl.training import Stepped
from tests.cli.conftest import QUICK, Answer, Command, document, refused, write_corpus

FILES = {
    "MANIFEST.json", "README.md", "calibration.json", "config.json", "metrics.json",
    "model.safetensors", "names.json",
    "taxonomy.tsv", "thresholds.json", "tokenizer.json",
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, for messages with short paths."""
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def same_weights(one: Path, other: Path) -> bool:
    return (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()


# ---------------------------------------------------------------------- the model


def test_a_model_folder_has_exactly_its_files(
    hbgl: Command, backbone: Path, corpus: Path, place: Path
) -> None:
    done = hbgl("train", corpus, "-o", "sub/model", "--backbone", backbone, *QUICK)
    assert done.code == 0, done.err
    assert done.out.startswith("sub/model: trained in ")
    assert ", dev Micro-F1 " in done.out
    assert done.out.count("\n") == 1
    assert names(place) == {"sub", "sub/model", *(f"sub/model/{name}" for name in FILES)}
    assert set(verify_folder(place / "sub" / "model")["files"]) == FILES - {"MANIFEST.json"}
    for line in ("global stage: step 4/4", "40 training documents, 12 dev", "training: step 20/20"):
        assert line in done.err
    assert all(len(line) < 200 and "\x1b" not in line for line in done.err.splitlines())


def test_json_is_one_object_and_quiet_says_nothing_else(
    hbgl: Command, backbone: Path, corpus: Path, place: Path
) -> None:
    done = hbgl("train", corpus, "-o", "m", "--backbone", backbone, *QUICK, "--json", "-q")
    assert (done.code, done.err) == (0, "")
    facts = json.loads(done.out)
    assert set(facts) == {"model", "seconds", "dev"}
    assert set(facts["dev"]) >= {"micro_f1", "macro_f1", "step"}


def test_the_same_command_gives_the_same_weights_and_force_replaces(
    hbgl: Command, backbone: Path, corpus: Path, model: Path, trained: Path
) -> None:
    command = ["train", corpus, "-o", model, "--backbone", backbone, *QUICK]
    refused(hbgl(*command), 2, f"{model} exists already", "--force")
    assert hbgl(*command, "--force", "--seed", "1").code == 0
    assert not same_weights(model, trained)
    assert hbgl(*command, "--force").code == 0
    assert same_weights(model, trained)
    assert not model.with_name("model.training").exists()


def test_multilabel_and_presets_train(
    hbgl: Command, backbone: Path, corpus: Path, place: Path
) -> None:
    quick = [*QUICK[:2], *QUICK[4:]]
    choices = (
        ["--method", "multilabel"],
        ["--method", "seq2seq", "--most-generated", "2"],
        ["--label-vectors", "gat", "--global-gat-heads", "2", "--global-gat-trains", "network"],
        ["--preset", "authors"],
    )
    for number, options in enumerate(choices):
        out = place / str(number)
        done = hbgl("train", corpus, "-o", out, "--backbone", backbone, *options, *quick, "-q")
        assert done.code == 0, done.err
        TrainedModel.load(out)


def test_a_corpus_without_dev_is_trained_to_the_end(
    hbgl: Command, backbone: Path, place: Path
) -> None:
    """No scores are reported, and options that need dev are refused."""
    corpus = write_corpus(place / "corpus", train=24)
    command = ["train", corpus, "-o", "m", "--backbone", backbone, *QUICK]
    refused(hbgl(*command, "--patience", "2"), 2, "has no dev split", "--patience")
    for preset in ("paper", "authors"):  # they stop by the score on dev
        refused(hbgl(*command, "--preset", preset), 2, "has no dev split", "presets paper and")
    done = hbgl(*command)
    assert done.code == 0, done.err
    assert "Micro-F1" not in done.out
    assert "24 training documents, 0 dev documents" in done.err


# ---------------------------------------------------------------------- options


def _fields() -> Iterator[tuple[str, str, str, object]]:
    """Part, field, option, a value that is not the default."""
    for part, kind, prefix in (
        ("training", TrainingSettings, ""),
        ("model", ModelSettings, ""),
        ("global_stage", GlobalStage, "global-"),
        ("decision", DecisionSettings, ""),
    ):
        hints = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            option = f"--{prefix}{field.name.replace('_', '-')}"
            yield part, field.name, option, _other(hints[field.name], field.default)


def _other(hint: Any, default: Any) -> object:
    options = [one for one in get_args(hint) if one is not type(None)]
    if get_origin(hint) is Literal:
        return next(one for one in options if one != default)
    if hint is bool:
        return not default
    whole = hint is int or int in options
    downwards = not whole and 0.9 < (default or 0) <= 1  # decays end at 1
    value = default - 0.05 if downwards else (default or 0) + (3 if whole else 0.05)
    return value if default != 1 or not whole else 0


@pytest.mark.parametrize(("part", "name", "option", "value"), list(_fields()))
def test_every_field_of_the_settings_is_an_option(
    part: str,
    name: str,
    option: str,
    value: object,
    hbgl: Command,
    monkeypatch: pytest.MonkeyPatch,
    corpus: Path,
    place: Path,
) -> None:
    """``--learning-rate 0.0502`` arrives as ``settings.training.learning_rate``."""
    seen: list[Settings] = []

    def note(_: object, settings: Settings, *__: object, **___: object) -> dict[str, object]:
        seen.append(settings)
        return {"dev": None, "seconds": 0.0}

    monkeypatch.setattr(train_module, "_run", note)
    flag = [option, str(value)]
    if isinstance(value, bool):
        flag = [option if value else option.replace("--", "--no-", 1)]
    needed = {
        "pad_to_max": ["--max-length", "8"],
        "end_of_hierarchy": ["--loss-columns", "all"],
    }.get(name, [])
    if name == "description_weight":
        refused(hbgl("train", corpus, "-o", "m", *flag), 1, "no descriptions.json", "add it")
        corpus = write_corpus(place / "described")
        (corpus / "descriptions.json").write_text("{}")
    done = hbgl("train", corpus, "-o", "m", *flag, *needed)
    assert done.code == 0, done.err
    assert getattr(getattr(seen[0], part), name) == value
    changed = dataclasses.replace(
        getattr(seen[0], part), **{name: getattr(getattr(Settings(), part), name)}
    )
    if not needed:
        assert dataclasses.replace(seen[0], **{part: changed}) == Settings()


@pytest.mark.parametrize(("rank", "default"), [("0", False), ("1", True)])
def test_sigterm_ends_processes_beside_the_first_at_once(
    rank: str,
    default: bool,
    hbgl: Command,
    monkeypatch: pytest.MonkeyPatch,
    corpus: Path,
    place: Path,
) -> None:
    """They may be waiting inside torch, where Python's own handler does not run."""
    found = []

    def look(*_: object, **__: object) -> None:
        found.append(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
        raise UsageError("seen")

    monkeypatch.setattr(training_run, "train_classifier", look)
    monkeypatch.setenv("RANK", rank)
    refused(hbgl("train", corpus, "-o", "m"), 2, "seen")
    assert found == [default]


@pytest.mark.parametrize("preset", list(PRESETS))
def test_presets_and_the_backbone_arrive(
    preset: str, hbgl: Command, monkeypatch: pytest.MonkeyPatch, corpus: Path, place: Path
) -> None:
    seen: list[Settings] = []

    def note(_: object, settings: Settings, *__: object, **___: object) -> dict[str, object]:
        seen.append(settings)
        return {"dev": None, "seconds": 0.0}

    monkeypatch.setattr(train_module, "_run", note)
    assert hbgl("train", corpus, "-o", "m", "--preset", preset).code == 0
    assert hbgl("train", corpus, "-o", "m", "--preset", preset, "--backbone", "x/y").code == 0
    assert seen == [PRESETS[preset], dataclasses.replace(PRESETS[preset], backbone="x/y")]


def test_help_shows_every_option(hbgl: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    shown = hbgl("train", "--help").out
    for _, _, option, _ in _fields():
        assert option in shown
    assert train_module.EXAMPLE.removeprefix("Example: ")[:40] in shown


# ---------------------------------------------------------------------- what is refused


def _without(corpus: Path, *splits: str) -> Path:
    for split in splits:
        (corpus / f"{split}.jsonl").unlink()
    return corpus


def test_wrong_use_and_bad_corpora_are_refused_before_torch_is_loaded(
    hbgl: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is loaded, nothing is written: the backbone's name is never looked at."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("training began")

    monkeypatch.setattr(train_module, "_run", never)
    good = write_corpus(place / "good")
    (place / "file").touch()
    bad_label = write_corpus(place / "bad_label")
    record = {"text": "x", "labels": ["tenis"]}
    with (bad_label / "train.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n{broken\n")
    bad_dev = write_corpus(place / "bad_dev")
    (bad_dev / "dev.jsonl").write_text('{"text": " ", "labels": ["bank"]}\n')
    empty = write_corpus(place / "empty")
    (empty / "train.jsonl").write_text("\n")
    unlabelled = write_corpus(place / "unlabelled")
    (unlabelled / "train.jsonl").write_text('{"text": "x"}\n')
    (write_corpus(place / "no_taxonomy") / "taxonomy.tsv").unlink()
    _without(write_corpus(place / "no_train"), "train")
    _without(write_corpus(place / "nothing"), "train", "dev", "test")
    before = names(place)

    def check(code: int, *arguments: object, words: list[str]) -> None:
        refused(hbgl("train", *arguments), code, *words)
        assert names(place) == before

    out = ["-o", "m"]
    check(2, words=["Missing argument"])
    check(2, good, words=["Missing option", "--output"])
    check(1, "missing", *out, words=["'missing' is neither a folder nor a bundled corpus"])
    check(1, "file", *out, words=["file: a file, but a corpus folder is needed"])
    check(1, "no_taxonomy", *out, words=["no taxonomy.tsv"])
    check(1, "nothing", *out, words=["none of train, dev, test"])
    check(1, "no_train", *out, words=["no_train has no train split"])
    check(1, "empty", *out, words=["train.jsonl: no documents"])
    check(1, "unlabelled", *out, words=["none of its 1 documents has labels"])
    check(
        1, "bad_label", *out,
        words=["2 records cannot be used", "train.jsonl:41: ", "tenis", "tennis", ":42: broken"],
    )  # fmt: skip
    check(1, "bad_dev", *out, words=["dev.jsonl:1: no text"])
    check(1, good, "-o", "file", words=["file is a file"])
    check(1, good, "-o", "file/m", words=["file is a file"])
    check(1, good, "-o", "good", words=["which hbgl did not write"])
    check(1, good, "-o", "good", "--force", words=["which hbgl did not write"])
    check(1, good, "-o", ".", words=["current or root folder"])
    check(2, good, *out, "--preset", "best", words=["no preset 'best'", "paper, authors"])
    check(2, good, *out, "--resume", "--force", words=["contradict"])
    check(2, good, *out, "--method", "svm", words=["--method", "multilabel"])
    check(
        2, good, *out, "--epochs", "-1", "--clip", "-2",
        words=["epochs must be positive, not -1", "clip must be 0 or more"],
    )  # fmt: skip
    check(2, good, *out, "--end-of-hierarchy", "sep-class", words=["needs loss columns 'all'"])
    check(2, good, *out, "--epochs", "many", words=["--epochs", "valid number"])


def test_nothing_is_left_where_the_backbone_is_refused(
    hbgl: Command, corpus: Path, place: Path, backbone: Path
) -> None:
    command = ["train", corpus, "-o", "m", *QUICK]
    refused(hbgl(*command, "--backbone", "./none"), 1, "none")
    gpt = Path(shutil.copytree(backbone, place / "gpt"))
    config = json.loads((gpt / "config.json").read_text())
    (gpt / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}))
    refused(hbgl(*command, "--backbone", gpt), 1, "gpt2")
    damaged = Path(shutil.copytree(backbone, place / "damaged"))
    weights = damaged / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    refused(hbgl(*command, "--backbone", damaged), 1, "model.safetensors")
    assert {path.name for path in place.iterdir()} == {"gpt", "damaged"}


def test_a_loss_that_is_no_number_is_refused(
    hbgl: Command, corpus: Path, place: Path, backbone: Path
) -> None:
    options = ["--backbone", backbone, *QUICK, "--learning-rate", "1e30", "--warmup", "0"]
    done = hbgl("train", corpus, "-o", "m", *options, "-q")
    refused(done, 1, "the loss is ", "lower the learning rate")
    assert not (place / "m").exists()


def test_a_full_disk_is_one_line_and_leaves_no_model(
    hbgl: Command, corpus: Path, place: Path, backbone: Path
) -> None:
    """Files above 20 kB cannot be written: the first checkpoint fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        done = hbgl("train", corpus, "-o", "m", "--backbone", backbone, *QUICK, "-q")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    refused(done, 1, "cannot write", "m.training", "free space")
    assert names(place) == set()


# ---------------------------------------------------------------------- interrupted, going on


@contextmanager
def signalled(number: int, monkeypatch: pytest.MonkeyPatch, *, at_step: int = 7) -> Iterator[None]:
    """A signal arrives when a step of the training is over."""

    def stepped(self: TrainingProgress, event: Stepped) -> None:
        self.step = event.step
        if event.step == at_step:
            os.kill(os.getpid(), number)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingProgress, "stepped", stepped)
        yield


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_how_to_go_on_and_ends_with_the_same_weights(
    number: int,
    code: int,
    hbgl: Command,
    corpus: Path,
    trained: Path,
    place: Path,
    backbone: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five steps an epoch; interrupted after step 7, so the checkpoint is that of step 5."""
    command = ["train", corpus, "-o", "m", "--backbone", backbone, *QUICK]
    with signalled(number, monkeypatch):
        done = hbgl(*command, "-q")
    assert (done.code, done.out) == (code, "")
    assert done.err == (
        "hbgl: interrupted; the checkpoint of step 5 is in m.training; to go on repeat the "
        "command with --resume\n"
    )
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert {path.name for path in place.iterdir()} == {"m.training"}
    assert read_progress(place / "m.training" / "checkpoints" / "last")["step"] == 5
    refused(hbgl(*command), 2, "m.training holds an interrupted run", "--resume")
    refused(
        hbgl(*command, "--resume", "--epochs", "3", "--seed", "2"), 2,
        "--epochs was 4.0, now 3.0; --seed was 0, now 2",
    )  # fmt: skip
    done = hbgl(*command, "--resume")
    assert done.code == 0, done.err
    assert "going on after step 5 of 20" in done.err
    assert "global stage" not in done.err
    assert same_weights(place / "m", trained)
    assert {path.name for path in place.iterdir()} == {"m"}


def test_interrupted_before_the_first_checkpoint(
    hbgl: Command, corpus: Path, place: Path, backbone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left; with --resume, too, the command begins anew."""
    command = ["train", corpus, "-o", "m", "--backbone", backbone, *QUICK, "-q"]
    with signalled(signal.SIGTERM, monkeypatch, at_step=2):
        done = hbgl(*command, "--resume")
    assert done.code == 143
    assert "no checkpoint was written yet" in done.err
    assert names(place) == set()
    assert hbgl(*command, "--resume").code == 0


def test_force_begins_anew_over_an_interrupted_run(
    hbgl: Command,
    corpus: Path,
    place: Path,
    backbone: Path,
    trained: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What somebody else put into the folder of the checkpoints stays."""
    command = ["train", corpus, "-o", "m", "--backbone", backbone, *QUICK, "-q"]
    with signalled(signal.SIGINT, monkeypatch):
        hbgl(*command, "--seed", "5")
    (place / "m.training" / "notes.txt").write_text("mine")
    assert hbgl(*command, "--force").code == 0
    assert same_weights(place / "m", trained)
    assert names(place / "m.training") == {"notes.txt"}


def test_resuming_a_complete_run_says_so(
    hbgl: Command, corpus: Path, trained: Path, model: Path, backbone: Path
) -> None:
    """With and without checkpoints beside the model; nothing is written."""
    options = [corpus, "--backbone", backbone, *QUICK, "--resume"]
    for folder in (model, trained):
        written = (folder / "MANIFEST.json").stat().st_mtime_ns
        done = hbgl("train", *options, "-o", folder)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"{folder}: complete already, trained in ")
        assert (folder / "MANIFEST.json").stat().st_mtime_ns == written
    facts = json.loads(hbgl("train", *options, "-o", model, "--json").out)
    assert set(facts) == {"model", "seconds", "dev"}
    done = hbgl("train", *options, "-o", model, "--learning-rate", "0.5")
    refused(done, 2, "is complete, and from other options: --learning-rate was 0.02, now")
    other = write_corpus(model.parent / "other")
    done = hbgl("train", other, "--backbone", backbone, *QUICK, "--resume", "-o", model)
    refused(done, 2, "is complete, and from other options: the corpus was topics, now other.")
    done = hbgl("train", *options, "-o", model, "--rule", "leaf")
    refused(done, 2, "is complete, and from other options: --rule was paper, now leaf")
    (model / "config.json").write_text("{}")
    refused(hbgl("train", *options, "-o", model), 1, "config.json is truncated")


def test_a_new_run_over_an_old_model_is_resumed_from_its_own_checkpoints(
    hbgl: Command,
    corpus: Path,
    model: Path,
    trained: Path,
    backbone: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ["train", corpus, "-o", model, "--backbone", backbone, *QUICK, "-q", "--seed", "3"]
    with signalled(signal.SIGINT, monkeypatch):
        assert hbgl(*command, "--force").code == 130
    assert same_weights(model, trained)
    assert hbgl(*command, "--resume").code == 0
    assert not same_weights(model, trained)


def test_checkpoints_of_other_data_are_refused(
    hbgl: Command, place: Path, backbone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_corpus(place / "corpus")
    command = ["train", corpus, "-o", "m", "--backbone", backbone, *QUICK, "-q"]
    with signalled(signal.SIGINT, monkeypatch):
        hbgl(*command)
    with (corpus / "train.jsonl").open("a") as file:
        file.write(json.dumps(document("train", 99)) + "\n")
    refused(hbgl(*command, "--resume"), 1, "other data")
    assert (place / "m.training" / "checkpoints" / "last").is_dir()


def test_a_damaged_checkpoint_is_named(
    hbgl: Command, corpus: Path, place: Path, backbone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["train", corpus, "-o", "m", "--backbone", backbone, *QUICK, "-q"]
    with signalled(signal.SIGINT, monkeypatch):
        hbgl(*command)
    weights = place / "m.training" / "checkpoints" / "last" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-7])
    done = hbgl(*command, "--resume")
    refused(done, 1, "no usable checkpoint", "model.safetensors is truncated", "begin anew")


def test_two_runs_into_one_model_are_refused(
    hbgl: Command, corpus: Path, place: Path, backbone: Path
) -> None:
    import fcntl

    (place / "m.training").mkdir()
    lock = os.open(place / "m.training", os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = hbgl("train", corpus, "-o", "m", "--backbone", backbone, *QUICK, "--resume")
    finally:
        os.close(lock)
    refused(done, 2, "another run is writing to m.training")


# ---------------------------------------------------------------------- on a terminal


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Standard error is a terminal of 80 columns; what it shows is collected."""
    master, slave = pty.openpty()
    shown: list[bytes] = []

    def read() -> None:
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # the other end is closed
                return
            shown.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with os.fdopen(slave, "w") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            patch.setenv("TERM", "xterm")
            patch.setenv("COLUMNS", "80")
            yield shown
    finally:
        reader.join()
        os.close(master)


def test_a_terminal_shows_a_bar(
    hbgl: Command, corpus: Path, place: Path, backbone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bar is gone in the end; evaluations stay."""
    with terminal(monkeypatch) as shown:
        done = hbgl("train", corpus, "-o", "m", "--backbone", backbone, *QUICK)
    seen = b"".join(shown).decode()
    assert done.code == 0
    assert "\x1b[" in seen
    assert "20/20 loss" in seen
    assert "docs/s" in seen
    assert seen.count("dev Micro-F1") == 4
    assert "training: step" not in seen


# ---------------------------------------------------------------------- many processes


@pytest.mark.slow
def test_two_processes_from_the_same_command(
    corpus: Path, place: Path, backbone: Path, trained: Path
) -> None:
    """Only the first one prints and writes; a refusal ends both."""
    launcher = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone",
        "-m", "hbgl", "train", str(corpus), "-o", "m", "--backbone", str(backbone), *QUICK,
    ]  # fmt: skip

    def launch(*more: str) -> Answer:
        done = subprocess.run(
            [*launcher, *more], capture_output=True, text=True, timeout=240, check=False
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    done = launch()
    assert done.code == 0, done.err
    assert done.out.count("m: trained in") == 1
    assert done.err.count("dev Micro-F1") == 4
    assert set(verify_folder(place / "m")["files"]) == FILES - {"MANIFEST.json"}
    assert json.loads((place / "m" / "metrics.json").read_text())["processes"] == 2
    one, two = (load_tensors(folder / "model.safetensors") for folder in (trained, place / "m"))
    assert {name: tensor.shape for name, tensor in one.items()} == {
        name: tensor.shape for name, tensor in two.items()
    }
    again = launch("--resume")
    assert again.code == 0, again.err
    assert again.out.count("complete already") == 1
    third = launch()
    assert third.code == 1
    assert third.err.count("hbgl: error: m exists already") == 1


def test_the_settings_in_the_model_are_those_of_the_command(trained: Path) -> None:
    config = json.loads((trained / "config.json").read_text())
    settings = settings_from_json(config["settings"])
    assert settings.training.batch_size == 8
    assert settings.global_stage.steps == 4
    assert "settings" not in inspect.signature(train_module.train).parameters

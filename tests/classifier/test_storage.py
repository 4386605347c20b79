"""Saving, loading, copying, and the hub, whose client is replaced."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import joblib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hbgl import HBGLClassifier, TrainedModel
from hbgl.checkpoint import write_folder
from hbgl.errors import HBGLError, InputError, ModelFolderError, UsageError
from hbgl.hub import CARD, MODEL_FILES, downloaded_model, upload_model
from tests.classifier.estimators import LABELS, MATRIX, TEXTS, estimator, fitted
from tests.classifier.test_estimator import estimator_with
from tests.small_corpus import TAXONOMY


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fitted().save(tmp_path / "model", license="mit")
    return tmp_path / "model"


def rewrite(folder: Path, name: str, content: bytes | None) -> None:
    """Replace or leave out a file, with a manifest that fits."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    del files["MANIFEST.json"], files[name]
    write_folder(folder, {**files, **({} if content is None else {name: content})})


# ---------------------------------------------------------------------- folders


def test_a_loaded_estimator_is_the_same(folder: Path) -> None:
    """Parameters, columns, answers; and the folder is one that ``hbgl predict`` reads."""
    again = HBGLClassifier.load(folder, device="cpu")
    expected = {**fitted().get_params(), "taxonomy": TAXONOMY}
    assert again.get_params() == expected
    assert again.classes_.tolist() == list(TAXONOMY.labels)
    assert np.array_equal(again.predict_proba(TEXTS), fitted().predict_proba(TEXTS))
    assert again.dev_scores_ == fitted().dev_scores_
    assert TrainedModel.load(folder).predict(TEXTS) == fitted().model_.predict(TEXTS)
    assert {path.name for path in folder.iterdir()} == {*MODEL_FILES, CARD}


def test_the_folder_decides_as_the_estimator_did(tmp_path: Path) -> None:
    """leaf and one path at most, set after fitting: by whatever door."""
    model = estimator_with(rule="leaf", most_paths=1, threshold=np.array([0.5, 0.4, 0.3]))
    model.save(tmp_path / "model")
    plain = TrainedModel.load(tmp_path / "model")
    assert (plain.decision.rule, plain.decision.most_paths) == ("leaf", 1)
    again = HBGLClassifier.load(tmp_path / "model")
    assert (again.rule, again.most_paths, again.threshold) == ("leaf", 1, [0.5, 0.4, 0.3])
    for found in ([one.paths for one in plain.predict(TEXTS)], again.predict_paths(TEXTS)):
        assert [list(paths) for paths in found] == list(model.predict_paths(TEXTS))
    assert fitted().model_.decision.rule == "backoff"


def test_scores_leave_with_the_decision_that_they_are_of(tmp_path: Path) -> None:
    """Kept under the rule leaf: in the card of that decision, and of no other."""
    model = copy.deepcopy(fitted())
    model.set_params(rule="leaf").evaluate(TEXTS, LABELS, keep_as="test")
    for name, changed, has_test, has_dev in (
        ("leaf", {}, True, False),
        ("own", {"rule": None}, False, True),
        ("paper", {"rule": "paper", "threshold": 0.5}, False, False),
    ):
        model.set_params(**changed).save(tmp_path / name)
        metrics = TrainedModel.load(tmp_path / name).metrics
        assert ("test" in metrics, "dev_scores" in metrics) == (has_test, has_dev)
        assert bool(metrics["tuning"]["after"]) == has_dev
        assert metrics["tuning"].get("set_by_hand", False) != has_dev
        card = (tmp_path / name / CARD).read_text()
        assert ("| test |" in card, "as tuned on these" in card) == (has_test, has_dev)
        assert ("set by hand since" in card) != has_dev
        assert "| dev, each level on its own over 0.5 |" in card


def test_columns_come_back(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    y = pandas.DataFrame(MATRIX[:, [7, 2]], columns=["plants > trees > oaks", "cats"])
    model = estimator().fit(TEXTS, y)
    model.save(tmp_path / "model")
    again = HBGLClassifier.load(tmp_path / "model")
    assert again.classes_.tolist() == list(y.columns)
    assert np.array_equal(again.predict(TEXTS), model.predict(TEXTS))
    assert again.score(TEXTS, MATRIX[:, [7, 2]]) == model.score(TEXTS, y)


def test_a_folder_of_the_command_line_is_read(tmp_path: Path) -> None:
    """No estimator.json: the parameters are those that lead to the model's settings."""
    fitted().model_.save(tmp_path / "model")
    again = HBGLClassifier.load(tmp_path / "model")
    assert (again.batch_size, again.epochs, again.backbone) == (8, 1.0, fitted().backbone)
    assert again.settings == {"global_stage.steps": 0, "training.precision": "float32"}
    assert np.array_equal(again.predict(TEXTS), fitted().predict(TEXTS))
    refitted = HBGLClassifier(**again.get_params()).fit(TEXTS, LABELS)
    assert np.array_equal(refitted.predict_proba(TEXTS), fitted().predict_proba(TEXTS))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"format": 2, "parameters": {}, "columns": null}',
        b'{"format": 1, "parameters": {"novelty": 1}, "columns": null}',
        b'{"format": 1, "parameters": 3, "columns": null}',
    ],
)
def test_a_foreign_description_is_refused(content: bytes, folder: Path) -> None:
    rewrite(folder, "estimator.json", content)
    with pytest.raises(ModelFolderError, match=r"estimator\.json cannot be used"):
        HBGLClassifier.load(folder)


def test_a_damaged_description_is_named(folder: Path) -> None:
    (folder / "estimator.json").write_bytes(b"{}")
    with pytest.raises(ModelFolderError, match=r"estimator\.json is truncated"):
        HBGLClassifier.load(folder)
    (folder / "estimator.json").unlink()
    with pytest.raises(ModelFolderError, match=r"estimator\.json is missing"):
        HBGLClassifier.load(folder)


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        estimator().save(tmp_path / "model")
    with pytest.raises(InputError, match="cannot be written as JSON"):
        estimator_with(scoring=object()).save(tmp_path / "model")
    with pytest.raises(UsageError, match="'My own' is no licence identifier"):
        fitted().save(tmp_path / "model", license="My own")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- bytes


@pytest.mark.parametrize("way", ["joblib", "deepcopy"])
def test_a_fitted_estimator_travels_as_its_folder(way: str, tmp_path: Path) -> None:
    model = estimator_with(rule="leaf")
    if way == "deepcopy":
        again = copy.deepcopy(model)
    else:
        joblib.dump(model, tmp_path / "model.joblib")
        again = joblib.load(tmp_path / "model.joblib")
    assert again.rule == "leaf"
    assert again.model_ is not model.model_
    assert np.array_equal(again.predict(TEXTS), model.predict(TEXTS))
    again.set_params(rule=None)
    assert np.array_equal(again.predict(TEXTS), fitted().predict(TEXTS))


def test_the_state_holds_no_tensors_but_checked_files() -> None:
    """A flipped bit on the way is found."""
    state = fitted().__getstate__()
    assert all(isinstance(content, bytes) for content in state["model_"].values())
    weights = bytearray(state["model_"]["model.safetensors"])
    weights[-1] ^= 1
    state["model_"]["model.safetensors"] = bytes(weights)
    with pytest.raises(ModelFolderError, match=r"model\.safetensors is damaged"):
        HBGLClassifier.__new__(HBGLClassifier).__setstate__(state)


# ---------------------------------------------------------------------- the hub


class Hub:
    """A hub in a folder, with the calls that are used; snapshots are links, as in the cache."""

    def __init__(self, place: Path, patch: pytest.MonkeyPatch) -> None:
        self.repository, self.snapshot = place / "repository", place / "snapshot"
        self.calls: list[dict[str, Any]] = []
        hub = self

        class Api:
            def __init__(self, token: str | None = None) -> None:
                hub.calls.append({"token": token})

            def create_repo(self, repo_id: str, **options: Any) -> None:
                hub.calls.append({"repo_id": repo_id, **options})

            def upload_folder(self, *, folder_path: Path, **options: Any) -> Any:
                hub.calls.append(options)
                shutil.copytree(folder_path, hub.repository)
                (hub.repository / ".gitattributes").write_text("")
                return SimpleNamespace(commit_url="https://hub/commit/1")

        patch.setattr(huggingface_hub, "HfApi", Api)
        patch.setattr(huggingface_hub, "snapshot_download", self.download)

    def download(self, repo_id: str, *, allow_patterns: list[str], **options: Any) -> str:
        self.calls.append({"repo_id": repo_id, **options})
        self.snapshot.mkdir()
        for name in allow_patterns:
            if (self.repository / name).exists():
                (self.snapshot / name).symlink_to(self.repository / name)
        return str(self.snapshot)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    return Hub(tmp_path, monkeypatch)


def test_up_to_the_hub_and_down_again(hub: Hub) -> None:
    """The card was edited there, which no answer depends on."""
    address = fitted().push_to_hub("me/model", license="mit", private=True, token="secret")
    assert address == "https://hub/commit/1"
    assert hub.calls[0] == {"token": "secret"}
    assert hub.calls[1] == {"repo_id": "me/model", "private": True, "exist_ok": True}
    assert set(hub.calls[2]["allow_patterns"]) == {*MODEL_FILES, CARD}
    card = (hub.repository / CARD).read_text(encoding="utf-8")
    assert "license: mit" in card
    assert 'HBGLClassifier.from_pretrained("me/model")' in card
    (hub.repository / CARD).write_text("my own words")
    (hub.repository / "code.py").write_text("raise SystemExit")
    again = HBGLClassifier.from_pretrained("me/model", revision="v1", device="cpu")
    assert hub.calls[-1]["revision"] == "v1"
    assert np.array_equal(again.predict_proba(TEXTS), fitted().predict_proba(TEXTS))
    assert not (hub.snapshot / "code.py").exists()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda folder: (folder / "config.json").write_bytes(b"{}"), r"config\.json is truncated"),
        (lambda folder: (folder / "taxonomy.tsv").unlink(), r"taxonomy\.tsv is missing"),
        (lambda folder: (folder / "MANIFEST.json").unlink(), r"no MANIFEST\.json"),
        (lambda folder: (folder / "MANIFEST.json").write_bytes(b"no"), "it is not JSON"),
    ],
)
def test_what_comes_down_is_checked(
    change: Callable[[Path], None], named: str, hub: Hub, folder: Path
) -> None:
    upload_model(folder, "me/model")
    change(hub.repository)
    with pytest.raises(ModelFolderError, match=named):
        HBGLClassifier.from_pretrained("me/model")


def test_a_hub_that_refuses_is_one_clear_line(
    hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no route\n  to the host")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    monkeypatch.setattr(huggingface_hub, "HfApi", refuse)
    expected = r"me/model is no model folder here, and .* \(OSError: no route to the host\); check"
    with pytest.raises(HBGLError, match=expected), downloaded_model("me/model"):
        pass
    with pytest.raises(HBGLError, match=r"cannot be uploaded to me/model \(OSError: no route to"):
        fitted().push_to_hub("me/model")


def test_a_damaged_folder_is_not_uploaded(hub: Hub, folder: Path) -> None:
    (folder / "taxonomy.tsv").write_text("Root\ta\n")
    with pytest.raises(ModelFolderError, match=r"taxonomy\.tsv is truncated"):
        upload_model(folder, "me/model")
    assert hub.calls == []


def test_a_folder_comes_before_the_hub(hub: Hub, folder: Path) -> None:
    assert HBGLClassifier.from_pretrained(folder).classes_.tolist() == list(TAXONOMY.labels)
    assert HBGLClassifier.from_pretrained(str(folder)).epochs == 1
    with pytest.raises(UsageError, match="is a folder and has no revision 'v1'"):
        HBGLClassifier.from_pretrained(folder, revision="v1")
    for absent in (folder / "not", "./not"):
        with pytest.raises(ModelFolderError, match="does not exist"):
            HBGLClassifier.from_pretrained(absent)
    assert hub.calls == []


def test_the_description_is_readable(folder: Path) -> None:
    content = json.loads((folder / "estimator.json").read_bytes())
    assert (content["format"], content["columns"]) == (1, None)
    assert content["parameters"]["settings"]["global_stage.steps"] == 0
    assert "taxonomy" not in content["parameters"]

"""Experiment files and the paper's tables as plans: what they mean, and all faults at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hbgl.errors import UsageError
from hbgl.experiments.experiment_file import read_experiment
from hbgl.experiments.identity import differences
from hbgl.experiments.paper_tables import TABLES, Budget, table_plan
from hbgl.experiments.plan import Plan, Run
from hbgl.experiments.plan_reader import read_plan
from hbgl.settings import PRESETS

ROOT = Path(__file__).resolve().parents[2]
FILE = """
output = "runs/mine"
corpora = ["clinc150", "{corpus}"]
seeds = [3, 1]
baseline = "flat"
settings.training.epochs = 4
settings.training.warmup = 0.2
per_corpus.wos.training.epochs = 8

[methods.best]
preset = "paper"
settings.training.epochs = 5
per_corpus.clinc150.training.epochs = 6

[methods.flat]
settings.model.method = "multilabel"
settings.training.evaluate_every = "none"
grid."training.label_learning_rate" = [2e-4, 1]
grid.training.epochs = [1, 2]

[methods.words]
kind = "known-words"
options.C = 1
per_corpus.wos.C = 2
"""


@pytest.fixture
def file(tmp_path: Path, corpus: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(FILE.format(corpus=corpus))
    return path


def test_what_a_file_means(file: Path, yardsticks: list[Any], corpus: Path) -> None:
    """The later counts: preset, all methods, the method, the corpus, the method on the corpus."""
    plan = read_experiment(file)
    assert (plan.title, plan.output) == ("mine", Path("runs/mine"))
    assert plan.corpora == {"clinc150": "clinc150", "wos": str(corpus)}
    best, flat, words = plan.methods
    epochs = {name: one.training.epochs for name, one in best.settings.items()}
    assert epochs == {"clinc150": 6, "wos": 8}
    assert best.settings["wos"].training.warmup == 0.2
    assert best.settings["wos"].training.learning_rate == PRESETS["paper"].training.learning_rate
    assert (best.baseline, flat.baseline) == ("flat", None)
    assert flat.settings["wos"].training.evaluate_every is None
    assert flat.grid["training.label_learning_rate"] == [2e-4, 1.0]
    assert words.options == {"clinc150": {"C": 1}, "wos": {"C": 2}}


def test_runs_go_seed_by_seed(file: Path, yardsticks: list[Any]) -> None:
    runs = list(read_experiment(file).runs())
    assert len(runs) == 2 * 2 * 3
    assert [run.name for run in runs[:4]] == [
        "clinc150/best/seed-3", "clinc150/flat/seed-3", "clinc150/words/seed-3", "wos/best/seed-3",
    ]  # fmt: skip
    flat = runs[1]
    assert len(flat.grid) == 4
    assert flat.grid_seed == 3
    assert flat.settings is not None
    assert flat.settings.training.seed == 3
    for run in runs:
        assert Run.from_json(run.to_json()) == run


def test_a_grid_may_differ_by_corpus(
    plan: Callable[..., Plan], corpus: Path, tmp_path: Path
) -> None:
    """A field of the corpus's grid takes the place of the method's, the other fields stay."""
    (tmp_path / "copy").mkdir()
    for file in corpus.iterdir():
        (tmp_path / "copy" / file.name).write_bytes(file.read_bytes())
    own = {"grid": {"training": {"epochs": [2, 4]}}, "training.clip": 0.5}
    flat = {
        "grid": {"training.epochs": [1], "training.label_learning_rate": [0.1, 0.2]},
        "per_corpus": {"copy": own},
    }
    without = plan(methods={"flat": {"grid": flat["grid"]}}, baseline="flat")
    found = plan(
        corpora=[str(corpus), str(tmp_path / "copy")], methods={"flat": flat}, baseline="flat"
    )
    runs = {run.corpus: run for run in found.runs() if run.seed == 0}
    assert runs["wos"].configuration() == next(without.runs()).configuration()
    points = [tuple(point.values()) for point in runs["copy"].grid]
    assert points == [(2.0, 0.1), (2.0, 0.2), (4.0, 0.1), (4.0, 0.2)]
    assert runs["copy"].settings is not None
    assert runs["copy"].settings.training.clip == 0.5
    # A corpus alone may have a grid.
    alone = plan(
        methods={"flat": {"per_corpus": {"wos": {"grid": {"training.epochs": [1, 2]}}}}},
        baseline="flat",
    )
    assert [len(run.grid) for run in alone.runs()] == [2, 2]
    with pytest.raises(UsageError, match=r"method flat: wos: grid training\.clip must be a list"):
        plan(methods={"flat": {"per_corpus": {"wos": {"grid": {"training.clip": 1.0}}}}})


def test_an_override_removes_a_corpus_grid(tmp_path: Path, corpus: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        f'output = "o"\ncorpora = ["{corpus}"]\n[methods.flat]\n'
        'per_corpus.wos.grid."training.epochs" = [1, 2]\n'
    )
    assert len(next(read_experiment(path).runs()).grid) == 2
    assert next(read_experiment(path, overrides={"training.steps": 3}).runs()).grid == ()


def test_options_come_above_the_file(file: Path, yardsticks: list[Any], corpus: Path) -> None:
    plan = read_experiment(
        file,
        output=Path("there"),
        corpora=[str(corpus)],
        seeds=[7],
        overrides={"training.steps": 3, "backbone": "tiny"},
    )
    assert (plan.output, plan.seeds, list(plan.corpora)) == (Path("there"), (7,), ["wos"])
    for method in plan.methods[:2]:
        settings = method.settings["wos"]
        assert (settings.training.steps, settings.backbone) == (3, "tiny")
    assert set(plan.methods[1].grid) == {"training.label_learning_rate"}


def test_all_faults_at_once(tmp_path: Path) -> None:
    text = """
    corpora = ["nowhere"]
    seeds = [1, 1]
    colour = "red"
    baseline = "flatt"
    settings.training.epoch = 3
    [methods.one]
    preset = "papers"
    [methods."two words"]
    settings.training.batch_size = "many"
    settings.training.seed = 3
    published = "HBGLL"
    options.C = 3
    grid.decision.tune = ["none"]
    grid.training.clip = 1.0
    [methods.three]
    kind = "svm"
    settings.training.epochs = 3
    [methods.four]
    settings.training.epochs = -1
    settings.model.head = "dots"
    """
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_experiment(path)
    words = str(caught.value)
    assert words.startswith(f"{path} cannot be run; correct:\n")
    for fault in (
        "corpus nowhere: 'nowhere' is neither a folder",
        "seeds [1, 1] name one twice",
        "colour at the top means nothing",
        "method one: its baseline 'flatt' is none of the methods",
        "there is no setting training.epoch; did you mean training.epochs?",
        "method one: no preset 'papers'",
        "method two words: a name has letters",
        "method two words: training.batch_size must be a whole number, not 'many'",
        "method two words: training.seed is set by seeds",
        "method two words: published must be one of HBGL",
        "method two words: options are of yardsticks",
        "method two words: decision.tune cannot be chosen by a grid",
        "method two words: grid training.clip must be a list",
        "method three: no kind 'svm'",
        "method three: settings is not for yardsticks",
        "method four: settings that cannot be used: epochs must be positive",
        "method four: model.head must be one of dot, transform, not 'dots'",
        "output must name a folder",
    ):
        assert fault in words, fault
    assert len(words.splitlines()) == len(set(words.splitlines()))


@pytest.mark.parametrize("text", ["output =", "\x00"])
def test_no_toml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="is no TOML"):
        read_experiment(path)


def test_a_corpus_without_dev_is_refused(
    plan: Callable[..., Plan], corpus: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("taxonomy.tsv", "train.jsonl"):
        (bare / name).write_bytes((corpus / name).read_bytes())
    with pytest.raises(UsageError, match="has no dev and no test"):
        plan(corpora=[str(bare)])
    with pytest.raises(UsageError, match="two corpora are called wos"):
        plan(corpora=[str(corpus), f"{corpus}/"])


def test_without_yardsticks_their_kinds_are_unknown(plan: Callable[..., Plan]) -> None:
    with pytest.raises(UsageError, match="method a: no kind 'known-words'"):
        plan(methods={"a": {"kind": "known-words"}}, baseline="a")


# ------------------------------------------------------------------ the paper's tables


def nested(table: str, budget: str = "epochs=2", **options: Any) -> dict[str, Any]:
    return table_plan(
        table,
        output=Path("out"),
        corpora=["clinc150"],
        seeds=[0],
        budget=Budget.parse(budget),
        backbone="minilm",
        **options,
    )


def test_rows_of_the_tables() -> None:
    assert list(nested("table2")["methods"]) == [
        "default", "paper", "authors", "flat", "trainer-flat", "hiclass-lcpn", "tfidf-svm",
    ]  # fmt: skip
    table3 = nested("table3")
    vectors = [one["settings"]["model.label_vectors"] for one in table3["methods"].values()]
    assert vectors == ["random", "name", "gat", "global"]
    table4 = nested("table4")
    assert table4["methods"]["seq2seq"]["settings"]["model.method"] == "seq2seq"
    assert table4["baseline"] == "multilabel"
    assert set(TABLES) == {"table1", "table2", "table3", "table4"}


def test_the_flat_classifier_has_its_own_tuning() -> None:
    flat = nested("table4")["methods"]["multilabel"]
    assert flat["settings"]["model.method"] == "multilabel"
    assert flat["grid"]["training.epochs"] == [2.0, 4.0]
    assert len(flat["grid"]["training.label_learning_rate"]) > 1
    assert "grid" not in nested("table4", "quick")["methods"]["multilabel"]


def test_a_budget_changes_the_length_of_every_preset() -> None:
    """The authors' warm-up of 500 of 96,000 steps stays that share; dev comes after each epoch."""
    plan = read_plan(nested("table2", methods=["default", "paper", "authors"]), "table2")
    for method in plan.methods:
        settings = method.settings["clinc150"]
        assert (settings.training.epochs, settings.training.steps) == (2, None)
        assert settings.training.evaluate_every is None
        assert settings.backbone == "minilm"
    authors = plan.methods[2].settings["clinc150"]
    assert authors.training.warmup == pytest.approx(500 / 96_000, abs=1e-6)
    assert authors.model.head == "transform"
    full = read_plan(nested("table2", "full", methods=["authors"]), "table2")
    assert full.methods[0].settings["clinc150"].training.steps == 96_000


@pytest.mark.parametrize("text", ["slow", "epochs=0", "epochs=x", "epochs", "steps=3"])
def test_budgets_that_mean_nothing(text: str) -> None:
    with pytest.raises(UsageError, match="--budget takes quick, full or epochs=N"):
        Budget.parse(text)


def test_some_rows_of_a_table() -> None:
    plan = nested("table4", methods=["local"])
    assert list(plan["methods"]) == ["local"]
    assert "baseline" not in plan
    with pytest.raises(UsageError, match="table4 has no x; there are multilabel, seq2seq, local"):
        nested("table4", methods=["x"])


# ------------------------------------------------------------------ the paper's own settings

CONFIGS = sorted((ROOT / "configs" / "paper").glob("*.toml"))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_the_papers_settings_load(config: Path, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / config.stem
    folder.symlink_to(corpus, target_is_directory=True)
    renamed = tmp_path / "copies" / config.stem
    renamed.parent.mkdir()
    renamed.mkdir()
    for file in corpus.iterdir():
        (renamed / file.name).write_bytes(file.read_bytes())
    plan = read_experiment(config, corpora=[str(renamed)])
    assert len(plan.seeds) >= 3
    assert [one.name for one in plan.methods] == ["paper", "authors"]
    lengths = {"wos": 509, "nyt": 472, "rcv1": 492}
    for method in plan.methods:
        settings = method.settings[config.stem]
        assert settings.backbone == "bert-base-uncased"
        assert settings.model.max_length == lengths[config.stem]
        assert settings.training.batch_size == 12
        assert settings.training.learning_rate == 3e-5
        assert method.published == "HBGL"
    authors = plan.methods[1].settings[config.stem]
    assert authors.training.steps == 96_000
    is_rcv1 = config.stem == "rcv1"
    assert authors.global_stage.mask_ratio_end == (0.45 if is_rcv1 else 0.15)
    assert authors.training.evaluate_every == (3000 if is_rcv1 else 1500)
    text = config.read_text()
    assert f"hbgl experiment configs/paper/{config.stem}.toml" in text
    assert re.search(r"87\.36 / 82\.00|80\.47 / 70\.19|87\.23 / 71\.07", text)


def test_there_is_a_file_for_each_corpus() -> None:
    assert [config.stem for config in CONFIGS] == ["nyt", "rcv1", "wos"]


def test_a_setting_that_is_new_counts_as_its_default() -> None:
    now = {"settings": PRESETS["default"].to_json()}
    then = {"settings": {**now["settings"], "model": dict(now["settings"]["model"])}}
    del then["settings"]["model"]["label_bias"]
    assert differences(then, now) == []
    then["settings"]["model"]["label_bias"] = False
    assert differences(then, now) == ["model.label_bias was False, now True"]

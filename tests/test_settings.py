"""Presets, overrides, contradictions, and the way through JSON."""

from __future__ import annotations

import dataclasses
import json

import pytest

from hbgl.errors import UsageError
from hbgl.settings import (
    PRESETS,
    GlobalStage,
    ModelSettings,
    Settings,
    TrainingSettings,
    preset,
    settings_from_json,
    with_overrides,
)

# The points where the paper's text and its authors' code differ, and what both share. Each line:
# field, what the paper says, what its authors ran.
TABLE: dict[str, list[tuple[str, object, object]]] = {
    "shared": [
        ("backbone", "bert-base-uncased", "bert-base-uncased"),
        ("model.method", "hbgl", "hbgl"),
        ("model.label_vectors", "global", "global"),
        ("training.attention_dropout", 0.1, 0.1),  # BERT's own, in both
        ("training.hidden_dropout", None, None),
    ],
    "initial label vector": [("model.name_vector", "mean", "sum")],
    "global mask": [("global_stage.attention", "self", "root")],
    "global stage segment": [("global_stage.segment", 1, 0)],
    "mask ratio": [  # on RCV1 the authors' rose, too
        ("global_stage.mask_ratio_start", 0.15, 0.15),
        ("global_stage.mask_ratio_end", 0.45, 0.15),
    ],
    "head before the dot product": [
        ("model.head", "dot", "transform"),
        ("global_stage.head", "dot", "transform"),
        ("model.label_bias", False, True),
    ],
    "teacher forcing": [("model.teacher_masking", 0.0, 0.5)],
    "end of the hierarchy": [("model.end_of_hierarchy", "empty-is-sep", "sep-class")],
    "loss columns": [
        ("model.loss_columns", "level", "all"),
        ("model.loss_reduction", "sum", "mean"),
    ],
    "gradient through input u": [("model.input_gradient", True, False)],
    "optimiser": [
        ("training.optimizer", "adam", "adamw"),
        ("training.learning_rate", 3e-5, 3e-5),
        ("training.label_learning_rate", None, None),
        ("training.batch_size", 12, 12),
        ("training.schedule", "constant", "linear"),
        ("training.warmup", 0.0, 500),
        ("training.weight_decay", 0.0, 0.01),
        ("training.clip", 0.0, 1.0),
        ("training.steps", None, 96_000),
        ("training.evaluate_every", None, 1_500),  # 3,000 on RCV1
    ],
    "text length": [  # in tokens 509, 472, 492, by corpus
        ("model.max_length", None, None),
        ("model.pad_to_max", False, True),
    ],
    "checkpoint": [  # they kept both apart: micro_f1 is the other one
        ("training.metric", "macro_f1", "macro_f1"),
    ],
    "end of training": [  # theirs was not early: one of the slips that no preset copies
        ("training.patience", 6, 10),
        ("training.epochs", 100.0, 4.0),
    ],
}
ROWS = [row for rows in TABLE.values() for row in rows]


def value_of(settings: Settings, path: str) -> object:
    found: object = settings
    for name in path.split("."):
        found = getattr(found, name)
    return found


@pytest.mark.parametrize(("path", "paper", "authors"), ROWS, ids=[row[0] for row in ROWS])
def test_presets_row_by_row(path: str, paper: object, authors: object) -> None:
    assert value_of(PRESETS["paper"], path) == paper
    assert value_of(PRESETS["authors"], path) == authors


def test_every_point_of_the_table_can_be_switched_on_its_own() -> None:
    """From ``paper`` to ``authors`` one field at a time, where the two differ."""
    together = {"model.end_of_hierarchy": {"model.loss_columns": "all"}}
    for path, paper, authors in ROWS:
        if paper != authors:
            overrides = {path: authors, **together.get(path, {})}
            changed = with_overrides(PRESETS["paper"], overrides)
            assert value_of(changed, path) == authors
            assert with_overrides(changed, {one: value_of(PRESETS["paper"], one)
                                            for one in overrides}) == PRESETS["paper"]  # fmt: skip


def test_the_table_names_every_field_in_which_the_presets_differ() -> None:
    named = {path for path, _, _ in ROWS}
    paper, authors = PRESETS["paper"].to_json(), PRESETS["authors"].to_json()
    differing = {
        f"{part}.{field}"
        for part in paper
        if isinstance(paper[part], dict)
        for field in paper[part]
        if paper[part][field] != authors[part][field]
    }
    assert differing <= named
    assert differing == {path for path, one, other in ROWS if one != other}


def test_epochs_take_the_place_of_a_presets_steps() -> None:
    assert with_overrides(PRESETS["authors"], {"training.epochs": 2.0}).training.steps is None
    both = with_overrides(PRESETS["authors"], {"training.epochs": 2.0, "training.steps": 7})
    assert both.training.steps == 7
    assert with_overrides(PRESETS["authors"], {"training.clip": 2.0}).training.steps == 96_000


def test_unknown_presets_are_refused_with_those_there_are() -> None:
    assert preset("paper") is PRESETS["paper"]
    with pytest.raises(UsageError, match="no preset 'papier'; there are: default, paper, authors"):
        preset("papier")


BEYOND = {
    "model.level_input": "chosen",
    "model.own_level_inputs": 0.0,
    "model.description_weight": 0.0,
    "model.parent_weight": 0.0,
    "model.loss": "bce",
    "training.weight_average": 0.0,
    "training.layer_decay": 1.0,
}


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_what_is_beyond_the_paper_is_off_unless_asked_for(name: str) -> None:
    assert {path: value_of(PRESETS[name], path) for path in BEYOND} == BEYOND


def test_single_fields_are_replaced() -> None:
    """One switch of the authors' preset turned back, everything else stays."""
    changed = with_overrides(
        PRESETS["authors"],
        {"backbone": "minilm", "model.name_vector": "mean", "training.epochs": 2.0},
    )
    assert changed.backbone == "minilm"
    assert changed.model == dataclasses.replace(PRESETS["authors"].model, name_vector="mean")
    expected = dataclasses.replace(PRESETS["authors"].training, epochs=2.0, steps=None)
    assert changed.training == expected
    assert changed.global_stage == PRESETS["authors"].global_stage
    assert with_overrides(changed, {}) == changed


def test_overrides_are_checked_together() -> None:
    """Each of the two alone contradicts the preset, both together are fine."""
    both = {"model.end_of_hierarchy": "sep-class", "model.loss_columns": "all"}
    assert with_overrides(PRESETS["paper"], both).model.end_of_hierarchy == "sep-class"
    with pytest.raises(UsageError, match="'sep-class' needs loss columns 'all'"):
        with_overrides(PRESETS["paper"], {"model.end_of_hierarchy": "sep-class"})


def test_all_contradictions_come_at_once() -> None:
    model = ModelSettings(
        method="multilabel",
        teacher_masking=1.5,
        max_length=2,
        end_of_hierarchy="sep-class",
        label_vectors="random",
        name_vector="sum",
        description_weight=1.5,
        parent_weight=-0.5,
        level_input="expected",
        level_input_floor=1.0,
        own_level_inputs=2.0,
        loss_columns="children",
        asymmetric_gamma=-1.0,
        asymmetric_margin=1.0,
        balanced_beta=1.0,
        most_generated=0,
    )
    stage = GlobalStage(
        steps=-1,
        learning_rate=0.0,
        masks_per_step=0,
        mask_ratio_start=0.5,
        segment=2,
        gat_layers=0,
        gat_heads=-1,
        gat_trains="network",
        gat_output="vectors",
    )
    training = TrainingSettings(
        epochs=0.0,
        batch_size=0,
        token_budget=-5,
        learning_rate=-1.0,
        label_learning_rate=-1.0,
        weight_decay=-0.1,
        warmup=-1.0,
        clip=-1.0,
        attention_dropout=1.0,
        hidden_dropout=-0.5,
        evaluate_every=-1,
        patience=-1,
        save_every=-1,
        steps=-1,
        seed=-1,
        layer_decay=0.0,
        weight_average=1.0,
    )
    with pytest.raises(UsageError) as refused:
        Settings(model=model, global_stage=stage, training=training)
    message = str(refused.value)
    for part in (
        "teacher masking must lie in 0..1, not 1.5",
        "max length must be 3 tokens or more, not 2",
        "'sep-class' needs loss columns 'all'",
        "most generated must be 1 label or more, not 0",
        "gat layers must be 1 or more, not 0",
        "gat heads must be 1 or more, not -1",
        "gat output 'vectors' keeps nothing of what gat trains 'network' learns",
        "steps must be 0 or more, not -1",
        "masks per step",
        "0 < start <= end < 1, not 0.5 and 0.45",
        "segment must be 0 or 1, not 2",
        "epochs must be positive, not 0.0",
        "batch size must be positive, not 0",
        "token budget must be positive, not -5",
        "label learning rate must be positive, not -1.0",
        "weight decay must be 0 or more, not -0.1",
        "warm-up must be 0 or more, not -1.0",
        "clip must be 0 or more, not -1.0",
        "attention dropout must lie in 0..1, not 1.0",
        "hidden dropout must lie in 0..1, not -0.5",
        "evaluate every must be positive, not -1",
        "patience must be positive, not -1",
        "save every must be positive, not -1",
        "steps must be positive, not -1",
        f"seed must lie in 0..{2**63 - 1}, not -1",
        "description weight must lie in 0..1, not 1.5",
        "parent weight must lie in 0..1, not -0.5",
        "description weight and parent weight need label vectors from names",
        "description weight needs name vector 'mean'",
        "own level inputs must lie in 0..1, not 2.0",
        "level input 'expected' needs end of hierarchy 'empty-is-sep'",
        "level input floor must be 0 or more and below 1, not 1.0",
        "asymmetric gamma must be 0 or more, not -1.0",
        "asymmetric margin must be 0 or more and below 1, not 1.0",
        "balanced beta must be 0 or more and below 1, not 1.0",
        "loss columns 'children' are of the method hbgl",
        "layer decay must be above 0 and at most 1, not 0.0",
        "weight average must be 0 or more and below 1, not 1.0",
    ):
        assert part in message
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "path",
    [f"{part}.{field.name}"
     for part, kind in (("model", ModelSettings), ("global_stage", GlobalStage),
                        ("training", TrainingSettings))
     for field in dataclasses.fields(kind) if "float" in str(field.type)],
)  # fmt: skip
def test_numbers_are_finite(path: str, value: float) -> None:
    """``--learning-rate nan`` is refused here, not by torch after the global stage."""
    with pytest.raises(UsageError, match=r"settings that cannot be used: .*not .*(nan|inf)"):
        with_overrides(Settings(), {path: value})


@pytest.mark.parametrize(
    "name",
    ["steps", "label_learning_rate", "evaluate_every", "patience", "save_every", "batch_size"],
)
def test_zero_is_not_taken_for_not_given(name: str) -> None:
    """``--patience 0`` would end a run before its first step."""
    with pytest.raises(UsageError, match=f"{name.replace('_', ' ')} must be positive, not 0"):
        with_overrides(Settings(), {f"training.{name}": 0})


@pytest.mark.parametrize("seed", [0, 2**63 - 1])
def test_seeds_that_every_library_takes(seed: int) -> None:
    assert with_overrides(Settings(), {"training.seed": seed}).training.seed == seed
    with pytest.raises(UsageError, match=f"seed must lie in 0..{2**63 - 1}, not {2**63}"):
        with_overrides(Settings(), {"training.seed": 2**63})


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("model.method", "hbgl, multilabel, seq2seq"),
        ("model.label_vectors", "random, name, gat, global"),
        ("model.name_vector", "mean, sum"),
        ("model.head", "dot, transform"),
        ("model.end_of_hierarchy", "empty-is-sep, sep-class"),
        ("model.loss_columns", "level, all, children"),
        ("model.level_input", "chosen, expected"),
        ("model.loss", "bce, asymmetric, balanced"),
        ("model.loss_reduction", "sum, mean"),
        ("global_stage.attention", "self, root"),
        ("global_stage.gat_trains", "network, vectors, both"),
        ("global_stage.gat_output", "encoded, vectors"),
        ("training.optimizer", "adam, adamw"),
        ("training.schedule", "linear, constant"),
        ("training.precision", "auto, float32, bfloat16"),
        ("training.metric", "micro_f1, macro_f1"),
    ],
)
def test_other_values_of_a_choice_are_refused(path: str, allowed: str) -> None:
    """A file or a program may hold any string: it is refused with the field and its values."""
    name = path.split(".")[1].replace("_", " ")
    with pytest.raises(UsageError, match=f"{name} must be one of {allowed}.*, not 'other'"):
        with_overrides(Settings(), {path: "other"})


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_settings_go_through_json_unchanged(name: str) -> None:
    settings = with_overrides(PRESETS[name], {"model.max_length": 100, "training.patience": 3})
    assert settings_from_json(json.loads(json.dumps(settings.to_json()))) == settings


def test_json_of_another_version_is_refused() -> None:
    unknown = Settings().to_json()
    unknown["model"]["novelty"] = 1
    with pytest.raises(UsageError, match="novelty"):
        settings_from_json(unknown)
    missing = Settings().to_json()
    del missing["training"]
    with pytest.raises(UsageError, match="training"):
        settings_from_json(missing)


def test_every_field_has_its_sentence() -> None:
    for part in (ModelSettings, GlobalStage, TrainingSettings):
        for field in dataclasses.fields(part):
            assert field.metadata["help"].endswith((".", ").")), field.name

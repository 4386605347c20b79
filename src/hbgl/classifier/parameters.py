"""Constructor parameters -> settings of a run and the decision; every fault is collected."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import numpy as np

from hbgl.decisions import RULES, Decision
from hbgl.errors import HBGLError
from hbgl.settings import PRESETS, Settings, with_overrides
from hbgl.taxonomy import Taxonomy

__all__ = [
    "OUTPUTS",
    "SCORINGS",
    "check_choices",
    "check_threshold",
    "decision_of",
    "overrides_of",
    "plain",
    "settings_of",
]

OUTPUTS = ("matrix", "sparse", "labels", "paths")
SCORINGS = ("micro_f1", "macro_f1", "macro_f1_supported", "exact_match")

_SETTINGS = {
    "backbone": "backbone",
    "epochs": "training.epochs",
    "batch_size": "training.batch_size",
    "learning_rate": "training.learning_rate",
    "max_length": "model.max_length",
    "seed": "training.seed",
    "rule": "decision.rule",
    "most_paths": "decision.most_paths",
}
"""Parameters of the constructor that are settings of the run."""

_PREFIX = "settings that cannot be used: "


def settings_of(parameters: Mapping[str, Any], faults: list[str]) -> Settings:
    """The settings that the parameters ask for; the preset's where they ask for nothing."""
    start = PRESETS["default"]
    if parameters["preset"] in PRESETS:
        start = PRESETS[parameters["preset"]]
    else:
        faults.append(f"preset must be one of {', '.join(PRESETS)}, not {parameters['preset']!r}")
    wanted = {
        key: plain(parameters[name])
        for name, key in _SETTINGS.items()
        if parameters[name] is not None
    }
    if _is_whole(wanted.get("decision.most_paths")) and not wanted["decision.most_paths"]:
        wanted["decision.most_paths"] = None  # 0: no limit
    # Thresholds are tuned on the probabilities that they will be compared with.
    if parameters["calibrated"] is False:
        wanted["decision.calibration"] = "none"
    wanted.update(_further(parameters["settings"], wanted, faults))
    usable = {}
    for key, value in wanted.items():
        fault = _type_fault(value, _HINTS[key])
        if fault is None:
            usable[key] = float(value) if _HINTS[key] is float else value
        else:
            faults.append(f"{_parameter(key)} must be {fault}, not {value!r}")
    try:
        return with_overrides(start, usable)
    except HBGLError as fault:
        faults += str(fault).removeprefix(_PREFIX).split("; ")
        return start


def overrides_of(settings: Settings) -> dict[str, Any]:
    """Constructor parameters that lead to these settings, from the preset ``default``."""
    ours, default = _flat(settings), _flat(PRESETS["default"])
    different = {key: value for key, value in ours.items() if value != default[key]}
    # The decision stays the model's own: a parameter would overrule what was fitted since.
    found = {
        name: different.pop(key)
        for name, key in _SETTINGS.items()
        if key in different and not key.startswith("decision.")
    }
    return {**found, "settings": different or None}


def check_choices(parameters: Mapping[str, Any], faults: list[str]) -> None:
    """What is no setting of the run: the split, the decision, the form of answers."""
    for name, allowed in (("output", OUTPUTS), ("scoring", SCORINGS)):
        if parameters[name] not in allowed:
            faults.append(f"{name} must be one of {', '.join(allowed)}, not {parameters[name]!r}")
    if not isinstance(parameters["calibrated"], bool):
        faults.append(f"calibrated must be True or False, not {parameters['calibrated']!r}")
    size = plain(parameters["dev_size"])
    is_share = isinstance(size, float) and 0 <= size < 1
    is_count = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    if not is_share and not is_count:
        faults.append(
            f"dev_size must be a share from 0 to below 1 or a number of texts, not {size!r}"
        )


def check_threshold(threshold: Any, taxonomy: Taxonomy, faults: list[str]) -> None:
    """One for all labels, one per level, or by label, each in 0..1."""
    threshold = plain(threshold)
    if threshold is None:
        return
    values = [threshold]
    if isinstance(threshold, dict):
        values = list(threshold.values())
    elif isinstance(threshold, list):
        values = threshold
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            faults.append(f"threshold must be in 0..1, not {value!r}")
            return
    try:
        Decision.of_paper(len(taxonomy)).changed(taxonomy, threshold=threshold)
    except HBGLError as fault:
        faults.append(f"threshold: {fault}")


def decision_of(
    parameters: Mapping[str, Any], own: Decision, taxonomy: Taxonomy, faults: list[str]
) -> Decision:
    """The model's own decision, with what the parameters say instead."""
    rule, threshold, most = (plain(parameters[key]) for key in ("rule", "threshold", "most_paths"))
    calibrated = parameters["calibrated"]
    if (rule, threshold, most, calibrated) == (None, None, None, True):
        return own
    if rule is not None and rule not in RULES:
        faults.append(f"rule must be one of {', '.join(RULES)}, not {rule!r}")
    if most is not None and (not _is_whole(most) or most < 0):
        faults.append(f"most_paths must be 0 (no limit) or more, or None, not {most!r}")
    if not isinstance(calibrated, bool):
        faults.append(f"calibrated must be True or False, not {calibrated!r}")
    check_threshold(threshold, taxonomy, faults)
    if faults:
        return own
    return own.changed(
        taxonomy, rule=rule, threshold=threshold, calibrated=calibrated, most_paths=most
    )


def plain(value: Any) -> Any:
    """The value in Python's own types: grids of numpy numbers become settings and JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def _further(settings: Any, given: Mapping[str, Any], faults: list[str]) -> dict[str, Any]:
    """The parameter ``settings``: field names with their part, ``{"model.head": "transform"}``."""
    if settings is None:
        return {}
    if not isinstance(settings, Mapping):
        faults.append(f"settings must be a dict of names and values, not {settings!r}")
        return {}
    found = {}
    for key, value in settings.items():
        if key not in _HINTS:
            near = difflib.get_close_matches(str(key), _HINTS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            faults.append(f"settings: there is no {key!r}{hint}")
        elif key in given:
            faults.append(f"settings: {key!r} is given as {_parameter(key)}, too")
        else:
            found[key] = plain(value)
    return found


def _parameter(key: str) -> str:
    """How users call a setting."""
    return next((name for name, other in _SETTINGS.items() if other == key), f"settings {key!r}")


def _flat(settings: Settings) -> dict[str, Any]:
    """Values by dotted name."""
    found: dict[str, Any] = {}
    for name, value in settings.to_json().items():
        if isinstance(value, dict):
            found.update({f"{name}.{inner}": one for inner, one in value.items()})
        else:
            found[name] = value
    return found


def _hints() -> dict[str, Any]:
    """The type of every setting by its dotted name."""
    found: dict[str, Any] = {}
    default = Settings()
    for one in fields(Settings):
        part = getattr(default, one.name)
        if isinstance(part, str):
            found[one.name] = str
        else:
            hints = get_type_hints(type(part))
            found.update({f"{one.name}.{inner.name}": hints[inner.name] for inner in fields(part)})
    return found


_HINTS = _hints()
_KINDS = {int: "a whole number", float: "a number", bool: "True or False", str: "a text"}


def _type_fault(value: Any, hint: Any) -> str | None:
    """What the value should be, if it is not."""
    kinds = get_args(hint) or (hint,)
    if kinds[0] not in _KINDS:  # a choice among fixed values: the settings check them
        return None if isinstance(value, str) else f"one of {', '.join(map(str, kinds))}"
    fits = (
        (value is None and NoneType in kinds)
        or (isinstance(value, bool) and bool in kinds)
        or (isinstance(value, str) and str in kinds)
        or (_is_whole(value) and (int in kinds or float in kinds))
        or (isinstance(value, float) and value == value and float in kinds)
    )
    wanted = " or ".join("None" if kind is NoneType else _KINDS[kind] for kind in kinds)
    return None if fits else wanted


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

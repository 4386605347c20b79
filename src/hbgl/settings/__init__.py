"""All choices of a run: frozen dataclasses, one documented field per choice, presets by name.

Contradictions are collected and refused at once.
"""

from __future__ import annotations

from hbgl.settings.choices import CalibrationKind, GlobalMask, Granularity, Rule, TuneFor
from hbgl.settings.model_part import ModelSettings
from hbgl.settings.parts import DecisionSettings, GlobalStage, TrainingSettings
from hbgl.settings.presets import PRESETS, Settings, preset, settings_from_json, with_overrides

__all__ = [
    "PRESETS",
    "CalibrationKind",
    "DecisionSettings",
    "GlobalMask",
    "GlobalStage",
    "Granularity",
    "ModelSettings",
    "Rule",
    "Settings",
    "TrainingSettings",
    "TuneFor",
    "preset",
    "settings_from_json",
    "with_overrides",
]

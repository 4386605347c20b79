"""The values that a setting with a fixed set of values may take."""

from __future__ import annotations

from typing import Literal

__all__ = [
    "BestMetric",
    "CalibrationKind",
    "EndOfHierarchy",
    "GatOutput",
    "GatTrains",
    "GlobalMask",
    "Granularity",
    "Head",
    "LabelVectors",
    "LevelInput",
    "Loss",
    "LossColumns",
    "LossReduction",
    "Method",
    "NameVector",
    "Optimizer",
    "Precision",
    "Rule",
    "Schedule",
    "TuneFor",
]

Method = Literal["hbgl", "multilabel", "seq2seq"]
LabelVectors = Literal["random", "name", "gat", "global"]
NameVector = Literal["mean", "sum"]
Head = Literal["dot", "transform"]
EndOfHierarchy = Literal["empty-is-sep", "sep-class"]
LevelInput = Literal["chosen", "expected"]
Loss = Literal["bce", "asymmetric", "balanced"]
LossColumns = Literal["level", "all", "children"]
LossReduction = Literal["sum", "mean"]
GlobalMask = Literal["self", "root"]
GatTrains = Literal["network", "vectors", "both"]
GatOutput = Literal["encoded", "vectors"]
Optimizer = Literal["adam", "adamw"]
Schedule = Literal["linear", "constant"]
Precision = Literal["auto", "float32", "bfloat16"]
BestMetric = Literal["micro_f1", "macro_f1", "mean_f1"]
Rule = Literal["paper", "closed", "coherent", "backoff", "leaf"]
TuneFor = Literal["none", "micro_f1", "macro_f1", "mean_f1"]
Granularity = Literal["auto", "level", "label"]
CalibrationKind = Literal["none", "auto", "temperature", "platt", "isotonic"]

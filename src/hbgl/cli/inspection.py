"""``hbgl inspect``: what a model folder holds, in seconds and without loading the model."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from hbgl.cli.plots import curve, speaks_unicode
from hbgl.errors import UsageError

__all__ = ["EXAMPLE", "inspect"]

EXAMPLE = "Example: hbgl inspect my-model --tree"

_WIDTH = 96
_SHOWN = 10  # labels with a threshold of their own
_CURVES = {
    "global_loss": "loss of the global stage",
    "loss": "loss over training steps",
    "dev_micro_f1": "dev Micro-F1 over epochs",
    "dev_macro_f1": "dev Macro-F1 over epochs",
}
_Facts = dict[str, Any]


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    tree: Annotated[bool, typer.Option("--tree", help="Draw the whole taxonomy, too.")] = False,
    levels: Annotated[
        int | None, typer.Option("--levels", min=1, help="Draw only so many levels of the tree.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Show taxonomy, settings, training, curves, thresholds, calibration, size and files.

    Every file is checked against its SHA-256 first; a damaged folder is refused.
    """
    if levels is not None and not tree:
        raise UsageError("--levels needs --tree: there is nothing to draw")
    if tree and as_json:
        raise UsageError("--tree draws for people; without it --json has the taxonomy's numbers")

    from hbgl.cli.model_facts import model_facts

    facts, taxonomy = model_facts(model)
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return
    typer.echo(_headline(facts))
    for title, section in _SECTIONS.items():
        lines = list(section(facts))
        if title == "taxonomy" and tree:
            from hbgl.taxonomy import draw_tree

            lines += draw_tree(taxonomy, levels=levels, ascii_only=not speaks_unicode())
        if lines:
            typer.echo(f"\n{title}")
            for line in lines:
                typer.echo(f"  {line}")
    sys.stdout.flush()


def _headline(facts: _Facts) -> str:
    size = sum(file["bytes"] for file in facts["files"])
    counts = facts["parameters"]
    return (
        f"{facts['model']}: {facts['method']} over {facts['backbone']['name']}, "
        f"{facts['taxonomy']['labels']:,} labels on {facts['taxonomy']['depth']} levels, "
        + (f"{counts['total']:,} parameters, " if counts else "")
        + _megabytes(size)
    )


def _taxonomy(facts: _Facts) -> Iterator[str]:
    found = facts["taxonomy"]
    counts = ", ".join(f"{count:,}" for count in found["labels_per_level"])
    yield f"{found['labels']:,} labels, by level {counts}; {found['leaves']:,} leaves"
    yield (
        f"at most {found['most_children']:,} children; {found['several_parents']:,} labels with "
        f"several parents; {found['words_of_their_own']:,} with words of their own"
    )


def _backbone(facts: _Facts) -> Iterator[str]:
    found = facts["backbone"]
    sizes = [
        f"{name} {found[name]:,}"
        for name in ("layers", "width", "heads", "positions", "vocabulary")
        if name in found
    ]
    yield f"{found['name']} ({found['model_type']}): {', '.join(sizes)}"
    yield f"from {found['source']}, SHA-256 {found['sha256'] or 'not recorded'}"


def _settings(facts: _Facts) -> Iterator[str]:
    yield f"nearest preset: {facts['preset']}; * differs from it (there: in brackets)"
    parts: dict[str, list[str]] = {}
    differs = facts["preset_differs"]
    for key, value in facts["settings"].items():
        part, _, name = key.rpartition(".")
        text = f"{name} {_value(value)}"
        if key in differs:
            text = f"*{text} ({_value(differs[key])})"
        parts.setdefault(part, []).append(text)
    for part, texts in parts.items():
        # Spaces inside a setting do not break.
        joined = ", ".join(text.replace(" ", "\0") for text in texts)
        title = f"{part}: " if part else ""
        lines = textwrap.wrap(
            title + joined, _WIDTH, subsequent_indent="    ", break_on_hyphens=False
        )
        yield from (line.replace("\0", " ") for line in lines)


def _training(facts: _Facts) -> Iterator[str]:
    found = facts["training"]
    plain = {key: value for key, value in found.items() if key not in ("dev", "test")}
    if plain:
        texts = [f"{key.replace('_', ' ')} {_value(value)}" for key, value in plain.items()]
        yield from textwrap.wrap(", ".join(texts), _WIDTH, subsequent_indent="    ")
    counts = sorted(facts["label_documents"].values())
    if counts:
        yield (
            f"documents of a label: {counts[0]:,} to {counts[-1]:,}, median "
            f"{counts[len(counts) // 2]:,}; labels without any: {counts.count(0):,}"
        )
    for split in ("dev", "test"):
        if split in found:
            scores = [f"{_title(key)} {_score(key, one)}" for key, one in found[split].items()]
            yield f"{split}: " + ", ".join(scores)


def _curves(facts: _Facts) -> Iterator[str]:
    for name, title in _CURVES.items():
        points = [(x, y) for x, y in facts["curves"][name]]
        if len(points) > 1:
            yield title
            yield from curve(points, ascii_only=not speaks_unicode())


def _decision(facts: _Facts) -> Iterator[str]:
    found = facts["decision"]
    limit = found["most_paths"]
    yield f"rule {found['rule']}" + (f", at most {limit} paths" if limit else "")
    for level in found["levels"]:
        text = f"level {level['level']}: threshold {level['threshold']:.4g}"
        if level["of_their_own"]:
            text += (
                f"; {level['of_their_own']:,} labels have their own, "
                f"{level['lowest']:.4g} to {level['highest']:.4g}"
            )
        yield text
    own = sorted(found["labels"].items(), key=lambda item: item[1])
    for label, value in own[:_SHOWN]:
        yield f"    {value:.4f}  {label}"
    if len(own) > _SHOWN:
        yield f"    and {len(own) - _SHOWN:,} more (all of them with --json)"


def _calibration(facts: _Facts) -> Iterator[str]:
    if not facts["calibration"]:
        yield "none: a probability is the sigmoid of the score"
    for level, one in enumerate(facts["calibration"], start=1):
        yield f"level {level}: {_map(one)}"
    tuning = facts["tuning"]
    if tuning.get("documents"):
        yield f"fitted, with the thresholds, on {tuning['documents']:,} dev documents"
        if tuning.get("set_by_hand"):
            yield "rule, thresholds or calibration were set by hand since"
        for when in ("before", "after"):
            scores = [f"{_title(key)} {_score(key, one)}" for key, one in tuning[when].items()]
            if scores:
                yield f"{when}: " + ", ".join(scores)


def _map(one: dict[str, Any]) -> str:
    """A level's map from scores to probabilities."""
    if one["kind"] == "temperature":
        return f"temperature {1 / one['slope']:.4g}"
    if one["kind"] == "platt":
        return f"platt, sigmoid({one['slope']:.4g} score {one['offset']:+.4g})"
    if one["kind"] == "isotonic":
        return f"isotonic through {len(one['knots'])} points"
    return str(one["kind"])


def _weights(facts: _Facts) -> Iterator[str]:
    counts, engine = facts["parameters"], facts["engine"]
    if engine:
        number = "int8" if engine["int8"] else "float"
        versions = [f"{name} {one}" for name, one in engine.get("versions", {}).items()]
        yield f"exported for {engine['name']} ({number}), by {', '.join(versions) or 'hbgl'}"
    if not counts:
        return
    parts = [f"{name} {counts[name]:,}" for name in ("encoder", "labels", "transform")]
    yield f"{counts['total']:,} parameters: {', '.join(parts)}"


def _files(facts: _Facts) -> Iterator[str]:
    width = max(len(file["name"]) for file in facts["files"])
    for file in facts["files"]:
        yield f"{file['name']:<{width}}  {file['bytes']:>13,}  {file['sha256']}"


_SECTIONS: dict[str, Callable[[_Facts], Iterator[str]]] = {
    "taxonomy": _taxonomy,
    "backbone": _backbone,
    "settings": _settings,
    "training": _training,
    "curves": _curves,
    "decision": _decision,
    "calibration": _calibration,
    "weights": _weights,
    "files (bytes, SHA-256)": _files,
}
"""The sections in their order; one without lines is left out."""


def _title(key: str) -> str:
    return {"micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}.get(key, key.replace("_", " "))


def _score(key: str, value: Any) -> str:
    """Fractions in percent; steps and epochs as they are."""
    if isinstance(value, float) and "f1" in key:
        return f"{100 * value:.2f}"
    return _value(value)


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"

"""``hbgl explain``: why a text got its labels."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hbgl.cli.plots import bar, speaks_unicode
from hbgl.cli.sources import check_model
from hbgl.errors import TaxonomyError, UsageError

if TYPE_CHECKING:
    from hbgl.explanation import Explanation, LabelExplanation
    from hbgl.taxonomy import Taxonomy

__all__ = ["EXAMPLE", "explain"]

EXAMPLE = 'Example: hbgl explain my-model "how do i freeze my account"'

_BAR = 20  # columns of the longest bar
_LONGEST_WORD = 40
_LONGEST_TEXT = 300


def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The text itself; - reads it from standard input.")
    ],
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="LABEL",
            help="Explain this label, predicted or not (may be repeated); default: all predicted.",
        ),
    ] = None,
    words: Annotated[
        int, typer.Option("--words", min=0, help="Show the N words that did most; 0: all.")
    ] = 8,
    siblings: Annotated[
        int, typer.Option("--siblings", min=0, help="Show the N likeliest siblings of each label.")
    ] = 3,
    steps: Annotated[
        int,
        typer.Option(
            "--steps", min=1, max=512, help="Points of the integral; doubled while it is not exact."
        ),
    ] = 32,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write one page with the words marked."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the page if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Show, for each predicted label, its path with probabilities and the words that moved it.

    A word's number is its share of the label's score (before the sigmoid), by integrated gradients
    from the same text with [MASK] for every word; the levels above stay as they were predicted.
    """
    _check_page(html, force=force)
    content = _content(text)
    check_model(model)

    from hbgl import explanation
    from hbgl.trained_model import TrainedModel

    classifier = TrainedModel.load(model)
    wanted = [_known(one, classifier.taxonomy) for one in label] if label else None
    found = explanation.explain(classifier, content, wanted, steps, siblings=siblings)
    if html is not None:
        from hbgl.durable_files import replace_file

        replace_file(html, explanation.explanation_page(found).encode())
    if as_json:
        typer.echo(json.dumps(found.to_json(), ensure_ascii=False))
        return
    for line in _lines(found, words):
        typer.echo(line)


def _check_page(html: Path | None, *, force: bool) -> None:
    if html is None:
        if force:
            raise UsageError("--force needs --html: there is nothing to replace")
        return
    if html.is_dir() or not html.absolute().parent.is_dir():
        raise UsageError(f"--html {html} is a folder or lies in none; name a file")
    if html.exists() and not force:
        raise UsageError(f"{html} exists already; name another file, or replace it with --force")


def _content(text: str) -> str:
    """The text to explain; what cannot be meant is refused."""
    if text == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed; give the text itself")
        content = sys.stdin.buffer.read().decode("utf-8", "replace")
        text = content.removeprefix("\ufeff").rstrip("\r\n")
    elif _is_file(text):
        raise UsageError(f"{text} is a file; explain its text with: hbgl explain MODEL - < {text}")
    if not text.strip():
        raise UsageError("there is no text to explain")
    return text


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False


def _known(label: str, taxonomy: Taxonomy) -> str:
    """A label, or the last one of a path ``A > B``."""
    from hbgl.taxonomy import PATH_SEPARATOR

    try:
        if label not in taxonomy and PATH_SEPARATOR in label:
            number = int(taxonomy.path_ids(label.split(PATH_SEPARATOR))[-1])
        else:
            number = taxonomy.id(label)
    except TaxonomyError as error:
        raise UsageError(f"--label: {error}") from None
    return taxonomy.labels[number]


def _lines(found: Explanation, words: int) -> Iterator[str]:
    shown = " ".join(found.text.split())
    yield f"“{shown[:_LONGEST_TEXT]}{'…' if len(shown) > _LONGEST_TEXT else ''}”"
    if found.truncated:
        yield f"The model read its first {found.tokens:,} tokens; the rest played no part."
    if not found.labels:
        yield "No label is predicted; --label LABEL shows why one is not."
    for one in found.explained:
        yield ""
        yield from _label_lines(one, words)


def _label_lines(one: LabelExplanation, words: int) -> Iterator[str]:
    names = " > ".join(node.label for node in one.path)
    yield f"{names}   path {one.path_probability:.4f}, product {one.joint_probability:.4f}"
    width = max(len(node.label) for node in one.path)
    for node in one.path:
        siblings = ", ".join(f"{name} {share:.4f}" for name, share in node.siblings.items())
        line = f"  {node.label:<{width}}  {node.probability:.4f}"
        line += "" if node.predicted else "  not predicted"
        yield line + (f"  siblings: {siblings}" if siblings else "")
    yield f"  score {one.logit:+.3f}, without the words {one.baseline_logit:+.3f}; by word:"
    ranked = sorted(one.words, key=lambda word: -abs(word.attribution))
    largest = abs(ranked[0].attribution) if ranked else 0.0
    kept = ranked[:words] if words else ranked
    for word in kept:
        drawn = bar(
            abs(word.attribution) / largest if largest else 0.0, _BAR, ascii_only=_ascii_only()
        )
        yield f"  {word.attribution:>+9.4f}  {drawn:<{_BAR}}  {_short(word.text)}"
    rest = sum(word.attribution for word in ranked[len(kept) :])
    if len(kept) < len(ranked):
        yield f"  {rest:>+9.4f}  {'':<{_BAR}}  {len(ranked) - len(kept)} other words together"
    if abs(one.other) > 1e-4:
        yield f"  {one.other:>+9.4f}  {'':<{_BAR}}  what is no word (line breaks and the like)"
    if not one.complete:
        yield f"  the sum misses the difference by {one.delta:+.4f}: take these shares as rough"


def _ascii_only() -> bool:
    return not speaks_unicode()


def _short(word: str) -> str:
    return word if len(word) <= _LONGEST_WORD else word[: _LONGEST_WORD - 1] + "…"

"""``hbgl evaluate``: scores of a model on labelled documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hbgl.cli.decision_options import (
    DecisionChoice,
    MostPaths,
    RawScores,
    RuleName,
    ThresholdText,
)
from hbgl.cli.engine_options import EngineChoice, model_of_engine
from hbgl.cli.sources import check_model, check_side_file, checked_source, labelled_records
from hbgl.errors import UsageError

if TYPE_CHECKING:
    from hbgl.cli.progress import DocumentProgress
    from hbgl.report import Findings, RuleScores

__all__ = ["EXAMPLE", "evaluate"]

EXAMPLE = "Example: hbgl evaluate my-model clinc150:test --html report.html"


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Labelled documents: a file, - for standard input, or CORPUS:SPLIT such as "
            "clinc150:test.",
        ),
    ],
    weakest: Annotated[
        int, typer.Option("--weakest", min=0, help="Also show the N labels with the lowest F1.")
    ] = 0,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Also write a report: one page that needs nothing else."
        ),
    ] = None,
    examples: Annotated[
        int,
        typer.Option("--examples", min=0, help="Documents with errors to show in the report."),
    ] = 20,
    force: Annotated[bool, typer.Option("--force", help="Replace the page if it exists.")] = False,
    rules: Annotated[
        bool | None,
        typer.Option(
            "--rules/--no-rules",
            help="Score every decision rule beside the one in use; the documents are predicted "
            "once more for each. Default: only for --html.",
            show_default=False,
        ),
    ] = None,
    rule: RuleName = None,
    threshold: ThresholdText = None,
    most_paths: MostPaths = None,
    raw: RawScores = False,
    engine: EngineChoice = None,
    skip_bad: Annotated[
        Path | None,
        typer.Option("--skip-bad", metavar="FILE", help="Write bad records there and go on."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, only the scores.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """F1 by level, in the taxonomy and (with --json) by label; coherence, calibration, ranking.

    docs/evaluation.md says what each score means. A file without documents, or none of whose
    documents has labels, is refused.
    """
    choice = DecisionChoice.of(rule, threshold, most_paths, raw=raw)
    name, source = source, checked_source(source)
    check_model(model)
    model = model_of_engine(model, engine)
    check_side_file(skip_bad, source, html)
    _check_page(html, source, force=force)

    from hbgl.records import SkippedRecords
    from hbgl.report import gather
    from hbgl.trained_model import TrainedModel

    classifier = TrainedModel.load(model)
    decision = choice.apply(classifier)
    with SkippedRecords(skip_bad) as skipped, _Progress(quiet=quiet) as progress:
        records = labelled_records(
            source, classifier.taxonomy, skipped=skipped if skip_bad else None
        )
        found = gather(
            classifier,
            records,
            decision=decision,
            rules=html is not None if rules is None else rules,
            examples=0 if html is None else examples,
            source="standard input" if name == "-" else name,
            folder=str(model),
            on_batch=progress,
        )
    if skip_bad:
        typer.echo(str(skipped.summary), err=True)
    if html is not None:
        from hbgl.durable_files import replace_file
        from hbgl.report import report_page

        replace_file(html, report_page(found).encode())
    if as_json:
        typer.echo(json.dumps(found.to_json()))
        return
    for line in _lines(found, weakest):
        typer.echo(line)
    if html is not None:
        typer.echo(f"\nThe report is in {html}")


class _Progress(ExitStack):
    """A bar for each walk over the documents."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet = quiet
        self._done = 0
        self._bar: DocumentProgress | None = None

    def __call__(self, rule: str, documents: int, total: int) -> None:
        """Hear of one more batch of the walk that has this rule's name."""
        from hbgl.cli.progress import DocumentProgress

        if self._bar is None:
            name = f"scored by rule {rule}" if rule else "scored"
            self._bar = self.enter_context(DocumentProgress(name, quiet=self._quiet))
        self._done += documents
        self._bar.counted(self._done, total)
        if self._done >= total:
            self.close()
            self._done, self._bar = 0, None


def _check_page(html: Path | None, source: str, *, force: bool) -> None:
    if html is None:
        if force:
            raise UsageError("--force needs --html: there is nothing to replace")
        return
    if html.is_dir() or not html.absolute().parent.is_dir():
        raise UsageError(f"--html {html} is a folder or lies in none; name a file")
    if html.exists() and html.resolve() == Path(source).resolve():
        raise UsageError(f"--html {html} is the file to evaluate; name another one")
    if html.exists() and not force:
        raise UsageError(f"{html} exists already; name another file, or replace it with --force")


def _lines(found: Findings, weakest: int) -> Iterator[str]:
    from hbgl.metrics import score_table

    lines = score_table(found.evaluation, found.taxonomy)
    yield from lines
    before, after = found.calibration.before.overall, found.calibration.answered.overall
    yield (
        f"calibration error of the predicted labels {100 * before.ece_chosen:.2f} by plain "
        f"sigmoids, {100 * after.ece_chosen:.2f} as answered"
    )
    if found.rules:
        yield ""
        yield from _rule_lines(found.rules)
    yield from score_table(found.evaluation, found.taxonomy, weakest=weakest)[len(lines) :]


def _rule_lines(rules: tuple[RuleScores, ...]) -> Iterator[str]:
    """Every score under every rule; a star marks the rule in use."""
    rows = [["every rule", *(f"{one.name}{'*' if one.is_own else ''}" for one in rules)]]
    for line in zip(*(one.rows for one in rules), strict=True):
        values = (100 * row.value if row.is_share else row.value for row in line)
        rows.append([line[0].name, *(f"{value:.2f}" for value in values)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
    yield (
        "* in use; the first column is rule paper with 0.5 everywhere and without calibration, the "
        "others have the thresholds and calibration of the rule in use"
    )

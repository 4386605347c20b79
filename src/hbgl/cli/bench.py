"""``hbgl bench``: speed and memory side by side, a table first and one JSON line last."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hbgl.cli import bench_options as options
from hbgl.cli.bench_output import check_out, echo, finish, model_name, progress
from hbgl.errors import UsageError

__all__ = ["app", "predict", "startup", "taxonomy", "train"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Measure speed and memory against what people would use instead, in the same run.",
    epilog="Example: hbgl bench predict clinc150 --documents 500",
)


@app.command(epilog="Example: hbgl bench predict arxiv-sample --against flat,long --seconds 300")
def predict(
    context: typer.Context,
    workload: options.Workload = "arxiv-sample",
    documents: Annotated[int, typer.Option(min=1, help="Documents of a round.")] = 256,
    repetitions: Annotated[int, typer.Option(min=1, help="Rounds.")] = 5,
    seconds: options.Seconds = 600.0,
    against: options.Against = None,
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", metavar="NAME", help="An engine to add; may be repeated."),
    ] = None,
    backbone: options.Backbone = "minilm",
    model: options.Model = None,
    precision: options.Precision = "auto",
    threads: options.Threads = None,
    labels: options.Labels = 1000,
    levels: options.Levels = 3,
    words: options.Words = 100,
    max_length: options.MaxLength = None,
    seed: options.Seed = 0,
    one_process: options.OneProcess = False,
    out: options.Out = None,
    quiet: options.Quiet = False,
) -> None:
    """Texts in, answers out: hbgl against flat classifiers and the straightforward HBGL.

    Contenders: hbgl; flat (a flat classifier on our engine); pipeline (Hugging Face, its
    defaults); pipeline-sorted (the same with sorted batches in bfloat16); long (HBGL as one long
    padded sequence without a cache, in float32).
    """
    from hbgl.bench.registry import PREDICTION, chosen_contenders
    from hbgl.bench.spec import TaskSpec, WorkloadSpec
    from hbgl.bench.speed import Limits

    check_out(out)
    spec = WorkloadSpec(
        workload,
        documents,
        backbone=backbone,
        model=None if model is None else str(model),
        precision=precision,
        seed=seed,
        labels=labels,
        levels=levels,
        words=words,
        max_length=max_length,
    )
    engines = list(dict.fromkeys(engine or []))
    ours, *others = chosen_contenders(PREDICTION, against)
    names = [ours, *engines, *others]  # what may lack a package is prepared early
    tasks = {name: TaskSpec("predict", name, spec, threads) for name in names}
    limits = Limits(documents, repetitions, seconds, one_process)
    results = _compare(tasks, limits, ["hbgl", *engines], threads, quiet=quiet)
    finish(context, "bench_predict", {**results, "model": model_name(model)}, seed, out)


@app.command(epilog="Example: hbgl bench train clinc150 --documents 1024 --against plain,trainer")
def train(
    context: typer.Context,
    workload: options.Workload = "arxiv-sample",
    documents: Annotated[int, typer.Option(min=1, help="Documents of a round.")] = 96,
    repetitions: Annotated[int, typer.Option(min=1, help="Rounds.")] = 3,
    seconds: options.Seconds = 900.0,
    against: options.Against = None,
    batch_size: Annotated[
        int, typer.Option("--batch-size", min=1, help="Documents per step of hbgl and flat.")
    ] = 32,
    backbone: options.Backbone = "minilm",
    precision: options.Precision = "auto",
    threads: options.Threads = None,
    labels: options.Labels = 1000,
    levels: options.Levels = 3,
    words: options.Words = 100,
    max_length: options.MaxLength = None,
    seed: options.Seed = 0,
    one_process: options.OneProcess = False,
    out: options.Out = None,
    quiet: options.Quiet = False,
) -> None:
    """Optimisation steps over the same documents, each once.

    Contenders: hbgl; flat (a flat classifier in our loop); trainer (flat, the Hugging Face
    Trainer's defaults); long (HBGL as one long padded sequence in float32, batches of 12); plain
    (our model with torch's default AdamW, random batches of 32).
    """
    from hbgl.bench.registry import TRAINING, chosen_contenders
    from hbgl.bench.spec import TaskSpec, WorkloadSpec
    from hbgl.bench.speed import Limits

    check_out(out)
    spec = WorkloadSpec(
        workload,
        documents,
        training=True,
        backbone=backbone,
        precision=precision,
        seed=seed,
        labels=labels,
        levels=levels,
        words=words,
        max_length=max_length,
    )
    tasks = {
        name: TaskSpec("train", name, spec, threads, batch_size)
        for name in chosen_contenders(TRAINING, against)
    }
    limits = Limits(documents, repetitions, seconds, one_process)
    results = _compare(tasks, limits, ["hbgl"], threads, quiet=quiet)
    finish(context, "bench_train", {**results, "batch_size": batch_size}, seed, out)


@app.command(
    epilog="Example: hbgl bench taxonomy --labels 100 --labels 10000 --levels 2 --levels 8"
)
def taxonomy(
    context: typer.Context,
    labels: Annotated[
        list[int] | None,
        typer.Option("--labels", min=1, help="A size of the first series; may be repeated."),
    ] = None,
    levels: Annotated[
        list[int] | None,
        typer.Option("--levels", min=1, help="A depth of the second series; may be repeated."),
    ] = None,
    documents: Annotated[int, typer.Option(min=1, help="Documents of a round.")] = 256,
    words: Annotated[int, typer.Option(min=1, help="Mean words of a text.")] = 100,
    repetitions: Annotated[int, typer.Option(min=1, help="Rounds.")] = 5,
    seconds: options.Seconds = 300.0,
    backbone: options.Backbone = "minilm",
    precision: options.Precision = "auto",
    threads: options.Threads = None,
    global_stage: Annotated[
        bool, typer.Option(help="Also measure steps of the global stage.")
    ] = True,
    seed: options.Seed = 0,
    one_process: options.OneProcess = False,
    out: options.Out = None,
    quiet: options.Quiet = False,
) -> None:
    """How prediction and the global stage grow with labels (on 3 levels) and levels (1,000 labels).

    Balanced taxonomies, the same texts of random words throughout, untrained weights; --seconds
    for each series. Defaults: 100 to 10,000 labels, 2 to 8 levels.
    """
    from hbgl.bench.growth import LABELS, LEVELS, growth_results
    from hbgl.bench.report import growth_table
    from hbgl.bench.spec import SYNTHETIC, WorkloadSpec
    from hbgl.bench.speed import Limits

    check_out(out)
    base = WorkloadSpec(
        SYNTHETIC, documents, backbone=backbone, precision=precision, seed=seed, words=words
    )
    results = growth_results(
        base,
        labels or LABELS,
        levels or LEVELS,
        Limits(documents, repetitions, seconds, one_process),
        threads=threads,
        global_stage=global_stage,
        said=progress(quiet=quiet),
    )
    echo(growth_table(results))
    finish(context, "bench_taxonomy", results, seed, out)


@app.command(epilog="Example: hbgl bench startup --model my-model --repetitions 7")
def startup(
    context: typer.Context,
    workload: options.Workload = "clinc150",
    repetitions: Annotated[int, typer.Option(min=1, help="Rounds.")] = 5,
    seconds: options.Seconds = 300.0,
    many: Annotated[
        int,
        typer.Option(
            "--many", min=0, help="Also predict N short documents from a file, and a tenth of them."
        ),
    ] = 0,
    backbone: options.Backbone = "minilm",
    model: options.Model = None,
    precision: options.Precision = "auto",
    threads: options.Threads = None,
    seed: options.Seed = 0,
    one_process: options.OneProcess = False,
    out: options.Out = None,
    quiet: options.Quiet = False,
) -> None:
    """Fresh processes: hbgl predict on one sentence, importing torch alone, and hbgl --help.

    With --many also the peak of memory over a long file, which must not grow with its length.
    """
    from hbgl.bench.report import startup_table
    from hbgl.bench.spec import WorkloadSpec
    from hbgl.bench.startup import startup_results

    check_out(out)
    if many % 10:
        raise UsageError(f"--many {many}: give a multiple of ten, for a tenth is measured too")
    spec = WorkloadSpec(
        workload,
        1000 if many else 50,
        backbone=backbone,
        model=None if model is None else str(model),
        precision=precision,
        seed=seed,
    )
    results = startup_results(
        spec,
        repetitions=repetitions,
        seconds=seconds,
        threads=threads,
        many=many,
        one_process=one_process,
        said=progress(quiet=quiet),
    )
    echo(startup_table(results))
    finish(context, "bench_startup", {**results, "model": model_name(model)}, seed, out)


def _compare(
    tasks: dict[str, Any], limits: Any, champions: list[str], threads: int | None, *, quiet: bool
) -> dict[str, Any]:
    """Measure contenders and show their table."""
    from hbgl.bench.report import speed_table
    from hbgl.bench.spec import TaskSpec
    from hbgl.bench.speed import PEAK, measure, speed_results

    tasks = {PEAK: TaskSpec("matmul", threads=threads), **tasks}
    measured = measure(tasks, limits, progress(quiet=quiet))
    results = speed_results(measured, champions)
    echo(speed_table(results))
    return results

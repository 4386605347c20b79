"""All runs of a plan: what is finished is skipped, what was interrupted goes on.

First the points of all grids, then the runs, seed by seed. A run that fails does not stop the
others; what failed is said at the end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hbgl.backbones import load_backbone
from hbgl.corpora import open_corpus
from hbgl.durable_files import try_lock
from hbgl.errors import HBGLError, UsageError
from hbgl.experiments.execution import Loader
from hbgl.experiments.identity import data_fingerprint
from hbgl.experiments.plan import Plan, Run
from hbgl.experiments.processes import in_processes
from hbgl.experiments.run_folder import GridFolder, RunFolder
from hbgl.experiments.worker import Job
from hbgl.training_run import RunListener

__all__ = ["run_plan"]

Fingerprints = dict[str, dict[str, str]]


def run_plan(
    plan: Plan,
    *,
    processes: int = 1,
    command: str = "",
    listener: RunListener | None = None,
    load: Loader = load_backbone,
) -> None:
    """Do what is not done yet.

    A run whose grid lacks a point, because that one failed, is left out.

    :param processes: more than one: so many runs at a time, each in a process of its own.
    :raises UsageError: if a folder holds other settings or data; nothing is run then.
    :raises HBGLError: at the end, naming the runs that failed.
    """
    listener = listener or RunListener()
    with _only_runner(plan.output):
        data = {name: data_fingerprint(open_corpus(path)) for name, path in plan.corpora.items()}
        check_same_runs(plan, data)
        runs = [run for run in plan.runs() if not RunFolder(run, plan.output).is_finished()]
        every = list(plan.runs())
        listener.said(f"{len(every)} runs, {len(every) - len(runs)} of them finished already")
        failed: list[str] = []
        for stage in (_points, _whole_runs):
            jobs = list(stage(plan, runs, data, command))
            failed += _do(jobs, processes, listener, load)
        if failed:
            raise HBGLError(
                f"{len(failed)} failed:\n  "
                + "\n  ".join(failed)
                + "\nremove the cause and repeat the command: what is finished stays"
            )


def check_same_runs(plan: Plan, data: Fingerprints) -> None:
    """Refuse, before anything runs, folders that hold the results of something else."""
    found: list[str] = []
    for run in plan.runs():
        faults = RunFolder(run, plan.output).faults(data[run.corpus])
        if run.grid:
            faults += GridFolder(run, plan.output).faults(data[run.corpus])
        if faults:
            found.append(f"  {run.name}: {'; '.join(dict.fromkeys(faults))}")
    if found:
        raise UsageError(
            f"{plan.output} holds runs with other settings or data:\n"
            + "\n".join(found)
            + "\nname another output, or move the folders of these methods away "
            f"(below {plan.output / 'runs'}) to run them anew"
        )


def _points(plan: Plan, runs: Sequence[Run], data: Fingerprints, command: str) -> Iterator[Job]:
    """The points that a run still to do chooses from, each once."""
    seen: set[Path] = set()
    for run in (one for one in runs if one.grid):
        grid = GridFolder(run, plan.output)
        if grid.path in seen:
            continue
        seen.add(grid.path)
        first = next(one for one in plan.runs() if _is_grid_run(one, run))
        for number in range(len(run.grid)):
            if not grid.is_finished(number):
                yield Job(first, str(plan.output), data[run.corpus], command, number)


def _is_grid_run(one: Run, run: Run) -> bool:
    return (one.corpus, one.method, one.seed) == (run.corpus, run.method, run.grid_seed)


def _whole_runs(plan: Plan, runs: Sequence[Run], data: Fingerprints, command: str) -> Iterator[Job]:
    for run in runs:
        if _has_its_points(run, plan.output):
            yield Job(run, str(plan.output), data[run.corpus], command)


def _has_its_points(run: Run, output: Path) -> bool:
    grid = GridFolder(run, output)
    return all(grid.is_finished(number) for number in range(len(run.grid)))


def _do(jobs: Sequence[Job], processes: int, listener: RunListener, load: Loader) -> list[str]:
    """Do the jobs; what failed, a line for each."""
    if processes > 1:
        return in_processes(jobs, processes, listener.said)
    failed = []
    for number, job in enumerate(jobs, start=1):
        listener.said(f"[{number}/{len(jobs)}] {job.name}")
        try:
            job.do(listener, load)
        except HBGLError as error:
            failed.append(f"{job.name}: {error}")
            listener.said(failed[-1])
    return failed


@contextmanager
def _only_runner(output: Path) -> Iterator[None]:
    """Hold the output folder: a second runner in it is refused."""
    output.mkdir(parents=True, exist_ok=True)
    try:
        lock = os.open(output, os.O_RDONLY)
    except PermissionError:  # a system that does not open folders has no such locks
        yield
        return
    try:
        if try_lock(lock) is False:
            raise UsageError(f"another run is writing to {output}; wait for its end")
        yield
    finally:
        os.close(lock)

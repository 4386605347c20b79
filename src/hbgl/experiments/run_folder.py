"""Where a run and the points of its grid lie, and whether what lies there is theirs.

OUTPUT/runs/CORPUS/METHOD/seed-0/           run.json, *.predictions.jsonl.gz: complete or absent
OUTPUT/runs/CORPUS/METHOD/seed-0.training/  configuration.json, checkpoints; gone when complete
OUTPUT/runs/CORPUS/METHOD/grid/point-0.json and point-0.training/
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hbgl.checkpoint import json_bytes, recover_folder, verify_folder
from hbgl.durable_files import replace_file
from hbgl.errors import HBGLError, ModelFolderError
from hbgl.experiments.identity import differences
from hbgl.experiments.plan import Run

__all__ = ["GridFolder", "RunFolder", "begin"]

_CONFIGURATION = "configuration.json"


class RunFolder:
    """The folder of one run."""

    def __init__(self, run: Run, output: Path) -> None:
        self.run = run
        self.path = run.folder(output)
        self.training = self.path.with_name(f"{self.path.name}.training")

    def is_finished(self) -> bool:
        """Whether the result is there."""
        recover_folder(self.path)
        return (self.path / "run.json").is_file()

    def faults(self, data: Mapping[str, str]) -> list[str]:
        """What of the folder, or of the checkpoints beside it, belongs to another run."""
        now = {**self.run.configuration(), "data": dict(data)}
        then: Any = None
        if self.is_finished():
            then = self.read()["configuration"]
        elif (self.training / _CONFIGURATION).is_file():
            then = _read(self.training / _CONFIGURATION)
        return [] if then is None else differences(then, now)

    def read(self) -> dict[str, Any]:
        """``run.json`` of a finished run, after a check of every file.

        :raises ModelFolderError: naming the file that is damaged.
        """
        verify_folder(self.path)
        return _read(self.path / "run.json")

    def forget_training(self) -> None:
        """Remove what a finished run does not need."""
        shutil.rmtree(self.training, ignore_errors=True)


class GridFolder:
    """The points of a grid, which all seeds of a method on a corpus share."""

    def __init__(self, run: Run, output: Path) -> None:
        self.run = run
        self.path = run.grid_folder(output)

    def training(self, number: int) -> Path:
        """Where the checkpoints of a point are."""
        return self.path / f"point-{number}.training"

    def is_finished(self, number: int) -> bool:
        """Whether the point has its score on dev."""
        return self._file(number).is_file()

    def finish(
        self, number: int, dev: Mapping[str, float] | None, seconds: float, data: Mapping[str, str]
    ) -> None:
        """Keep the score of a point."""
        if dev is None:
            raise HBGLError(f"{self.path}: no score on dev, so nothing can be chosen by it")
        content = {
            "point": self.run.grid[number],
            "dev": dict(dev),
            "seconds": seconds,
            "configuration": self._configuration(data),
        }
        replace_file(self._file(number), json_bytes(content))

    def faults(self, data: Mapping[str, str]) -> list[str]:
        """What of the points belongs to another grid."""
        found: list[str] = []
        for number in range(len(self.run.grid)):
            for file in (self._file(number), self.training(number) / _CONFIGURATION):
                if file.is_file():
                    then = _read(file)
                    then = dict(then.get("configuration", then))
                    then.pop("seed", None)
                    found += differences(then, self._configuration(data))
        return list(dict.fromkeys(found))

    def choose(self) -> dict[str, Any]:
        """All points with their scores on dev, and the number of the best one; its first if equal.

        The checkpoints of the others are removed.
        """
        points = [_read(self._file(number)) for number in range(len(self.run.grid))]
        metric = self.run.point_settings({}, 0).training.metric
        scores = [one["dev"][metric] for one in points]
        chosen = scores.index(max(scores))
        for number in range(len(points)):
            if number != chosen:
                shutil.rmtree(self.training(number), ignore_errors=True)
        return {
            "metric": metric,
            "seed": self.run.grid_seed,
            "chosen": chosen,
            "points": [{key: one[key] for key in ("point", "dev", "seconds")} for one in points],
        }

    def forget_training(self) -> None:
        """Remove the checkpoints: the run that goes on from them is finished."""
        for number in range(len(self.run.grid)):
            shutil.rmtree(self.training(number), ignore_errors=True)

    def _configuration(self, data: Mapping[str, str]) -> dict[str, Any]:
        """What all seeds have in common."""
        found = {**self.run.configuration(), "data": dict(data)}
        del found["seed"]
        if found["settings"]:
            training = {**found["settings"]["training"], "seed": self.run.grid_seed}
            found["settings"] = {**found["settings"], "training": training}
        return found

    def _file(self, number: int) -> Path:
        return self.path / f"point-{number}.json"


def begin(training: Path, configuration: Mapping[str, Any]) -> None:
    """Write beside the checkpoints to come whose they are."""
    training.mkdir(parents=True, exist_ok=True)
    if not (training / _CONFIGURATION).is_file():
        replace_file(training / _CONFIGURATION, json_bytes(dict(configuration)))


def _read(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelFolderError(
            f"{file} cannot be read ({error}); move its folder away and run it again"
        ) from error
    return found

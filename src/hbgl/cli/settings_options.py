"""The settings as command-line options: one option per field, its help the field's own.

A command declares ``**choices`` and is decorated with :func:`with_settings`; it then receives
``settings``: the preset with what the user set on the command line.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_type_hints

import typer

from hbgl.settings import (
    PRESETS,
    DecisionSettings,
    GlobalStage,
    ModelSettings,
    Settings,
    TrainingSettings,
    preset,
    with_overrides,
)

__all__ = ["with_settings"]

_PARTS: dict[str, tuple[type[Any], str, str]] = {
    "training": (TrainingSettings, "", "Training"),
    "model": (ModelSettings, "", "Model"),
    "global_stage": (GlobalStage, "global_", "Global stage"),
    "decision": (DecisionSettings, "", "Decisions"),
}


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every field of the settings, ``--preset`` and ``--backbone``."""
    fields = {option: (key, parameter) for option, key, parameter in _parameters()}
    signature = inspect.signature(command, eval_str=True)
    own = [one for one in signature.parameters.values() if one.name != "settings"]
    added = [parameter for _, parameter in fields.values()]

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        chosen = preset(values.pop("preset_name"))
        overrides = {}
        for option, (key, _) in fields.items():
            value = values.pop(option, None)
            if key and value is not None:
                overrides[key] = value
        command(settings=with_overrides(chosen, overrides), **values)

    parameters = [*own, *added]
    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped


def _parameters() -> Iterator[tuple[str, str, inspect.Parameter]]:
    """Option name, the settings' key it sets ("" for the preset), its parameter."""
    names = ", ".join(PRESETS)
    option = typer.Option("--preset", metavar="NAME", help=f"Start from: {names}.")
    yield "preset_name", "", _keyword("preset_name", Annotated[str, option], "default")
    backbone = typer.Option("--backbone", help=_help(Settings, "backbone"), metavar="NAME")
    yield "backbone", "backbone", _keyword("backbone", Annotated[str | None, backbone], None)
    for part, (kind, prefix, panel) in _PARTS.items():
        hints = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            name = prefix + field.name
            flag = "--" + name.replace("_", "-")
            flags = f"{flag}/--no-{flag[2:]}" if hints[field.name] is bool else flag
            text = f"{field.metadata['help']}{_default(field.default)}"
            made = typer.Option(flags, help=text, rich_help_panel=panel, show_default=False)
            annotation: Any = Annotated[hints[field.name] | None, made]
            yield name, f"{part}.{field.name}", _keyword(name, annotation, None)


def _help(kind: type[Any], name: str) -> str:
    field = next(one for one in dataclasses.fields(kind) if one.name == name)
    return f"{field.metadata['help']}{_default(field.default)}"


def _default(value: object) -> str:
    if value is None:
        return ""
    shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
    return f" [default preset: {shown}]"


def _keyword(name: str, annotation: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )

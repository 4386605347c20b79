"""The command line: ``hbgl COMMAND ...``, and the one place where errors become exit codes.

A command's module is imported only when the command runs (or shows its own help), so
``hbgl --help`` answers at once although the commands need torch and transformers.

Exit codes: 0 done, 1 failure, 2 wrong use, 130 interrupted. A failure is one clear line on
standard error; ``hbgl --debug COMMAND ...`` (or ``HBGL_DEBUG=1``) shows the traceback too.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from hbgl import __version__
from hbgl.allocation import keep_freed_memory
from hbgl.errors import HBGLError

__all__ = ["COMMANDS", "CommandGroup", "LazyCommand", "app", "run"]


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """Where a command lives, and the line that ``hbgl --help`` shows for it.

    ``attribute`` is a function, or a typer application of sub-commands. A function's module
    gives the example that closes its ``--help`` as ``EXAMPLE``.
    """

    module: str
    attribute: str
    help: str


COMMANDS: dict[str, LazyCommand] = {
    "demo": LazyCommand("hbgl.cli.demo", "demo", "Train, evaluate, predict on a bundled corpus."),
    "train": LazyCommand("hbgl.cli.train", "train", "Train a classifier on a corpus folder."),
    "evaluate": LazyCommand("hbgl.cli.evaluate", "evaluate", "Score a model on labelled texts."),
    "predict": LazyCommand("hbgl.cli.predict", "predict", "Give new texts their labels."),
    "export": LazyCommand("hbgl.cli.export", "export", "Write a model for another engine."),
    "tune": LazyCommand("hbgl.cli.tune", "tune", "Fit or set a model's thresholds anew."),
    "explain": LazyCommand("hbgl.cli.explain", "explain", "Show why a text got its labels."),
    "inspect": LazyCommand("hbgl.cli.inspection", "inspect", "Show what a model folder holds."),
    "data": LazyCommand("hbgl.cli.data", "app", "Prepare, check, split and list corpora."),
    "taxonomy": LazyCommand("hbgl.cli.taxonomy", "app", "Check, show and convert taxonomies."),
    "backbone": LazyCommand("hbgl.cli.backbone", "app", "Fetch and show encoders beforehand."),
    "experiment": LazyCommand(
        "hbgl.cli.experiment", "experiment", "Run methods x corpora x seeds and compare them."
    ),
    "reproduce": LazyCommand(
        "hbgl.cli.reproduce", "reproduce", "The paper's tables on the corpora at hand."
    ),
    "bench": LazyCommand("hbgl.cli.bench", "app", "Measure speed and memory side by side."),
}


class CommandGroup(TyperGroup):
    """The top-level group: placeholders in its help, the true command once it is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, lazy in COMMANDS.items():
            self.add_command(TyperCommand(name, help=lazy.help, rich_markup_mode=None))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Import the command that ``args`` name."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in COMMANDS:
            command = _load(name, COMMANDS[name])
        return name, command, rest


def _load(name: str, lazy: LazyCommand) -> TyperCommand | TyperGroup:
    module = importlib.import_module(lazy.module)
    target = getattr(module, lazy.attribute)
    if isinstance(target, typer.Typer):
        group = typer.main.get_group(target)
        group.name = name
        return group
    single = typer.Typer(add_completion=False)
    single.command(name, epilog=module.EXAMPLE)(target)
    command = typer.main.get_command(single)
    if not isinstance(command, TyperCommand):
        raise TypeError(f"{lazy.module}.{lazy.attribute} is not a function")
    return command


app = typer.Typer(
    cls=CommandGroup,
    name="hbgl",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Example: hbgl data check clinc150",
)


@dataclass(slots=True)
class _Options:
    """The options that come before the command."""

    debug: bool = False


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hbgl {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    context: typer.Context,
    debug: Annotated[
        bool,
        typer.Option("--debug", envvar="HBGL_DEBUG", help="Show tracebacks of errors."),
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and stop."
        ),
    ] = False,
) -> None:
    """Hierarchical text classification: whole paths, many paths, any depth."""
    context.obj.debug = debug


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; ``arguments`` default to ``sys.argv``."""
    options = _Options()
    keep_freed_memory()
    try:
        code = _call(arguments, options)
        sys.stdout.flush()
    except BrokenPipeError:
        code = _close_broken_pipe()
    except KeyboardInterrupt:
        code = 130
    except typer.Abort:
        code = _fail("aborted", 1)
    except typer.TyperException as error:
        code = _wrong_use(error)
    except HBGLError as error:
        code = _fail(str(error), error.exit_code, debug=options.debug)
    except OSError as error:
        code = _fail(_describe(error), 1, debug=options.debug)
    except Exception as error:
        message = f"internal error: {type(error).__name__}: {error}"
        hint = "" if options.debug else "; run again as `hbgl --debug ...` and report the traceback"
        code = _fail(message + hint, 1, debug=options.debug)
    return code


def _call(arguments: Sequence[str] | None, options: _Options) -> int:
    command = typer.main.get_command(app)
    try:
        code = command.main(arguments, prog_name="hbgl", standalone_mode=False, obj=options)
    except SystemExit as stop:  # typer ends the program itself where the reader of stdout has gone
        code = stop.code
    return code if isinstance(code, int) else 0


def _fail(message: str, code: int, *, debug: bool = False) -> int:
    if debug:
        traceback.print_exc()
    typer.echo(f"hbgl: error: {message}", err=True)
    return code


def _wrong_use(error: typer.TyperException) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), err=True)
        return error.exit_code
    context = getattr(error, "ctx", None)
    hint = f" (see `{context.command_path} --help`)" if context else ""
    # What typer puts before a choice that is none of those it has says nothing.
    said = error.format_message().replace(": Value error, ", ": ")
    message = " ".join(said.split()).rstrip(".")
    return _fail(message + hint, error.exit_code)


def _describe(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename is not None else reason


def _close_broken_pipe() -> int:
    # Python flushes standard output once more at exit, which would complain a second time.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.__stdout__.fileno() if sys.__stdout__ else 1)
    return 1

"""The command line's edge: what is imported, what an error looks like, which code it exits with."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
import types
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from hbgl import __version__
from hbgl.cli import main
from hbgl.errors import Fault, HBGLError, RecordError, UsageError

HEAVY = {"torch", "transformers", "pyarrow", "sklearn", "matplotlib", "scipy", "rdflib"}

Raises = Callable[[BaseException], None]


def python(code: str, **options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env={**os.environ, **options},
    )


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Raises:
    """A command ``act`` that raises what the test wants."""
    module = types.ModuleType("hbgl_test_command")
    raised: list[BaseException] = []

    def act() -> None:
        """Do it."""
        typer.echo("acting")
        if raised:
            raise raised[0]

    vars(module).update(act=act, EXAMPLE="Example: hbgl act")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    lazy = main.LazyCommand(module.__name__, "act", "Do it.")
    monkeypatch.setitem(main.COMMANDS, "act", lazy)
    monkeypatch.delenv("HBGL_DEBUG", raising=False)
    return raised.append


def test_help_imports_nothing_heavy() -> None:
    done = python("""
        import sys
        from hbgl.cli.main import run
        assert run(["--help"]) == 0
        print("LOADED", *sorted({name.split(".")[0] for name in sys.modules}))
    """)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.rpartition("LOADED ")[2].split())
    assert "typer" in loaded
    assert not loaded & HEAVY


@pytest.mark.skipif(os.name != "posix", reason="counts processor time as POSIX does")
def test_help_is_quick(capsys: pytest.CaptureFixture[str]) -> None:
    """``hbgl --help`` takes under half a second of processor time, and so on an idle machine.

    The best of five: a busy machine makes even processor time longer.
    """
    costs: list[float] = []
    start = time.perf_counter()
    while len(costs) < 5 and min(costs, default=1.0) >= 0.5:
        before = os.times()
        subprocess.run([sys.executable, "-m", "hbgl", "--help"], check=True, capture_output=True)
        after = os.times()
        costs.append(
            after.children_user + after.children_system
            - before.children_user - before.children_system
        )  # fmt: skip
    seconds = (time.perf_counter() - start) / len(costs)
    with capsys.disabled():
        sys.stdout.write(f"[hbgl --help: {min(costs):.2f} s, by the clock {seconds:.2f} s]")
    assert min(costs) < 0.5


def test_help_lists_every_command_without_importing_it(
    command: Raises, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, lazy in main.COMMANDS.items():
        assert name in shown
        assert lazy.help in shown


def test_a_function_becomes_a_command_with_its_example(
    command: Raises, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["act", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "hbgl act [OPTIONS]" in shown
    assert "Example: hbgl act" in shown
    assert main.run(["act"]) == 0
    assert capsys.readouterr().out == "acting\n"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"hbgl {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bogus"], "hbgl: error: No such option: --bogus (see `hbgl --help`)\n"),
        (
            ["taxonony"],
            "hbgl: error: No such command 'taxonony'. Did you mean 'taxonomy'? "
            "(see `hbgl --help`)\n",
        ),
        (
            ["act", "extra"],
            "hbgl: error: Got unexpected extra argument(s) (extra) (see `hbgl act --help`)\n",
        ),
        (
            ["data", "split", "a.csv", "-o", "a", "--on-error", "maybe"],
            "hbgl: error: Invalid value for '--on-error': 'maybe' is not one of 'fail', 'skip' "
            "(see `hbgl data split --help`)\n",
        ),
    ],
)
def test_wrong_use_is_one_line_and_code_2(
    command: Raises, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == 2
    assert capsys.readouterr().err == message


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([]) == 2
    assert "Usage: hbgl" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (HBGLError("no such model: x"), 1, "no such model: x"),
        (UsageError("--a excludes --b"), 2, "--a excludes --b"),
        (
            RecordError("2 faults:", [Fault("no text", "a.jsonl", 3), Fault("empty")]),
            1,
            "2 faults:\n  a.jsonl:3: no text\n  empty",
        ),
        (FileNotFoundError(2, "No such file or directory", "x.tsv"), 1,
         "x.tsv: No such file or directory"),
        (
            ZeroDivisionError("oh"),
            1,
            "internal error: ZeroDivisionError: oh; "
            "run again as `hbgl --debug ...` and report the traceback",
        ),
        (typer.Abort(), 1, "aborted"),
    ],
)  # fmt: skip
def test_errors(
    command: Raises,
    error: Exception,
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command(error)
    assert main.run(["act"]) == code
    assert capsys.readouterr() == ("acting\n", f"hbgl: error: {message}\n")


@pytest.mark.parametrize("error", [HBGLError("no"), ZeroDivisionError("oh"), OSError(28, "full")])
def test_debug_shows_the_traceback(
    command: Raises,
    error: Exception,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command(error)
    assert main.run(["--debug", "act"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err
    monkeypatch.setenv("HBGL_DEBUG", "1")
    assert main.run(["act"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_interruption_is_quiet_and_code_130(
    command: Raises, capsys: pytest.CaptureFixture[str]
) -> None:
    command(KeyboardInterrupt())
    assert main.run(["act"]) == 130
    assert capsys.readouterr().err == ""


def test_exit_codes_of_commands_are_kept(command: Raises) -> None:
    command(typer.Exit(3))
    assert main.run(["act"]) == 3


@pytest.mark.skipif(os.name != "posix", reason="pipes as on POSIX")
@pytest.mark.parametrize("lines", [1, 100_000])
def test_a_reader_that_leaves_is_no_error(lines: int, tmp_path: Path) -> None:
    (tmp_path / "talk.py").write_text(
        f"EXAMPLE = ''\ndef talk() -> None:\n    for i in range({lines}):\n        print(i)\n"
    )
    code = (
        "import sys, time; from hbgl.cli import main; "
        "main.COMMANDS['talk'] = main.LazyCommand('talk', 'talk', ''); "
        "time.sleep(0.2); sys.exit(main.run(['talk']))"
    )
    talker = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert talker.stdout is not None
    talker.stdout.close()
    assert talker.stderr is not None
    complaint = talker.stderr.read()
    talker.stderr.close()
    assert (talker.wait(timeout=200), complaint) == (1, b"")

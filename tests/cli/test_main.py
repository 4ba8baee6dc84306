"""What all commands have in common."""

import ast
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from standard_json import strict_json

import podium
from podium.cli import app
from podium.cli._console import print_json

COMMANDS = [command.callback.__name__ for command in app.registered_commands]


def test_version(run):
    """Of which commit is told in tests of its own."""
    assert re.fullmatch(
        rf"podium {podium.__version__}( \(commit [0-9a-f]{{10}}(\+changes)?\))?\n", run("--version").stdout
    )


def test_the_module_is_the_command(run):
    done = subprocess.run([sys.executable, "-m", "podium", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == run("--version").stdout


def test_help_lists_every_command(run):
    shown = run("--help").stdout
    assert [name for name in COMMANDS if f" {name} " not in shown] == []
    assert len(COMMANDS) >= 9


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_is_explained(run, command):
    assert run(command, "--help").exit_code == 0
    own = next(entry.callback for entry in app.registered_commands if entry.callback.__name__ == command)
    assert own.__doc__
    for parameter in app_parameters(command):
        if parameter.name != "help":
            assert parameter.help, f"podium {command}: {parameter.name} has no help"


def app_parameters(command):
    """Return the arguments and options of a command."""
    from typer.main import get_command

    return get_command(app).commands[command].params


def with_json():
    return [command for command in COMMANDS if any("--json" in parameter.opts for parameter in app_parameters(command))]


@pytest.mark.parametrize("command", with_json())
def test_all_json_is_printed_in_one_way(command):
    """Wherever a test calls a command, its JSON is parsed strictly (conftest); this is for what no test reaches."""
    module = ast.parse(Path(sys.modules[f"podium.cli.{command}"].__file__).read_text("utf-8"))
    called = {ast.unparse(node.func) for node in ast.walk(module) if isinstance(node, ast.Call)}
    assert "print_json" in called
    assert not called & {"json.dumps", "json_text", "dumps"}


def test_every_command_with_json_is_tested_with_it():
    texts = [path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    assert [command for command in with_json() if not any(command in t and '"--json"' in t for t in texts)] == []
    assert len(with_json()) >= 9


def test_what_is_not_finite_is_null(capsys):
    print_json({"a": math.inf, "b": [math.nan, (1.5, -math.inf)], "c": {"d": 2}})
    assert strict_json(capsys.readouterr().out) == {"a": None, "b": [None, [1.5, None]], "c": {"d": 2}}


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_the_law_can_fail(run, monkeypatch, constant):
    with pytest.raises(AssertionError, match=f"{constant} is no JSON"):
        strict_json(f'{{"a": {constant}}}')
    monkeypatch.setattr(
        sys.modules["podium.cli.metrics"], "print_json", lambda _: typer.echo(f'{{"perfect": {constant}}}')
    )
    with pytest.raises(AssertionError, match=f"{constant} is no JSON"):
        run("metrics", "dice", "--json")


def test_debug_shows_the_traceback(run, tmp_path):
    result = run("--debug", "compare", tmp_path / "a.nii", tmp_path / "b.nii")
    assert isinstance(result.exception, FileNotFoundError)

"""What all commands have in common."""

import subprocess
import sys

import pytest

import podium
from podium.cli import app

COMMANDS = [command.callback.__name__ for command in app.registered_commands]


def test_version(run):
    assert run("--version").stdout == f"podium {podium.__version__}\n"


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


def test_debug_shows_the_traceback(run, tmp_path):
    result = run("--debug", "compare", tmp_path / "a.nii", tmp_path / "b.nii")
    assert isinstance(result.exception, FileNotFoundError)

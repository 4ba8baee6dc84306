"""What `--help` says: laws over all commands. Whoever forgets an example, a word or a name is told here."""

import re
import shlex

import pytest
import typer
from typer.main import get_command

from podium.challenges import challenges, get_challenge
from podium.cli import app
from podium.cli._help import HelpfulCommand, HelpfulGroup, examples_of

COMMANDS = get_command(app).commands


def omissions(name, command, group) -> list[str]:
    """Return what the help of a command lacks."""
    lacking = []
    examples = examples_of(command.help)
    if not examples:
        lacking.append(f"{name} has no example")
    for line in examples:
        first, called, *words = shlex.split(line, comments=True)
        assert first == "podium"
        if called != name:
            lacking.append(f"{line} is no example of {name}")
            continue
        try:
            command.make_context(name, [word for word in words if word != "--help"], parent=group)
        except Exception as error:
            lacking.append(f"{line}: {getattr(error, 'message', error)}")
    for parameter in command.params:
        if not getattr(parameter, "help", None):
            lacking.append(f"{name}: {parameter.name} has no help")
        if not getattr(parameter, "is_flag", False) and not parameter.metavar:
            lacking.append(f"{name}: {parameter.name} does not say what it takes")
    return lacking


@pytest.fixture(scope="module")
def group():
    return get_command(app).make_context("podium", ["metrics"])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_that_parse_and_explains_itself(name, group):
    assert omissions(name, COMMANDS[name], group) == []


def planted(example: str, help_text: str | None, metavar: str | None):
    own = typer.Typer(cls=HelpfulGroup, rich_markup_mode=None)

    def rank(*, level: int = typer.Option(1, help=help_text, metavar=metavar)) -> None:
        pass

    rank.__doc__ = f"Rank.\n\n{example}"
    own.callback()(lambda: None)
    own.command(cls=HelpfulCommand)(rank)
    return get_command(own).commands["rank"]


@pytest.mark.parametrize(
    ("example", "help_text", "metavar", "lacking"),
    [
        ("", "Which.", "N", "rank has no example"),
        ("podium rank --lvel 1", "Which.", "N", "No such option: --lvel"),
        ("podium rank --level high", "Which.", "N", "valid integer"),
        ("podium report run", "Which.", "N", "is no example of rank"),
        ("podium rank --level 1", None, "N", "level has no help"),
        ("podium rank --level 1", "Which.", None, "level does not say what it takes"),
    ],
)
def test_an_omission_is_noticed(group, example, help_text, metavar, lacking):
    text = f"Examples\n--------\n{example}\n" if example else ""
    (said,) = omissions("rank", planted(text, help_text, metavar), group)
    assert lacking in said


def test_nothing_is_missed_where_nothing_is_missing(group):
    command = planted("Examples\n--------\npodium rank --level 1  # one\n", "Which.", "N")
    assert omissions("rank", command, group) == []


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_shows_no_types_of_python(run, name):
    shown = run(*filter(None, [name]), "--help").stdout
    assert re.findall(r"<\w.*?>|list\[|/opt/ml", shown) == []
    assert "Examples:\n  podium " in shown


@pytest.mark.parametrize("command", ["check", "evaluate", "raters", "run"])
def test_what_is_required_is_marked(run, command):
    shown = run(command, "--help").stdout
    assert re.search(r"CHALLENGE .*(\n +.*)?\[required\]", shown)
    needed = {"check": (), "evaluate": ("--truth", "--submissions", "--out"), "raters": ("--truth",), "run": ("--out",)}
    required = re.search(r"^Required[^\n]*:\n((?: .*\n)+)", shown, re.MULTILINE)
    assert [flag for flag in needed[command] if f"  {flag} " not in required[1]] == []


@pytest.mark.parametrize("name", sorted(challenges()))
def test_the_options_of_a_challenge_are_listed_where_it_is_named(run, name):
    shown = run("evaluate", name, "--help").stdout
    challenge = get_challenge(name)
    assert f"\nOptions of {challenge.title}:\n" in shown
    assert [option for option in challenge.option_names() if f"  --option {option}=" not in shown] == []
    assert run("evaluate", "--truth", "somewhere", name, "--help").stdout == shown


def test_without_a_challenge_none_is_listed(run):
    assert "Options of" not in run("evaluate", "--help").stdout
    unknown = run("evaluate", "kits1", "--help")
    assert unknown.exit_code == 0
    assert unknown.stdout == run("evaluate", "--help").stdout


def test_what_is_missing_is_named(run):
    result = run("evaluate", "kits21", "--submissions", "teams")
    assert result.exit_code == 1
    assert result.stderr == "error: --truth and --out must be given. See podium evaluate kits21 --help\n"

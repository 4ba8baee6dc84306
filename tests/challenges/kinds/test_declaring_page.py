"""docs/declaring.md: its example is read, every table and key of every kind is on it, and its commands work."""

import re

import pytest
from declared_challenges import TOML, write_lesions
from pydantic import BaseModel
from shared_data import PROJECT
from typer.testing import CliRunner

from podium.challenges.kinds import KINDS, parse_challenge
from podium.challenges.kinds.refusals import _model_in
from podium.challenges.kinds.toml_files import TABLES
from podium.cli import app

PAGE = (PROJECT / "docs" / "declaring.md").read_text()


def test_the_example_is_that_of_the_tests():
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert parse_challenge(example) == parse_challenge((TOML / "brain-lesions.toml").read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_and_key_is_on_the_page(kind):
    assert f"`{kind}`" in PAGE
    for name, field in KINDS[kind].model_fields.items():
        if name in ("edition", "emphasis"):
            continue
        model = _model_in(field.annotation)
        table = TABLES.get(name, name)
        assert f"`[{table}]`" in PAGE or f"`[[{table}]]`" in PAGE or f"`{name}`" in PAGE, name
        for key in model.model_fields if model is not None and issubclass(model, BaseModel) else ():
            assert key == "options" or re.search(rf"`{key}\b", PAGE), f"{table}: {key}"


def test_commands_take_a_path(tmp_path):
    data = write_lesions(tmp_path)
    toml, run = str(TOML / "brain-lesions.toml"), str(tmp_path / "run")
    truth, teams = str(data / "truth"), str(data / "submissions")
    commands = [
        ["check", toml, f"{teams}/near", "--truth", truth],
        ["evaluate", toml, "--truth", truth, "--submissions", teams, "--out", run],
        ["rank", run, "--bootstrap", "20"],
        ["verify", run],
    ]
    for command in commands:
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, (command, result.output)
    result = CliRunner().invoke(
        app, ["evaluate", toml, "--truth", truth, "--submissions", teams, "--out", run, "--resume"]
    )
    assert result.exit_code == 0, result.output
    (tmp_path / "challenge.toml").write_text("[challenge]\nnam = 'x'\n")
    result = CliRunner().invoke(app, ["check", str(tmp_path), f"{teams}/near"])
    assert result.exit_code == 1
    assert "line 2: there is no key 'nam' here. Did you mean 'name'?" in " ".join(result.output.split())

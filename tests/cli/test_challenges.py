"""`podium challenges`: what there is, and its rules."""

import json

import pytest
from declared_challenges import TOML

from podium.challenges import challenges
from podium.challenges.kinds.toml_files import parse_challenge


def test_every_challenge_is_listed_with_its_rules_and_options(run):
    shown = " ".join(run("challenges").stdout.split())
    for name, kind in challenges().items():
        assert f"{name} {kind.title} {kind.page}" in shown
        assert " ".join(kind.summary.split()) in shown
        for option in kind.option_names():
            assert option in shown


def test_programs_read_the_same(run):
    document = json.loads(run("challenges", "--json").stdout)
    assert list(document) == list(challenges())
    for name, kind in challenges().items():
        assert document[name]["title"] == kind.title
        assert document[name]["rules"] == kind.summary
        assert list(document[name]["options"]) == list(kind.option_names())
        assert all(document[name]["options"].values())


@pytest.mark.parametrize("name", ["kits21", str(TOML / "nodules.toml")])
def test_all_about_one(run, name):
    result = run("challenges", name)
    assert result.exit_code == 0, result.output
    for heading in ("What to send", "What is in it", "What is measured", "How places are made", "Limits", "Commands"):
        assert f"\n{heading}\n" in result.stdout
    assert f"  podium check {name} my-team" in result.stdout
    document = json.loads(run("challenges", name, "--json").stdout)
    assert document["what is in it"]


def test_one_in_toml(run):
    result = run("challenges", "kits21", "--toml")
    assert parse_challenge(result.stdout).labels == {"kidney": 1, "tumor": 2, "cyst": 3}
    assert run("challenges", "--toml").exit_code == 1


def test_one_that_is_not_there(run):
    result = run("challenges", "kits22")
    assert result.exit_code == 1
    assert "Did you mean 'kits21'?" in result.output

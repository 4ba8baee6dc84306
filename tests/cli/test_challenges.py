"""`podium challenges`: what there is, and its rules."""

import json

from podium.challenges import challenges


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

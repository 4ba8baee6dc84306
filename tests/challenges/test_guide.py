"""What participants are told: everything that is declared, of built-in and of declared challenges alike."""

import shlex

import pytest
from declared_challenges import TOML

from podium.challenges import challenges, get_challenge
from podium.challenges.guide import guide_to
from podium.challenges.kinds import DeclaredChallenge

NAMES = [*sorted(challenges()), *sorted(str(path) for path in TOML.glob("*.toml"))]


def told(name):
    return {section.title: section.lines for section in guide_to(get_challenge(name), called=name)}


@pytest.mark.parametrize("name", NAMES)
def test_every_declared_fact_is_told(name):
    challenge, facts = get_challenge(name), told(name)
    tree = "\n".join(facts["What to send"])
    declared = isinstance(challenge, DeclaredChallenge)
    for pattern in challenge.files.prediction if declared else challenge.naming:
        assert str(pattern) in tree
    assert facts["What is in it"]
    measured = "\n".join(facts["What is measured"])
    for measure in challenge.measures if not declared else map(challenge.measure_of, challenge.quantities):
        if measure.judges and measure.decides:
            assert f"{measure.title}" in measured
            assert measure.direction.value in measured
    for measure in challenge.decisive:
        if measure.price is not None:
            assert measure.price.words in measured
    assert facts["How places are made"] != (challenge.summary,)
    options = "\n".join(facts.get("Options", ()))
    assert all(f"--option {option}=" in options for option in challenge.option_names())
    assert "GiB" in facts["Limits"][0]


@pytest.mark.parametrize("name", NAMES)
def test_commands_are_commands(name):
    from podium.cli import app

    known = {command.callback.__name__ for command in app.registered_commands}
    for line in told(name)["Commands"]:
        program, command, *rest = shlex.split(line, comments=True)
        assert (program, command in known) == ("podium", True)
        assert name in rest or rest == ["run"]


@pytest.mark.parametrize(("name", "inputs"), [("brain-lesions", "{subject}_{visit}_T1.mha"), ("chest", "{case}.png")])
def test_inputs_of_algorithms_are_told(name, inputs):
    challenge = get_challenge(str(TOML / f"{name}.toml"))
    assert "What algorithms are given" not in told(str(TOML / f"{name}.toml"))
    files = {**challenge.files.model_dump(mode="json", exclude_defaults=True), "inputs": inputs}
    facts = {own.title: own.lines for own in guide_to(challenge.varied(files=files), called="challenge.toml")}
    assert inputs in facts["What algorithms are given"][0]
    assert challenge.files.prediction[0].text in facts["What algorithms are given"][1]
    assert any(line.startswith("podium run challenge.toml") for line in facts["Commands"])


def test_labels_units_and_prices_of_a_declared_challenge():
    facts = told(str(TOML / "brain-lesions.toml"))
    assert "0 background, 1 edema, 2 core" in facts["What is in it"][0]
    assert "whole is edema and core together." in facts["What is in it"]
    (line,) = (
        line for line in facts["What is measured"] if line.startswith("Hausdorff distance 95 % of whole, core: ")
    )
    assert line.endswith(": 0 to ∞ mm, lower is better; percentile 95; a failed case: image diagonal.")
    assert any("Wilcoxon" in line and "Holm" in line for line in facts["How places are made"])


def test_rules_are_put_into_words():
    rules = {
        "ranking": {"scheme": "rank then mean", "ties": ["dice_core", "seconds"]},
        "eligibility": {"at_least": {"dice_whole": 0.5}, "better_than": "baseline", "better_in": "all"},
        "timing": {"weight": 2.0, "limit_seconds": 9.0},
    }
    challenge = get_challenge(str(TOML / "brain-lesions.toml")).varied(rules=rules)
    facts = {section.title: " ".join(section.lines) for section in guide_to(challenge, called="a")}
    for words in (
        "Teams are ranked in every one of the cases",
        "parted by dice_core, then seconds",
        "dice_whole of at least 0.5",
        "better than baseline in every criterion",
        "time 2",
    ):
        assert words in facts["How places are made"]
    assert "At most 9 s for each case" in facts["Limits"]
    test = challenge.varied(rules={"ranking": {"scheme": "test then rank"}})
    assert "p < 0.05" in " ".join(test.placing)


def test_one_criterion_is_not_spoken_of_as_several():
    boxes = get_challenge(str(TOML / "boxes.toml"))
    one = "One criterion: Average precision. It is computed over all cases and ranks the teams."
    assert " ".join(boxes.placing) == one
    timed = boxes.model_copy(update={"timing": boxes.timing.model_copy(update={"weight": 0.5})})
    assert timed.placing[0] == "2 criteria: Average precision; time."
    assert timed.placing[1].startswith("Each is computed over all cases")

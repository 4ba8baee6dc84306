"""What a challenge declares: options as a person types them, measures with prices, and members that have a default."""

import json
from typing import ClassVar, Literal

import numpy as np
import polars as pl
import pydantic
import pytest

import podium
from podium.challenges import challenges
from podium.model import Case, Challenge, Column, Cube, Direction, InputError, Measure, Price, Role, Scores, Value
from podium.model.options import PositiveNumber, ToleranceScale
from podium.ranking import competition_ranks, weighted_mean
from podium.run import Problem

ERROR = Measure("error", "Error", Direction.LOWER, "mm", minimum=0, targets=("left", "right"), price=Price(10.0))


class Guess(Challenge):
    """Two numbers a case, each as near to the true one as possible; the seven members that an author must give."""

    name: ClassVar[str] = "guess"
    title: ClassVar[str] = "Guess"
    measures: ClassVar[tuple[Measure, ...]] = (ERROR,)

    def cases(self, truth):
        """Find one text file a case."""
        return [Case(path.stem, (path,), (path.name,)) for path in sorted(truth.glob("*.txt"))]

    def load(self, case):
        """Read the true numbers."""
        return tuple(map(float, case.files[0].read_text().split()))

    def measure(self, case, truth, prediction):
        """Measure how far each is off."""
        try:
            guesses = [float(word) for word in prediction.read_text().split()]
        except ValueError as error:
            raise InputError(str(error), path=prediction) from None
        return [
            Value(case.name, "error", abs(guess - true), side)
            for side, guess, true in zip(("left", "right"), guesses, truth, strict=True)
        ]

    def score(self, cube, weights, ranked):
        """Rank by the mean of both errors."""
        both = (cube.of("error", "left") + cube.of("error", "right")) / 2
        means = weighted_mean(both, weights)
        column = Column(Measure("mean", "Mean error", Direction.LOWER, "mm"), means, rows=both)
        return Scores(competition_ranks(means, direction=Direction.LOWER, among=ranked), (column,))


class Guessing(Guess):
    """The same with options of every kind."""

    editions: ClassVar[tuple[str, ...]] = ("document", "code")
    terms: ClassVar[tuple[str, ...]] = ("left", "right")

    rounds: int = 3
    """How often."""
    strict: bool = False
    """Whether anything is forgiven."""
    kind: Literal["fast", "slow"] = "fast"
    """How."""
    tolerance_mm: PositiveNumber = 1.5
    """How near is near."""
    tolerance_scale: ToleranceScale = 1.0
    """What it is multiplied by."""


# Options


def test_options_may_be_text():
    challenge = Guessing.made(rounds="5", strict="yes", kind="slow", tolerance_mm="0.25", tolerance_scale="2")
    assert challenge.options == {
        "edition": "document",
        "rounds": 5,
        "strict": True,
        "kind": "slow",
        "tolerance_mm": 0.25,
        "tolerance_scale": 2.0,
    }
    assert challenge == Guessing(rounds=5, strict=True, kind="slow", tolerance_mm=0.25, tolerance_scale=2.0)
    assert Guessing.made() == Guessing()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"colour": "red"},
            "Guess has no option 'colour'. Options of guess: kind, rounds, strict, tolerance_mm, tolerance_scale",
        ),
        ({"kind": "medium"}, "kind is one of fast, slow, not 'medium'"),
        ({"edition": "gossip"}, "Guess has no rules called 'gossip'. There are: document, code"),
        ({"emphasis": {"middle": 2.0}}, "Guess has no term called 'middle'. There are: left, right"),
        ({"tolerance_mm": "-1"}, "tolerance_mm is '-1': a positive number is expected"),
        ({"tolerance_mm": "nan"}, "tolerance_mm is 'nan': a positive number is expected"),
        ({"tolerance_mm": True}, "tolerance_mm is True: a positive number is expected"),
        ({"tolerance_scale": "3"}, "tolerance_scale is '3': there are: 0.5, 1, 2"),
    ],
)
def test_options_that_cannot_be_used_are_one_clear_line(options, message):
    with pytest.raises(InputError) as caught:
        Guessing.made(**options)
    assert str(caught.value) == message
    with pytest.raises(InputError) as caught:
        Guessing().varied(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "beginning"),
    [
        ({"rounds": "many"}, "rounds is 'many': input should be a valid integer"),
        ({"rounds": "2.5"}, "rounds is '2.5': input should be a valid integer"),
        ({"strict": "perhaps"}, "strict is 'perhaps': input should be a valid boolean"),
    ],
)
def test_what_pydantic_says_is_one_line_too(options, beginning):
    with pytest.raises(InputError) as caught:
        Guessing.made(**options)
    assert str(caught.value).startswith(beginning)
    assert "\n" not in str(caught.value)
    assert "pydantic" not in str(caught.value)


def test_a_challenge_without_options_says_so():
    with pytest.raises(InputError, match=r"Guess has no option 'rounds'\. Options of guess: none"):
        Guess.made(rounds=3)
    with pytest.raises(InputError, match=r"has no term called 'left'\. There are: none"):
        Guess.made(emphasis={"left": 0.0})


def test_every_option_has_its_line_of_explanation():
    assert Guessing.option_names() == ("kind", "rounds", "strict", "tolerance_mm", "tolerance_scale")
    lines = {name: Guessing.model_fields[name].description for name in Guessing.option_names()}
    assert lines["rounds"] == "How often."
    assert all(lines.values())
    assert Guess.option_names() == ()


def test_options_are_what_a_file_can_hold():
    """Edition and options make the same challenge again; what merely explores is not among them."""
    challenge = Guessing(edition="code", rounds=7, emphasis={"left": 2.0})
    assert "emphasis" not in challenge.options
    again = Guessing.made(**json.loads(json.dumps(challenge.options)))
    assert again == Guessing(edition="code", rounds=7)


@pytest.mark.parametrize("name", sorted(challenges()))
def test_options_of_every_challenge_survive_a_file(name):
    kind = challenges()[name]
    for edition in kind.editions:
        challenge = kind.made(edition=edition)
        assert kind.made(**json.loads(json.dumps(challenge.options))) == challenge
        assert challenge.varied() == challenge
        assert set(challenge.scoring_options) <= set(kind.option_names())


def test_varied():
    """Another challenge with some options changed, text or not; the first stays as it is."""
    first = Guessing(rounds=4, emphasis={"left": 0.5})
    second = first.varied(rounds="6", edition="code")
    assert (second.rounds, second.edition, second.strict, second.emphasis) == (6, "code", False, {"left": 0.5})
    assert (first.rounds, first.edition) == (4, "document")
    assert type(second) is Guessing
    assert first.varied() == first != second
    assert second.varied(emphasis={}).emphasis == {}


def test_a_challenge_cannot_be_changed():
    challenge = Guessing()
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        challenge.rounds = 4
    assert challenge.rounds == 3


def test_weights_of_terms():
    challenge = Guessing(emphasis={"left": 0.0})
    assert (challenge.weight("left"), challenge.weight("right")) == (0.0, 1.0)


# Measures


def of_measures(*declared):
    """Return a challenge that declares other measures."""
    return type("Other", (Guess,), {"measures": declared, "__annotations__": {"measures": ClassVar}})


def test_a_challenge_without_a_price_does_not_load():
    """Whatever decides must say what a failed case costs, in `made` and by itself."""
    kind = of_measures(ERROR, Measure("speed", "Speed", Direction.HIGHER))
    for make in (kind, kind.made):
        with pytest.raises(ValueError, match="Guess does not say what a failed case costs in speed"):
            make()


@pytest.mark.parametrize(
    "measure",
    [
        Measure("speed", "Speed"),
        Measure("speed", "Speed", Direction.HIGHER, decides=False),
        Measure("speed", "Speed", Direction.HIGHER, price=Price(None, "no number")),
        Measure("speed", "Speed", Direction.ZERO, price=Price(0)),
    ],
)
def test_what_merely_describes_needs_no_price(measure):
    challenge = of_measures(ERROR, measure).made()
    named = [key for key in (measure.key for measure in challenge.decisive) if key[0] == "speed"]
    assert named == ([("speed", "")] if measure.price else [])


@pytest.mark.parametrize("name", ["error", "seconds"])
def test_two_measures_of_one_name_are_refused(name):
    """Nor may one be called like the time, which is recorded beside them."""
    kind = of_measures(ERROR, Measure(name, "Another"))
    for make in (kind, kind.made):
        with pytest.raises(ValueError, match=f"Guess declares the measure {name} twice"):
            make()


def test_what_decides():
    """Each target by itself, of measures that judge and decide."""
    speed = Measure("speed", "Speed", Direction.HIGHER, decides=False)
    challenge = of_measures(speed, ERROR, Measure("frames", "Frames")).made()
    assert [measure.key for measure in challenge.decisive] == [("error", "left"), ("error", "right")]
    assert [measure.title for measure in challenge.decisive] == ["Error left", "Error right"]


@pytest.mark.parametrize("member", ["measures", "cases", "load", "measure", "score"])
def test_what_an_author_must_give(member):
    own = {name: getattr(Guess, name) for name in ("cases", "load", "measure", "score") if name != member}
    declared = {"name": "lacking", "title": "Lacking"} | ({} if member == "measures" else {"measures": (ERROR,)})
    annotations = dict.fromkeys(declared, ClassVar)
    kind = type("Lacking", (Challenge,), {**own, **declared, "__annotations__": annotations})
    with pytest.raises(TypeError, match=f"abstract .*{member}"):
        kind()


# Defaults


@pytest.fixture
def cube():
    """Return two submissions on two cases."""
    keys = (("error", "left"), ("error", "right"))
    nothing = np.zeros((2, 2), bool)
    return Cube(("a", "b"), ("1", "2"), ("1", "2"), keys, np.ones((2, 2, 2)), nothing, nothing, np.full((2, 2), np.nan))


def test_members_that_have_a_default(tmp_path, cube):
    challenge, case = Guess(), Case("1", (tmp_path / "1.txt",), ("1.txt",))
    prediction = tmp_path / "guess.txt"
    assert challenge.prepared(tmp_path) is challenge
    assert challenge.rows(case, (1.0, 2.0)) == ("1",)
    assert challenge.cluster("1") == "1"
    assert challenge.truth_as_prediction(case) is None
    assert challenge.built_in == {}
    with pytest.raises(KeyError, match="nobody"):
        challenge.measure_built_in("nobody", case, (1.0, 2.0))
    assert challenge.check(None, prediction) == challenge.check(case, prediction) == []
    assert challenge.views(case, (1.0, 2.0), prediction) == []
    assert challenge.views(case, (1.0, 2.0), prediction, images=tmp_path) == []
    assert challenge.overviews(pl.DataFrame()) == []
    assert challenge.ineligible(cube) == {}
    assert challenge.notes(cube) == ()
    assert challenge.further_tables(cube, {"a": Role.BASELINE}) == {}
    assert challenge.terms == ()
    assert challenge.weight("anything") == 1.0
    assert challenge.alternatives(cube) == {}
    assert (challenge.page, challenge.summary, challenge.version) == ("", "", 1)
    assert challenge.row_words == ("case", "cases")
    assert challenge.single_files == ()


def test_there_is_no_demo_unless_somebody_wrote_one(tmp_path):
    with pytest.raises(InputError, match=r"^there is no demo of Guess\. It needs a module demo beside it$"):
        Guess().write_demo(tmp_path)
    with pytest.raises(InputError, match="there is no demo of Guess"):
        podium.demo(Guess(), out=tmp_path)


def test_seven_members_are_enough(tmp_path):
    """Checked, evaluated, ranked and reported, by a challenge that gives nothing else.

    Errors of a: 1 and 3, 0 and 0. Of b: 0 and 0, and no numbers: 10 and 10. c is off by 100, which counts as 10.
    """
    guesses = {"a": ("2 5", "4 4"), "b": ("1 2", "four"), "c": ("101 2", "4 4")}
    written = {"truth": ("1 2", "4 4"), **{f"teams/{team}": numbers for team, numbers in guesses.items()}}
    for folder, numbers in written.items():
        (tmp_path / folder).mkdir(parents=True)
        for case, text in enumerate(numbers, start=1):
            (tmp_path / folder / f"{case}.txt").write_text(text)
    truth, teams = tmp_path / "truth", tmp_path / "teams"
    assert podium.check(Guess(), teams / "a") == podium.check(Guess(), teams / "a", truth=truth) == []
    assert podium.check(Guess(), teams / "b", truth=truth) == [
        Problem("2.txt", "could not convert string to float: 'four'")
    ]
    run = podium.evaluate(Guess(), truth=truth, submissions=teams, out=tmp_path / "run")
    assert [(entry.submission, entry.place, entry.values["mean"]) for entry in run.leaderboard.entries] == [
        ("a", 1, 1.0),
        ("c", 2, 2.5),
        ("b", 3, 5.0),
    ]
    capped = run.measurements.filter(submission="c", case="1", target="left")
    assert capped.select("value", "measured").rows() == [(10.0, 100.0)]
    ranking = podium.load(tmp_path / "run", challenge=Guess()).rank(bootstrap=50)
    assert ranking.leaderboard == run.leaderboard
    page = ranking.report(formats=("svg",), only=("places",))
    assert "Guess" in page.read_text()

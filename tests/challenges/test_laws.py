"""Laws over every challenge there is, one installed for the test by an entry point included, in every edition."""

import random
import re
import shutil
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from damages import assert_damage_never_pays
from plugin import installed, write_landmarks
from shared_data import PROJECT
from sixth_challenge import Landmarks

import podium
from podium.challenges import challenges, get_challenge
from podium.model import Challenge, Column, Direction, Measure, Price, Scores
from podium.run import Submission, checking, find_submissions, found_cases, measure_all
from podium.run.submissions import opened
from podium.testing import (
    Material,
    assert_check_agrees,
    assert_failing_never_pays,
    assert_order_does_not_matter,
    assert_outsiders_change_nothing,
    assert_zero_weights_leave_out,
)

pytestmark = pytest.mark.slow

PLUGIN = "landmarks"
NAMES = [*sorted(challenges()), PLUGIN]
# Where scores have no bounds, or distances may be infinite, only the place is held; see CHALLENGES.
PLACE_ONLY = {("tusrec", "code"), ("trackrad2025", "code")}


def editions(name):
    return Landmarks.editions if name == PLUGIN else challenges()[name].editions


# Edition `code` of KiTS21 measures against samples of several annotators, which its demo does not have.
KINDS = [(name, edition) for name in NAMES for edition in editions(name)]
USUAL = [(name, editions(name)[0]) for name in NAMES]


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """Install a package with a challenge of its own."""
    with installed(tmp_path_factory.mktemp("site")) as folder:
        yield folder


@pytest.fixture(scope="module")
def data(plugin, written_demo, tmp_path_factory):
    """Return where truth and submissions of a challenge lie, written once, and not to be changed."""
    written = {}

    def folder(name) -> Path:
        if name != PLUGIN:
            return written_demo(name)
        if name not in written:
            written[name] = tmp_path_factory.mktemp(name)
            generator = random.Random(1)
            teams = {team: {f"{n:03d}": f"{generator.uniform(0, 150):.3f} 1 2" for n in range(1, 7)} for team in "abcd"}
            write_landmarks(written[name], teams, cases=6)
            (written[name] / "teams").rename(written[name] / "submissions")
        return written[name]

    return folder


def made(name, edition):
    options = {"references": "aggregated"} if (name, edition) == ("kits21", "code") else {}
    return get_challenge(name, edition=edition, **options)


@pytest.fixture(scope="module")
def material(data):
    """Return random tables of a challenge in an edition, its files measured once."""
    known = {}

    def of(name, edition) -> Material:
        if (name, edition) not in known:
            folder = data(name)
            known[name, edition] = with_few_rows(
                Material.of(made(name, edition), truth=folder / "truth", submissions=folder / "submissions")
            )
        return known[name, edition]

    return of


def with_few_rows(material, most=60):
    """Return the same with its first rows alone: a law needs no more, and LVQuan18 has 240 images."""
    rows = material.rows[:most]
    return Material(
        material.challenge,
        {row: material.valid[row] for row in rows},
        {row: material.failed[row] for row in rows},
        [(name, value) for name, value in material.built_in if value.case in rows],
    )


def test_the_plug_in_is_among_them(plugin):
    assert PLUGIN in podium.list_challenges()
    assert get_challenge(PLUGIN).title == "Landmarks"


@pytest.mark.parametrize("trials", [5, pytest.param(15, marks=pytest.mark.heavy)])
@pytest.mark.parametrize(("name", "edition"), KINDS)
def test_failing_never_pays(material, name, edition, trials):
    score = (name, edition) not in PLACE_ONLY
    assert_failing_never_pays(material(name, edition), seed=1, trials=trials, score=score)


@pytest.mark.parametrize(("name", "edition"), KINDS)
def test_the_order_of_teams_and_lines_does_not_matter(material, name, edition):
    assert_order_does_not_matter(material(name, edition), seed=2)


@pytest.mark.parametrize(("name", "edition"), KINDS)
def test_who_is_not_ranked_changes_nothing(material, name, edition):
    assert_outsiders_change_nothing(material(name, edition), seed=5)


@pytest.mark.parametrize(("name", "edition"), KINDS)
def test_zero_weights_equal_rows_left_out(material, name, edition):
    assert_zero_weights_leave_out(material(name, edition), seed=3)


def test_timing_ignored_keeps_the_laws_too(material):
    """Without the runtime, five ranks are averaged, and the laws hold all the same."""
    known = material("trackrad2025", "document")
    ignoring = Material(known.challenge.varied(timing="ignored"), known.valid, known.failed, known.built_in)
    assert_failing_never_pays(ignoring, seed=4, trials=8)


@pytest.mark.parametrize(
    ("name", "edition"),
    [pytest.param(*kind, marks=[] if kind in USUAL else [pytest.mark.heavy]) for kind in KINDS],
)
def test_damaged_files_never_pay_and_a_new_team_changes_no_measurement(data, tmp_path, name, edition):
    score = (name, edition) not in PLACE_ONLY
    assert_damage_never_pays(made(name, edition), data(name), tmp_path, seed=name, score=score)


def accepted(name, folder):
    """Return the submission of a demo, a folder, in which nothing failed."""
    for submission in find_submissions(folder / "submissions"):
        evaluation = measure_all(get_challenge(name), truth=folder / "truth", submissions=[submission])
        if submission.path.is_dir() and all(status == "warning" for *_, status, _ in evaluation.failures):
            return submission.path
    raise AssertionError(f"the demo of {name} has no such submission")


@pytest.fixture(scope="module")
def few_predictions(data, tmp_path_factory):
    """Return a submission that is accepted, with the predictions of the first two cases alone."""
    copied = {}

    def folder(name) -> Path:
        if name not in copied:
            whole = accepted(name, data(name))
            _, cases = found_cases(get_challenge(name), data(name) / "truth")
            copied[name] = shutil.copytree(whole, tmp_path_factory.mktemp(f"few-{name}") / whole.name)
            with opened(Submission(whole.name, copied[name]), cases) as files:
                for path in [files.find(case) for case in cases[2:]]:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        return copied[name]

    return folder


def with_few_cases(challenge):
    """Return the same challenge with the first two of its cases: what a law says of each, it says of any number."""
    kind = type(challenge)
    few = type(f"Few{kind.__name__}", (kind,), {"cases": lambda self, truth: kind.cases(self, truth)[:2]})
    return few.made(**challenge.options)


@pytest.mark.parametrize(("name", "edition"), USUAL)
def test_check_and_evaluate_agree(data, few_predictions, tmp_path, name, edition):
    assert_check_agrees(
        with_few_cases(made(name, edition)),
        truth=data(name) / "truth",
        submission=few_predictions(name),
        scratch=tmp_path,
        seed=6,
    )


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "edition"), KINDS)
def test_check_and_evaluate_agree_on_all_cases(data, tmp_path, name, edition):
    folder = data(name)
    assert_check_agrees(
        made(name, edition), truth=folder / "truth", submission=accepted(name, folder), scratch=tmp_path, seed=1
    )


@pytest.mark.parametrize("name", NAMES)
def test_expected_names_are_those_that_a_check_knows_without_the_truth(data, name):
    challenge = get_challenge(name)
    _, cases = found_cases(challenge, data(name) / "truth")
    expected = [pattern for case in cases for pattern in case.expected]
    assert (name == PLUGIN) == (not challenge.naming)
    if challenge.naming:
        assert [name for name in expected if not any(stands_for(pattern, name) for pattern in challenge.naming)] == []


def stands_for(pattern, name):
    """Return whether a name fits a pattern, folder by folder."""
    parts, patterns = name.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_documented(plugin, name):
    kind = challenges()[name]
    for option in kind.option_names():
        assert (kind.model_fields[option].description or "").strip(), f"{name}: {option} has no line of explanation"
        readme = PROJECT / "src" / "podium" / "challenges" / name / "README.md"
        if readme.exists():
            assert option in readme.read_text(), f"{option} is not in {name}'s README"


@pytest.mark.parametrize(("name", "edition"), KINDS)
def test_declarations_are_whole(plugin, name, edition):
    challenge = made(name, edition)
    assert challenge.title
    names = [measure.name for measure in challenge.measures]
    assert len(set(names)) == len(names)
    for measure in challenge.measures:
        assert measure.title, measure.name
        assert measure.minimum <= measure.maximum
        if measure.judges and measure.decides:
            assert measure.price is not None, measure.name
            assert measure.price.words
            if isinstance(measure.price.amount, int | float):
                assert measure.minimum <= measure.price.amount <= measure.maximum
    assert challenge.decisive
    assert set(challenge.scoring_options) <= set(challenge.option_names())
    assert challenge.made(**challenge.options) == challenge


REQUIRED = ("name", "title", "measures", "cases", "load", "measure", "score")


def members():
    """Return what an author may give: everything public that Challenge defines itself."""
    own = {name for name in vars(Challenge) if not name.startswith("_")} | set(Challenge.__annotations__)
    machinery = {"model_config", "model_post_init", "made", "varied", "options", "option_names", "decisive", "weight"}
    return sorted(own - machinery - {name for name in own if name.startswith("model_")})


def test_every_member_is_on_the_authors_page():
    page = (PROJECT / "docs" / "challenge.md").read_text()
    assert [name for name in members() if f"`{name}" not in page] == []
    places = [page.index(f"`{name}") for name in REQUIRED]
    others = [page.index(f"| `{name}") for name in members() if name not in REQUIRED and f"| `{name}" in page]
    assert max(places) < min(others), "the seven that an author must know come first"


def test_a_new_member_would_be_missed():
    page = (PROJECT / "docs" / "challenge.md").read_text()
    assert "`surprise" not in page


# Each law can fail: challenges that break one.


class Cheap(Landmarks):
    """A failed case costs less than most measured ones."""

    measures: ClassVar = (Measure("distance", "Distance", Direction.LOWER, price=Price(0.5, caps=False)),)


class ByName(Landmarks):
    """Whoever comes first in the alphabet gets a bonus."""

    def score(self, cube, weights, ranked):
        """Add the place in the alphabet."""
        scores = super().score(cube, weights, ranked)
        bonus = scores.places + np.arange(len(cube.submissions))
        return Scores(bonus, scores.columns)


class Open(Landmarks):
    """Ranks whoever is there."""

    def score(self, cube, weights, ranked):
        """Forget who is ranked."""
        return super().score(cube, weights, [True] * len(ranked))


class Unweighted(Landmarks):
    """Forgets the weights."""

    def score(self, cube, weights, ranked):
        """Take plain means."""
        scores = super().score(cube, np.ones_like(weights), ranked)
        return Scores(scores.places, tuple(Column(c.measure, c.values) for c in scores.columns))


@pytest.mark.parametrize(
    ("kind", "law", "message"),
    [
        (Cheap, assert_failing_never_pays, "and rises from place|and gains"),
        (ByName, assert_order_does_not_matter, "where teams are called otherwise"),
        (Open, assert_outsiders_change_nothing, "beside a baseline"),
        (Unweighted, assert_zero_weights_leave_out, "differ"),
    ],
)
def test_a_broken_challenge_breaks_its_law(data, kind, law, message):
    folder = data(PLUGIN)
    material = Material.of(kind(), truth=folder / "truth", submissions=folder / "submissions")
    broken = []
    for seed in range(5):
        try:
            law(material, seed=seed)
        except AssertionError as error:
            broken.append(str(error))
    assert broken
    assert re.search(message, broken[0])


class Strict(Landmarks):
    """Refuses, when it checks, what it measures without a word."""

    naming: ClassVar = ("*.txt",)

    def check(self, case, prediction):  # noqa: ARG002
        """Refuse every file."""
        return ["not pretty enough"]


def old(measured):
    """Return a check that takes every warning for a problem."""
    return lambda *arguments: [checking.Problem(p.file, p.what) for p in measured(*arguments)]


def test_a_check_that_disagrees_breaks_the_law(data, tmp_path, monkeypatch):
    folder = data(PLUGIN)
    given = {"truth": folder / "truth", "submission": folder / "submissions" / "a"}
    with pytest.raises(AssertionError, match="nothing: evaluate accepts it, and check without the truth says"):
        assert_check_agrees(Strict(), **given, scratch=tmp_path / "strict")
    with monkeypatch.context() as patch:
        patch.setattr(checking, "_unexpected", old(checking._unexpected))
        with pytest.raises(AssertionError, match="nobody asked for: with the truth, evaluate says \\[\\], check"):
            assert_check_agrees(Landmarks(), **given, scratch=tmp_path / "stern")
    with monkeypatch.context() as patch:
        patch.setattr(checking, "_measured", lambda *_: [])
        with pytest.raises(AssertionError, match=r"cut: with the truth, evaluate says .*, check \[\]"):
            assert_check_agrees(Landmarks(), **given, scratch=tmp_path / "mild", damages=["nothing", "cut"])

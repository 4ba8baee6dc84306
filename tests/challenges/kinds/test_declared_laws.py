"""The laws over challenges, for every challenge.toml of the tests and for every way to rank."""

import shutil

import pytest
from damages import assert_damage_never_pays
from declared_challenges import DATA, TOML

from podium.challenges import get_challenge
from podium.challenges.kinds.toml_files import read_challenge
from podium.run import found_cases
from podium.testing import (
    Material,
    assert_check_agrees,
    assert_failing_never_pays,
    assert_order_does_not_matter,
    assert_outsiders_change_nothing,
    assert_zero_weights_leave_out,
)

pytestmark = pytest.mark.slow

NAMES = sorted(path.stem for path in TOML.glob("*.toml"))
AND_FILES = [pytest.param(name, marks=pytest.mark.heavy) if name in ("csv2026", "kits21") else name for name in NAMES]
"""The files of these two are large, and their laws are tested as those of the built-in ones, too."""
RULES = {
    "mean rank": {"ranking": {"scheme": "mean rank"}},
    "median": {"ranking": {"scheme": "mean rank", "statistic": "median"}},
    "rank then mean": {"ranking": {"scheme": "rank then mean"}},
    "test then rank": {"ranking": {"scheme": "test then rank", "test": {"adjustment": "holm"}}},
    "time and ties": {"ranking": {"ties": ["dice_core", "seconds"]}, "timing": {"weight": 2.0}},
    "eligible": {"eligibility": {"at_least": {"dice_whole": 0.5}, "at_most": {"hausdorff_distance_core": 6.0}}},
    "in time": {"ranking": {"scheme": "rank then mean"}, "timing": {"limit_seconds": 15.0, "weight": 1.0}},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return where truth and submissions of a challenge lie, written once."""
    written = {}

    def folder(name):
        if name not in written:
            written[name] = tmp_path_factory.mktemp(name)
            write = DATA.get(name) or get_challenge(name).write_demo
            write(written[name])
        return written[name]

    return folder


@pytest.fixture(scope="module")
def material(data):
    """Return random tables of a challenge, its files measured once."""
    known = {}

    def of(name):
        if name not in known:
            folder = data(name)
            challenge = read_challenge(TOML / f"{name}.toml")
            known[name] = Material.of(challenge, truth=folder / "truth", submissions=folder / "submissions")
        return known[name]

    return of


def hold(material):
    assert_failing_never_pays(material, seed=1, trials=12)
    assert_order_does_not_matter(material, seed=2)
    assert_outsiders_change_nothing(material, seed=5)
    assert_zero_weights_leave_out(material, seed=3)


@pytest.mark.parametrize("name", AND_FILES)
def test_the_laws_hold(material, name):
    hold(material(name))


@pytest.mark.parametrize("rules", RULES)
def test_the_laws_hold_for_every_way_to_rank(material, rules):
    known = material("brain-lesions")
    challenge = known.challenge.varied(rules=RULES[rules])
    hold(Material(challenge, known.valid, known.failed, known.built_in))


@pytest.mark.parametrize("adjustment", ["none", "bonferroni"])
@pytest.mark.parametrize("scheme", ["mean rank", "rank then mean", "test then rank"])
def test_failing_never_pays_by_significance_where_no_values_are_equal(material, scheme, adjustment):
    """With equal values it may: see docs/declaring.md, and the test beside the signed-rank test."""
    known = material("brain-lesions")
    challenge = known.challenge.varied(rules={"ranking": {"scheme": scheme, "test": {"adjustment": adjustment}}})
    for seed in range(4):
        tested = Material(challenge, known.valid, known.failed, known.built_in)
        assert_failing_never_pays(tested, seed=seed, trials=12, distinct=True)


@pytest.mark.parametrize("name", AND_FILES)
def test_damaged_files_never_pay(data, tmp_path, name):
    assert_damage_never_pays(read_challenge(TOML / f"{name}.toml"), data(name), tmp_path, seed=name)


@pytest.mark.parametrize("name", NAMES)
def test_check_and_evaluate_agree(data, tmp_path, name):
    folder = tmp_path / "few"
    challenge = read_challenge(TOML / f"{name}.toml")
    team = next(path for path in sorted((data(name) / "submissions").iterdir()) if path.name != "unlucky")
    _, cases = found_cases(challenge, data(name) / "truth")
    for case in cases[:2]:
        for path in case.files:
            place = folder / "truth" / path.relative_to(data(name) / "truth")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
        copied = next(path for path in map(team.joinpath, case.expected) if path.exists())
        place = folder / "team" / copied.relative_to(team)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(copied, place)
    (tmp_path / "scratch").mkdir()
    assert_check_agrees(
        challenge, truth=folder / "truth", submission=folder / "team", scratch=tmp_path / "scratch", seed=6
    )


@pytest.mark.parametrize("name", NAMES)
def test_declarations_are_whole(name):
    challenge = read_challenge(TOML / f"{name}.toml")
    assert challenge.decisive
    for measure in challenge.decisive:
        assert measure.price is not None
        assert measure.price.words
    assert challenge.made(**challenge.options) == challenge

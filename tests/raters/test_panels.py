"""How far raters agree: pairs within groups, by hand and by an independent computation."""

import math
from itertools import combinations

import brute_force
import numpy as np
import pytest

from podium.metrics import dice, get_metric, structures, surface_dice
from podium.model import Direction, InputError, Measure
from podium.raters import PairValues, RaterPanel, StructurePanel, agreement_of, rater_measures, tolerance_mm

DICE = Measure.by(dice)
SURFACE = Measure.by(surface_dice, options={"a": {"tolerance_mm": 1.0}})


def members(*arrays, region="a", boundary="surfel"):
    return {region: tuple(structures(array, regions={region: (1,)}, boundary=boundary)[region] for array in arrays)}


def blob(seed, shape=(9, 8, 7)):
    generator = np.random.default_rng(seed)
    mask = np.zeros(shape, np.uint8)
    mask[2:7, 2:6, 2:5] = 1
    return mask ^ (generator.random(shape) < 0.05)


def test_pairs_are_within_groups():
    panel = RaterPanel(("a", "b", "c", "d"), ((0, 1, 2), (0, 3)))
    assert panel.pairs == ((0, 0, 1), (0, 0, 2), (0, 1, 2), (1, 0, 3))
    assert panel.weights == (2, 1, 1, 1)


def test_mean_over_pairs_then_over_groups():
    """Group 0 has the pairs 1, 2, 3, group 1 the pair 6: (2 + 6) / 2, not (1 + 2 + 3 + 6) / 4."""
    numbers = {(0, 1): 1.0, (0, 2): 2.0, (1, 2): 3.0, (0, 3): 6.0}
    panel = RaterPanel(("a", "b", "c", "d"), ((0, 1, 2), (0, 3)))
    calls = []

    def measure(one, other):
        calls.append((one, other))
        return PairValues({("m", "t"): numbers[one, other]}, {("t", 95.0): 10 * numbers[one, other]})

    found = agreement_of("case", panel, measure)
    assert found.values["m", "t"] == (1.0, 2.0, 3.0, 6.0)
    assert found.variability("m", "t") == 4.0
    assert found.tolerance("t") == 40.0
    assert calls == list(numbers)


def test_equal_groups_are_measured_once_and_counted_as_often():
    panel = RaterPanel(("a", "b", "c"), ((0, 1), (0, 1), (0, 2)))
    calls = []

    def measure(one, other):
        calls.append((one, other))
        return PairValues({("m", ""): float(other)}, {})

    found = agreement_of("case", panel, measure)
    assert calls == [(0, 1), (0, 2)]
    assert found.variability("m") == pytest.approx((1 + 1 + 2) / 3)


def test_one_undefined_pair_makes_the_case_undefined():
    panel = RaterPanel(("a", "b", "c"), ((0, 1, 2),))
    found = agreement_of(
        "case", panel, lambda i, j: PairValues({("m", ""): 1.0}, {("", 95.0): math.nan if j == 2 else 1.0})
    )
    assert math.isnan(found.tolerance(""))
    assert found.variability("m") == 1


def test_one_rater_alone():
    with pytest.raises(InputError, match="no two raters can be compared"):
        agreement_of("case", RaterPanel(("a",), ((0,), (0,))), lambda i, j: PairValues({}, {}))


def test_identical_raters():
    """Variability 1, tolerance 0."""
    one = blob(1)
    panel = StructurePanel(RaterPanel(("a", "b", "c"), ((0, 1, 2),)), members(one, one.copy(), one.copy()))
    found = panel.agreement("case", measures=[DICE, SURFACE], spacing_mm=(1, 1, 2), percentiles=(95.0, 100.0))
    assert found.variability("dice", "a") == found.variability("surface_dice", "a") == 1
    assert found.tolerance("a") == found.tolerance("a", 100.0) == 0


def test_a_class_absent_in_one_rater():
    """Dice and surface Dice of that pair are 0, the tolerance is undefined."""
    one, none = blob(1), np.zeros((9, 8, 7), np.uint8)
    panel = StructurePanel(RaterPanel(("a", "b", "c"), ((0, 1, 2),)), members(one, one.copy(), none))
    found = panel.agreement("case", measures=[DICE, SURFACE], spacing_mm=(1, 1, 2), percentiles=(95.0,))
    assert found.values["dice", "a"] == (1.0, 0.0, 0.0)
    assert found.variability("surface_dice", "a") == pytest.approx(1 / 3)
    assert math.isnan(found.tolerance("a"))


def test_a_class_absent_in_all_raters():
    none = np.zeros((9, 8, 7), np.uint8)
    panel = StructurePanel(RaterPanel(("a", "b"), ((0, 1),)), members(none, none))
    found = panel.agreement("case", measures=[DICE, SURFACE], spacing_mm=(1, 1, 2), percentiles=(95.0,))
    assert found.variability("dice", "a") == found.variability("surface_dice", "a") == 1
    assert math.isnan(found.tolerance("a"))


@pytest.mark.parametrize("percentile", [0, 50, 90, 95, 99.5, 100])
def test_tolerance_as_done_slowly(percentile):
    """Every element against every other; NumPy's percentile of each direction, unweighted; the mean of both."""
    spacing = (0.8, 1.1, 2.5)
    arrays = [blob(seed) for seed in range(3)]
    panel = StructurePanel(RaterPanel(("a", "b", "c"), ((0, 1, 2),)), members(*arrays))
    found = panel.agreement("case", measures=[DICE], spacing_mm=spacing, percentiles=(float(percentile),))
    elements = [brute_force.boundary_elements(array, spacing, "surfel") for array in arrays]
    expected = [
        np.mean([np.percentile(brute_force.directed(*way)[0], percentile) for way in ((a, b), (b, a))])
        for a, b in combinations(elements, 2)
    ]
    assert found.tolerances["a", float(percentile)] == pytest.approx(expected, abs=1e-9)
    assert found.tolerance("a", float(percentile)) == pytest.approx(np.mean(expected), abs=1e-9)


def test_a_percentile_that_is_none():
    panel = StructurePanel(RaterPanel(("a", "b"), ((0, 1),)), members(blob(0), blob(1)))
    with pytest.raises(InputError, match="between 0 and 100, not 101"):
        panel.agreement("case", measures=[DICE], spacing_mm=(1, 1, 1), percentiles=(101.0,))


def test_against_every_member_as_often_as_it_is_listed():
    arrays = [blob(seed) for seed in range(3)]
    panel = StructurePanel(RaterPanel(("a", "b", "c"), ((0, 1), (1, 2), (0, 1))), members(*arrays))
    guess = blob(9)
    found = panel.against({"a": members(guess)["a"][0]}, measures=[DICE], spacing_mm=(1, 1, 1))

    def overlap(one):
        return 2 * np.sum((one & guess) > 0) / (one.sum() + guess.sum())

    expected = np.mean([overlap(arrays[k]) for k in (0, 1, 1, 2, 0, 1)])
    assert found == {("dice", "a"): pytest.approx(expected, abs=1e-12)}


def test_each_distinct_pair_is_measured_once(monkeypatch):
    import podium.raters.panels as panels

    measured = []
    pair = panels.StructurePair
    monkeypatch.setattr(panels, "StructurePair", lambda *a: measured.append(a[:2]) or pair(*a))
    one, two = (members(blob(seed))["a"][0] for seed in (0, 1))
    panel = StructurePanel(RaterPanel(("a", "b", "c", "d"), ((0, 1), (2, 3), (1, 2))), {"a": (one, two, one, two)})
    panel.agreement("case", measures=[DICE], spacing_mm=(1, 1, 1), percentiles=(95.0,))
    assert len(measured) == 1
    panel.against({"a": one}, measures=[DICE], spacing_mm=(1, 1, 1))
    assert len(measured) == 3


def test_metrics_besides_the_challenges_own():
    arrays = [blob(seed) for seed in range(2)]
    panel = StructurePanel(RaterPanel(("a", "b"), ((0, 1),)), members(*arrays))
    names = ["centre_distance", "hausdorff_distance", "intersection_over_union"]
    found = panel.agreement("case", measures=rater_measures(names), spacing_mm=(1, 1, 1))
    centres = [np.argwhere(array).mean(axis=0) for array in arrays]
    assert found.variability("centre_distance", "a") == pytest.approx(np.linalg.norm(centres[0] - centres[1]))
    union = np.sum((arrays[0] | arrays[1]) > 0)
    assert found.variability("intersection_over_union", "a") == np.sum((arrays[0] & arrays[1]) > 0) / union


def test_measures_by_the_names_of_metrics():
    """Name, title, unit, direction and range are the metric's own; each is there once, those that are given first."""
    found = rater_measures(["hausdorff_distance", "dice", "centre_distance", "hausdorff_distance"], besides=[SURFACE])
    assert [measure.name for measure in found] == ["surface_dice", "hausdorff_distance", "dice", "centre_distance"]
    assert found[0] is SURFACE
    for measure in found[1:]:
        assert measure == Measure.by(get_metric(measure.name))
    assert (found[1].unit, found[1].direction, found[1].minimum) == ("mm", Direction.LOWER, 0.0)
    own = [SURFACE, Measure.by(dice, title="Dice of this challenge")]
    assert rater_measures(["dice", "surface_dice"], besides=own) == own  # not measured twice
    assert own == [SURFACE, Measure.by(dice, title="Dice of this challenge")]  # and what was given is left as it is
    assert rater_measures([]) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sensitivity", "sensitivity depends on which of two is the reference, and between raters neither is"),
        ("mean_absolute_error", "mean_absolute_error is no metric of segmentations"),
        ("dise", "Did you mean 'dice'"),
    ],
)
def test_metrics_that_say_nothing_about_raters(name, message):
    with pytest.raises(InputError, match=message):
        rater_measures(["dice", name])
    assert rater_measures([name], besides=[Measure(name, "The challenge's own")])[0].title == "The challenge's own"


def test_tolerance_of_distances_directly():
    one, two = np.zeros((2, 12, 12, 12), bool)
    one[2:8, 2:8, 2:8] = two[2:8, 2:8, 3:9] = True
    from podium.metrics import SurfaceDistances

    distances = SurfaceDistances.between(one, two, spacing_mm=(1, 1, 3))
    assert tolerance_mm(distances, percentile=100) == 3.0
    assert tolerance_mm(distances, percentile=0) == 0.0

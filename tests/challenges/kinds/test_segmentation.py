"""Segmentation that is declared: what is measured, of which files, and what failures cost."""

import math
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from declared_challenges import SEGMENTATION, SPACING, lesion, write_labels, write_lesions

import podium
from podium.challenges import catalogue
from podium.challenges.kinds import FileNames, Quantity, SegmentationChallenge
from podium.io import write_label_map
from podium.metrics import compare, dice, hausdorff_distance, overlap, surface_dice, surface_distances
from podium.metrics.registry import metrics
from podium.model import Direction, InputError, LabelMap


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_lesions(tmp_path_factory.mktemp("lesions"))


def evaluated(challenge, data, out, **more):
    return podium.evaluate(challenge, truth=data / "truth", submissions=data / "submissions", out=out, **more)


def changed(**changes):
    return SegmentationChallenge.made(**{**SEGMENTATION, **changes})


def maps(*arrays):
    return [LabelMap.from_array(array, spacing=SPACING) for array in arrays]


def values_of(challenge, *arrays):
    return {(value.metric, value.target): value for value in challenge.compared("case", *maps(*arrays))}


def test_a_folder_is_evaluated_and_the_run_knows_its_challenge(data, tmp_path):
    run = evaluated(SegmentationChallenge(**SEGMENTATION), data, tmp_path / "run")
    assert run.leaderboard.places["exact"] == 1
    assert [column.name for column in run.leaderboard.columns][:3] == ["average_rank", "dice_whole", "dice_whole_rank"]
    assert set(run.cube.clusters) == {"s0", "s1", "s2"}
    again = podium.load(tmp_path / "run")
    assert again.challenge == run.challenge
    assert again.leaderboard.places == run.leaderboard.places
    assert again.verify().nothing_differs


@pytest.mark.slow
def test_a_report_knows_the_title_and_the_prices(data, tmp_path):
    run = evaluated(SegmentationChallenge(**SEGMENTATION), data, tmp_path / "run")
    page = run.report(bootstrap=0, formats=("svg",)).read_text()
    assert "Brain lesions 2027" in page
    assert "image diagonal" in page


def test_values_are_those_of_the_metrics():
    truth, guess = lesion(1), lesion(1, shift=1, noise=0.3)
    values = values_of(SegmentationChallenge(**SEGMENTATION), truth, guess)
    regions = {"whole": (1, 2), "core": (2,)}
    counts = overlap(truth, guess, regions=regions)
    distances = surface_distances(truth, guess, regions=regions, spacing_mm=SPACING)
    for name in regions:
        assert values["dice", name].value == dice(counts[name])
        assert values["hausdorff_distance", name].value == hausdorff_distance(distances[name], percentile=95.0)


def test_options_may_differ_from_target_to_target():
    tolerances = {"whole": 1.0, "core": 3.0}
    measures = [
        {"metric": "surface_dice", "of": ["whole", "core"], "failed": 0, "tolerance_mm": tolerances},
        {"metric": "surface_dice", "name": "voxel_surface_dice", "of": ["core"], "failed": 0, "boundary": "voxel"},
    ]
    truth, guess = lesion(2), lesion(2, shift=1)
    values = values_of(changed(quantities=measures), truth, guess)
    for name, mm in tolerances.items():
        alone = [{"metric": "surface_dice", "of": [name], "failed": 0, "tolerance_mm": mm}]
        alone = values_of(changed(quantities=alone), truth, guess)
        assert values["surface_dice", name].value == alone["surface_dice", name].value
    assert values["voxel_surface_dice", "core"].value != values["surface_dice", "core"].value


def test_a_missing_structure_costs_its_price(data, tmp_path):
    teams = tmp_path / "teams"
    for path in sorted((data / "submissions" / "near").iterdir()):
        write_labels(teams / "empty" / path.name, np.zeros((18, 16, 14), np.uint8))
    run = podium.evaluate(
        SegmentationChallenge(**SEGMENTATION), truth=data / "truth", submissions=teams, out=tmp_path / "run"
    )
    distances = run.measurements.filter(metric="hausdorff_distance")
    diagonal = math.hypot(18, 16, 28)
    assert distances["value"].to_list() == pytest.approx([diagonal] * distances.height)
    assert np.isinf(distances["measured"].to_numpy()).all()


def test_what_has_no_value_counts_as_failed_unless_it_is_left_out():
    measure = {"metric": "precision", "of": ["core"], "failed": 0}
    nothing = np.where(lesion(3) == 2, 0, lesion(3))
    value = values_of(changed(quantities=[measure]), lesion(3), nothing)["precision", "core"]
    assert value.value == 0
    assert "counts as failed" in value.reason
    left_out = changed(quantities=[{**measure, "absent": "leave out"}])
    assert values_of(left_out, nothing, lesion(3))["precision", "core"].status == "undefined"


@pytest.mark.parametrize(
    ("array", "spacing", "reason"),
    [
        (np.full((18, 16, 14), 7, np.uint8), SPACING, "label 7 is none of 0, 1, 2"),
        (np.zeros((18, 16, 13), np.uint8), SPACING, "wrong shape: 18 × 16 × 13 voxels, the reference has 18 × 16 × 14"),
        (np.zeros((18, 16, 14), np.uint8), (1.0, 1.0, 1.0), "wrong geometry"),
    ],
)
def test_what_does_not_fit_is_refused(data, tmp_path, array, spacing, reason):
    challenge = SegmentationChallenge(**SEGMENTATION)
    case = challenge.cases(data / "truth")[0]
    path = tmp_path / "guess.nii.gz"
    write_labels(path, array, spacing=spacing)
    with pytest.raises(InputError, match=reason):
        challenge.measure(case, challenge.load(case), path)
    lax = changed(images={"geometry": "shape", "unknown_labels": "background"})
    if "shape" not in reason:
        assert lax.measure(case, lax.load(case), path)


def test_cases_are_found_by_their_parts(data, tmp_path):
    challenge = SegmentationChallenge(**SEGMENTATION)
    cases = challenge.cases(data / "truth")
    assert [case.name for case in cases] == [f"s{s}_{v}" for s in range(3) for v in range(2)]
    assert cases[0].expected == ("s0_0.nii.gz",)
    assert challenge.naming == ("*_*.nii.gz",)
    with pytest.raises(InputError, match="no file is called like"):
        challenge.cases(tmp_path)


def test_views_and_doubts(data):
    challenge = SegmentationChallenge(**SEGMENTATION)
    case = challenge.cases(data / "truth")[0]
    guess = data / "submissions" / "far" / "s0_0.nii.gz"
    (view,) = challenge.views(case, challenge.load(case), guess)
    assert view.panels
    assert challenge.check(None, guess) == []
    assert challenge.doubts(case, challenge.load(case), data / "submissions" / "near" / "s0_0.nii.gz") == []


class Turned(SegmentationChallenge):
    """A declared challenge with one method replaced, and an option of its own."""

    name: ClassVar[str] = "turned"
    title: ClassVar[str] = "Turned"
    floor: float = 0.0
    """Below this, Dice counts as nothing."""

    def _value(self, row, quantity, target, number, truth, warning, *, absent):
        kept = number if self.metric_of(quantity).direction is Direction.LOWER or number >= self.floor else 0.0
        return super()._value(row, quantity, target, kept, truth, warning, absent=absent)


def test_a_subclass_has_options_of_its_own(data, tmp_path):
    declared = {key: value for key, value in SEGMENTATION.items() if key not in ("name", "title")}
    challenge = Turned(**declared, floor=0.9)
    assert challenge.option_names() == ("floor",)
    run = evaluated(challenge, data, tmp_path / "run")
    assert run.leaderboard.places["exact"] == 1
    again = podium.load(tmp_path / "run", challenge=Turned(**declared))
    assert again.challenge == challenge
    assert values_of(challenge, lesion(1), lesion(1, shift=2))["dice", "whole"].value == 0


class Tolerant(SegmentationChallenge):
    """Surface Dice at a tolerance that is an option, and at its double, which is only measured."""

    tolerance: float = 1.0
    """In mm."""

    def options_of(self, quantity, target):
        """Return the option in place of what is declared."""
        return {"tolerance_mm": self.tolerance} if not quantity.name else super().options_of(quantity, target)

    @property
    def besides(self):
        """Double the tolerance."""
        (own,) = self.quantities
        return (own.model_copy(update={"name": "at_double", "options": {"tolerance_mm": 2 * self.tolerance}}),)


def test_a_subclass_may_measure_besides_what_it_declares(data, tmp_path):
    challenge = Tolerant(**SEGMENTATION | {"quantities": [{"metric": "surface_dice", "of": ["core"], "failed": 0}]})
    challenge = challenge.varied(tolerance=1.5)
    truth, guess = lesion(2), lesion(2, shift=1)
    values = values_of(challenge, truth, guess)
    distances = surface_distances(truth, guess, regions={"core": (2,)}, spacing_mm=SPACING)["core"]
    assert values["surface_dice", "core"].value == surface_dice(distances, tolerance_mm=1.5)
    assert values["at_double", "core"].value == surface_dice(distances, tolerance_mm=3.0)
    assert [(m.name, m.direction) for m in challenge.measures][1] == ("at_double", Direction.NONE)
    run = evaluated(challenge, data, tmp_path / "run")
    assert "at_double" in run.measurements["metric"].unique()
    assert not [column for column in run.leaderboard.columns if "double" in column.name]


class Registered(Turned):
    """One that a package would register, with a declaration of its own."""

    name: ClassVar[str] = "registered"
    files: FileNames = FileNames.model_validate(SEGMENTATION["files"])
    labels: Mapping[str, int] = SEGMENTATION["labels"]
    regions: Mapping[str, tuple[str, ...]] = {"whole": ("edema", "core")}
    quantities: tuple[Quantity, ...] = tuple(map(Quantity.model_validate, SEGMENTATION["quantities"]))


def test_a_registered_subclass_is_found_by_its_name(data, tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "challenges", lambda: {"registered": Registered})
    given = {"truth": data / "truth", "submissions": data / "submissions", "out": tmp_path / "run"}
    run = podium.evaluate("registered", options={"floor": 0.5}, **given)
    again = podium.load(tmp_path / "run")
    assert type(again.challenge) is Registered
    assert again.challenge == run.challenge
    assert again.challenge.floor == 0.5


def test_rules_given_as_text_are_refused(data, tmp_path):
    run = evaluated(SegmentationChallenge(**SEGMENTATION), data, tmp_path / "run")
    with pytest.raises(InputError, match="rules are tables"):
        run.rank(bootstrap=0, options={"rules": "mean rank"})


def test_runs_are_gathered(data, tmp_path):
    for team in ("near", "far"):
        shutil.copytree(data / "submissions" / team, tmp_path / "teams" / team / team)
        podium.evaluate(
            SegmentationChallenge(**SEGMENTATION),
            truth=data / "truth",
            submissions=tmp_path / "teams" / team,
            out=tmp_path / team,
        )
    run = podium.gather([tmp_path / "near", tmp_path / "far"], out=tmp_path / "run")
    assert run.leaderboard.places == {"near": 1, "far": 2}
    assert run.challenge == SegmentationChallenge(**SEGMENTATION)


def test_lesions_and_instances_are_measured():
    measures = [
        {"metric": "lesion_wise_dice", "of": ["whole"], "failed": 0, "dilation": 1, "ignored_up_to_mm3": 5.0},
        {"metric": "lesion_wise_hausdorff_distance_95", "of": ["whole"], "failed": 374, "price_mm": 374.0},
        {"metric": "panoptic_quality", "of": ["core"], "failed": 0, "threshold": 0.3},
        {"metric": "centreline_dice", "of": ["core"], "failed": 0},
    ]
    exact = values_of(changed(quantities=measures), lesion(1), lesion(1))
    assert [value.value for value in exact.values()] == [1.0, 0.0, 1.0, 1.0]
    missed = values_of(changed(quantities=measures), lesion(1), np.zeros_like(lesion(1)))
    assert [value.value for value in missed.values()] == [0.0, 374.0, 0.0, 0.0]


def test_every_metric_of_label_maps_gives_what_a_comparison_gives():
    usable = [metric for metric in metrics() if SegmentationChallenge.takes(metric)]
    assert len(usable) > 30
    names = {
        metric.name: {"failed": "not ranked"} if metric.name == "dice" else {"decides": False} for metric in usable
    }
    quantities = [{"metric": name, "of": ["core"], **more} for name, more in names.items()]
    truth, guess = maps(lesion(4), lesion(4, noise=0.4))
    values = changed(quantities=quantities).compared("case", truth, guess)
    compared = compare(truth, guess, regions={"core": (2,)}, also=("shape", "instances"))["core"]
    expected = {measured.metric.name: measured.value for measured in compared.values}
    assert {value.metric: value.value for value in values} == pytest.approx(expected)


def test_other_encodings_are_translated_and_keep_their_place(tmp_path):
    array = np.array([0, 128, 255], np.uint8)[lesion(1)]
    turned = replace(LabelMap.from_array(array, spacing=SPACING), origin=(3.0, 2.0, 1.0))
    write_label_map(tmp_path / "guess.nii.gz", turned)
    challenge = changed(images={"encodings": [{"edema": 128, "core": 255}]})
    read = challenge.read(tmp_path / "guess.nii.gz")
    np.testing.assert_array_equal(read.array, lesion(1))
    assert read.origin == pytest.approx((3.0, 2.0, 1.0))

"""Every declared metric obeys every law, and every law can fail."""

from dataclasses import replace
from itertools import count
from typing import NamedTuple

import laws
import numpy as np
import pytest

from podium.metrics import InstanceCounts, components, declare, dice, get_metric, metrics, surface_dice
from podium.model import Direction, InputError

_GOOD = {
    "title": "Broken",
    "family": "overlap",
    "unit": "",
    "minimum": 0.0,
    "maximum": 1.0,
    "direction": Direction.HIGHER,
    "perfect": 1.0,
    "symmetric": True,
    "empty": {"both": 1.0, "reference": 0.0, "prediction": 0.0},
    "formula": "2|R ∩ P| / (|R| + |P|)",
    "same_as": {},
}


def planted(function, **changes):
    """Declare a metric, in a registry of its own."""
    return declare(**(_GOOD | changes), registry={})(function)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("metric", metrics(), ids=lambda metric: metric.name)
def test_law(metric, law):
    law(metric)


def test_every_family_has_laws():
    assert {metric.family for metric in metrics()} == set(laws.FAMILIES)


_CALLS = count()


class Unchecked(NamedTuple):
    """Counts that may be any."""

    common: int
    reference: int

    @classmethod
    def between(cls, reference, prediction):
        """Count two masks."""
        return cls(np.sum(reference & prediction), np.sum(reference))


def _unchecked(counts: Unchecked):
    return counts.common / counts.reference if counts.reference else 1.0


BROKEN = {
    laws.declares_everything: planted(dice.function, formula=""),
    laws.stays_in_range: planted(lambda overlap: 2 * dice(overlap) - 1),
    laws.knows_the_perfect: planted(lambda overlap: 0.9 * dice(overlap)),
    laws.is_symmetric_where_declared: planted(lambda overlap: overlap.common / overlap.reference),
    laws.does_not_depend_on_orientation_or_order: planted(
        lambda centres: float(abs(centres.prediction[0] - centres.reference[0])), family="centres", maximum=np.inf
    ),
    laws.follows_its_unit: planted(lambda overlap: overlap.reference * overlap.voxel_volume_mm3, unit="mm"),
    laws.gives_what_it_declares_for_nothing: planted(
        lambda reference, prediction: 0.0, family="regression", empty={"no samples": np.nan}
    ),
    laws.only_rises_with_tolerance: planted(
        lambda distances, *, tolerance_mm=1.0: 1 - surface_dice(distances, tolerance_mm=tolerance_mm), family="surface"
    ),
    laws.takes_weights_as_repetitions: planted(
        lambda reference, prediction, *, weights=None: (
            np.abs(np.subtract(reference, prediction)).max(initial=0.0) * np.ones(np.shape(weights)[:-1])
        ),
        family="regression",
    ),
    laws.refuses_bad_options: planted(
        lambda reference, prediction, *, percentile=95.0: (
            float(np.percentile(np.subtract(reference, prediction), percentile)) if len(reference) else np.nan
        ),
        family="regression",
    ),
    laws.refuses_hostile_options: planted(lambda reference, prediction, *, beta=1.0: 0.0, family="regression"),
    laws.refuses_hostile_arrays: planted(
        lambda reference, prediction: float(np.abs(np.subtract(reference, prediction)).mean()), family="regression"
    ),
    laws.has_its_samples_along_the_last_axis: planted(
        lambda reference, prediction: float(np.mean(np.ravel(reference) == np.ravel(prediction))),
        family="classification",
    ),
    laws.does_not_depend_on_layout_threads_or_calls: planted(lambda overlap: dice(overlap) / (2 + next(_CALLS))),
    laws.reads_a_mask_alike_in_any_form: planted(lambda overlap: dice(overlap) / (2 + next(_CALLS))),
    laws.counts_only_what_can_be: planted(_unchecked),
}


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_a_broken_metric_fails_its_law(law):
    with pytest.raises(AssertionError):
        law(BROKEN[law])


def test_masks_that_become_one_instance_are_noticed(monkeypatch):
    """What `InstanceCounts.between` once did with masks of 0 and 1."""

    def measure(metric, *masks):
        maps = [np.asarray(mask) if np.asarray(mask).dtype != bool else components(mask) for mask in masks[:2]]
        return float(metric(InstanceCounts.between(*maps, connectivity=0)))

    (family,) = laws.FAMILIES["instances"]
    monkeypatch.setitem(laws.FAMILIES, "instances", [replace(family, measure=measure)])
    with pytest.raises(AssertionError, match="where a mask is stored as"):
        laws.reads_a_mask_alike_in_any_form(get_metric("panoptic_quality"))


@pytest.mark.parametrize(
    "fault",
    [
        {"title": " "},
        {"formula": " "},
        {"unit": "inch"},
        {"minimum": 1.0},
        {"direction": "higher"},
        {"direction": Direction.LOWER},
        {"perfect": 0.5},
        {"same_as": {"MedPy": ""}},
        {"same_as": {"": "dc"}},
    ],
    ids=str,
)
def test_every_word_of_a_declaration_counts(fault):
    laws.declares_everything(planted(dice.function))
    with pytest.raises(AssertionError):
        laws.declares_everything(planted(dice.function, **fault))


@pytest.mark.parametrize("word", _GOOD)
def test_no_word_may_be_left_out(word):
    with pytest.raises(TypeError, match=word):
        declare(**{key: value for key, value in _GOOD.items() if key != word}, registry={})


def test_an_empty_case_is_not_forgotten():
    with pytest.raises(AssertionError, match="of which nothing is declared"):
        laws.gives_what_it_declares_for_nothing(
            planted(lambda overlap: np.nan if overlap.empty else 1.0, empty={"both": 1.0, "reference": 0.0})
        )


def test_asymmetry_must_be_declared_too():
    with pytest.raises(AssertionError, match="declared: False"):
        laws.is_symmetric_where_declared(planted(dice.function, symmetric=False))


def test_two_metrics_cannot_share_a_name():
    registry = {}
    decorate = declare(**_GOOD, registry=registry)

    def twin(overlap):
        return 0.0

    decorate(twin)
    with pytest.raises(ValueError, match="two metrics are called 'twin'"):
        decorate(twin)


def test_a_misspelt_metric_is_recognised():
    assert get_metric("dice") is dice
    with pytest.raises(InputError, match="Did you mean 'hausdorff_distance'"):
        get_metric("haussdorf_distance")
    with pytest.raises(InputError, match=r"There are: .*, average_symmetric_surface_distance, "):
        get_metric("xyz")


def test_a_metric_explains_itself():
    for metric in metrics():
        assert metric.__doc__, metric.name
        assert metric.title, metric.name
        assert isinstance(metric.direction, Direction)
        assert metric.direction.arrow is not None

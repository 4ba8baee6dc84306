"""Dose of a tracked target: by hand, and against SciPy step by step."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import ndimage

from podium.metrics import (
    average_shifted_dose,
    cumulative_dose_volume_histogram,
    dose_at_volume,
    expand,
    gaussian_dose,
    volume_at_dose,
)
from podium.model import Box, InputError


def test_expansion_is_a_disk_in_millimetres():
    point = np.zeros((21, 21), bool)
    point[10, 10] = True
    grown = expand(point, margin_mm=3, spacing_mm=(1, 1))
    rows, columns = np.indices(point.shape) - 10
    assert np.array_equal(grown, rows**2 + columns**2 <= 9)
    flat = expand(point, margin_mm=3, spacing_mm=(1, 1.6))
    assert flat[10].sum() == 3  # one pixel of 1.6 mm either way
    assert flat[:, 10].sum() == 7
    assert not expand(np.zeros((4, 4), bool), margin_mm=3, spacing_mm=(1, 1)).any()


@pytest.mark.parametrize("margin", ["3", "2.5", "0.7"])
@pytest.mark.parametrize(
    "spacing",
    ["0.1 0.1", "0.2 0.2", "0.1 0.2", "0.3 0.15", "0.35 1.1", "1 1", "0.6 0.8", "1.40625 0.703125", "0.017 2", "7 7"],
)
def test_expansion_reaches_what_is_exactly_at_the_margin(margin, spacing):
    """Compared with fractions, in which 30 pixels of 0.1 mm are 3 mm; in binary numbers they are more."""
    (row_mm, column_mm), margin_mm = map(Fraction, spacing.split()), Fraction(margin)
    reach = [min(int(margin_mm / step) + 2, 40) for step in (row_mm, column_mm)]
    points = [(0, 0), (reach[0] // 2, reach[1] // 3), (1, 0)]
    mask = np.zeros([2 * n + 1 for n in reach], bool)
    for point in points:
        mask[point] = True
    near = {
        (row, column)
        for row, column in np.ndindex(mask.shape)
        for r, c in points
        if ((row - r) * row_mm) ** 2 + ((column - c) * column_mm) ** 2 <= margin_mm**2
    }
    grown = expand(mask, margin_mm=float(margin), spacing_mm=tuple(map(float, spacing.split())))
    assert {tuple(index) for index in np.argwhere(grown).tolist()} == near


def test_dose_is_one_inside_and_half_at_a_straight_edge():
    target = np.zeros((60, 60), bool)
    target[:, 30:] = True
    dose = gaussian_dose(target, sigma_mm=4, spacing_mm=(1, 1))
    assert dose[30, 59] == pytest.approx(1)
    assert dose[30, 29] + dose[30, 30] == pytest.approx(1)  # the edge lies between these two
    np.testing.assert_allclose(
        gaussian_dose(target, sigma_mm=6, spacing_mm=(1.5, 2)), ndimage.gaussian_filter(target * 1.0, (4, 3))
    )


@pytest.mark.parametrize("shape", [(40, 30), (5, 7), (1, 9), (2, 2)])
def test_shifts_are_those_of_scipy(shape):
    generator = np.random.default_rng(0)
    dose = generator.random(shape)
    shifts = [(0, 0), (0.5, -0.25), (3, -2), (11.5, 0.2), (12.5, -13.1), (60, -70), *generator.normal(0, 4, (20, 2))]
    for shift in shifts:
        expected = ndimage.shift(dose, shift, order=3, mode="nearest")
        np.testing.assert_allclose(average_shifted_dose(dose, [shift]), expected, atol=1e-12)
    expected = np.mean([ndimage.shift(dose, shift, order=3, mode="nearest") for shift in shifts], axis=0)
    np.testing.assert_allclose(average_shifted_dose(dose, shifts), expected, atol=1e-12)
    part = Box((0, 1), (shape[0], shape[1]))
    np.testing.assert_allclose(average_shifted_dose(dose, shifts, within=part), expected[part.slices], atol=1e-12)


def test_no_shift_gives_no_dose():
    assert not average_shifted_dose(np.ones((4, 4)), np.zeros((0, 2))).any()


def test_histogram_by_hand():
    dose = [[0.2, 0.4], [0.4, 1.0]]
    np.testing.assert_array_equal(
        cumulative_dose_volume_histogram(dose, [0, 0.2, 0.3, 0.4, 0.41, 1, 1.1]), [1, 1, 0.75, 0.75, 0.25, 0.25, 0]
    )
    assert volume_at_dose(dose, level=0.4) == 0.75
    assert dose_at_volume(dose, share=0.25) == 1.0
    assert dose_at_volume(dose, share=0.26) == 0.4
    assert dose_at_volume(dose, share=1) == 0.2


@pytest.mark.parametrize(("count", "rank"), [(1, 1), (50, 49), (49, 49), (51, 50), (100, 98), (101, 99), (1000, 980)])
def test_d98_is_the_98_percent_largest_rounded_up(count, rank):
    dose = np.random.default_rng(1).random(count)
    assert dose_at_volume(dose, share=0.98) == np.sort(dose)[::-1][rank - 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dose_at_volume([], share=0.98), "without voxels"),
        (lambda: dose_at_volume([1, np.nan], share=0.98), "finite"),
        (lambda: dose_at_volume([1], share=0), "above 0"),
        (lambda: average_shifted_dose(np.ones(3), [[0, 0]]), "2-D image"),
        (lambda: average_shifted_dose(np.ones((3, 3)), [[0, np.nan]]), "finite"),
    ],
)
def test_what_has_no_dose(call, message):
    with pytest.raises(InputError, match=message):
        call()

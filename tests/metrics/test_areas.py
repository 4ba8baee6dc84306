"""The table of surface-element areas, by hand and against DeepMind's."""

from itertools import permutations, product

import numpy as np
import peers
import pytest

from podium.metrics._kernels.areas import contour_lengths, surfel_areas

ANISOTROPIC = (1.3, 0.7, 2.9)


def code_of(*corners):
    return sum(1 << (4 * z + 2 * y + x) for z, y, x in corners)


@pytest.mark.parametrize(
    ("corners", "area"),
    [
        ([], 0),
        ([(0, 0, 0)], np.sqrt(3) / 8),  # an equilateral triangle of side 1/√2
        ([(0, 0, 0), (0, 0, 1)], np.sqrt(2) / 2),  # a 1 × 1/√2 rectangle
        ([(0, 0, 0), (0, 1, 1)], np.sqrt(3) / 4),  # two triangles
        ([(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)], 1),  # a unit square
        ([(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)], 6 * np.sqrt(3) / 8),  # a regular hexagon
        ([(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)], 4 * np.sqrt(3) / 8),  # four triangles
    ],
)
def test_by_hand_in_a_unit_cell(corners, area):
    table = surfel_areas((1.0, 1.0, 1.0))
    assert table[code_of(*corners)] == pytest.approx(area, abs=1e-15)
    assert table[255 - code_of(*corners)] == pytest.approx(area, abs=1e-15)  # the other side has the same surface


def test_flat_squares_follow_the_spacing():
    table = surfel_areas(ANISOTROPIC)
    lower_half = code_of((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1))
    assert table[lower_half] == pytest.approx(0.7 * 2.9)


def test_turning_the_cell_turns_the_spacing():
    for code in range(256):
        cell = np.array([code >> bit & 1 for bit in range(8)]).reshape(2, 2, 2)
        for order, flips in product(permutations(range(3)), product((1, -1), repeat=3)):
            turned = cell.transpose(order)[tuple(slice(None, None, flip) for flip in flips)]
            turned_code = int((turned.reshape(-1) << np.arange(8)).sum())
            spacing = tuple(ANISOTROPIC[axis] for axis in order)
            assert surfel_areas(spacing)[turned_code] == pytest.approx(surfel_areas(ANISOTROPIC)[code], abs=1e-14)


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), ANISOTROPIC, (0.5, 0.5, 5.0)])
def test_all_256_areas_are_those_of_the_peer(spacing):
    tables = peers.deepmind_tables()
    weights = np.ravel(tables.ENCODE_NEIGHBOURHOOD_3D_KERNEL)
    theirs = np.array(tables.create_table_neighbour_code_to_surface_area(spacing))
    order = [sum(int(weights[bit]) for bit in range(8) if code >> bit & 1) for code in range(256)]
    np.testing.assert_allclose(surfel_areas(spacing), theirs[order], rtol=0, atol=1e-13)


def test_all_16_lengths_are_those_of_the_peer():
    tables = peers.deepmind_tables()
    weights = np.ravel(tables.ENCODE_NEIGHBOURHOOD_2D_KERNEL)
    theirs = np.array(tables.create_table_neighbour_code_to_contour_length((3.0, 4.0)))
    order = [sum(int(weights[bit]) for bit in range(4) if code >> bit & 1) for code in range(16)]
    np.testing.assert_allclose(contour_lengths((3.0, 4.0))[np.arange(16) * 17], theirs[order], atol=1e-14)

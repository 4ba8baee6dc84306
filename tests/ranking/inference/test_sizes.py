"""Test sets of other sizes: what is drawn, how far they move a value, and which size is enough."""

import numpy as np
import pytest
from scipy.special import ndtr

from podium.ranking import units_of
from podium.ranking.inference.intervals import Moves
from podium.ranking.inference.sizes import draw_sets, moved_by, smallest_size


def test_strata_grow_in_proportion_and_draws_depend_on_the_seed_alone():
    units = units_of([str(n) for n in range(30)], ["a"] * 20 + ["b"] * 10)
    blocks = draw_sets(units, 2.5, sets=300, seed=(1, 2))
    assert [block.shape for block in blocks] == [(256, 30), (44, 30)]
    for stratum, size in zip(units.strata, (50, 25), strict=True):
        assert (np.concatenate(blocks)[:, stratum].sum(axis=1) == size).all()
    np.testing.assert_array_equal(blocks[0], draw_sets(units, 2.5, sets=256, seed=(1, 2))[0])
    assert (draw_sets(units, 0.01, sets=3, seed=(1,))[0].sum(axis=1) == 2).all()  # at least one of each stratum


def test_a_test_set_moves_a_mean_and_shows_its_error():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    units = units_of(list("abcd"))
    counts = np.array([[2.0, 3.0, 0.0, 1.0]])  # 1 1 2 2 2 9
    drawn = np.repeat(values, counts[0].astype(int))
    moved, error = moved_by((values - values.mean()) / 4, units, counts)
    assert values.mean() + moved[0] == pytest.approx(drawn.mean())
    assert error[0] == pytest.approx(drawn.std(ddof=1) / np.sqrt(6))


def test_a_resample_of_the_same_size_is_what_intervals_make_of_it():
    random = np.random.default_rng(1)
    units = units_of([str(n) for n in range(12)], ["a"] * 5 + ["b"] * 7)
    effect = random.normal(size=12)
    counts = units.draw(3, 0)
    shift, error = Moves(effect[None], units)(counts)
    np.testing.assert_allclose(np.stack(moved_by(effect, units, counts)), [shift[:, 0], error[:, 0]])


def test_the_smallest_size_lies_between_two_that_were_drawn():
    sizes = (10, 20, 40, 80, 160)
    shares = tuple(ndtr(0.3 * np.sqrt(size) - 1.96) for size in sizes)
    exact = ((1.96 + 0.8416) / 0.3) ** 2  # 87.2, rounded up
    assert smallest_size(sizes, shares, 0.8) == np.ceil(exact) == 88
    assert smallest_size([10 * size for size in sizes], [ndtr(0.03 * np.sqrt(10 * s)) for s in sizes], 0.8) == 790
    assert smallest_size(sizes, shares, 0.999) is None
    assert smallest_size(sizes, (1.0,) * 5, 0.8) == 10
    assert smallest_size((), (), 0.8) is None

"""What is drawn: clusters whole, strata for themselves, the same whatever the number of threads."""

import threading

import numpy as np
import pytest
from scipy import stats

from podium.model import InputError
from podium.ranking import units_of
from podium.ranking.inference.resampling import BLOCK, check_resamples, over_blocks


def gathered(units, *, replicates, seed=1, jobs=None):
    return np.concatenate(over_blocks(units, lambda counts: counts, replicates=replicates, seed=seed, jobs=jobs))


def test_rows_alone_are_their_own_clusters():
    units = units_of(["b", "a", "c"])
    assert units.names == ("b", "a", "c")
    assert units.strata == (slice(0, 3),)
    counts = units.draw(1, 0)
    assert counts.shape == (BLOCK, 3)
    assert (counts.sum(axis=1) == 3).all()
    assert units.weights(counts) is counts


def test_clusters_are_drawn_whole():
    clusters = ["x", "y", "x", "z", "x", "z"]
    units = units_of(clusters)
    assert units.names == ("x", "y", "z")
    counts = units.draw(3, 0)
    weights = units.weights(counts)
    assert (counts.sum(axis=1) == 3).all()
    for row, cluster in enumerate(clusters):
        np.testing.assert_array_equal(weights[:, row], counts[:, units.names.index(cluster)])
    assert (weights.sum(axis=1) != 6).any()  # clusters differ in size, and so do resamples


def test_means_of_clusters():
    rows = np.array([[1.0, 2.0, 3.0, 4.0, np.nan, 6.0], [1.0, np.nan, 1.0, 1.0, 4.0, 1.0]])
    units = units_of(["x", "y", "x", "z", "x", "z"])
    np.testing.assert_array_equal(units.means(rows), [[2, 2, 5], [2, np.nan, 1]])
    alone = units_of(["a", "b", "c"], ["s", "t", "s"])  # stratum by stratum: a, c, b
    np.testing.assert_array_equal(alone.means(rows[:, :3]), [[1, 3, 2], [1, 1, np.nan]])


def test_every_stratum_keeps_its_number_of_clusters():
    clusters = ["a", "b", "c", "d", "e", "a", "f"]
    strata = ["one", "two", "one", "two", "two", "one", "alone"]
    units = units_of(clusters, strata)
    assert [units.names[stratum] for stratum in units.strata] == [("a", "c"), ("b", "d", "e"), ("f",)]
    counts = units.draw(0, 0)
    for stratum in units.strata:
        assert (counts[:, stratum].sum(axis=1) == stratum.stop - stratum.start).all()
    assert (counts[:, units.names.index("f")] == 1).all()  # alone in its stratum
    weights = units.weights(counts)
    np.testing.assert_array_equal(weights[:, 0], weights[:, 5])
    np.testing.assert_array_equal(weights[:, 1], counts[:, units.names.index("b")])


def test_a_cluster_in_several_strata_is_drawn_with_its_like():
    """Patients with both scans, with the first only, and with the second only are drawn apart."""
    clusters = ["p1", "p2", "p3", "p4", "p1", "p2", "p5"]
    strata = ["first"] * 4 + ["second"] * 3
    units = units_of(clusters, strata)
    assert [units.names[stratum] for stratum in units.strata] == [("p1", "p2"), ("p3", "p4"), ("p5",)]
    weights = units.weights(units.draw(1, 0))
    assert (weights[:, :4].sum(axis=1) == 4).all()
    assert (weights[:, 4:].sum(axis=1) == 3).all()


def test_draws_are_uniform_and_independent():
    units = units_of([str(row) for row in range(10)])
    counts = gathered(units, replicates=20 * BLOCK)
    # A count is binomial: ten draws, each with one chance in ten.
    observed = np.bincount(counts.astype(int).ravel(), minlength=11)[:4]
    expected = stats.binom.pmf(np.arange(4), 10, 0.1) * counts.size
    np.testing.assert_allclose(observed, expected, rtol=0.03)
    np.testing.assert_allclose(counts.mean(axis=0), 1.0, atol=0.06)


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_the_same_draws_whatever_the_number_of_threads(jobs):
    units = units_of([str(row) for row in range(7)], list("aabbbbb"))
    alone = gathered(units, replicates=1000, jobs=1)
    np.testing.assert_array_equal(gathered(units, replicates=1000, jobs=jobs), alone)
    assert (gathered(units, replicates=1000, seed=2, jobs=jobs) != alone).any()


def test_fewer_resamples_are_the_first_of_more():
    units = units_of([str(row) for row in range(5)])
    many = gathered(units, replicates=1000)
    for fewer in (1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 999):
        np.testing.assert_array_equal(gathered(units, replicates=fewer), many[:fewer])


def test_results_are_in_order_and_progress_reaches_the_end():
    told, threads = [], set()

    def work(counts):
        threads.add(threading.get_ident())
        return len(counts)

    units = units_of(["a", "b"])
    sizes = over_blocks(units, work, replicates=600, seed=1, jobs=2, progress=lambda *done: told.append(done))
    assert sizes == [BLOCK, BLOCK, 600 - 2 * BLOCK]
    assert told == [(0, 600), (256, 600), (512, 600), (600, 600)]
    assert threading.get_ident() not in threads


def test_large_seeds_are_seeds():
    units = units_of([str(row) for row in range(50)])
    seeds = (0, 1, 2**32, 2**64 + 1)
    assert len({units.draw(seed, 0).tobytes() for seed in seeds}) == len(seeds)
    assert len({units.draw(1, block).tobytes() for block in range(4)}) == 4


def test_what_cannot_be_drawn_is_refused():
    units = units_of(["a", "b"])
    with pytest.raises(InputError, match="0 resamples are too few"):
        over_blocks(units, len, replicates=0, seed=1)
    with pytest.raises(InputError, match="seed is -1"):
        over_blocks(units, len, replicates=1, seed=-1)
    with pytest.raises(InputError, match="no cases"):
        units_of([])
    with pytest.raises(InputError, match="one name per row"):
        units_of(["a", "b"], ["x"])


def test_a_failure_in_a_thread_is_not_swallowed():
    def work(counts):
        raise InputError("no")

    with pytest.raises(InputError, match="no"):
        over_blocks(units_of(["a", "b"]), work, replicates=600, seed=1, jobs=2)


@pytest.mark.parametrize(
    ("competitors", "most"), [(0, "1,000,000"), (1, "1,000,000"), (16, "1,000,000"), (100, "160,000"), (1000, "16,000")]
)
def test_more_resamples_than_tell_anything_are_refused(competitors, most):
    with pytest.raises(InputError, match=rf"1,000,000,000 resamples are too many\. Ask for {most} at most"):
        check_resamples(1_000_000_000, competitors=competitors)
    check_resamples(int(most.replace(",", "")), competitors=competitors)


def test_nobody_draws_more_resamples_than_that():
    with pytest.raises(InputError, match="are too many"):
        over_blocks(units_of(["a", "b"]), len, replicates=1_000_001, seed=1)

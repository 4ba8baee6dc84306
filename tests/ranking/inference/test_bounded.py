"""Intervals of bounded means: against exact and slow computations, their laws, and whether they keep their promise."""

import tracemalloc
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from podium.model import InputError
from podium.ranking import mean_intervals
from podium.ranking.inference.bounded import BET, PERMUTATIONS, guaranteed_intervals, proved_intervals

METHODS = [guaranteed_intervals, proved_intervals]
unit = partial(guaranteed_intervals, lowest=0, highest=1)
proved_unit = partial(proved_intervals, lowest=0, highest=1)


def ends(intervals):
    return np.stack([intervals.low, intervals.high])


def samples(rows, seed=3, quantities=4):
    """Return values as they come: Dice, Dice with failures, 0 and 1 only, and all over the range."""
    draw = np.random.default_rng(seed)
    dice = draw.beta(18, 2, (quantities, rows))
    failing = np.where(draw.random(dice.shape) < 0.1, 0.0, dice)
    return np.concatenate([dice, failing, np.round(dice - 0.35), draw.random(dice.shape)])


# Gaffke's: exact


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("rows", [1, 2, 5, 15, 100, 5000])
def test_binary_values_have_the_interval_of_clopper_and_pearson(rows, level):
    successes = np.unique(np.linspace(0, rows, 12).astype(int))
    estimate, low, high = unit(np.arange(rows) < successes[:, None], level=level)
    share = (1 - level) / 2
    np.testing.assert_allclose(estimate, successes / rows)
    with np.errstate(invalid="ignore"):
        lower = np.where(successes > 0, stats.beta.ppf(share, successes, rows - successes + 1), 0)
        upper = np.where(successes < rows, stats.beta.ppf(1 - share, successes + 1, rows - successes), 1)
    np.testing.assert_allclose(low, lower, atol=1e-7)
    np.testing.assert_allclose(high, upper, atol=1e-7)


def exact_share_above(terms):
    """Return P(Σ Eᵢ gᵢ > 0) for exponential E and terms g that all differ, by partial fractions."""
    share = 0.0
    for one, term in enumerate(terms):
        if term > 0:
            share += np.prod([term / (term - other) for place, other in enumerate(terms) if place != one])
    return share


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8])
def test_ends_are_exact_quantiles(rows, weighted):
    draw = np.random.default_rng(rows)
    for _ in range(20):
        values = draw.permutation(np.linspace(0.02, 0.97, rows) ** draw.choice([0.2, 1, 3]))
        sizes = draw.integers(1, 12, rows) if weighted else None
        weights = np.ones(rows) if sizes is None else sizes / sizes.max()
        _, (low,), (high,) = unit(values[None], sizes=sizes)
        above = exact_share_above([*weights * (values - high), 1 - high])
        below = exact_share_above([*weights * (low - values), low])
        assert (above, below) == pytest.approx((0.025, 0.025), rel=1e-5)


@pytest.mark.parametrize("sized", [False, True])
def test_ends_agree_with_draws_from_the_dirichlet_distribution(sized):
    rows = 40
    draw = np.random.default_rng(8)
    weights = draw.exponential(size=(100_000, rows + 1))
    sizes = draw.integers(1, 13, rows) if sized else np.ones(rows)
    weights *= np.append(sizes, sizes.max())
    weights /= weights.sum(axis=1, keepdims=True)
    values = samples(rows, quantities=1)
    _, low, high = unit(values, sizes=sizes)
    for one, own in enumerate(values):
        quantiles = [np.quantile(weights @ np.append(own, end), share) for end, share in ((0, 0.025), (1, 0.975))]
        assert (low[one], high[one]) == pytest.approx(quantiles, abs=0.01 * (high[one] - low[one]))


def test_one_row_says_a_little():
    values = np.array([[0.0], [0.3], [1.0]])
    np.testing.assert_allclose(ends(unit(values)), [[0, 0.3 * 0.025, 0.025], [0.975, 1 - 0.7 * 0.025, 1]], atol=1e-7)
    np.testing.assert_array_equal(ends(proved_unit(values)), [[0] * 3, [1] * 3])


@pytest.mark.parametrize("difference", [0.02, 0.05, 0.3])
def test_how_many_cases_show_a_constant_difference(difference):
    """A mean of zero is left with a chance of (1 + difference) to the power of −n."""
    needed = int(np.ceil(np.log(1 / 0.025) / np.log1p(difference)))
    for rows in (needed - 1, needed):
        _, (low,), _ = guaranteed_intervals(np.full((1, rows), difference), lowest=-1, highest=1)
        assert (low > 0) == (rows == needed)


def test_nothing_of_gaffkes_interval_is_random():
    values = samples(30)
    sizes = np.arange(1, 31)
    order = np.random.default_rng(1).permutation(30)
    again = unit(values[:, order], sizes=sizes[order])
    np.testing.assert_allclose(ends(again), ends(unit(values, sizes=sizes)), atol=1e-7)


# Betting: by an own loop


def slow_capital(values, sizes, mean, *, share, seed=1):
    """Return the average capital of who bets that the mean is larger, one row after the other."""
    draw = np.random.default_rng(seed)
    capitals = []
    for _ in range(PERMUTATIONS):
        order = draw.permutation(len(values))
        capital, seen, spread = 1.0, [(0.5, 1.0)], 0.25
        for count, row in enumerate(order, start=1):
            bet = np.sqrt(2 * np.log(1 / share) / (len(values) * spread / count))
            weight = sizes[row] / max(sizes)
            capital *= 1 + min(bet, BET / mean) * weight * (values[row] - mean)
            seen.append((weight * values[row], weight))
            centre = sum(gain for gain, _ in seen) / sum(own for _, own in seen)
            spread += (weight * (values[row] - centre)) ** 2
        capitals.append(capital)
    return np.mean(capitals)


@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_betting_by_an_own_loop(level, sized):
    share = (1 - level) / 2
    values = samples(25, quantities=1)
    sizes = np.random.default_rng(4).integers(1, 5, 25) if sized else np.ones(25)
    _, low, high = proved_unit(values, sizes=sizes, level=level)
    capital = partial(slow_capital, sizes=sizes, share=share)
    for own, lower, upper in zip(values, low, high, strict=True):
        assert capital(own, mean=lower) == pytest.approx(1 / share, rel=1e-5)
        assert upper == 1 or capital(1 - own, mean=1 - upper) == pytest.approx(1 / share, rel=1e-5)
        # Neither has won anywhere between.
        for mean in np.linspace(lower, upper, 12)[1:-1]:
            assert max(capital(own, mean=mean), capital(1 - own, mean=1 - mean)) < 1 / share


def test_the_capital_falls_where_means_grow():
    """Bets depend on no mean but by their limit, so that no excluded mean lies between two that are not."""
    own = samples(25, quantities=1)[1]
    capitals = [slow_capital(own, np.ones(25), mean, share=0.025) for mean in np.linspace(0.01, 1, 60)]
    assert all(after < before for before, after in pairwise(capitals))


def test_orders_hardly_matter():
    values = samples(50)
    one, other = (ends(proved_unit(values, seed=seed)) for seed in (1, 2))
    assert (one == ends(proved_unit(values, seed=1))).all()
    assert (one != other).any()
    assert (np.abs(one - other) < 0.1 * (one[1] - one[0])).all()


# Laws of both


def every_method(test):
    """Try both methods with few and many rows."""
    return pytest.mark.parametrize("method", METHODS)(pytest.mark.parametrize("rows", [1, 2, 7, 60])(test))


@every_method
def test_the_estimate_lies_inside_and_all_in_the_range(method, rows):
    values = np.concatenate([samples(rows), np.full((1, rows), 0.4), np.zeros((1, rows)), np.ones((1, rows))])
    for level in (0.05, 0.5, 0.95, 0.9999):
        estimate, low, high = method(values, lowest=0, highest=1, level=level)
        np.testing.assert_array_equal(estimate, values.mean(axis=1))
        assert ((low >= 0) & (low <= estimate) & (estimate <= high) & (high <= 1)).all()


@every_method
def test_more_is_covered_by_wider_intervals(method, rows):
    levels = [method(samples(rows), lowest=0, highest=1, level=level) for level in (0.8, 0.9, 0.95, 0.99)]
    for narrow, wide in pairwise(levels):
        assert (wide.low <= narrow.low).all()
        assert (wide.high >= narrow.high).all()


@every_method
def test_units_do_not_matter(method, rows):
    values, sizes = samples(rows), np.arange(1, rows + 1)
    plain = method(values, lowest=0, highest=1, sizes=sizes)
    for factor, shift in ((100, 0), (1e-6, 0), (1e9, -3e8), (1, -0.5)):
        moved = method(values * factor + shift, lowest=shift, highest=factor + shift, sizes=3 * sizes)
        np.testing.assert_allclose((ends(moved) - shift) / factor, ends(plain), atol=1e-6)


@every_method
def test_reflection(method, rows):
    values = samples(rows)
    plain, turned = (ends(method(own, lowest=0, highest=1)) for own in (values, 1 - values))
    np.testing.assert_allclose(turned[::-1], 1 - plain, atol=1e-6)


@every_method
def test_a_wider_range_gives_no_narrower_interval(method, rows):
    near, far = (ends(method(samples(rows), lowest=0, highest=most)) for most in (1, 2))
    assert (far[1] >= near[1]).all()


@every_method
def test_clusters_of_one_size_are_rows(method, rows):
    values = samples(rows)
    plain, sized = (method(values, lowest=0, highest=1, sizes=sizes) for sizes in (None, np.full(rows, 4)))
    np.testing.assert_allclose(ends(sized), ends(plain), atol=1e-12)


@every_method
def test_threads_change_no_digit(method, rows):
    one, three = (ends(method(samples(rows), lowest=0, highest=1, jobs=jobs)) for jobs in (1, 3))
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("method", METHODS)
def test_the_quantity_of_clusters_is_the_ratio_mean(method):
    estimate, low, high = method([[0.2, 0.8]], lowest=0, highest=1, sizes=[1, 3])
    assert estimate == pytest.approx(0.65)
    assert low < 0.65 < high


@pytest.mark.parametrize("method", METHODS)
def test_values_that_all_are_an_end_of_the_range(method):
    """The mean of twenty times 0.9 is not quite 0.9 in binary numbers."""
    for rows in range(1, 30):
        estimate, low, high = method(np.full((1, rows), 0.9), lowest=0.1, highest=0.9)
        assert low < estimate <= high == 0.9 or (low, high) == (0.1, 0.9)


@pytest.mark.parametrize("method", METHODS)
def test_no_quantities_have_no_intervals(method):
    assert method(np.empty((0, 5)), lowest=0, highest=1).low.shape == (0,)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([[0.5, 1.5], [0.1, 0.2]], {}, r"the value 1.5 \(quantity 0, row 1\) is outside 0 to 1"),
        ([[0.5, 0.5], [0.1, -0.2]], {}, r"the value -0.2 \(quantity 1, row 1\) is outside"),
        ([[0.5, np.nan]], {}, "the value nan"),
        ([[0.5, np.inf]], {}, "the value inf"),
        ([0.5, 0.6], {}, "shape"),
        ([[], []], {}, "one row at least"),
        (0.5, {}, "shape"),
        ([[0.5]], {"highest": np.inf}, "does not bound"),
        ([[0.5]], {"lowest": np.nan}, "does not bound"),
        ([[0.5]], {"lowest": -1e308, "highest": 1e308}, "does not bound"),
        ([[0.5]], {"lowest": 1}, "does not bound"),
        ([[0.5]], {"level": 95}, "the level is 95"),
        ([[0.5]], {"level": 1.0}, "the level is 1.0"),
        ([[0.5, 0.6]], {"sizes": [1]}, "sizes must be"),
        ([[0.5, 0.6]], {"sizes": [1, 0]}, "sizes must be"),
        ([[0.5, 0.6]], {"sizes": [1, np.nan]}, "sizes must be"),
    ],
)
def test_what_cannot_be_is_refused(method, values, options, message):
    with pytest.raises(InputError, match=message):
        method(values, **{"lowest": 0, "highest": 1} | options)


@pytest.mark.parametrize("method", METHODS)
def test_memory_does_not_grow_with_quantities(method):
    values = np.random.default_rng(1).random((4000, 200))
    method(values[:2], lowest=0, highest=1)
    tracemalloc.start()
    method(values, lowest=0, highest=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.15 * values.nbytes


# Do they keep their promise?


def population(kind, draw, shape):
    if kind == "binary":
        return (draw.random(shape) < 0.95).astype(float)
    failing = {"Dice": 0.0, "2 % fail": 0.02, "5 % fail": 0.05}[kind]
    return np.where(draw.random(shape) < failing, 0.0, draw.beta(18, 2, shape))


MEANS = {"Dice": 0.9, "2 % fail": 0.98 * 0.9, "5 % fail": 0.95 * 0.9, "binary": 0.95}
CELLS = {  # median widths: of Gaffke's, of betting
    ("Dice", 15): (0.234, 0.335),
    ("Dice", 50): (0.087, 0.117),
    ("Dice", 300): (0.021, 0.027),
    ("2 % fail", 30): (0.136, 0.189),
    ("2 % fail", 100): (0.070, 0.087),
    ("5 % fail", 15): (0.307, 0.404),
    ("5 % fail", 100): (0.092, 0.122),
    ("binary", 15): (0.317, 0.368),
    ("binary", 100): (0.097, 0.131),
}


def coverage_and_width(method, kind, rows, *, rounds):
    """Return how often the mean is covered and the median width; a quantity is a round."""
    intervals = method(population(kind, np.random.default_rng([6, rows]), (rounds, rows)))
    covered = (intervals.low <= MEANS[kind]) & (MEANS[kind] <= intervals.high)
    return covered.mean(), np.median(intervals.high - intervals.low)


@pytest.mark.parametrize("rounds", [500, pytest.param(10_000, marks=pytest.mark.heavy)])
@pytest.mark.parametrize(("kind", "rows"), CELLS)
def test_they_cover_whatever_the_population(kind, rows, rounds):
    for method, said in zip((unit, proved_unit), CELLS[kind, rows], strict=True):
        coverage, width = coverage_and_width(method, kind, rows, rounds=rounds)
        assert coverage >= 0.95
        assert width == pytest.approx(said, rel=0.1)


def test_resamples_do_not_know_what_they_have_not_seen():
    """The simulation can tell: bootstrap-t, in its place, covers 88 %."""
    assert coverage_and_width(mean_intervals, "2 % fail", 30, rounds=500)[0] < 0.92


@pytest.mark.parametrize("rows", [50, 300])
def test_the_price_is_a_width_of_less_than_two_and_a_half(rows):
    widths = [coverage_and_width(method, "Dice", rows, rounds=200)[1] for method in (unit, mean_intervals)]
    assert widths[0] < 2.5 * widths[1]


def clusters(draw, count):
    """Return means and sizes of clusters; the large are worse, and one in twenty fails as a whole."""
    sizes = draw.choice([1, 2, 12], count)
    means = np.clip(draw.normal(0.9 - 0.02 * sizes, 0.05), 0, 1)
    return np.where(draw.random(count) < 0.05, 0.0, means), sizes


@pytest.mark.parametrize("rounds", [300, pytest.param(4000, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("count", [10, 40])
def test_clusters_of_unequal_size_are_covered(count, rounds):
    draw = np.random.default_rng(6)
    means, sizes = clusters(draw, 1_000_000)
    truth = means @ sizes / sizes.sum()
    covered = np.zeros(3)
    for _ in range(rounds):
        means, sizes = clusters(draw, count)
        sized = [method(means[None], sizes=sizes, jobs=1) for method in (unit, proved_unit)]
        naive = unit(means[None], jobs=1)
        covered += [low[0] <= truth <= high[0] for _, low, high in (*sized, naive)]
    assert (covered[:2] >= 0.95 * rounds).all()
    assert covered[2] < 0.9 * rounds or count == 10  # to count every cluster alike is another quantity


@pytest.mark.parametrize("rounds", [500, pytest.param(4000, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("rows", [30, 100])
def test_paired_differences_with_failures_nobody_has_seen(rows, rounds):
    """Two teams of equal means, one of which fails at 2 % and is better else."""
    draw = np.random.default_rng(7)
    case = draw.normal(0, 0.03, (rounds, rows))
    steady, failing = (np.clip(0.88 + case + draw.normal(0, 0.02, case.shape), 0, 1) for _ in range(2))
    failing = np.where(draw.random(case.shape) < 0.02, 0.0, np.clip(failing + 0.018, 0, 1))
    false = {}
    for method in (*METHODS, mean_intervals):
        options = {} if method is mean_intervals else {"lowest": -1, "highest": 1}
        intervals = method(failing - steady, **options)
        false[method] = np.mean((intervals.low > 0) | (intervals.high < 0))
    assert false[guaranteed_intervals] <= 0.01
    assert false[proved_intervals] <= 0.01
    assert false[mean_intervals] > 0.08

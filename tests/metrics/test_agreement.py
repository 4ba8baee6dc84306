"""Agreement: a published table, sums of squares in fractions, other tools, and intervals of simulated ratings."""

from fractions import Fraction

import numpy as np
import peers
import pytest

from podium.metrics import concordance_correlation, intraclass_correlation, intraclass_correlations
from podium.model import InputError

# Six subjects and four judges: table 2 of Shrout and Fleiss 1979, with their results.
SHROUT = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
PUBLISHED = {"1,1": 0.17, "2,1": 0.29, "3,1": 0.71, "1,k": 0.44, "2,k": 0.62, "3,k": 0.91}


def by_definition(table):
    """Return the six forms from sums of squares in exact fractions; None where they have no value."""
    n, k = len(table), len(table[0])
    grand = Fraction(sum(map(sum, table)), n * k)
    rows, columns = [Fraction(sum(row), k) for row in table], [Fraction(sum(c), n) for c in zip(*table, strict=True)]
    between = k * sum((row - grand) ** 2 for row in rows) / (n - 1)
    raters = n * sum((column - grand) ** 2 for column in columns) / (k - 1)
    within = sum((x - row) ** 2 for row, values in zip(rows, table, strict=True) for x in values) / (n * (k - 1))
    residuals = [x - rows[i] - columns[j] + grand for i, values in enumerate(table) for j, x in enumerate(values)]
    error = sum(r**2 for r in residuals) / ((n - 1) * (k - 1))
    parts = {
        "1,1": (between - within, between + (k - 1) * within),
        "2,1": (between - error, between + (k - 1) * error + k * (raters - error) / n),
        "3,1": (between - error, between + (k - 1) * error),
        "1,k": (between - within, between),
        "2,k": (between - error, between + (raters - error) / n),
        "3,k": (between - error, between),
    }
    return {form: over / under if under > 0 else None for form, (over, under) in parts.items()}


def test_the_published_example():
    values = intraclass_correlations(SHROUT)
    assert {form: round(icc.value, 2) for form, icc in values.items()} == PUBLISHED
    assert all(icc.lower < icc.value < icc.upper for icc in values.values())


@pytest.mark.parametrize("seed", range(20))
def test_in_fractions(seed):
    generator = np.random.default_rng(seed)
    table = generator.integers(0, 5, (int(generator.integers(2, 7)), int(generator.integers(2, 5))))
    exact = by_definition(table.tolist())
    for form, icc in intraclass_correlations(table).items():
        if exact[form] is None:
            assert np.isnan([icc.value, icc.lower, icc.upper]).all()
        else:
            assert icc.value == pytest.approx(float(exact[form]), rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_like_pingouin(seed):
    generator = np.random.default_rng(seed)
    subjects, raters = int(generator.integers(5, 30)), int(generator.integers(2, 6))
    ratings = generator.normal(size=(subjects, 1)) * seed + generator.normal(size=(subjects, raters))
    ratings += generator.normal(size=raters)
    for form, expected in peers.pingouin_icc(ratings).items():
        icc = intraclass_correlations(ratings)[form]
        assert icc.value == pytest.approx(expected[0], rel=1e-9)
        assert (icc.lower, icc.upper) == pytest.approx(expected[1:], abs=0.0051)  # it rounds to two digits


@pytest.mark.parametrize("form", PUBLISHED)
def test_intervals_hold_the_truth_as_often_as_they_say(form):
    """A population with known variances: subjects 2, raters 0.5, noise 1; a wide one for few repetitions."""
    generator = np.random.default_rng(0)
    model, unit = form.split(",")
    raters = 3
    noise = {"1": 1.5, "2": 1.5, "3": 1.0}[model]  # variance that counts against agreement
    truth = 2 / (2 + noise / (raters if unit == "k" else 1))
    hits = 0
    for _ in range(400):
        shape = (20, raters) if model == "1" else (1, raters)
        ratings = generator.normal(0, np.sqrt(2), (20, 1)) + generator.normal(0, np.sqrt(0.5), shape)
        icc = intraclass_correlations(ratings + generator.normal(size=(20, raters)), confidence=0.9)[form]
        hits += icc.lower <= truth <= icc.upper
    assert 0.85 <= hits / 400 <= 0.95


def test_two_raters_and_sets_of_weights():
    generator = np.random.default_rng(1)
    one, two = generator.normal(size=(2, 12)) + generator.normal(size=12)
    weights = generator.integers(0, 3, (5, 12))
    for form in PUBLISHED:
        alone = intraclass_correlations(np.stack([one, two], axis=1))[form].value
        assert intraclass_correlation(one, two, form=form) == pytest.approx(alone)
        values = intraclass_correlation(one, two, form=form, weights=weights)
        for value, weight in zip(values, weights, strict=True):
            repeated = intraclass_correlation(np.repeat(one, weight), np.repeat(two, weight), form=form)
            assert value == pytest.approx(repeated)


@pytest.mark.parametrize("size", [0.1, 1e300, 1e-300])
def test_what_does_not_vary(size):
    """No rounding makes an agreement out of constants."""
    everything_equal = intraclass_correlations(np.full((3, 2), size))
    assert np.isnan([icc.value for icc in everything_equal.values()]).all()
    one = size * np.array([1, 2, 3.0])
    perfect = intraclass_correlations(np.stack([one, one], axis=1))
    assert {(icc.value, icc.lower, icc.upper) for icc in perfect.values()} == {(1, 1, 1)}
    biased = intraclass_correlations([[size, 3 * size]] * 3)
    assert biased["2,1"].value == 0
    assert np.isnan(biased["2,1"].lower)
    assert biased["1,1"].value == -1
    assert np.isnan(biased["3,1"].value)
    assert np.isnan(intraclass_correlation([size], [2 * size]))
    assert np.isnan(concordance_correlation([size] * 3, [size] * 3))
    assert concordance_correlation([size] * 3, [size, 2 * size, 3 * size]) == 0
    assert concordance_correlation(one, one) == pytest.approx(1)


def test_concordance_by_hand():
    assert concordance_correlation([1, 2, 3], [2, 3, 4]) == pytest.approx(2 * (2 / 3) / (4 / 3 + 1))
    assert concordance_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)


@pytest.mark.parametrize("offset", [0, 1e6])
def test_concordance_divides_by_n(offset):
    """As Lin does; TorchMetrics divides variances by n − 1, which gives the same only for many samples."""
    one, two = np.random.default_rng(2).normal(size=(2, 40))
    theirs = peers.torchmetrics().concordance_corrcoef(two, one)
    for less, expected in ((0, float(concordance_correlation(one + offset, two + offset))), (1, theirs)):
        spread = one.var(ddof=less) + two.var(ddof=less) + (one.mean() - two.mean()) ** 2
        assert expected == pytest.approx(2 * np.cov(one, two, ddof=less)[0, 1] / spread, rel=1e-6)


def test_bad_ratings():
    for ratings, message in (
        ([[1], [2]], "2 or more raters"),
        ([1, 2], "2 or more raters"),
        ([[1, np.nan]], "not a finite number"),
    ):
        with pytest.raises(InputError, match=message):
            intraclass_correlations(ratings)
    with pytest.raises(InputError, match="confidence"):
        intraclass_correlations(SHROUT, confidence=95)
    with pytest.raises(InputError, match="form is '1,1'"):
        intraclass_correlation([1, 2], [1, 2], form="A,1")

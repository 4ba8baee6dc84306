"""What `podium.measure` makes of its values, beside plain code and SciPy."""

import numpy as np
import pytest
from scipy import stats

import podium


def measured(cases=40, *, others=0, seed=0, level=0.95, flawless=False):
    """Measure random rows of voxels, of which some labels are absent; `flawless` lacks no voxel."""
    generator = np.random.default_rng(seed)
    truths = {f"c{number:02d}": generator.integers(0, 3, (1, 60)) for number in range(cases)}

    def guess(share):
        return {name: np.where(generator.random((1, 60)) < share, array, 0) for name, array in truths.items()}

    predictions = truths if flawless else guess(0.8)
    against = {f"other{number}": guess(0.7) for number in range(others)}
    return podium.measure(
        truths, predictions, against=against, labels={"a": 1, "b": 2}, metrics=["overlap"], level=level
    )


def values(measurements, prediction, label, metric):
    return measurements.cases.filter(prediction=prediction, label=label)[metric].to_numpy().astype(float)


def bootstrap_t(numbers, level, replicates=20_000):
    """Return the textbook interval: quantiles of (resampled mean less mean) over its own standard error."""
    generator = np.random.default_rng(1)
    drawn = numbers[generator.integers(0, numbers.size, (replicates, numbers.size))]
    t = (drawn.mean(axis=1) - numbers.mean()) / (drawn.std(axis=1, ddof=1) / np.sqrt(numbers.size))
    low, high = np.quantile(t, [(1 - level) / 2, (1 + level) / 2])
    error = numbers.std(ddof=1) / np.sqrt(numbers.size)
    return numbers.mean() - high * error, numbers.mean() - low * error


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_means_and_differences_with_their_intervals_are_those_of_plain_code(level):
    result = measured(others=2, level=level)
    for row in result.summary.iter_rows(named=True):
        own = values(result, row["prediction"], row["label"], row["metric"])
        own = own[~np.isnan(own)]
        assert row["mean"] == pytest.approx(own.mean())
        assert row["median"] == pytest.approx(np.median(own))
        if row["metric"] in ("dice", "sensitivity"):
            width = np.ptp(bootstrap_t(own, level))
            assert (row["low"], row["high"]) == pytest.approx(bootstrap_t(own, level), abs=0.12 * width)
            assert row["high"] - row["low"] > 0.95 * width  # moved outwards a little, and never inwards
    for row in result.differences.filter(metric="dice").iter_rows(named=True):
        one, two = (values(result, row[side], row["label"], "dice") for side in ("prediction", "other"))
        assert row["difference"] == pytest.approx((one - two).mean())
        width = np.ptp(bootstrap_t(one - two, level))
        assert (row["low"], row["high"]) == pytest.approx(bootstrap_t(one - two, level), abs=0.12 * width)
        wins = (one > two).sum(), (one < two).sum(), (one == two).sum()
        assert (row["better"], row["worse"], row["equal"]) == wins
        differences = (one - two)[~np.isclose(one, two)]
        if len(np.unique(np.abs(differences).round(9))) == len(one):
            assert row["p"] == pytest.approx(stats.wilcoxon(one - two, method="exact").pvalue)


def test_no_failure_seen_is_no_proof_that_there_are_none():
    """Equal values have no spread, and yet their mean is not known: as in a ranking, the range decides."""
    result = measured(5, others=1, flawless=True)
    row = next(result.summary.filter(prediction="prediction", metric="dice").iter_rows(named=True))
    clopper_pearson = stats.binomtest(5, 5).proportion_ci(0.95, method="exact")
    assert (row["low"], row["high"]) == pytest.approx((clopper_pearson.low, clopper_pearson.high))
    volumes = next(result.summary.filter(metric="reference_volume").iter_rows(named=True))
    assert volumes["low"] < volumes["mean"] < volumes["high"]

"""Whether events happen as often as their predicted probabilities say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.metrics._kernels.thresholds import mean_absolute_deviation
from podium.metrics._quotients import quotient
from podium.metrics.probabilities import LOSS, as_probabilities
from podium.metrics.registry import declare
from podium.model import UNDEFINED, InputError
from podium.model.option_checks import check_option

__all__ = ["Calibration", "calibration", "expected_calibration_error"]

Floats = npt.NDArray[np.float64]


@declare(
    title="Expected calibration error",
    **LOSS,
    also_called=("ece",),
    formula="Σ_b n_b/n · |mean probability − share of positives|, bins b of equal width",
    same_as={"TorchMetrics": "calibration_error with task='binary', norm='l1', unless one is 1 or rounds to an edge"},
)
def expected_calibration_error(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, bins: int = 15, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return Σ_b n_b/n · |mean probability − share of positives| over bins of equal width (ECE); 0 is best.

    It is biased upwards: chance moves the share of positives away from the probability in every bin, so that even the
    true probabilities have an error above 0, the more so the fewer samples and the more bins. `calibration` says how
    much that is. It also depends on the bins, and the prevalence as everybody's probability has an error of 0: it
    judges honesty, not knowledge.

    Parameters
    ----------
    reference, prediction
        0 or 1, and the probability of 1, shape (…, samples).
    bins
        How many; bin k holds probabilities from k / bins to below (k + 1) / bins, the last one 1 too.
    weights
        How often each sample counts, shape (…, samples).

    Notes
    -----
    The same sum as TorchMetrics', which keeps a bin of its own for probabilities of exactly 1, and rounds
    probabilities to single precision before it chooses a bin.

    References
    ----------
    Naeini et al. 2015, AAAI; Guo et al. 2017, ICML; on the bias: Bröcker 2012, Climate Dynamics 39.

    Examples
    --------
    >>> float(expected_calibration_error([0, 1, 1, 1], [0.5, 0.5, 0.75, 0.75], bins=4))
    0.125
    """
    return calibration_gaps(*as_probabilities(reference, prediction, weights), bins)


def calibration_gaps(truth: Floats, chances: Floats, weight: Floats, bins: int) -> Floats:
    """Return Σ over bins of |Σ w · (probability − truth)|, over Σ w."""
    bin_of, bins = _bin_of(chances, bins), int(bins)
    gap = weight * (chances - truth)
    total = sum(np.abs(np.where(bin_of == number, gap, 0.0).sum(axis=-1)) for number in range(bins))
    return quotient(total, weight.sum(axis=-1))


def _bin_of(chances: Floats, bins: int) -> npt.NDArray[np.intp]:
    """Return the bin of each probability: of equal width, the lower edge included, and 1 in the last."""
    check_option("bins", int, bins)
    if bins < 1:
        raise InputError(f"bins is a whole number from 1, not {bins}")
    return np.minimum(np.searchsorted(np.arange(bins + 1) / bins, chances, side="right") - 1, int(bins) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """What lies in each bin of probabilities, and how far from calibrated that is.

    Attributes
    ----------
    count, probability, share
        For each bin: how many samples, their mean probability, and the share of positives; undefined where empty.
    error
        The expected calibration error.
    largest_gap
        The largest distance between probability and share in any bin (MCE).
    expected_of_calibrated
        The mean error that these very probabilities would have if they were true: the bias of `error`. An error near
        it, or below, tells of no miscalibration.
    """

    count: npt.NDArray[np.int64]
    probability: Floats
    share: Floats
    error: float
    largest_gap: float
    expected_of_calibrated: float


def calibration(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, bins: int = 15) -> Calibration:
    """Return the reliability of probabilities in bins of equal width, with the error that chance alone would cause.

    Examples
    --------
    >>> facts = calibration([0, 1], [0.5, 0.5], bins=1)
    >>> facts.error, facts.expected_of_calibrated
    (0.0, 0.25)
    """
    truth, chances, weight = as_probabilities(reference, prediction, None)
    if truth.ndim != 1 or chances.ndim != 1:
        raise InputError(f"one row of samples is expected, not {truth.shape} and {chances.shape}")
    error = float(calibration_gaps(truth, chances, weight, bins))
    bin_of, bins = _bin_of(chances, bins), int(bins)
    count = np.bincount(bin_of, minlength=bins).astype(np.int64)
    chance, share = (quotient(np.bincount(bin_of, values, minlength=bins), count) for values in (chances, truth))
    if not chances.size:
        return Calibration(count, chance, share, error, UNDEFINED, UNDEFINED)
    by_chance = sum(_deviation_by_chance(chances[bin_of == number]) for number in range(bins))
    return Calibration(count, chance, share, error, float(np.nanmax(np.abs(chance - share))), by_chance / chances.size)


def _deviation_by_chance(chances: Floats) -> float:
    """Return the mean distance of the number of positives from its expectation, if the probabilities are true."""
    variance = float((chances * (1 - chances)).sum())
    if variance > 100:  # the normal distribution is then right to a fifth of a percent
        return float(np.sqrt(2 * variance / np.pi))
    rare = chances if chances.sum() <= (1 - chances).sum() else 1 - chances
    most = min(rare.size, int(rare.sum() + 12 * np.sqrt(variance) + 40))
    return float(mean_absolute_deviation(rare, most))

"""Sums over all thresholds of scores that were sorted once, for many sets of weights; and sums of chances."""

from __future__ import annotations

import numpy as np

from podium._jit import kernel


@kernel
def areas_under_roc(order, truth, ends, weights, pairs, areas):
    """Fill the area under ROC of each pair (scores, weights); NaN where there is one class only.

    `order` (scores, samples) goes from the highest score to the lowest; `truth` (1.0 or 0.0) and `ends` (whether the
    next score is lower) lie in that order. Samples of one score are taken together. With whole weights every count is
    exact as long as twice the number of pairs is below 2⁵³.
    """
    for pair in range(len(pairs)):
        scores, weight = pairs[pair, 0], weights[pairs[pair, 1]]
        positives, negatives = 0.0, 0.0  # with this score or a higher one
        positives_above, negatives_above = 0.0, 0.0
        twice_the_area = 0.0
        for k in range(order.shape[1]):
            value = weight[order[scores, k]]
            positive = truth[scores, k] * value
            positives += positive
            negatives += value - positive
            if ends[scores, k]:
                twice_the_area += (negatives - negatives_above) * (positives_above + positives)
                positives_above, negatives_above = positives, negatives
        both = positives > 0 and negatives > 0
        areas[pair] = twice_the_area / (2 * positives * negatives) if both else np.nan


@kernel
def average_precisions(order, truth, ends, weights, pairs, areas):
    """Fill the average precision of each pair (scores, weights), all as above; NaN where there are no positives."""
    for pair in range(len(pairs)):
        scores, weight = pairs[pair, 0], weights[pairs[pair, 1]]
        positives, count = 0.0, 0.0  # with this score or a higher one
        above, precision = 0.0, 0.0
        for k in range(order.shape[1]):
            value = weight[order[scores, k]]
            positives += truth[scores, k] * value
            count += value
            if ends[scores, k] and count > 0:
                precision += (positives - above) * (positives / count)
                above = positives
        areas[pair] = min(precision / positives, 1.0) if positives > 0 else np.nan


@kernel
def mean_absolute_deviation(chances, most):
    """Return E|S − E S| of the number S of successes among independent trials with these chances.

    The distribution is built trial by trial; more than `most` successes are taken to be impossible.
    """
    probability = np.zeros(most + 1)
    probability[0] = 1.0
    mean, reach = 0.0, 0
    for chance in chances:
        mean += chance
        reach = min(reach + 1, most)
        for k in range(reach, 0, -1):
            probability[k] += chance * (probability[k - 1] - probability[k])
        probability[0] *= 1 - chance
    total = 0.0
    for k in range(most + 1):
        total += probability[k] * abs(k - mean)
    return total

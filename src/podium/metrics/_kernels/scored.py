"""Curves over sorted scores, for many sets of weights at once."""

from __future__ import annotations

import numpy as np

from podium._jit import kernel


@kernel
def take_by_score(values, ignored, thresholds, kinds):
    """Let predictions, in the order of rows of `values`, take references: each the best free one that is close enough.

    `values` has the shape (predictions, references); of equal ones the first is taken. A prediction that gets none, but
    is close enough to one that is ignored, is neither right nor wrong. Fills `kinds`, shape (thresholds, predictions):
    1 where it is right, 0 where wrong, -1 where neither.
    """
    taken = np.zeros(values.shape[1], np.bool_)
    for level in range(thresholds.size):
        taken[:] = False
        for prediction in range(values.shape[0]):
            best = -1
            excused = False
            for reference in range(values.shape[1]):
                value = values[prediction, reference]
                if not value >= thresholds[level]:
                    continue
                if ignored[reference]:
                    excused = True
                elif not taken[reference] and (best < 0 or value > values[prediction, best]):
                    best = reference
            if best >= 0:
                taken[best] = True
                kinds[level, prediction] = 1
            else:
                kinds[level, prediction] = -1 if excused else 0


@kernel
def sensitivities(rows, true, last, weights, references, rates, linear, result):
    """Find the sensitivity at rates of false positives per image, for each set of weights.

    `rows` and `true` are the image of each prediction and whether it is right, in descending order of scores; `last`
    where the last of equal scores lies. `references` counts those of each image. The rates ascend. Fills `result`,
    shape (sets, rates), except where a set has no references.
    """
    for s in range(weights.shape[0]):
        total = images = 0.0
        for image in range(references.size):
            total += weights[s, image] * references[image]
            images += weights[s, image]
        if total == 0:
            continue
        right = wrong = right_before = wrong_before = 0.0
        k = 0
        for i in range(rows.size):
            weight = weights[s, rows[i]]
            if true[i]:
                right += weight
            else:
                wrong += weight
            if last[i]:
                while k < rates.size and wrong > rates[k] * images:
                    share = (rates[k] * images - wrong_before) / (wrong - wrong_before) if linear else 0.0
                    result[s, k] = (right_before + share * (right - right_before)) / total
                    k += 1
                right_before, wrong_before = right, wrong
        result[s, k:] = right / total


@kernel
def average_precisions(rows, true, last, weights, references, points, result):
    """Find the area under precision over recall, for each set of weights; see `sensitivities` for the words.

    `points` > 0: the mean of the best precision at a recall of at least 0, 1 / (points - 1), … 1. 0: the area under
    the best precision at every recall or a larger one. -1: the sum of precisions, each times its step in recall.
    """
    right, wrong = np.empty(rows.size + 1), np.empty(rows.size + 1)
    for s in range(weights.shape[0]):
        total = 0.0
        for image in range(references.size):
            total += weights[s, image] * references[image]
        if total == 0:
            continue
        count = 0
        rights = wrongs = 0.0
        for i in range(rows.size):
            weight = weights[s, rows[i]]
            if true[i]:
                rights += weight
            else:
                wrongs += weight
            if last[i] and rights + wrongs > 0:
                right[count], wrong[count] = rights, wrongs
                count += 1
        area = best = 0.0
        point = points - 1
        for i in range(count - 1, -1, -1):
            precision = right[i] / (right[i] + wrong[i])
            before = right[i - 1] if i else 0.0
            if points < 0:
                area += precision * (right[i] - before) / total
                continue
            best = max(best, precision)
            if points == 0:
                area += best * (right[i] - before) / total
                continue
            # A recall of k / (points - 1) needs right · (points - 1) ≥ k · total: whole numbers, nothing is rounded.
            # Which points lie between this recall and the one before it?
            while point >= 0 and point * total > right[i] * (points - 1):
                point -= 1
            while point >= 0 and (i == 0 or point * total > before * (points - 1)):
                area += best
                point -= 1
        result[s] = area / points if points > 0 else area

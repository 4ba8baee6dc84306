"""A second implementation of what declared challenges do, straight from docs/declaring.md, in plain NumPy and SciPy."""

import math

import numpy as np
from scipy import ndimage, stats
from scipy.spatial.distance import cdist


def competition_ranks(values, *, higher=False):
    """Return ranks from 1, equals sharing the better one; what is no number comes last."""
    values = np.nan_to_num(-np.asarray(values, float) if higher else np.asarray(values, float), nan=np.inf)
    slack = 1e-11 * np.where(np.isfinite(values), np.abs(values), 1)
    return np.array(
        [1.0 + sum(other < value - near for other in values) for value, near in zip(values, slack, strict=True)]
    )


def one_sided_p(differences):
    """Return the p-value of differences that tend to be positive: normal, corrected for ties and continuity."""
    differences = np.round(differences, 9)
    differences = differences[differences != 0]
    if not differences.size:
        return 1.0
    return stats.wilcoxon(differences, alternative="greater", correction=True, method="approx").pvalue


def adjusted(p, adjustment):
    """Return p-values of all ordered pairs, adjusted for their number."""
    apart = ~np.eye(len(p), dtype=bool)
    own = p[apart]
    order, count = np.argsort(own), own.size
    if adjustment == "bonferroni":
        own = np.minimum(1, own * count)
    elif adjustment == "holm":
        own[order] = np.minimum(1, np.maximum.accumulate(own[order] * np.arange(count, 0, -1)))
    elif adjustment == "benjamini-hochberg":
        scaled = own[order] * count / np.arange(1, count + 1)
        own[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    result = np.ones(p.shape)
    result[apart] = own
    return result


def significant(errors, clusters, *, alpha, adjustment):
    """Return whether the first has significantly smaller errors than the second, by means of clusters."""
    means = np.array(
        [[team[[other == name for other in clusters]].mean() for name in dict.fromkeys(clusters)] for team in errors]
    )
    p = np.array([[one_sided_p(two - one) for two in means] for one in means])
    return adjusted(p, adjustment) < alpha


def parted_ranks(means, better):
    """Return ranks that only significant differences part: one more than those before who are better."""
    order, teams = competition_ranks(means), range(len(means))
    counts = [1.0 + sum(better[one, two] and order[one] < order[two] for one in teams) for two in teams]
    return np.array([max(counts[one] for one in teams if order[one] <= order[two]) for two in teams])


def column_and_ranks(errors, clusters, *, scheme, alpha=0.05, adjustment=None):
    """Return the column of one criterion, of errors of shape (teams, cases), and the ranks that it gives."""
    if scheme == "test then rank":
        better = significant(errors, clusters, alpha=alpha, adjustment=adjustment or "none")
        return better.sum(axis=1).astype(float), competition_ranks(better.sum(axis=1), higher=True)
    column = errors.mean(axis=1)
    if scheme == "rank then mean":
        column = np.mean([competition_ranks(case) for case in errors.T], axis=0)
    if adjustment is None:
        return column, competition_ranks(column)
    return column, parted_ranks(column, significant(errors, clusters, alpha=alpha, adjustment=adjustment))


def edge_distances(reference, prediction, spacing):
    """Return how far the boundary voxels of each are from those of the other."""
    places = [np.argwhere(mask & ~ndimage.binary_erosion(mask)) * spacing for mask in (reference, prediction)]
    table = cdist(*places)
    return table.min(axis=1), table.min(axis=0)


def mask_values(reference, prediction, spacing, *, percentile, tolerance_mm):
    """Return metrics of two masks by name; infinite, or no number, where there is none."""
    one, two = bool(reference.any()), bool(prediction.any())
    common = float((reference & prediction).sum())
    values = {
        "dice": 2 * common / (reference.sum() + prediction.sum()) if one or two else 1.0,
        "precision": common / prediction.sum() if two else math.nan if one else 1.0,
        "sensitivity": common / reference.sum() if one else math.nan,
        "panoptic_quality": panoptic_quality(reference, prediction),
    }
    if one != two:
        return values | {"hausdorff_distance": math.inf, "surface_dice": 0.0, "centre_distance": math.inf}
    if not one:
        return values | {"hausdorff_distance": 0.0, "surface_dice": 1.0, "centre_distance": 0.0}
    distances = edge_distances(reference, prediction, spacing)
    centres = [np.argwhere(mask).mean(axis=0) * spacing for mask in (reference, prediction)]
    return values | {
        "hausdorff_distance": max(np.percentile(own, percentile) for own in distances),
        "surface_dice": np.mean(np.concatenate(distances) <= tolerance_mm * (1 + 1e-7)),
        "centre_distance": float(np.linalg.norm(centres[0] - centres[1])),
    }


def panoptic_quality(reference, prediction):
    """Return Kirillov's, of components that touch at faces, edges or corners."""
    corners = np.ones((3,) * reference.ndim)
    (one, count), (two, other_count) = (ndimage.label(mask, corners) for mask in (reference, prediction))
    if not count + other_count:
        return 1.0
    pairs = [(one == i + 1, two == j + 1) for i in range(count) for j in range(other_count)]
    overlaps = [(first & second).sum() / (first | second).sum() for first, second in pairs]
    matched = [overlap for overlap in overlaps if overlap > 0.5]
    return sum(matched) / (0.5 * (count + other_count))


def froc_score(images):
    """Return LUNA16's of (scores of hits, scores of false alarms, number of findings) of each case."""
    findings = sum(count for _, _, count in images)
    thresholds = sorted({score for hits, alarms, _ in images for score in (*hits, *alarms)}, reverse=True)
    curve = [(0.0, 0.0)]
    for threshold in thresholds:
        alarms = sum(score >= threshold for _, own, _ in images for score in own) / len(images)
        curve.append((alarms, sum(score >= threshold for hits, _, _ in images for score in hits) / findings))
    sensitivities = []
    for rate in (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8):
        last = max(place for place, (alarms, _) in enumerate(curve) if alarms <= rate + 1e-12)
        (x, y), (further, higher) = curve[last], curve[min(last + 1, len(curve) - 1)]
        sensitivities.append(y + (higher - y) * (rate - x) / (further - x) if further > x else y)
    return float(np.mean(sensitivities))


def average_precision(images):
    """Return COCO's, at 101 recalls, of the same."""
    findings = sum(count for _, _, count in images)
    points = []
    for threshold in {score for hits, alarms, _ in images for score in (*hits, *alarms)}:
        hits = sum(score >= threshold for own, _, _ in images for score in own)
        alarms = sum(score >= threshold for _, own, _ in images for score in own)
        points.append((hits, hits / (hits + alarms)))
    best = [max((p for hits, p in points if 100 * hits >= k * findings), default=0.0) for k in range(101)]
    return float(np.mean(best))


def classification_values(truth, probabilities, *, floor, bins):
    """Return the metrics of a column of probabilities by name."""
    yes, no = probabilities[truth == 1], probabilities[truth == 0]
    wins = [(one > two) + 0.5 * (one == two) for one in yes for two in no]
    happened = np.where(truth == 1, probabilities, 1 - probabilities)
    places = np.minimum(np.floor(probabilities * bins + 1e-12), bins - 1)
    gaps = [
        np.mean(places == place) * abs((probabilities - truth)[places == place].mean()) for place in np.unique(places)
    ]
    return {
        "area_under_roc": float(np.mean(wins)) if wins else math.nan,
        "brier_score": float(np.mean((truth - probabilities) ** 2)),
        "log_loss": float(-np.log(np.maximum(happened, floor)).mean()),
        "expected_calibration_error": float(sum(gaps)),
    }

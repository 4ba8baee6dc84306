"""Averaging many sub-pixel shifts of one image."""

from __future__ import annotations

import numpy as np

from podium._jit import kernel


@kernel
def average_of_shifts(coefficients, margin, shifts, shape, least):
    """Return the mean over all shifts of a cubic B-spline image, moved by each; beyond its border the edge goes on.

    `coefficients` are those of the image with `margin` edge pixels added on each side. The shift of a frame is the
    same for every pixel, so its weights are computed once per row and column. In each frame, what is less than `least`
    counts as that.
    """
    rows, columns = shape
    high, wide = coefficients.shape
    result = np.zeros((rows, columns))
    row_start, column_start = np.empty(rows, np.int64), np.empty(columns, np.int64)
    row_weight, column_weight = np.empty((rows, 4)), np.empty((columns, 4))
    for frame in range(shifts.shape[0]):
        _taps(rows, margin - shifts[frame, 0], high, row_start, row_weight)
        _taps(columns, margin - shifts[frame, 1], wide, column_start, column_weight)
        for i in range(rows):
            for j in range(columns):
                value = 0.0
                for a in range(4):
                    line = coefficients[min(max(row_start[i] + a, 0), high - 1)]
                    part = 0.0
                    for b in range(4):
                        part += column_weight[j, b] * line[min(max(column_start[j] + b, 0), wide - 1)]
                    value += row_weight[i, a] * part
                result[i, j] += max(value, least)
    return result / max(shifts.shape[0], 1)


@kernel
def _taps(count, offset, size, start, weight):
    """Find the four coefficients under each pixel of an axis and their cubic B-spline weights."""
    for k in range(count):
        at = min(max(k + offset, -4.0), size + 4.0)  # further out, all four are the edge
        first = np.floor(at)
        t = at - first
        start[k] = np.int64(first) - 1
        weight[k, 0] = (1 - t) ** 3 / 6
        weight[k, 1] = (4 - 6 * t * t + 3 * t**3) / 6
        weight[k, 2] = (4 - 6 * (1 - t) ** 2 + 3 * (1 - t) ** 3) / 6
        weight[k, 3] = t**3 / 6

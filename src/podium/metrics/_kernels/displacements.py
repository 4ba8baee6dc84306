"""Errors of displacement fields, added up pixel by pixel without ever building the true field."""

from __future__ import annotations

import numpy as np

from podium._jit import summing_kernel


@summing_kernel
def field_error(predicted, matrix, width):
    """Return Σ |predicted(p) − matrix · (x, y, 1)| over the pixels of a frame, x fastest and both from 1.

    `predicted` has shape (3, pixels). The true displacement is affine in the pixel, so it is never stored.
    """
    total = 0.0
    for row in range(predicted.shape[1] // width):
        start = row * width
        u, v, w = (
            predicted[0, start : start + width],
            predicted[1, start : start + width],
            predicted[2, start : start + width],
        )
        u0 = matrix[0, 1] * (row + 1) + matrix[0, 2]
        v0 = matrix[1, 1] * (row + 1) + matrix[1, 2]
        w0 = matrix[2, 1] * (row + 1) + matrix[2, 2]
        line = 0.0
        for x in range(width):
            du = u[x] - (matrix[0, 0] * (x + 1) + u0)
            dv = v[x] - (matrix[1, 0] * (x + 1) + v0)
            dw = w[x] - (matrix[2, 0] * (x + 1) + w0)
            line += np.sqrt(du * du + dv * dv + dw * dw)
        total += line
    return total


@summing_kernel
def affine_error(matrix, height, width):
    """Return Σ |matrix · (x, y, 1)| over the pixels of a frame, both coordinates from 1."""
    total = 0.0
    for y in range(1, height + 1):
        u0 = matrix[0, 1] * y + matrix[0, 2]
        v0 = matrix[1, 1] * y + matrix[1, 2]
        w0 = matrix[2, 1] * y + matrix[2, 2]
        line = 0.0
        for x in range(1, width + 1):
            u = matrix[0, 0] * x + u0
            v = matrix[1, 0] * x + v0
            w = matrix[2, 0] * x + w0
            line += np.sqrt(u * u + v * v + w * w)
        total += line
    return total

"""Determinants of the Jacobian of x + u(x), voxel by voxel, without storing a single derivative."""

from __future__ import annotations

from podium._jit import kernel


@kernel
def determinants(field, spacing, central, out):
    """Fill the determinant at every voxel of a displacement field (3, x, y, z), by finite differences.

    Central differences, one-sided at a border; or, if not `central`, the smallest determinant of the eight corners of
    forward and backward differences. An axis of one voxel has no derivative.
    """
    shape = field.shape[1:]
    first, last = 0, 1 if central else 8
    for x in range(shape[0]):
        for y in range(shape[1]):
            for z in range(shape[2]):
                least = 0.0
                for corner in range(first, last):
                    x0, x1 = _neighbours(x, shape[0], central, corner & 1)
                    y0, y1 = _neighbours(y, shape[1], central, corner & 2)
                    z0, z1 = _neighbours(z, shape[2], central, corner & 4)
                    dx = max(x1 - x0, 1) * spacing[0]
                    dy = max(y1 - y0, 1) * spacing[1]
                    dz = max(z1 - z0, 1) * spacing[2]
                    a = 1 + (field[0, x1, y, z] - field[0, x0, y, z]) / dx
                    d = (field[1, x1, y, z] - field[1, x0, y, z]) / dx
                    g = (field[2, x1, y, z] - field[2, x0, y, z]) / dx
                    b = (field[0, x, y1, z] - field[0, x, y0, z]) / dy
                    e = 1 + (field[1, x, y1, z] - field[1, x, y0, z]) / dy
                    h = (field[2, x, y1, z] - field[2, x, y0, z]) / dy
                    c = (field[0, x, y, z1] - field[0, x, y, z0]) / dz
                    f = (field[1, x, y, z1] - field[1, x, y, z0]) / dz
                    i = 1 + (field[2, x, y, z1] - field[2, x, y, z0]) / dz
                    value = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
                    if corner == first or value < least:
                        least = value
                out[x, y, z] = least


@kernel
def _neighbours(place, size, central, forward):
    """Return the two places whose difference stands for the derivative here."""
    before, after = max(place - 1, 0), min(place + 1, size - 1)
    if central:
        return before, after
    if forward:
        return (place, after) if after > place else (before, place)
    return (before, place) if place > before else (place, after)

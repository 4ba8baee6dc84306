"""Surface distances the slow, obvious way: every element against every other."""

from __future__ import annotations

from itertools import product

import numpy as np

from podium.metrics._kernels.areas import contour_lengths, surfel_areas


def boundary_elements(mask: np.ndarray, spacing: tuple[float, ...], boundary: str) -> tuple[np.ndarray, np.ndarray]:
    """Return position in mm and size of each boundary element of a mask."""
    mask = np.pad(mask.astype(bool), 1)
    positions, sizes = [], []
    dimensions = mask.ndim
    for index in product(*(range(1, n) for n in mask.shape)):
        if boundary == "surfel":
            corners = [bool(mask[tuple(np.add(index, offset))]) for offset in product((-1, 0), repeat=dimensions)]
            if all(corners) or not any(corners):
                continue
            code = sum(inside << bit for bit, inside in enumerate(corners))
            table = surfel_areas(spacing) if dimensions == 3 else contour_lengths(spacing)
            sizes.append(table[code if dimensions == 3 else code * 17])
        else:
            steps = [step * sign for step in np.eye(dimensions, dtype=int) for sign in (-1, 1)]
            if not mask[index] or all(mask[tuple(np.add(index, step))] for step in steps):
                continue
            sizes.append(1.0)
        positions.append(np.multiply(index, spacing))
    return np.array(positions).reshape(-1, dimensions), np.array(sizes)


def directed(own: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return distance to the other boundary and size of each element, by ascending distance."""
    if len(other[0]) == 0:
        return np.full(len(own[0]), np.inf), own[1]
    distance = np.array([np.sqrt(np.square(other[0] - position).sum(axis=1)).min() for position in own[0]])
    order = np.argsort(distance, kind="stable")
    return distance[order], own[1][order]

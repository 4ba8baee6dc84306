"""The area of the surface inside one cell of eight voxels, for each of the 256 ways they can be in or out.

The surface is the one that marching cubes (Lorensen and Cline, 1987) draws between voxel centres, with its vertices
at the middle of the edges it crosses. Three choices make it the surface of Nikolov et al. (2018, arXiv 1809.04430):
the smaller side (four voxels or fewer) counts as inside; where the corners of a face alternate, the inside corners are
cut off one by one; and a polygon that is not flat is folded the way that gives it the larger area.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt

_Point = tuple[float, ...]
_CORNERS: list[_Point] = [tuple(map(float, corner)) for corner in product((0, 1), repeat=3)]
_FACE_CYCLE = ((0, 0), (0, 1), (1, 1), (1, 0))


@lru_cache(maxsize=64)
def surfel_areas(spacing: tuple[float, ...]) -> npt.NDArray[np.float64]:
    """Return the area in mm² for every code; bit 4·dz + 2·dy + dx of a code is the voxel at (dz, dy, dx)."""
    scale = np.array([math.prod(spacing) / s for s in spacing])  # an area vector's component k spans the two other axes
    return np.array([float(np.linalg.norm(vectors * scale, axis=1).sum()) for vectors in _area_vectors()])


def contour_lengths(spacing: tuple[float, ...]) -> npt.NDArray[np.float64]:
    """Return the length in mm of the contour in a 2-D cell, for codes whose two halves are the same four pixels."""
    lengths = np.zeros(256)
    diagonal = math.hypot(*spacing) / 2
    for code in range(16):
        a, b, c, d = (bool(code >> bit & 1) for bit in range(4))
        match a + b + c + d:
            case 1 | 3:
                length = diagonal
            case 2 if a == d:
                length = 2 * diagonal
            case 2:
                length = spacing[1] if a == b else spacing[0]
            case _:
                length = 0.0
        lengths[code * 17] = length
    return lengths


@cache
def _area_vectors() -> list[npt.NDArray[np.float64]]:
    """Return, for each code, half the cross products of its triangles in a unit cell."""
    table = []
    for code in range(256):
        inside = {corner for bit, corner in enumerate(_CORNERS) if code >> bit & 1}
        if len(inside) > 4:
            inside = set(_CORNERS) - inside
        triangles = [vector for loop in _loops(inside) for vector in _folded_outward(loop)]
        table.append(np.array(triangles).reshape(-1, 3))
    return table


def _loops(inside: set[_Point]) -> list[list[_Point]]:
    """Return the closed polygons in which the surface meets the faces of the cell."""
    neighbours: dict[_Point, list[_Point]] = {}
    for axis, side in product(range(3), (0.0, 1.0)):
        cycle: list[_Point] = [tuple(np.insert(np.array(corner, float), axis, side).tolist()) for corner in _FACE_CYCLE]
        crossings = [k for k in range(4) if (cycle[k - 1] in inside) != (cycle[k] in inside)]
        if len(crossings) == 4 and cycle[0] not in inside:
            crossings = [*crossings[1:], crossings[0]]  # pair the two crossings around each inside corner
        for start, end in zip(crossings[::2], crossings[1::2], strict=True):
            one, two = _middle(cycle[start - 1], cycle[start]), _middle(cycle[end - 1], cycle[end])
            neighbours.setdefault(one, []).append(two)
            neighbours.setdefault(two, []).append(one)
    loops = []
    while neighbours:
        loop = [min(neighbours)]
        while onward := [point for point in neighbours.pop(loop[-1]) if point in neighbours]:
            loop.append(onward[0])
        loops.append(loop)
    return loops


def _middle(one: _Point, two: _Point) -> _Point:
    return tuple((a + b) / 2 for a, b in zip(one, two, strict=True))


def _folded_outward(loop: list[_Point]) -> list[npt.NDArray[np.float64]]:
    """Return the area vectors of the triangulation with the largest area."""
    points = np.array(loop)
    options = [
        [np.cross(points[b] - points[a], points[c] - points[a]) / 2 for a, b, c in triangles]
        for triangles in _triangulations(0, len(loop) - 1)
    ]
    return max(options, key=lambda vectors: round(float(np.linalg.norm(vectors, axis=1).sum()), 9))


def _triangulations(first: int, last: int) -> list[list[tuple[int, int, int]]]:
    """Return every way to cut the polygon of the vertices first … last into triangles."""
    if last - first < 2:
        return [[]]
    return [
        [*left, *right, (first, apex, last)]
        for apex in range(first + 1, last)
        for left in _triangulations(first, apex)
        for right in _triangulations(apex, last)
    ]

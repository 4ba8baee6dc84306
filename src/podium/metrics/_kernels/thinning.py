"""Thinning: voxels are taken from a mask, side by side, as long as its topology stays."""

from __future__ import annotations

from itertools import product

import numpy as np

from podium._jit import kernel

STEPS = np.array(list(product((-1, 0, 1), repeat=3)))
"""The 27 voxels of a neighbourhood; bit k of a code stands for the k-th, and the voxel itself, the 14th, has none."""


def _code(voxels: np.ndarray) -> int:
    return sum(1 << k for k in np.flatnonzero(voxels).tolist() if k != 13)


_TOUCHING = np.array([_code(np.abs(STEPS - step).max(axis=1) == 1) for step in STEPS], np.int64)
"""Which voxels of the neighbourhood touch each other one."""

_CELLS = np.array([step for step in STEPS if step.any()])
# The faces, edges and corners of a voxel lie in the 26 directions; each is shared by the voxels in between.
_SHARED = np.array(
    [_code(((STEPS == 0) | (cell == STEPS)).all(axis=1)) for cell in _CELLS],
    np.int64,
)
_SIGNS = np.array([1 if np.abs(cell).sum() % 2 else -1 for cell in _CELLS], np.int64)


@kernel
def _neighbours(image, place, steps):
    code = np.int64(0)
    for k in range(27):
        if k != 13 and image[place + steps[k]]:
            code |= np.int64(1) << k
    return code


@kernel
def _is_end(code):
    return code != 0 and code & (code - 1) == 0


@kernel
def _is_simple(code):
    """Return whether nothing changes but the size if the voxel goes: neither the Euler characteristic nor the parts."""
    change = -1  # its faces, less its edges, and its corners, of which only those go that nobody shares
    for k in range(26):
        if code & _SHARED[k] == 0:
            change += _SIGNS[k]
    if change != 0 or code == 0:
        return False
    seen = code & -code
    front = seen
    while front:
        reached = np.int64(0)
        for k in range(27):
            if (front >> k) & 1:
                reached |= _TOUCHING[k]
        front = reached & code & ~seen
        seen |= front
    return seen == code


@kernel
def thin(image, steps, sides):
    """Thin a flattened image of zeros and ones, with zeros all around, in place.

    `steps` lead to the 27 voxels of a neighbourhood, `sides` to the face-neighbours in the order in which borders are
    taken off: first all voxels of one border that may go are listed, then each goes that still may.
    """
    places = np.flatnonzero(image)
    count = places.size
    candidates = np.empty(count, np.int64)
    thinner = True
    while thinner:
        thinner = False
        for side in sides:
            listed = 0
            for k in range(count):
                place = places[k]
                if image[place] and not image[place + side]:
                    code = _neighbours(image, place, steps)
                    if not _is_end(code) and _is_simple(code):
                        candidates[listed] = place
                        listed += 1
            for k in range(listed):
                if _is_simple(_neighbours(image, candidates[k], steps)):
                    image[candidates[k]] = 0
                    thinner = True
        left = 0
        for k in range(count):
            if image[places[k]]:
                places[left] = places[k]
                left += 1
        count = left

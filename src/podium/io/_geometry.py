"""Checks that every label-map format shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from podium.model import LONGEST_MM, SHORTEST_MM, InputError


def checked_shape(shape: Sequence[int], *, path: Path, dimensions: int | None, max_voxels: int) -> tuple[int, ...]:
    """Return the shape without trailing axes of length one, or say why no label map can have it."""
    sizes = list(shape)
    if any(n < 1 for n in sizes):
        raise InputError(
            f"the header gives the size {_times(sizes)}", path=path, advice="Every axis needs at least one voxel"
        )
    while len(sizes) > (dimensions or 3) and sizes[-1] == 1:
        sizes.pop()
    if (dimensions is not None and len(sizes) != dimensions) or len(sizes) not in (2, 3):
        wanted = f"{dimensions}-D" if dimensions else "2-D or 3-D"
        raise InputError(
            f"this is {len(sizes)}-D ({_times(sizes)}), a {wanted} label map is expected",
            path=path,
            advice="Save one label per voxel, without channels or time",
        )
    if math.prod(sizes) > max_voxels:
        raise InputError(
            f"the header promises {_times(sizes)} = {math.prod(sizes):,} voxels, more than the limit of {max_voxels:,}",
            path=path,
            advice="If that is meant, raise max_voxels (--max-voxels)",
        )
    return tuple(sizes)


def checked_geometry(spacing: Sequence[float], *, path: Path | None = None) -> None:
    """Refuse a spacing that is not a positive length on every axis."""
    if not all(SHORTEST_MM <= s <= LONGEST_MM for s in spacing):
        raise InputError(
            f"the voxel spacing is {' × '.join(f'{s:g}' for s in spacing)} mm",
            path=path,
            advice="Every spacing must be a positive length of a sensible size: correct the header",
        )


def _times(sizes: Sequence[int]) -> str:
    return " × ".join(str(n) for n in sizes)

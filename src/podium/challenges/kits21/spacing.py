"""The spacing of predictions: the organisers' code believes it, and where that changes a value, it is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from podium.model import Cube, Measure
from podium.model.errors import shortened

__all__ = ["BY_REFERENCE", "by_reference", "changed_by_spacing", "spacing_notes", "spacing_warning"]

BY_REFERENCE = "surface_dice_by_reference_spacing"
"""The measure that holds surface Dice by the reference's spacing, where the prediction's gives another."""

_SAME = 1e-12

Numbers = Mapping[tuple[str, str], float]


def by_reference(regions: Sequence[str]) -> Measure:
    """Return that measure."""
    title = "Surface Dice by the reference's spacing, where the prediction's gives another"
    return Measure(BY_REFERENCE, title, minimum=0, maximum=1, targets=tuple(regions), optional=True)


def changed_by_spacing(numbers: Numbers, by_reference: Numbers) -> dict[tuple[str, str], float]:
    """Return what the reference's spacing would give, for every value that the prediction's makes another."""
    return {key: other for key, other in by_reference.items() if abs(numbers[key] - other) > _SAME}


def spacing_warning(own: Sequence[float], reference: Sequence[float], numbers: Numbers, changed: Numbers) -> str:
    """Say which spacing was used, and what it changes most."""
    most = max(changed, key=lambda key: abs(numbers[key] - changed[key]))
    used, other = (" ".join(f"{step:.6g}" for step in spacing) for spacing in (own, reference))
    name, region = (word.replace("_", " ") for word in most)
    return (
        f"measured by the prediction's own spacing, {used} mm, as the organisers' code does: {name} of {region} is "
        f"{numbers[most]:.4f}; by the reference's, {other} mm, it is {changed[most]:.4f}"
    )


def spacing_notes(cube: Cube, regions: Sequence[str]) -> list[str]:
    """Say whose surface Dice rests on a spacing that is not the reference's, where, and what it would be."""
    known = [region for region in regions if cube.has(BY_REFERENCE, region)]
    if not known:
        return []
    own = np.stack([cube.of("surface_dice", region) for region in known])
    other = np.stack([cube.of(BY_REFERENCE, region) for region in known])
    notes = []
    for place, submission in enumerate(cube.submissions):
        concerned = np.isfinite(own[:, place]) & np.isfinite(other[:, place])
        rows = [row for row, wanted in zip(cube.rows, concerned.T, strict=True) if wanted.any()]
        if rows:
            believed, right = (float(values[:, place][concerned].mean()) for values in (own, other))
            notes.append(
                f"Attention: the spacing in {submission}'s own headers was used, as the organisers' code does, and it "
                f"is not the reference's in {shortened(rows)}: surface Dice is {believed:.4f} on average where that "
                f"matters, and {right:.4f} by the reference's spacing."
            )
    return notes

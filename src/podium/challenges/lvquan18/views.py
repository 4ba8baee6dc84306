"""What people look at in LVQuan18: predicted against true values of every index, over all images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from podium.challenges.lvquan18.sheets import GROUPS, INDICES
from podium.metrics import bland_altman
from podium.model import Agreement, Cube, Floats

__all__ = ["TITLES", "agreements"]

TITLES = {
    "A1": "A1, area of the cavity",
    "A2": "A2, area of the myocardium",
    **{f"D{number}": f"D{number}, dimension of the cavity" for number in (1, 2, 3)},
    **{f"RWT{number}": f"RWT{number}, regional wall thickness" for number in range(1, 7)},
}


def agreements(cube: Cube, *, correlation: Callable[[Cube, str, Floats], Floats]) -> list[Agreement]:
    """Return predicted and true values of each index, in mm and mm² where the scale is known.

    Parameters
    ----------
    cube
        The values of one submission.
    correlation
        As the leaderboard has it, of a cube, an index and weights.
    """
    compared = []
    ones = np.ones((1, len(cube.rows)))
    for index in INDICES:
        reference, prediction = (cube.of(side, index)[0] for side in ("reference", "prediction"))
        known = np.isfinite(reference) & np.isfinite(prediction)
        agreement = bland_altman(reference[known], prediction[known])
        unit = ("mm²" if index in GROUPS["area"] else "mm") if cube.has("scale_mm") else ""
        compared.append(
            Agreement(
                TITLES[index],
                unit,
                reference[known],
                prediction[known],
                correlation=float(correlation(cube, index, ones)[0, 0]),
                bias=agreement.bias,
                limits=(agreement.lower, agreement.upper),
            )
        )
    return compared

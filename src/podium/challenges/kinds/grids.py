"""Whether a label map lies on the grid of its reference."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from podium.model import InputError, LabelMap

__all__ = ["check_grid"]


def check_grid(
    reference: LabelMap, prediction: LabelMap, path: Path, *, geometry: Literal["full", "shape", "any"], otherwise: str
) -> str:
    """Refuse a prediction on another grid; return a warning where one is accepted.

    Parameters
    ----------
    reference, prediction, path
        What is compared, and the file of the prediction.
    geometry
        `full`: spacing, origin and direction must be the reference's. `shape`: that they differ is a warning. `any`:
        only the shape matters.
    otherwise
        How to ask for another geometry.
    """
    if prediction.shape != reference.shape:
        shapes = (" × ".join(map(str, labels.shape)) for labels in (prediction, reference))
        raise InputError("wrong shape: {} voxels, the reference has {}".format(*shapes), path=path)
    differences = [] if geometry == "any" else reference.geometry_differences(prediction)
    if differences and geometry == "full":
        raise InputError(
            f"wrong geometry: reference and prediction have {'; '.join(differences)}",
            path=path,
            advice="Resample it onto the reference's grid (its header alone is right only for voxels in its order: "
            f"podium check --truth tells), or ask for {otherwise}",
        )
    return f"accepted although {'; '.join(differences)} differ" if differences else ""

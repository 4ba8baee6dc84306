"""Whether a deformation could be one of a body: where a displacement field folds space onto itself.

How far it puts landmarks from their place is in `podium.metrics.points`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.metrics._kernels.jacobians import determinants
from podium.metrics._pairs import Spacing, as_mask
from podium.metrics._rows import as_array, as_numbers
from podium.metrics.registry import declare
from podium.model import UNDEFINED, Direction, InputError, as_spacing
from podium.model.option_checks import check_option

__all__ = ["folded_share", "jacobian_determinants"]

Differences: TypeAlias = Literal["central", "corners"]
Floats = npt.NDArray[np.float64]


def jacobian_determinants(
    displacement: npt.ArrayLike, *, spacing_mm: Spacing | None = None, differences: Differences = "central"
) -> Floats:
    """Return det(I + ∇u) of a displacement field u at every voxel: the factor by which a volume grows there.

    Parameters
    ----------
    displacement
        In mm, shape (axes, …) with two or three axes: component k along array axis k.
    spacing_mm
        Millimetres per axis; without it, displacements are in voxels.
    differences
        `central`: half the difference of the two neighbours, one-sided at the border, as NumPy's gradient; it does not
        see a fold of alternate voxels. `corners`: the smallest determinant of all combinations of forward and backward
        differences, which is positive only where the grid itself does not fold.

    References
    ----------
    Liu et al. 2022, "On finite difference Jacobian computation in deformable image registration", arXiv:2212.06060.

    Examples
    --------
    >>> import numpy as np
    >>> shrunk = -0.5 * np.mgrid[:3, :3].astype(float)
    >>> float(jacobian_determinants(shrunk)[1, 1])
    0.25
    """
    field = as_numbers(displacement)
    axes = field.ndim - 1
    if axes not in (2, 3) or field.shape[0] != axes:
        raise InputError(f"a displacement field has the shape (2, x, y) or (3, x, y, z), not {field.shape}")
    if not np.isfinite(field).all():
        raise InputError("a displacement is not a finite number")
    check_option("differences", Differences, differences)
    spacing = np.asarray(as_spacing(1.0 if spacing_mm is None else spacing_mm, axes))
    if axes == 2:
        field = np.concatenate([field, np.zeros_like(field[:1])])[..., None]
        spacing = np.append(spacing, 1.0)
    result = np.empty(field.shape[1:])
    determinants(np.ascontiguousarray(field), spacing, differences == "central", result)
    return result[..., 0] if axes == 2 else result


@declare(
    title="Folded share",
    family="deformations",
    unit="",
    minimum=0.0,
    maximum=1.0,
    direction=Direction.LOWER,
    perfect=None,
    symmetric=False,
    empty={"no voxels": UNDEFINED},
    also_called=("folding", "negative_jacobian"),
    formula="|{x: det(I + ∇u(x)) ≤ 0}| / voxels",
    same_as={"NumPy": "linalg.det of the identity plus gradient of the field"},
)
def folded_share(
    displacement: npt.ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    differences: Differences = "central",
    mask: npt.ArrayLike | None = None,
) -> float:
    """Return the share of voxels where a deformation folds: a Jacobian determinant of 0 or less; 0 is best.

    Takes what `jacobian_determinants` takes, and a mask of the voxels that count. Undefined where there are none.

    Examples
    --------
    >>> import numpy as np
    >>> mirrored = -2.0 * np.mgrid[:4, :4]
    >>> mirrored[1] = 0
    >>> folded_share(mirrored), folded_share(np.zeros((2, 4, 4)))
    (1.0, 0.0)
    """
    values = jacobian_determinants(displacement, spacing_mm=spacing_mm, differences=differences)
    inside = np.ones(values.shape, bool) if mask is None else as_mask(as_array(mask))
    if inside.shape != values.shape:
        raise InputError(f"the mask has the shape {inside.shape}, the field {values.shape}")
    return float((values[inside] <= 0).mean()) if inside.any() else UNDEFINED

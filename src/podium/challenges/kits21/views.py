"""What people look at in a case of KiTS21: the slices where kidney and tumour are most disputed, with both contours."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.io.images import read_image, read_plane
from podium.model import Case, InputError, LabelMap, Panel, Slices, Volume
from podium.model.planes import Plane, disputed_plane, window

__all__ = ["LABELS", "MASS", "slices", "volume"]

LABELS = {1: "kidney", 2: "tumor", 3: "cyst"}
MASS = (2, 3)
_DARKEST, _BRIGHTEST = -150.0, 250.0
"""The soft tissue window, in Hounsfield units."""


def slices(
    case: Case, reference: LabelMap, prediction: LabelMap, *, images: Path | None, remarks: tuple[str, ...] = ()
) -> Slices:
    """Show the slice that is most disputed, and the one where tumour and cyst are, if that is another.

    Parameters
    ----------
    case, reference, prediction
        What is compared; both of one shape.
    images
        The folder with case_00000/imaging.nii.gz, or case_00000.nii.gz.
    remarks
        What a reader should know besides.
    """
    disputed = [disputed_plane(reference, prediction), disputed_plane(reference, prediction, labels=MASS)]
    planes = [plane for plane in dict.fromkeys(disputed) if plane is not None]
    grey: dict[Plane, npt.NDArray[np.float32]] = {}
    if images is not None:
        try:
            path = _image_of(case, images)
            grey = {plane: _grey(path, plane, reference.shape) for plane in planes}
        except (InputError, OSError) as error:
            remarks = (*remarks, f"Without the image: {str(error).replace(f'{images}/', '')}")
    panels = tuple(_panel(plane, reference, prediction, grey.get(plane)) for plane in planes)
    return Slices(f"{case.name}: where it is disputed most", panels, LABELS, remarks)


def volume(case: Case, reference: LabelMap, prediction: LabelMap, *, images: Path | None) -> Volume:
    """Show kidneys, tumours and cysts, on the image where there is one of the same shape."""
    image = None
    if images is not None:
        with suppress(InputError, OSError):
            values = read_image(_image_of(case, images)).array
            image = _bytes(values) if values.shape == reference.shape else None
    return Volume("", reference, prediction, LABELS, image)


def _bytes(values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return grey values of the soft tissue window, slab by slab, as a volume is large."""
    result = np.empty(values.shape, np.uint8)
    for index, slab in enumerate(values):
        result[index] = 255 * _windowed(slab)
    return result


def _windowed(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    shown = np.clip((values - _DARKEST) / (_BRIGHTEST - _DARKEST), 0, 1)
    return np.asarray(np.nan_to_num(shown, nan=0.0), np.float32)


def _panel(plane: Plane, reference: LabelMap, prediction: LabelMap, image: npt.NDArray[np.float32] | None) -> Panel:
    truth, guess = (plane.cut(label_map.array).astype(np.uint8) for label_map in (reference, prediction))
    part = window(truth, guess)
    return Panel(
        f"{plane.name} slice {plane.index + 1} of {reference.shape[plane.axis]}",
        truth[part],
        guess[part],
        image=None if image is None else image[part],
        pixel_mm=plane.pixel_mm(reference.spacing),
    )


def _image_of(case: Case, images: Path) -> Path:
    for path in (images / case.name / "imaging.nii.gz", images / f"{case.name}.nii.gz"):
        if path.is_file():
            return path
    raise InputError(f"there is no {case.name}/imaging.nii.gz among the images")


def _grey(path: Path, plane: Plane, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    return _windowed(plane.turned(read_plane(path, axis=plane.axis, index=plane.index, shape=shape)))

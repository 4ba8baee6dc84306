"""Scenes as a page stores them: labels as runs and points as steps, deflated; docs/report.md tells the format.

Only what is needed is kept of a scene, from the moment that it is added: labels as codes, cut to where they are.
"""

from __future__ import annotations

import base64
import io
import itertools
import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.model import Course, Film, Floats, InputError, LabelMap, Scene, Sweep, Volume
from podium.report._document import as_json

__all__ = ["MOST_VOXELS", "Store", "packed_case", "runs", "size_of", "stored", "upright"]

Codes: TypeAlias = npt.NDArray[np.uint8]
"""0 for background, 1 for the first label that has a name, and so on."""

MOST_VOXELS = 8_000_000
"""Of a label map in a page, since a browser holds one for each submission that it shows."""
_MOST_CODES = 255
_MARGIN, _MARGIN_OF_IMAGES, _LEAST_MARGIN = 0.06, 0.4, 3
_FINEST = 0.01  # mm between stored points
_LARGEST_STEP = 32000  # that 16 bits hold
_COARSEST = 8
_QUALITY = 45  # of images below labels
_LONGEST_SIDE = 16383  # of a WebP image
_ANATOMICAL = (2, 1, 0)  # the directions of stored axes: to the head, to the back, to the left


def deflated(content: bytes) -> str:
    """Return bytes as a page holds them: raw deflate in base64."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(packer.compress(content) + packer.flush()).decode()


def _varints(numbers: npt.NDArray[np.int64]) -> bytes:
    """Return numbers from 0 in groups of seven bits, the lowest first; the eighth bit says that more follow."""
    places = np.arange(5)
    groups = (numbers[:, None] >> 7 * places) & 127
    last = (groups > 0).cumsum(axis=1).argmax(axis=1)[:, None]
    packed: Codes = (groups | np.where(places < last, 128, 0)).astype(np.uint8)
    return bytes(packed[places <= last])


def runs(codes: Codes) -> bytes:
    """Return an array as runs of equal values: how many, then the value of each, then the length of each.

    Examples
    --------
    >>> import numpy as np
    >>> list(runs(np.array([0, 0, 0, 2, 2, 1], np.uint8)))
    [3, 0, 2, 1, 3, 2, 1]
    """
    flat = codes.ravel()
    starts = np.concatenate([[0], np.flatnonzero(np.diff(flat)) + 1]) if flat.size else np.zeros(0, np.int64)
    lengths = np.diff(np.append(starts, flat.size))
    return b"".join((_varints(np.array([starts.size])), flat[starts].tobytes(), _varints(lengths)))


@dataclass(frozen=True, slots=True, eq=False)
class _Cutout:
    """A part of a grid of three axes: all that is not zero."""

    codes: Codes
    lower: tuple[int, ...]

    @property
    def upper(self) -> tuple[int, ...]:
        return tuple(low + size for low, size in zip(self.lower, self.codes.shape, strict=True))

    def within(self, lower: Sequence[int], upper: Sequence[int], steps: Sequence[int]) -> Codes:
        """Return every so many-th voxel of a larger part."""
        whole = np.zeros([high - low for low, high in zip(lower, upper, strict=True)], np.uint8)
        own = tuple(slice(a - b, c - b) for a, b, c in zip(self.lower, lower, self.upper, strict=True))
        whole[own] = self.codes
        return np.ascontiguousarray(whole[tuple(slice(None, None, step) for step in steps)])


class Store(ABC):
    """What a page will hold of one scene of a case: the reference once, and a layer for each submission."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._courses: dict[int, Course] = {}

    @abstractmethod
    def add(self, submission: int, scene: Scene) -> None:
        """Add the layer of a submission."""

    @abstractmethod
    def packed(self, coarseness: int) -> dict[str, Any] | None:
        """Return what goes into the page, None if it is too large for a browser; 1 is as fine as can be."""

    @property
    def has_image(self) -> bool:
        """Whether an image lies below the labels."""
        return False

    def image_of(self, coarseness: int) -> dict[str, Any] | None:  # noqa: ARG002  # for those who have one
        """Return that image on the same grid; None if it is too large for one."""
        return None

    def _follow(self, submission: int, course: Course | None) -> None:
        if course is not None:
            self._courses[submission] = course

    def _course(self, step: int) -> dict[str, Any] | None:
        if not self._courses:
            return None
        first = next(iter(self._courses.values()))
        values = {name: _shortened(course.values[::step]) for name, course in sorted(self._courses.items())}
        return {"title": first.title, "unit": first.unit, "values": values}


def stored(scene: Scene) -> Store:
    """Return the store of a scene with its reference and its image, and as yet without any layer."""
    return _Points(scene) if isinstance(scene, Sweep) else _Labels(scene)


def _shortened(values: Floats) -> list[float | None]:
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in values.tolist()]


class _Labels(Store):
    """Labels of a volume or of a film, on a grid of slices, rows and columns."""

    def __init__(self, scene: Volume | Film) -> None:
        super().__init__(scene.title)
        self.film = isinstance(scene, Film)
        self.names = dict(itertools.islice(scene.labels.items(), _MOST_CODES))
        self.order: tuple[int, ...] = (0, 1, 2)
        self.flips: tuple[bool, ...] = (False, False, False)
        if isinstance(scene, Volume):
            self.order, self.flips = upright(scene.reference.direction)
            self.spacing = tuple(scene.reference.spacing[axis] for axis in self.order)
            self.rate = 0.0
        else:
            self.spacing, self.rate = (0.0, *scene.pixel_mm), scene.rate
        self.shape = tuple(scene.reference.shape[axis] for axis in self.order)
        self.image = None if scene.image is None else self._turned(scene.image)
        self.reference = self._block(scene.reference)
        self.layers: dict[int, _Cutout] = {}

    def add(self, submission: int, scene: Scene) -> None:
        assert isinstance(scene, Volume | Film)
        if scene.prediction.shape != scene.reference.shape:
            raise InputError("it has another shape than the reference")
        self._follow(submission, scene.course if isinstance(scene, Film) else None)
        self.layers[submission] = self._block(scene.prediction)

    def _turned(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        turned = array.transpose(self.order)
        return turned[tuple(slice(None, None, -1 if flip else 1) for flip in self.flips)]

    def _block(self, labels: LabelMap | npt.NDArray[Any]) -> _Cutout:
        """Cut out what is not zero, and hold it upright."""
        lower: tuple[int, ...]
        upper: tuple[int, ...]
        if isinstance(labels, LabelMap):
            array = labels.array
            lower, upper = (labels.box.lower, labels.box.upper) if labels.box else ((0,) * 3, (0,) * 3)
        else:
            array = labels
            ends = [np.flatnonzero(array.any(axis=axes)) for axes in ((0, 2), (0, 1))]
            lower = (0, *(int(own[0]) if own.size else 0 for own in ends))
            upper = (len(array), *(int(own[-1]) + 1 if own.size else 0 for own in ends))
        part = array[tuple(slice(a, b) for a, b in zip(lower, upper, strict=True))]
        ways = zip(self.order, self.flips, strict=True)
        starts = tuple(array.shape[axis] - upper[axis] if flip else lower[axis] for axis, flip in ways)
        return _Cutout(np.ascontiguousarray(self._turned(self._codes(part))), starts)

    def _codes(self, labels: npt.NDArray[Any]) -> Codes:
        codes = np.zeros(labels.shape, np.uint8)
        for code, label in enumerate(self.names, start=1):
            codes[labels == label] = code
        return codes

    def packed(self, coarseness: int) -> dict[str, Any] | None:
        lower, upper = self._bounds()
        steps = self._steps(coarseness)
        shape = [-(-(high - low) // step) for low, high, step in zip(lower, upper, steps, strict=True)]
        if math.prod(shape) > MOST_VOXELS:
            return None
        first, stride = [], []
        for low, step, size, flip in zip(lower, steps, self.shape, self.flips, strict=True):
            first.append(size - low if flip else low + 1)  # as the file counts, from 1
            stride.append(-step if flip else step)
        document: dict[str, Any] = {
            "kind": "film" if self.film else "volume",
            "title": self.title,
            "shape": shape,
            "mm": [float(f"{step * mm:.6g}") for step, mm in zip(steps, self.spacing, strict=True)],
            "first": first,
            "step": stride,
            "of": list(self.shape),
            "labels": list(self.names.values()),
            "reference": deflated(runs(self.reference.within(lower, upper, steps))),
            "layers": {n: deflated(runs(own.within(lower, upper, steps))) for n, own in sorted(self.layers.items())},
            "note": self._note(steps),
        }
        if self.film:
            document |= {"rate": self.rate / steps[0], "course": self._course(steps[0])}
        return document

    @property
    def has_image(self) -> bool:
        return self.image is not None

    def image_of(self, coarseness: int) -> dict[str, Any] | None:
        assert self.image is not None
        part = tuple(slice(*ends) for ends in zip(*self._bounds(), self._steps(coarseness), strict=True))
        return _montage(self.image[part])

    def _bounds(self) -> tuple[list[int], list[int]]:
        """Return the part around all labels of everybody, and some space; of a film, all frames."""
        blocks = [block for block in (self.reference, *self.layers.values()) if block.codes.size]
        lower, upper = [0, 0, 0], [min(size, 2 * _LEAST_MARGIN) for size in self.shape]
        if blocks:
            lower = [min(block.lower[axis] for block in blocks) for axis in range(3)]
            upper = [max(block.upper[axis] for block in blocks) for axis in range(3)]
            share = _MARGIN if self.image is None else _MARGIN_OF_IMAGES
            space = [max(_LEAST_MARGIN, round(share * (high - low))) for low, high in zip(lower, upper, strict=True)]
            lower = [max(0, low - more) for low, more in zip(lower, space, strict=True)]
            upper = [min(size, high + more) for size, high, more in zip(self.shape, upper, space, strict=True)]
        if self.film:
            lower[0], upper[0] = 0, self.shape[0]
        return lower, upper

    def _steps(self, coarseness: int) -> list[int]:
        """Return how many voxels are one: the closest are thinned out first; of a film, its frames."""
        if self.film:
            return [coarseness, 1, 1] if self.shape[0] > 1 else [1, coarseness, coarseness]
        target = coarseness * min(self.spacing)
        return [max(1, math.floor(target / mm + 1e-9)) for mm in self.spacing]

    def _note(self, steps: Sequence[int]) -> str:
        words = ("frame" if self.film else "slice", "row", "column")
        thinned: dict[int, list[str]] = {}
        for step, word in zip(steps, words, strict=True):
            if step > 1:
                thinned.setdefault(step, []).append(word)
        parts = [f"every {_ordinal(step)} {' and '.join(own)}" for step, own in sorted(thinned.items())]
        return f"To keep the page small, shown is {', '.join(parts)}." if parts else ""


def upright(direction: Sequence[Sequence[float]]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Return which axes of an array go to the head, to the back and to the left, and which of them run backwards."""
    matrix = np.asarray(direction)
    order = max(
        itertools.permutations(range(3)),
        key=lambda axes: sum(abs(matrix[way, axis]) for way, axis in zip(_ANATOMICAL, axes, strict=True)),
    )
    return order, tuple(bool(matrix[way, axis] < 0) for way, axis in zip(_ANATOMICAL, order, strict=True))


def _ordinal(number: int) -> str:
    return f"{number}{ {2: 'nd', 3: 'rd'}.get(number, 'th') }"


def _montage(image: npt.NDArray[np.uint8]) -> dict[str, Any] | None:
    """Return slices side by side as one WebP image; None if that is too large for one."""
    from PIL import Image

    count, height, width = image.shape
    columns = max(1, min(count, _LONGEST_SIDE // width, math.ceil(math.sqrt(count * height / width))))
    rows = -(-count // columns)
    if rows * height > _LONGEST_SIDE or columns * width > _LONGEST_SIDE:
        return None
    whole = np.zeros((rows * columns, height, width), np.uint8)
    whole[:count] = image
    sheet = whole.reshape(rows, columns, height, width).transpose(0, 2, 1, 3).reshape(rows * height, columns * width)
    target = io.BytesIO()
    Image.fromarray(sheet).save(target, "WEBP", quality=_QUALITY, method=4)
    address = f"data:image/webp;base64,{base64.b64encode(target.getvalue()).decode()}"
    return {"address": address, "columns": columns}


class _Points(Store):
    """Points that move through space."""

    def __init__(self, scene: Sweep) -> None:
        super().__init__(scene.title)
        self.unit, self.reference = scene.unit, scene.reference
        self.layers: dict[int, Floats] = {}

    def add(self, submission: int, scene: Scene) -> None:
        assert isinstance(scene, Sweep)
        if scene.prediction.shape != self.reference.shape:
            raise InputError("it has another shape than the reference")
        self._follow(submission, scene.course)
        self.layers[submission] = scene.prediction

    def packed(self, coarseness: int) -> dict[str, Any] | None:
        centre = self.reference.reshape(-1, 3).mean(axis=0)
        own = {n: np.nan_to_num(layer[::coarseness] - centre) for n, layer in sorted(self.layers.items())}
        true = self.reference[::coarseness] - centre
        furthest = max(float(np.abs(points).max(initial=0)) for points in (true, *own.values()))
        scale = float(f"{max(_FINEST, furthest / _LARGEST_STEP):.6g}")
        note = f"To keep the page small, shown is every {_ordinal(coarseness)} frame." if coarseness > 1 else ""
        return {
            "kind": "sweep",
            "title": self.title,
            "shape": list(true.shape),
            "step": coarseness,
            "of": len(self.reference),
            "unit": self.unit,
            "scale": scale,
            "reference": _steps_of(true, scale),
            "layers": {n: _steps_of(points, scale) for n, points in own.items()},
            "note": note,
            "course": self._course(coarseness),
        }


def _steps_of(points: Floats, scale: float) -> str:
    """Return coordinates, one after the other over all frames, as differences of 16 bits that go around."""
    whole = np.rint(points / scale).astype(np.int64).reshape(len(points), -1).T
    differences = np.diff(whole, axis=1, prepend=0)
    return deflated(differences.astype(np.int16).astype("<i2").tobytes())


def packed_case(stores: Sequence[Store], room: int) -> list[dict[str, Any]] | None:
    """Return the scenes of a case as finely as so many bytes allow, with images where they fit; None if none fits."""
    for coarseness in range(1, _COARSEST + 1):
        scenes = [scene for scene in (store.packed(coarseness) for store in stores) if scene is not None]
        if len(scenes) < len(stores) or size_of(scenes) > room:
            continue
        for scene, store in zip(scenes, stores, strict=True):
            if not store.has_image:
                continue
            image = store.image_of(coarseness)
            if image is not None and size_of(scenes) + size_of(image) <= room:
                scene["image"] = image
            else:
                scene["note"] = f"{scene['note']} There is no room for the image.".strip()
        return scenes
    return None


def size_of(document: Any) -> int:
    """Return how many bytes something takes in a page."""
    return len(as_json(document).encode("utf-8", "replace"))

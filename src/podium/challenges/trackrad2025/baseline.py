"""Baselines of TrackRAD 2025: the first target repeated, and template matching. See `podium.challenges.baselines`.

They are causal: a frame is answered before the next is looked at. Template matching takes a few milliseconds a frame on
one core. It knows one rigid shape: a target that turns, deforms or leaves the plane, and contrast that changes, defeat
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from podium.challenges.baselines import answer_as_asked
from podium.challenges.trackrad2025.interface import INTERFACE
from podium.model import Floats, Question

__all__ = ["METHODS", "TRACKERS", "FirstTarget", "TemplateMatching", "answer", "correlation"]

Mask = npt.NDArray[np.uint8]


class Tracker(Protocol):
    """What follows a target from its place in the first frame."""

    def __init__(self, target: npt.NDArray[Any]) -> None: ...

    def track(self, frame: npt.NDArray[Any]) -> Mask:
        """Return the target in the next frame; the first frame comes first."""


class FirstTarget:
    """No tracking: the target stays where it was first."""

    def __init__(self, target: npt.NDArray[Any]) -> None:
        self._target: Mask = (np.asarray(target) != 0).astype(np.uint8)

    def track(self, frame: npt.NDArray[Any]) -> Mask:  # noqa: ARG002
        """Return the first target."""
        return self._target


class TemplateMatching:
    """The surroundings of the first target, looked for near where they were last.

    The place of the largest normalised cross-correlation counts, to a fraction of a pixel by parabolas through it.
    """

    margin = 6
    """Pixels around the target that belong to the template."""
    reach = 30
    """Pixels that the target moves at most between frames, in either direction."""

    def __init__(self, target: npt.NDArray[Any]) -> None:
        self._target: Mask = (np.asarray(target) != 0).astype(np.uint8)
        self._template: Floats | None = None
        self._corner = np.zeros(2, int)
        self._last = np.zeros(2, int)

    def track(self, frame: npt.NDArray[Any]) -> Mask:
        """Return the first target, moved to where it is in this frame."""
        image = np.asarray(frame, np.float64)
        if self._template is None:
            self._cut(image)
            return self._target
        shift = self._shift(image)
        self._last = np.rint(shift).astype(int)
        moved = ndimage.shift(self._target.astype(np.float32), shift, order=1)
        return (moved >= 0.5).astype(np.uint8)

    def _cut(self, image: Floats) -> None:
        """Cut the template out of the first frame: all of it where there is no target."""
        places = np.argwhere(self._target)
        low, high = np.zeros(2, int), np.array(image.shape)
        if len(places):
            low = np.maximum(places.min(axis=0) - self.margin, 0)
            high = np.minimum(places.max(axis=0) + 1 + self.margin, image.shape)
        self._corner = low
        self._template = image[low[0] : high[0], low[1] : high[1]]

    def _shift(self, image: Floats) -> Floats:
        """Return how far the template has moved since the first frame, in pixels."""
        assert self._template is not None
        padded = np.pad(image, self.reach, mode="edge")
        start = np.clip(self._corner + self._last, 0, np.array(image.shape) - self._template.shape)
        size = np.array(self._template.shape) + 2 * self.reach
        window = padded[start[0] : start[0] + size[0], start[1] : start[1] + size[1]]
        score = correlation(window, self._template)
        if not score.max() > 0:  # nothing like it is in sight
            return self._last.astype(np.float64)
        best = np.array(np.unravel_index(np.argmax(score), score.shape))
        return np.asarray(start - self._corner + best - self.reach + _fraction(score, best))


def correlation(window: Floats, template: Floats) -> Floats:
    """Return the normalised cross-correlation of a template with every part of a window; 0 where a part is flat."""
    centred = template - template.mean()
    window = window - window.mean()  # for the sake of rounding
    rows, columns = np.array(window.shape) - template.shape + 1
    spectra = np.fft.rfft2(window) * np.conj(np.fft.rfft2(centred, window.shape))
    product = np.fft.irfft2(spectra, window.shape)[:rows, :columns]  # where nothing wraps around
    spread = _sums(window**2, template.shape) - _sums(window, template.shape) ** 2 / template.size
    scale = np.sqrt(np.maximum(spread, 0) * np.sum(centred**2))
    flat = scale <= 1e-6 * max(float(scale.max()), 1e-300)
    return np.asarray(np.where(flat, 0.0, product / np.where(flat, 1.0, scale)))


def _sums(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Return the sum of every part of a given shape."""
    total = np.pad(values, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    rows, columns = shape
    return np.asarray(
        total[rows:, columns:] - total[:-rows, columns:] - total[rows:, :-columns] + total[:-rows, :-columns]
    )


def _fraction(score: Floats, best: npt.NDArray[np.intp]) -> Floats:
    """Return how far from the best pixel the best place is along each axis, by a parabola through its neighbours."""
    fraction = np.zeros(2)
    for axis in (0, 1):
        if 0 < best[axis] < score.shape[axis] - 1:
            before, middle, after = np.take(score, best[1 - axis], 1 - axis)[best[axis] - 1 : best[axis] + 2]
            bend = before - 2 * middle + after
            fraction[axis] = 0.5 * (before - after) / bend if bend < 0 else 0.0
    return fraction


def answer(inputs: Path, output: Path, *, tracker: type[Tracker] = TemplateMatching) -> None:
    """Track a whole sequence, frame after frame."""
    known, frames = INTERFACE.frames(inputs)
    track = tracker(known["target"]).track
    INTERFACE.write_frames(Question("the sequence"), (track(frame) for frame in frames), inputs, output)


def _start(known: Mapping[str, Any], *, tracker: type[Tracker]) -> Any:
    return tracker(known["target"]).track


_KINDS: dict[str, type[Tracker]] = {"first-target": FirstTarget, "template-matching": TemplateMatching}
METHODS = {name: partial(answer, tracker=kind) for name, kind in _KINDS.items()}
TRACKERS = {name: partial(_start, tracker=kind) for name, kind in _KINDS.items()}

if __name__ == "__main__":
    answer_as_asked(METHODS, TRACKERS)

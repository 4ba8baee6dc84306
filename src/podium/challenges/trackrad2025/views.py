"""What people look at in a sequence: where the target's centre goes, what that costs in dose, and the worst frame."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium.challenges.trackrad2025.dose import Plan, delivered_dose, relative_d98
from podium.challenges.trackrad2025.frames import Frames, centres, measure_frames
from podium.challenges.trackrad2025.sequences import LabelSequence
from podium.io import read_label_map, read_text
from podium.metrics import cumulative_dose_volume_histogram
from podium.model import Case, Course, Curves, Film, Floats, InputError, Line, Panel, Slices, View
from podium.model.planes import window

__all__ = ["Observer", "film", "views_of"]

_LEVELS = 201  # of the dose–volume histogram
_SHARE = 98.0
_AXES = ("rows", "columns")


@dataclass(frozen=True, slots=True, eq=False)
class Observer:
    """What one observer says of a sequence, and the dose planned on it."""

    name: str
    sequence: LabelSequence
    plan: Plan


def views_of(
    case: Case,
    observers: Sequence[Observer],
    guess: LabelSequence,
    *,
    edition: str,
    images: Path | None,
) -> list[View]:
    """Show the centre over time, its error, the dose–volume histogram, and the frame with the lowest Dice.

    Parameters
    ----------
    case, guess
        The sequence and its prediction, of one shape.
    observers
        One or several; the first is the reference.
    edition
        Of the rules.
    images
        The folder with A_001/images/A_001_frames.mha.
    """
    first = observers[0]
    frames = measure_frames(first.sequence, guess, edition=edition)
    unit, times = _times(case, first.sequence.shape[0])
    spacing = (1.0, 1.0) if edition == "code" else first.sequence.spacing_mm  # as the edition measures
    tracks = [(observer.name, _track(observer.sequence, edition=edition) * spacing) for observer in observers]
    own = _track(guess, edition=edition) * spacing
    views: list[View] = []
    for axis, name in enumerate(_AXES):
        lines = [
            Line(person, np.column_stack([times, track[:, axis]]), "other" if number else "reference")
            for number, (person, track) in enumerate(tracks)
        ]
        lines.append(Line("predicted", np.column_stack([times, own[:, axis]])))
        views.append(Curves(f"Centre of the target along the {name}", unit, "mm", tuple(lines)))
    views.append(_distances(frames, guess, times, unit))
    if first.plan.d98 > 0:
        views.append(_histogram(first.plan, frames, edition=edition))
    return [*views, _worst_frame(case, first.sequence, guess, frames, images=images)]


def film(case: Case, truth: LabelSequence, guess: LabelSequence, *, edition: str, images: Path | None = None) -> Film:
    """Show the target in all frames as they follow one another, and the Dice of each."""
    dice = measure_frames(truth, guess, edition=edition).values["dice"]
    image = None
    if images is not None:
        with suppress(InputError, OSError):
            image = (255 * _greys(_images_of(case, images), truth.shape)).astype(np.uint8)
    return Film(
        "",
        truth.whole.view(np.uint8),
        guess.whole.view(np.uint8),
        {1: "target"},
        pixel_mm=truth.spacing_mm,
        rate=_rate(case),
        course=Course("Dice", dice),
        image=image,
    )


def _distances(frames: Frames, guess: LabelSequence, times: Floats, unit: str) -> Curves:
    """Return the distance between the centres; what missed frames cost is said, as it would dwarf all others."""
    distances = frames.values["centre_distance"].copy()
    missed = np.isfinite(distances) & ~_present(guess)
    title = "Distance between the centres"
    if missed.any():
        count = int(missed.sum())
        title += f"; {count} frame{'s' * (count > 1)} without a prediction cost{'s' * (count == 1)} "
        title += f"{distances[missed][0]:g} mm" + " each" * (count > 1)
        distances[missed] = np.nan
    return Curves(title, unit, "mm", (Line("predicted", np.column_stack([times, distances])),))


def _present(sequence: LabelSequence) -> npt.NDArray[np.bool_]:
    return sequence.present if sequence.labels.size else np.zeros(sequence.shape[0], bool)


def _times(case: Case, count: int) -> tuple[str, Floats]:
    """Return what the time axis says, and where each frame is on it: in seconds, if the frame rate is known."""
    if rate := _rate(case):
        return "time, s", np.arange(count) / rate
    return "frame", np.arange(1, count + 1, dtype=np.float64)


def _rate(case: Case) -> float:
    """Return frames per second; 0 where that is not known."""
    path = case.files[0].parent.parent / "frame-rate.json" if case.files else Path("frame-rate.json")
    try:
        rate = float(json.loads(read_text(path)))
    except (OSError, ValueError, TypeError):
        return 0.0
    return rate if math.isfinite(rate) and rate > 0 else 0.0


def _track(sequence: LabelSequence, *, edition: str) -> Floats:
    """Return the centre of every frame in pixels, shape (frames, 2), as it is measured; NaN without a target."""
    if not sequence.labels.size:
        return np.full((sequence.shape[0], 2), np.nan)
    labels = sequence.labels if edition == "code" else sequence.labels.astype(bool).view(np.uint8)
    return centres(labels, labels.sum(axis=(1, 2), dtype=np.int64), sequence.box.lower)


def _histogram(plan: Plan, frames: Frames, *, edition: str) -> Curves:
    """Return the share of the target that receives at least a dose, in multiples of the planned D98."""
    planned = plan.dose[plan.target].astype(np.float64) / plan.d98
    count = frames.listed.size
    delivered = delivered_dose(plan, frames.shifts, frames=count, edition=edition) / plan.d98
    highest = 1.05 * max(float(planned.max()), float(delivered.max()))
    levels = np.linspace(0.0, highest, _LEVELS)
    lines = [Line("98 % of the target", np.array([(0.0, _SHARE), (highest, _SHARE)]), "other")]
    for name, dose, kind in (("planned", planned, "reference"), ("delivered", delivered, "prediction")):
        shares = 100 * cumulative_dose_volume_histogram(dose, levels)
        lines.append(Line(name, np.column_stack([levels, shares]), kind))  # type: ignore[arg-type]
    relative = relative_d98(plan, frames.shifts, frames=count, edition=edition)
    return Curves(
        f"Dose–volume histogram; relative D98 {relative:.3f}",
        "dose, in planned D98",
        "share of the target, %",
        tuple(lines),
    )


def _worst_frame(
    case: Case, truth: LabelSequence, guess: LabelSequence, frames: Frames, *, images: Path | None
) -> Slices:
    dice = np.where(_present(guess), frames.values["dice"], np.nan)
    seen = dice if np.isfinite(dice).any() else frames.values["dice"]  # or nothing was predicted anywhere
    index = int(np.nanargmin(seen))
    masks = [sequence.frame(index).view(np.uint8) for sequence in (truth, guess)]
    part = window(*masks, margin=0.6, least=12)
    image = None
    remarks: tuple[str, ...] = ()
    if images is not None:
        path = _images_of(case, images)
        try:
            image = _greys(path, truth.shape, index)[0][part]
        except (InputError, OSError) as error:
            reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
            remarks = (f"Without the image: {path.name}: {reason.replace(f'{path}: ', '')}",)
    caption = f"frame {index + 1} of {truth.shape[0]}, Dice {frames.values['dice'][index]:.3f}"
    panel = Panel(caption, masks[0][part], masks[1][part], image=image, pixel_mm=truth.spacing_mm)
    return Slices("The worst frame that has a prediction", (panel,), {1: "target"}, remarks)


def _images_of(case: Case, images: Path) -> Path:
    return images / case.name / "images" / f"{case.name}_frames.mha"


def _greys(path: Path, shape: tuple[int, int, int], index: int | None = None) -> npt.NDArray[np.float32]:
    """Return all frames of the images, or one, from 0 to 1, shape (frames, rows, columns).

    They are whole numbers from 0, which the reader of labels reads.
    """
    frames = read_label_map(path, dimensions=3).array.T
    if (frames.shape[2], *frames.shape[:2]) != shape:
        raise InputError("the images have another shape than their labels", path=path)
    image = frames.transpose(2, 0, 1)[slice(None) if index is None else slice(index, index + 1)].astype(np.float32)
    low, high = np.quantile(image, [0.005, 0.995])
    return np.asarray(np.clip((image - low) / (high - low if high > low else 1.0), 0, 1), np.float32)

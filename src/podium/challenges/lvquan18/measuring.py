"""From predicted and true numbers to the values of every image."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path

import numpy as np

from podium.challenges.lvquan18.sheets import INDICES, NAMES, Sheet
from podium.model import NOT_RANKED, Direction, Measure, Status, Value

__all__ = ["MEASURES", "measured_values", "no_number"]

MEASURES = (
    Measure("absolute_error", "Absolute error", Direction.LOWER, minimum=0, targets=INDICES, price=NOT_RANKED),
    Measure("reference", "True value", targets=INDICES),
    Measure("prediction", "Predicted value", targets=INDICES),
    Measure("phase_error", "Wrong phase", Direction.LOWER, minimum=0, maximum=1, price=NOT_RANKED),
    Measure("scale_mm", "Millimetres per normalised unit of length, if known", unit="mm", minimum=0, optional=True),
)


def measured_values(truth: Sheet, prediction: Sheet, path: Path) -> list[Value]:
    """Return the values of all images of the truth, in mm and mm² where the truth knows the scale."""
    indices, phases, present = prediction.arranged(truth.images, path)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is reported as such
        references, guesses = truth.indices * truth.factors, indices * truth.factors
        errors = np.abs(guesses - references)
    known = set(truth.phase.tolist())
    values = []
    for row, image in enumerate(truth.images):
        if not present[row]:
            values += _lost(image, Status.MISSING, f"{image}: this image is missing")
            continue
        phase = float(phases[row])
        numbers = zip(NAMES, (*errors[row].tolist(), phase), strict=True)
        wrong = [name for name, number in numbers if not isfinite(number)]
        reason = f"{image}: {no_number(wrong)}"
        if len(wrong) == len(NAMES):
            values += _lost(image, Status.INVALID, reason)
            continue
        for index, *triple in zip(
            INDICES, errors[row].tolist(), guesses[row].tolist(), references[row].tolist(), strict=True
        ):
            values += _of_index(image, index, *triple, reason=reason)
        values.append(_of_phase(image, phase, float(truth.phase[row]), known, reason=reason))
        if truth.scale_mm is not None:
            values.append(Value(image, "scale_mm", float(truth.scale_mm[row])))
    return values


def _lost(image: str, status: Status, reason: str) -> list[Value]:
    """Return that there is no number for an image."""
    return [
        Value(image, measure.name, None, target, status=status, reason=reason)
        for measure in MEASURES
        if not measure.optional
        for target in measure.targets
    ]


def no_number(names: Sequence[str]) -> str:
    """Say that indices have no usable number."""
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} missing or not finite"


def _of_index(image: str, index: str, error: float, guess: float, reference: float, *, reason: str) -> list[Value]:
    values = [Value(image, "reference", reference, index)]
    for metric, number in (("absolute_error", error), ("prediction", guess)):
        if isfinite(error):
            values.append(Value(image, metric, number, index))
        else:
            values.append(Value(image, metric, None, index, status=Status.INVALID, reason=reason))
    return values


def _of_phase(image: str, phase: float, true_phase: float, known: set[float], *, reason: str) -> Value:
    if not isfinite(phase):
        return Value(image, "phase_error", None, status=Status.INVALID, reason=reason)
    warning = "" if phase in known else f"{image}: Phase {phase:g} occurs nowhere in the truth and counts as wrong"
    return Value(image, "phase_error", float(phase != true_phase), reason=warning)

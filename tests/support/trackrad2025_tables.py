"""Measurements of TrackRAD 2025 from a few numbers for each team."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
from boards import measurements

METRICS = ("dice", "hd95", "masd", "centre_distance")
FRAMES = {"c1": 10, "c2": 20, "c3": 40}


def quality(dice: float, hd95: float, masd: float, centre_distance: float, relative_d98: float) -> dict[str, float]:
    """Return the five values of a case by name."""
    return dict(zip((*METRICS, "relative_d98"), (dice, hd95, masd, centre_distance, relative_d98), strict=True))


TIE = quality(0.8, 4.0, 2.0, 3.0, 0.9)
WORSE = quality(0.7, 5.0, 3.0, 4.0, 0.8)
WORST = quality(0.5, 9.0, 6.0, 7.0, 0.5)
LOST = quality(0.0, 64.0, 64.0, 64.0, 0.0)
"""What a failed case costs in an image of 64 mm."""


def steady(loading: float, rate: float) -> Callable[[int], float]:
    """Return a clock: seconds as a function of frames."""
    return lambda frames: loading + rate * frames


def teams(**given: Any) -> pl.DataFrame:
    """Return measurements from team=(values, clock, *failed cases).

    Values are those of every case, or of each by its name. The clock is None, seconds by case, or a function of
    frames, of which a failed case takes 0.01 s.
    """
    table = []
    for name, (values, clock, *failed) in given.items():
        for case, frames in FRAMES.items():
            lost = case in failed
            row = LOST if lost else values.get(case, values)
            numbers = {(metric, ""): value for metric, value in row.items()} | {("frames", ""): float(frames)}
            status, reason = ("invalid", "lost") if lost else ("ok", "")
            table.append(measurements({name.replace("_", "-"): {case: numbers}}, status=status, reason=reason))
            seconds = _seconds(clock, case, frames, lost=lost)
            if seconds is not None:
                table.append(measurements({name.replace("_", "-"): {case: {("seconds", ""): seconds}}}))
    return pl.concat(table)


def _seconds(
    clock: Mapping[str, float] | Callable[[int], float] | None, case: str, frames: int, *, lost: bool
) -> float | None:
    if clock is None:
        return None
    if isinstance(clock, Mapping):
        return clock.get(case)
    return 0.01 if lost else clock(frames)

"""What is measured of label maps that no challenge speaks of: the labels chosen, the options, and what comes out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from podium.challenges.kinds.choices import Tolerances, chosen_quantities, made_challenge
from podium.challenges.kinds.nnunet import DatasetLabels
from podium.challenges.kinds.segmentation import SegmentationChallenge
from podium.model import InputError
from podium.model.errors import shortened
from podium.run import Run

__all__ = ["MeasuringOptions", "Regions", "TableOfPairs", "every_label", "listed", "numbered", "usable"]

Regions: TypeAlias = Mapping[str, int | Sequence[int]] | Sequence[int]
"""Labels by name: a number, or several; or numbers alone."""
_MOST_LABELS = 256


@dataclass(frozen=True)
class MeasuringOptions:
    """How is measured, whatever it is."""

    metrics: Sequence[str]
    tolerances_mm: Tolerances
    boundary: str
    geometry: str

    def challenge(self, regions: Mapping[str, Sequence[int]], **given: Any) -> SegmentationChallenge:
        """Return the challenge that measures these regions."""
        quantities = chosen_quantities(
            self.metrics, list(regions), tolerances_mm=self.tolerances_mm, boundary=self.boundary
        )
        return made_challenge(regions, quantities, geometry=self.geometry, **given)


class TableOfPairs(NamedTuple):
    """What was measured: tidy values, what failed, by what, and the run, where there is one."""

    table: pl.DataFrame
    failures: pl.DataFrame
    challenge: SegmentationChallenge
    run: Run | None = None


def numbered(regions: Regions) -> dict[str, tuple[int, ...]]:
    """Return regions as numbers, checked."""
    if not regions:
        raise InputError("there are no labels", advice="Give one at least: {'liver': 1}")
    if not isinstance(regions, Mapping):
        try:
            regions = {str(number): number for number in regions}
        except TypeError:
            raise InputError(f"labels are {regions!r}", advice="Give names and numbers: {'liver': 1}") from None
    result: dict[str, tuple[int, ...]] = {}
    for name, given in regions.items():
        members = tuple(given) if isinstance(given, Sequence | np.ndarray) else (given,)
        if not members or not all(isinstance(n, int | np.integer) and n >= 1 for n in members):
            raise InputError(f"{name!r} is {given!r}", advice="Labels are whole numbers from 1: {'liver': 1}")
        called = str(name).replace("/", "-")
        if called in result:
            raise InputError(f"two labels are called {called!r}", advice="Give each a name of its own")
        result[called] = tuple(sorted({int(number) for number in members}))
    return result


def usable(chosen: DatasetLabels) -> dict[str, tuple[int, ...]]:
    """Return the labels that were chosen, if these can be measured."""
    if chosen.ignored is not None:
        raise InputError(
            f"label {chosen.ignored} is to be ignored, which cannot be measured yet",
            path=chosen.source,
            advice="Name what to measure with --region; the label is background then",
        )
    return dict(chosen.regions)


def every_label(labels: Collection[int]) -> dict[str, tuple[int, ...]]:
    """Return every label that occurs, called by its number."""
    own = sorted(set(labels) - {0})
    if not own:
        raise InputError("no file has any label but 0", advice="Say what to measure: --region liver=1")
    if len(own) > _MOST_LABELS:
        raise InputError(
            f"there are {len(own):,} labels, as in an image or a map of instances",
            advice="Say what to measure: --region liver=1",
        )
    return {str(label): (label,) for label in own}


def listed(regions: Mapping[str, Sequence[int]]) -> str:
    """Return labels for people."""
    return shortened(
        [
            name if name == (own := ",".join(map(str, numbers))) else f"{name} ({own})"
            for name, numbers in regions.items()
        ]
    )

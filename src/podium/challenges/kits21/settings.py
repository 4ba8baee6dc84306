"""What of KiTS21 is read: its challenge.toml, names of cases, and tolerances that `podium raters` found."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BeforeValidator

from podium.challenges.kinds import SegmentationChallenge, read_challenge
from podium.io import read_text
from podium.model import InputError

__all__ = ["DECLARED", "REGIONS", "Names", "Tolerances", "read_tolerances"]

DECLARED = cast("SegmentationChallenge", read_challenge(Path(__file__).parent))
"""What the challenge.toml beside this file says."""
REGIONS = {region: DECLARED.numbers[region] for region in DECLARED.quantities[0].of}
"""The labels of each region that is measured."""

_PERCENTILE = 95.0


def read_tolerances(path: Path) -> dict[str, float]:
    """Return the tolerance of each region in mm, from the raters.json of a survey: the 95th percentiles."""
    advice = "Give the raters.json that `podium raters kits21 --out DIR` wrote"
    try:
        lines = json.loads(read_text(path))["tolerances_mm"]
        means = {line["target"]: line["mean"] for line in lines if line["percentile"] == _PERCENTILE}
    except (KeyError, TypeError, RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("this holds no tolerances", path=path, advice=advice) from None
    return _checked(means, path, advice)


def _checked(means: Mapping[str, Any], path: Path | None = None, advice: str | None = None) -> dict[str, float]:
    tolerances = {}
    for region in REGIONS:
        mean = means.get(region)
        if not isinstance(mean, int | float) or isinstance(mean, bool) or not (math.isfinite(mean) and mean > 0):
            raise InputError(f"there is no tolerance of {region.replace('_', ' ')}", path=path, advice=advice)
        tolerances[region] = float(mean)
    return tolerances


def _tolerances(value: Any) -> Any:
    """Return tolerances by region, which are the option's value from then on, wherever the file goes."""
    if value is None or value == "":
        return None
    if isinstance(value, Mapping):
        return _checked(value)
    return read_tolerances(Path(value))


def _names(value: Any) -> Any:
    return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
"""Names, separated by commas where they are text."""

Tolerances = Annotated[Mapping[str, float] | None, BeforeValidator(_tolerances)]
"""A tolerance for each region in mm, or the path of a file that holds them."""

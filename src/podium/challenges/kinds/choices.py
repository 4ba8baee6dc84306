"""Which metrics are measured of label maps that no challenge speaks of, and what failed cases cost in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from podium.challenges.kinds.declarations import Misdeclared
from podium.challenges.kinds.pairing import Pairing
from podium.challenges.kinds.segmentation import SegmentationChallenge
from podium.metrics.families import option_types, preparation_of
from podium.metrics.registry import meant_by, metrics
from podium.model import Direction, InputError, Metric
from podium.model.errors import nearest

__all__ = ["ALWAYS", "FAMILIES", "RANKED_BY", "Tolerances", "chosen_quantities", "made_challenge"]

FAMILIES = ("overlap", "surface", "centres")
"""What is measured where nothing is chosen."""
RANKED_BY = ("dice", "surface_dice", "hausdorff_distance_95")
"""What decides then; everything else is shown."""
ALWAYS = ("reference_volume", "prediction_volume")
"""What is measured in any case: it tells what is empty."""

Tolerances: TypeAlias = float | Mapping[str, float]
"""Of surface Dice in mm: one for all labels, or one for each that is named."""


def chosen_quantities(
    names: Sequence[str],
    targets: Sequence[str],
    *,
    tolerances_mm: Tolerances = 1.0,
    boundary: str = "surfel",
) -> list[dict[str, Any]]:
    """Return the declaration of every metric that is chosen, by its name or that of its family."""
    usable = [metric for metric in metrics() if preparation_of(metric) is not None]
    if isinstance(tolerances_mm, Mapping):
        for target in tolerances_mm:
            if target not in targets:
                raise InputError(f"a tolerance is given for {target!r}", advice=nearest(target, targets))
        tolerances_mm = {target: float(tolerances_mm.get(target, 1.0)) for target in targets}
    else:
        tolerances_mm = float(tolerances_mm)
    for tolerance in tolerances_mm.values() if isinstance(tolerances_mm, Mapping) else [tolerances_mm]:
        if not 0 <= tolerance < math.inf:
            raise InputError(f"a tolerance is a length in mm from 0, not {tolerance:g}")
    chosen: dict[str, Metric[..., Any]] = {}
    for name in map(str, names or FAMILIES):
        own = [metric for metric in usable if name in (metric.name, metric.family, "all")]
        if not own:
            known = [*(metric.name for metric in usable), *dict.fromkeys(metric.family for metric in usable)]
            advice = meant_by(name, usable) or nearest(name, known)
            raise InputError(f"there is no metric of label maps called {name!r}", advice=advice)
        chosen |= {metric.name: metric for metric in own}
    deciding = [name for name, metric in chosen.items() if _can_decide(metric) and (names or name in RANKED_BY)]
    if not deciding:
        deciding = ["dice"]
    by_name = {metric.name: metric for metric in usable}
    every = dict.fromkeys([*deciding, *chosen, *ALWAYS])
    options = {"tolerance_mm": tolerances_mm, "boundary": boundary}
    return [_declared(by_name[name], options, list(targets), decides=name in deciding) for name in every]


def _declared(
    metric: Metric[..., Any], options: Mapping[str, Any], targets: list[str], *, decides: bool
) -> dict[str, Any]:
    own, prepared = option_types(metric)
    quantity = {"metric": metric.name, "of": targets, "decides": decides}
    quantity |= {name: value for name, value in options.items() if name in {*own, *prepared}}
    if (price := _price(metric)) is not None:
        quantity["failed"] = price
    if any(math.isnan(metric.empty.get(side, 0.0)) for side in ("both", "reference")):
        quantity["absent"] = "leave out"
    return quantity


def _price(metric: Metric[..., Any]) -> float | str | None:
    """Return what a failed case costs: the worst value that there is."""
    if metric.direction not in (Direction.HIGHER, Direction.LOWER):
        return None
    worst = metric.minimum if metric.direction is Direction.HIGHER else metric.maximum
    if math.isfinite(worst):
        return worst
    return "image diagonal" if metric.unit == "mm" else None


def _can_decide(metric: Metric[..., Any]) -> bool:
    return _price(metric) is not None


def _unused(name: str, regions: Mapping[str, Sequence[int]]) -> str:
    """Return a name for a label that no region has."""
    return _unused(f"{name}'", regions) if name in regions else name


def made_challenge(
    regions: Mapping[str, Sequence[int]],
    quantities: Sequence[Mapping[str, Any]],
    *,
    pairing: Pairing | None = None,
    name: str = "measured",
    title: str = "",
    strict: bool = True,
    geometry: str = "full",
    only: Sequence[str] = (),
) -> SegmentationChallenge:
    """Return the challenge that measures regions of label maps.

    Parameters
    ----------
    regions
        The labels of each region by name; a label is a region of one.
    quantities
        From `chosen_quantities`.
    pairing
        How files are called.
    name, title
        Of the challenge.
    strict
        Whether labels that are in no region are refused, or taken for background.
    geometry
        As of a challenge's images.
    only
        The cases that count, where not all do.
    """
    single = {numbers[0]: region for region, numbers in regions.items() if len(numbers) == 1}
    everything = sorted({number for numbers in regions.values() for number in numbers})
    labels = {single.get(number) or _unused(f"label {number}", regions): number for number in everything}
    files: dict[str, Any] = {"truth": "{case}.nii.gz", "prediction": "{case}.nii.gz"}
    if pairing is not None:
        files = {"truth": pairing.truth, "prediction": pairing.prediction, "case": pairing.case}
    if only:
        files["only"] = list(only)
    declaration: dict[str, Any] = {
        "name": name,
        "title": title or name,
        "files": files,
        "labels": labels,
        "regions": {region: list(numbers) for region, numbers in regions.items() if region not in labels},
        "images": {"geometry": geometry, "unknown_labels": "refuse" if strict else "background"},
        "quantities": [dict(quantity) for quantity in quantities],
        "words": {
            "summary": "Label maps, measured by podium measure. A prediction that is missing or cannot be used has the "
            "worst value in every metric that has one.",
        },
    }
    try:
        return SegmentationChallenge.made(declaration=declaration)
    except Misdeclared as error:
        raise InputError(error.problem, advice=error.advice) from None

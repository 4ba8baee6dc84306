"""How Podium and a peer are asked about one and the same thing, whatever it is: masks, samples, images, boxes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import families
import numpy as np

from podium import metrics as m
from podium.model import Metric


@dataclass(frozen=True)
class Answer:
    """How a peer answers, and what of Podium it is held against.

    Attributes
    ----------
    theirs
        Takes what `measured` takes after the metric, and returns the peer's number.
    options
        With which Podium gives the same number, or should.
    where
        Whether an input is one for which the peer is declared to give the same number.
    call
        What is called of the peer, if the metric's own declaration does not say it.
    """

    theirs: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    where: Callable[..., bool] = lambda *_: True
    call: str = ""


def _at_thresholds(reference: np.ndarray, prediction: np.ndarray) -> m.InstanceCounts:
    return m.InstanceCounts.at_thresholds(m.InstanceOverlaps.between(reference, prediction))


MAKERS: dict[str, Callable[..., Any]] = {
    "overlap": m.Overlap.between,
    "surface": m.SurfaceDistances.between,
    "centres": m.Centres.between,
    "boundary": m.BoundaryBands.between,
    "centreline": m.CentreLines.between,
    "topology": m.Topology.between,
    "instances": m.InstanceCounts.between,
    "segmentation_average_precision": _at_thresholds,
    "lesions": m.LesionComparison.by_contact,
    "decisions": m.BinaryCounts.between,
    "detections": m.Detections.of,
}
"""By family, or by metric where one needs something else: what a metric is given is made of the data by this."""

OF_MASKS = ("overlap", "surface", "centres", "boundary", "centreline", "topology", "instances", "lesions")
"""Families whose data are a reference, a prediction and the spacing of both in mm."""


def measured(metric: Metric, *data: Any, **options: Any) -> Any:
    """Return what Podium says of data: two arrays and, for masks, their spacing; options go where they belong."""
    if metric.family in ("images", "reconstruction"):
        return families.FAMILIES[metric.family][0].measure(metric, *data, **options)
    make = MAKERS.get(metric.name) or MAKERS.get(metric.family)
    if make is None:
        return metric(*data, **options)
    known = inspect.signature(make).parameters
    if metric.family in OF_MASKS:
        *data, spacing = data
        options = ({"spacing_mm": spacing} if "spacing_mm" in known else {}) | options
    making = {name: value for name, value in options.items() if name in known}
    return metric(make(*data, **making), **{name: value for name, value in options.items() if name not in making})

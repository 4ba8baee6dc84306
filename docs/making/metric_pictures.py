"""A picture of every metric, drawn from an example that it measures, as SVG that is the same bytes each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import matplotlib as mpl
import pictures_of_classes
import pictures_of_detections
import pictures_of_instances
import pictures_of_overlap
import pictures_of_scores
import pictures_of_space
import pictures_of_surface
import pictures_of_values
from pictures_canvas import Drawn

from podium.model import Metric
from podium.report.figures import as_bytes
from podium.report.style import drawing

__all__ = ["FAMILIES", "Picture", "picture"]

FAMILIES: Mapping[str, Callable[[Metric[..., Any]], Drawn]] = {
    "overlap": pictures_of_overlap.overlap,
    "surface": pictures_of_surface.surface,
    "centres": pictures_of_overlap.centres,
    "boundary": pictures_of_overlap.boundary,
    "centreline": pictures_of_overlap.centreline,
    "topology": pictures_of_overlap.topology,
    "instances": pictures_of_instances.instances,
    "lesions": pictures_of_instances.lesions,
    "detections": pictures_of_detections.detections,
    "boxes": pictures_of_detections.boxes,
    "probabilities": pictures_of_scores.probabilities,
    "class probabilities": pictures_of_scores.class_probabilities,
    "decisions": pictures_of_classes.decisions,
    "classification": pictures_of_classes.classification,
    "class agreement": pictures_of_classes.agreement,
    "regression": pictures_of_values.regression,
    "landmarks": pictures_of_values.landmarks,
    "images": pictures_of_space.images,
    "deformations": pictures_of_space.deformations,
    "reconstruction": pictures_of_space.reconstruction,
}
"""What draws the metrics of each family."""

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "path",  # so that no reader needs the font, and no text is of another length
    "font.sans-serif": ["DejaVu Sans"],  # Matplotlib's own: the same on every machine
}


class Picture(NamedTuple):
    """A picture, and what it shows: its caption, and what is said to those who do not see it."""

    svg: str
    caption: str


def picture(metric: Metric[..., Any]) -> Picture:
    """Draw a metric."""
    with drawing(), mpl.rc_context(_SETTINGS):
        drawn = FAMILIES[metric.family](metric)
        return Picture(as_bytes(drawn.figure, "svg").decode("utf-8"), drawn.caption)

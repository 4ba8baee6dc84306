"""A piece of code for every metric that runs as it stands, and what it gives."""

from __future__ import annotations

import inspect
from typing import Any

from podium.model import Metric

__all__ = ["example", "run_example"]

_MASKS = """reference, prediction = np.zeros((2, 9, 9), bool)
reference[1:6, 1:6] = True
prediction[2:7, 2:8] = True
"""
_SEVERAL = """reference, prediction = np.zeros((2, 9, 12), bool)
reference[1:5, 1:5] = reference[6:8, 8:11] = True
prediction[1:5, 2:5] = prediction[0:2, 9:11] = True
"""
_VALUES = """reference = [2.0, 3.0, 5.0, 8.0]
prediction = [2.5, 3.0, 4.0, 9.0]
"""
_CLASSES = """reference = ["cyst", "cyst", "tumour", "tumour", "normal", "normal"]
prediction = ["cyst", "tumour", "tumour", "tumour", "normal", "cyst"]
"""
_POSES = """true = np.stack([np.eye(4)] * 3)  # three frames
predicted = true.copy()
predicted[:, 0, 3] = [0, 1, 2]  # that drift along x, in mm
"""
_PUSHED = """displacement = np.zeros((2, 8, 8))  # in voxels, along rows and columns
displacement[1, :, 4:] = -3.0  # the right half is pushed over the left
"""
_TEMPLATES: dict[str, tuple[str, str, str]] = {
    "overlap": ("Overlap", _MASKS, "{name}(Overlap.between(reference, prediction, spacing_mm=(1.0, 2.0)))"),
    "surface": (
        "SurfaceDistances",
        _MASKS,
        "{name}(SurfaceDistances.between(reference, prediction, spacing_mm=(1.0, 2.0)){options})",
    ),
    "centres": ("Centres", _MASKS, "{name}(Centres.between(reference, prediction, spacing_mm=(1.0, 2.0)))"),
    "boundary": ("BoundaryBands", _MASKS, "{name}(BoundaryBands.between(reference, prediction, width_mm=1.0))"),
    "centreline": ("CentreLines", _MASKS, "{name}(CentreLines.between(reference, prediction))"),
    "topology": ("Topology", _SEVERAL, "{name}(Topology.between(reference, prediction))"),
    "instances": ("InstanceCounts", _SEVERAL, "{name}(InstanceCounts.between(reference, prediction))"),
    "segmentation_average_precision": (
        "InstanceCounts, InstanceOverlaps",
        _SEVERAL,
        "{name}(InstanceCounts.at_thresholds(InstanceOverlaps.between(reference, prediction)))",
    ),
    "lesions": ("LesionComparison", _SEVERAL, "{name}(LesionComparison.by_contact(reference, prediction){options})"),
    "detections": (
        "Detections, ImageDetections",
        "image = ImageDetections.by_hits([0.9, 0.8, 0.7], [[True, False], [False, False], [False, True]])\n",
        "{name}(Detections.of([image]))",
    ),
    "boxes": (
        "BoxSet",
        "truth = BoxSet([[0, 0, 4, 4], [6, 6, 9, 9]])\nfound = BoxSet([[0, 0, 4, 3]], scores=[0.9])\n",
        "{name}([truth], [found])",
    ),
    "probabilities": ("", "truth = [0, 0, 1, 1]\nprobability = [0.1, 0.4, 0.35, 0.8]\n", "{name}(truth, probability)"),
    "class probabilities": (
        "",
        "truth = [0, 1, 2]\nprobabilities = [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.2, 0.5, 0.3]]\n",
        "{name}(truth, probabilities)",
    ),
    "decisions": (
        "BinaryCounts",
        "truth = [1, 1, 1, 0, 0, 0]\ncalled = [1, 1, 0, 0, 0, 1]\n",
        "{name}(BinaryCounts.between(truth, called){options})",
    ),
    "classification": ("", _CLASSES, "{name}(reference, prediction)"),
    "class agreement": ("", _CLASSES, "{name}(reference, prediction)"),
    "regression": ("", _VALUES, "{name}(reference, prediction{options})"),
    "landmarks": (
        "",
        "reference = [[0, 0, 0], [10, 0, 0], [0, 10, 0]]\nprediction = [[3, 4, 0], [10, 1, 0], [0, 10, 2]]\n",
        "{name}(reference, prediction{options})",
    ),
    "images": (
        "",
        "reference = np.random.default_rng(0).random((32, 32))\nprediction = np.clip(reference + 0.1, 0, 1)\n",
        "{name}(reference, prediction, data_range=1.0)",
    ),
    "deformations": (
        "",
        _PUSHED,
        "{name}(displacement)",
    ),
    "transform_error": ("", _POSES, "{name}(true, predicted, scaling=np.eye(4), shape=(4, 5))"),
    "displacement_error": (
        "",
        _POSES + "shifts = [np.outer([k, 0, 0], np.ones(4 * 5)) for k in (0, 1, 2)]  # of every pixel\n",
        "{name}(true, shifts, scaling=np.eye(4), width=5)",
    ),
}
"""By family, or by metric where it needs something else: what is imported beside it, what is made, what is called."""

_OPTIONS = {"tolerance_mm": "1.0", "percentile": "95", "price_mm": "374", "beta": "2"}
"""Options that an example shows."""


def example(metric: Metric[..., Any]) -> str:
    """Return code that measures something, without the value."""
    others, made, call = _TEMPLATES.get(metric.name) or _TEMPLATES[metric.family]
    named = inspect.signature(metric).parameters
    options = "".join(f", {name}={value}" for name, value in _OPTIONS.items() if name in named)
    names = ", ".join(sorted(filter(None, [*others.split(", "), metric.name]), key=lambda name: (name.islower(), name)))
    numpy = "import numpy as np\n\n" if "np." in made + call else ""
    return f"{numpy}from podium.metrics import {names}\n\n{made}{call.format(name=metric.name, options=options)}"


def run_example(code: str) -> float:
    """Run code and return the value of its last line."""
    *before, last = code.splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(before), names)
    return float(eval(last, names))

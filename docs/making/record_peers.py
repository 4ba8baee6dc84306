"""What Podium and its peers say of the same inputs, for every metric: written to docs/data/peers.json.

    .venv/bin/python docs/making/record_peers.py

All peers must be installed (`make test`), panoptica too, in its own environment (`make bench`). The pages of metrics
show what is recorded here; a slow test records it again and compares.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path.append(str(HERE.parents[2] / "tests" / "support"))
sys.path.append(str(HERE.parent))

import numpy as np
import other_peers_of_masks
import other_peers_of_samples
import peers
import peers_of_masks
import peers_of_samples
from peer_inputs import Input, inputs_of
from peers_asked import Answer, measured

from podium.metrics import metrics
from podium.model import InputError, Metric

__all__ = ["OURS", "RECORDED", "own_answer", "record"]

RECORDED = HERE.parents[1] / "data" / "peers.json"
"""Where the answers are kept."""
OURS = "Podium"

DIGITS = 12
"""Of what is recorded: fewer than a float has, so that the last ones do not differ between machines."""

SMALLEST = 1e-15
"""What is less is rounding, and recorded as 0."""

PACKAGES = {
    "DeepMind surface-distance": "surface-distance-based-measures",
    "MONAI": "monai",
    "MedPy": "medpy",
    "NumPy": "numpy",
    "PyTorch": "torch",
    "SciPy": "scipy",
    "SimpleITK": "SimpleITK",
    "TorchMetrics": "torchmetrics",
    "pingouin": "pingouin",
    "pycocotools": "pycocotools",
    "scikit-image": "scikit-image",
    "scikit-learn": "scikit-learn",
    "statsmodels": "statsmodels",
}
SINGLE = ("MONAI", "PyTorch", "TorchMetrics")
"""Tools that compute in single precision, somewhere."""

_OF_MASKS = ("DeepMind surface-distance", "MONAI", "MedPy", "SimpleITK", "TorchMetrics", "scikit-image")
_OF_INSTANCES = ("MONAI", "MedPy", "TorchMetrics", "panoptica")
_OF_SAMPLES = ("MONAI", "TorchMetrics", "scikit-learn")
LOOKED_AT: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("overlap", "surface", "centres", "boundary", "centreline", "topology"), _OF_MASKS),
    **dict.fromkeys(("instances", "lesions"), _OF_INSTANCES),
    # TorchMetrics' own needs torchvision, which no other peer does, and is pycocotools' inside.
    **dict.fromkeys(("detections", "boxes"), ("MONAI", "pycocotools")),
    **dict.fromkeys(("probabilities", "class probabilities", "decisions", "regression"), _OF_SAMPLES),
    # MONAI's are of one class against the others only.
    **dict.fromkeys(("classification", "class agreement"), ("TorchMetrics", "scikit-learn")),
    "landmarks": ("MONAI", "SimpleITK", "TorchMetrics"),
    "images": ("MONAI", "TorchMetrics", "scikit-image"),
    "deformations": ("MONAI", "SimpleITK", "TorchMetrics"),
    "reconstruction": ("MONAI", "SimpleITK", "TorchMetrics"),
}
"""Where each family was looked for: a tool of these without a column has no such metric."""


def record() -> dict[str, Any]:
    """Ask everybody about everything, and return what they say."""
    peers.panoptica(*_instance_maps())  # all that will be asked, in one process
    return {"tools": _tools(), "metrics": {metric.name: _answers(metric) for metric in metrics()}}


def own_answer(metric: Metric[..., Any], given: Input, **options: Any) -> float | str:
    """Return what Podium says, as it is recorded."""
    try:
        return _written(float(np.squeeze(measured(metric, *given.data, **options))), "undefined")
    except InputError:
        return "refused"


def _answers(metric: Metric[..., Any]) -> dict[str, Any]:
    asked = _asked(metric)
    columns: dict[str, Any] = {OURS: {"options": {}}}
    for answer in asked.values():
        columns[_beside(answer)] = {"options": dict(answer.options)}
    given = inputs_of(metric)
    rows = [{column: own_answer(metric, each, **columns[column]["options"]) for column in columns} for each in given]
    for tool, answer in asked.items():
        call = answer.call or metric.same_as[tool]
        columns[tool] = {"tool": tool.partition(",")[0], "call": call, "beside": _beside(answer)}
        for each, row in zip(given, rows, strict=True):
            row[tool] = _their_answer(answer, each)
    named = {columns[tool]["tool"] for tool in asked}
    return {
        "columns": columns,
        "rows": [{"input": each.words, "answers": row} for each, row in zip(given, rows, strict=True)],
        "without": [tool for tool in LOOKED_AT[metric.family] if tool not in named],
    }


def _asked(metric: Metric[..., Any]) -> dict[str, Answer]:
    """Return who is asked about a metric: those that are declared to give the same number, then others."""
    declared = {**peers_of_masks.CHECKS, **peers_of_samples.CHECKS}
    first = {peer: declared[metric.name, peer][0] for peer in metric.same_as}
    others = {**other_peers_of_masks.OTHERS, **other_peers_of_samples.OTHERS}
    return first | {tool: answer for (name, tool), answer in others.items() if name == metric.name}


def _beside(answer: Answer) -> str:
    """Return the column of Podium that an answer is held against."""
    return ", ".join([OURS, *(f"{name}={json.dumps(value)}" for name, value in answer.options.items())])


def _their_answer(answer: Answer, given: Input) -> float | str:
    try:
        with warnings.catch_warnings():  # which are not for a test of ours to fail on
            warnings.simplefilter("ignore")
            return _written(float(answer.theirs(*given.data)), "NaN")
    except Exception:  # whatever it is, a user would see an error
        return "an error"


def _written(value: float, nothing: str) -> float | str:
    if math.isnan(value):
        return nothing
    if abs(value) < SMALLEST:
        return 0.0
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else "∞" if value > 0 else "−∞"


def _tools() -> dict[str, Any]:
    versions = {tool: peers.version(package) for tool, package in PACKAGES.items()}
    program = "import importlib.metadata as m; print(m.version('panoptica'))"
    done = subprocess.run([peers.panoptica_python(), "-c", program], capture_output=True, text=True, check=True)
    versions["panoptica"] = done.stdout.strip()
    return {
        tool: {"version": version, "precision": "single" if tool in SINGLE else "double"}
        for tool, version in sorted(versions.items(), key=lambda each: each[0].lower())
    }


def _instance_maps() -> list[tuple[Any, Any]]:
    (metric,) = (metric for metric in metrics() if metric.name == "panoptic_quality")
    return [(np.uint8(one), np.uint8(two)) for one, two, _ in (given.data for given in inputs_of(metric))]


def main() -> None:
    """Record, and write the file."""
    RECORDED.parent.mkdir(exist_ok=True)
    RECORDED.write_text(json.dumps(record(), ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()

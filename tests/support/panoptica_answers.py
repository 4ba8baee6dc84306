"""Panoptica's qualities of pairs of instance maps, in an interpreter of its own; what it divides by 0 is left out.

Reads the paths of .npz files with a reference and a prediction, a line each. Answers with a line of JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

import numpy as np

QUALITIES = ("pq", "sq", "rq", "tp", "prec", "rec")


def answered(path: str) -> dict[str, float]:
    """Return the qualities of the maps in a file, as far as panoptica has them."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
    from panoptica_process import evaluator  # here, since panoptica is in an environment of its own

    answers = {}
    with np.load(path) as arrays, contextlib.redirect_stdout(io.StringIO()):
        result = evaluator("instances").evaluate(arrays["prediction"], arrays["reference"], verbose=False)["ungrouped"]
        for name in QUALITIES:
            with contextlib.suppress(ZeroDivisionError):
                answers[name] = float(getattr(result, name))
    return answers


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answered(line.strip())) + "\n")

"""Panoptica in an interpreter of its own, as its versions of NumPy (below 2.3) and cc3d (below 4) are not ours.

Reads lines: `instances PATH` or `masks PATH` loads the reference and the prediction of an .npz file, as instance maps
or as masks whose components it finds itself, and evaluates them; `matching PATH` only says which instances belong
together; `run` does so once more. Answers with a line of JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from functools import partial

import numpy as np

with contextlib.redirect_stdout(io.StringIO()):
    from panoptica import (
        ConnectedComponentsInstanceApproximator,
        InputType,
        NaiveThresholdMatching,
        Panoptica_Evaluator,
    )
    from panoptica.metrics import Metric
    from panoptica.utils.processing_pair import UnmatchedInstancePair


def evaluator(kind: str) -> Panoptica_Evaluator:
    """Return what measures panoptic quality alone, of pairs with an IoU of more than 0.5."""
    return Panoptica_Evaluator(
        expected_input=InputType.UNMATCHED_INSTANCE if kind == "instances" else InputType.SEMANTIC,
        instance_approximator=None if kind == "instances" else ConnectedComponentsInstanceApproximator(),
        instance_matcher=NaiveThresholdMatching(strict_threshold=True),
        instance_metrics=[Metric.IOU],
        global_metrics=[],
    )


def evaluated(kind: str, prediction: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    """Return the qualities of two maps."""
    result = evaluator(kind).evaluate(prediction, reference, verbose=False)["ungrouped"]
    names = ("pq", "sq", "rq", "tp", "prec", "rec") if result.tp else ("pq", "sq", "rq", "tp")  # else they may raise
    return {name: float(getattr(result, name)) for name in names}


def matched(prediction: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    """Return how many instances of two maps were matched."""
    pair = UnmatchedInstancePair(prediction, reference)
    return {"tp": float(NaiveThresholdMatching(strict_threshold=True).match_instances(pair).n_matched_instances)}


def main() -> None:
    """Answer until there are no more lines."""
    answers, sys.stdout = sys.stdout, io.StringIO()
    run = None
    for line in sys.stdin:
        word, _, path = line.strip().partition(" ")
        if word != "run":
            work = matched if word == "matching" else partial(evaluated, word)
            with np.load(path) as arrays:
                run = partial(work, arrays["prediction"], arrays["reference"])
        print(json.dumps(run()), file=answers, flush=True)


if __name__ == "__main__":
    main()

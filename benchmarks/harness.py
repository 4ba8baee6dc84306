"""Measuring side by side: contenders take turns, and the best of several rounds counts for each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from math import floor, log10
from typing import Any

PEAK_MB = "next(int(line.split()[1]) / 1024 for line in open('/proc/self/status') if line.startswith('VmHWM'))"
"""The peak memory of a process, as it tells it itself; what getrusage says counts its parent's too."""


@dataclass
class Row:
    """One line of the results: how long we take, how long others take, and what ratio was to be reached."""

    what: str
    ours: float
    others: Mapping[str, float]
    unit: str = "ms"
    targets: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """For each other: '≥' or '≤' and a number that other / ours, or ours / other, must keep."""

    def ratio(self, other: str) -> float:
        """Return how many times faster than another, or how many times the floor's time."""
        sign = self.targets.get(other, ("≥", 0))[0]
        return self.others[other] / self.ours if sign == "≥" else self.ours / self.others[other]

    def reached(self, other: str) -> bool | None:
        """Return whether the target is reached; None if there is none."""
        if other not in self.targets:
            return None
        sign, number = self.targets[other]
        return self.ratio(other) >= number if sign == "≥" else self.ratio(other) <= number

    def as_json(self) -> dict[str, Any]:
        """Return everything, with the ratios."""
        ratios = {other: {"ratio": self.ratio(other), "reached": self.reached(other)} for other in self.others}
        return asdict(self) | {"ratios": ratios}


def plain(number: float) -> str:
    """Return a number with three digits or all before the point, and never with an exponent: 0.0123, 1.82, 1,820."""
    digits = max(2 - floor(log10(abs(number))), 0) if number else 0
    return f"{number:,.{digits}f}"


def best_of(
    contenders: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    seconds: float = 10.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the shortest time of each contender in ms; all take their turn in every round.

    A contender that has used up its seconds sits out the later rounds. One untimed round comes first. Where all run
    on one thread, the time of the processor, `time.process_time`, is not disturbed by what else the machine does.
    """
    for run in contenders.values():
        run()
    best = dict.fromkeys(contenders, float("inf"))
    used = dict.fromkeys(contenders, 0.0)
    for _ in range(rounds):
        for name, run in contenders.items():
            if used[name] > seconds:
                continue
            start = clock()
            run()
            taken = clock() - start
            used[name] += taken
            best[name] = min(best[name], 1e3 * taken)
    return best

"""Algorithms that are run over four points, of which the second may crash them."""

from __future__ import annotations

import csv

from asked_landmarks import AskedLandmarks, PlainConfinement, ask_plainly, python

from podium.algorithms.running import run_algorithms
from podium.algorithms.specs import Allowance

POINTS = {"001": "0 0 0", "002": "3 4 0", "003": "0 0 2", "004": "1 0 0"}
CRASH = "exec('if t[0] == chr(51): sys.exit(3)'); "
"""On 002, whose point begins with 3."""


def run(places, *algorithms, challenge=None, ask=ask_plainly, confinement=None, **given):
    places = dict(places)
    if not given.pop("measured", True):
        places.pop("truth")
    algorithms = algorithms or (python("team"),)
    return run_algorithms(
        places.pop("out"),
        challenge or AskedLandmarks(),
        algorithms,
        ask=ask,
        confine=lambda *_: confinement or PlainConfinement(),
        **{"allowance": Allowance(case_seconds=60), **places, **given},
    )


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def listed(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def asking(seen):
    """Return a way to ask that notes which cases it was asked about."""

    def ask(algorithm, confinement, interface, questions, **given):
        def noted():
            for question in questions:
                seen.append((algorithm.name, question.name))
                yield question

        yield from ask_plainly(algorithm, confinement, interface, noted(), **given)

    return ask

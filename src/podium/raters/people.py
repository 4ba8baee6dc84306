"""Are algorithms already as good as people? Each is measured against the same plausible truths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.io import csv_text
from podium.model import Challenge, Cube, Direction, Measure, Role
from podium.ranking.inference.variability import Interval, compared_with_people, within_variability
from podium.raters.rated import PEOPLE

__all__ = ["PeopleVerdict", "people_csv", "people_verdicts"]


@dataclass(frozen=True, slots=True)
class PeopleVerdict:
    """Whether a submission is within inter-rater variability in one quantity.

    Attributes
    ----------
    submission, metric, target
        Who, and in what.
    difference
        Submission minus raters, case by case: its mean and interval.
    left_out
        The cases where either has no value.
    within
        Whether the interval is not wholly on the side where the submission is worse; None where there are too few
        cases for an interval, or for its end on the other side.
    """

    submission: str
    metric: str
    target: str
    difference: Interval
    left_out: tuple[str, ...]
    within: bool | None


def people_verdicts(
    challenge: Challenge,
    cube: Cube,
    *,
    roles: Mapping[str, Role] | None = None,
    people: str = PEOPLE,
    level: float = 0.95,
) -> tuple[PeopleVerdict, ...]:
    """Compare every submission with people, in every measure that judges and that both have.

    Both must have been measured against the same plausible truths. An algorithm measured against a majority would be
    flattered, since a majority is nearer to everybody than people are to one another.

    Parameters
    ----------
    challenge
        Whose measures.
    cube
        The measurements of a run.
    roles
        Who submissions stand for; other people are not compared.
    people
        The name under which the agreement of people was measured.
    level
        Of the intervals.
    """
    references = {name for name, role in (roles or {}).items() if role is Role.REFERENCE}
    submissions = [name for name in cube.submissions if name not in {people, *references}]
    if people not in cube.submissions:
        return ()
    judging = [
        single
        for measure in challenge.measures
        if measure.direction in (Direction.HIGHER, Direction.LOWER)
        for single in measure.each
        if cube.has(*single.key) and not np.isnan(cube.of(*single.key)[cube.submissions.index(people)]).all()
    ]
    return tuple(_verdict(cube, name, people, measure, level) for name in submissions for measure in judging)


def _verdict(cube: Cube, submission: str, people: str, measure: Measure, level: float) -> PeopleVerdict:
    own, others = (cube.of(*measure.key)[cube.submissions.index(name)] for name in (submission, people))
    bounds = measure.minimum, measure.maximum
    interval = compared_with_people(own, others, clusters=cube.clusters, level=level, bounds=bounds)
    left_out = tuple(cube.rows[row] for row in np.flatnonzero(np.isnan(own) | np.isnan(others)))
    return PeopleVerdict(submission, *measure.key, interval, left_out, within_variability(interval, measure.direction))


def people_csv(verdicts: Sequence[PeopleVerdict]) -> str:
    """Return verdicts as CSV."""
    head = ("submission", "target", "metric", "difference", "low", "high", "within", "cases", "left_out")
    return csv_text(
        head,
        (
            (
                verdict.submission,
                verdict.target,
                verdict.metric,
                *("" if math.isnan(x) else repr(x) for x in _numbers(verdict.difference)),
                {True: "yes", False: "no", None: ""}[verdict.within],
                verdict.difference.cases,
                " ".join(verdict.left_out),
            )
            for verdict in verdicts
        ),
    )


def _numbers(interval: Interval) -> tuple[float, float, float]:
    return interval.mean, interval.low, interval.high

"""Are algorithms already as good as people? Each is measured against the same plausible truths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from podium.io import csv_text
from podium.model import Challenge, Direction, Role
from podium.raters.intervals import Interval, interval_of, metric_bounds
from podium.raters.rated import PEOPLE

__all__ = ["Verdict", "compared_with_people", "people_csv"]


@dataclass(frozen=True, slots=True)
class Verdict:
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


def compared_with_people(
    challenge: Challenge,
    measurements: pl.DataFrame,
    *,
    roles: Mapping[str, Role] | None = None,
    people: str = PEOPLE,
    level: float = 0.95,
) -> tuple[Verdict, ...]:
    """Compare every submission with people, in every quantity that judges and that both have.

    Both must have been measured against the same plausible truths. An algorithm measured against a majority would be
    flattered, since a majority is nearer to everybody than people are to one another.

    Parameters
    ----------
    challenge
        Whose quantities; and what cases are drawn with.
    measurements
        Of a run: submission, case, unit, target, metric, value.
    roles
        Who submissions stand for; other people are not compared.
    people
        The name under which the agreement of people was measured.
    level
        Of the intervals.
    """
    table = measurements.filter((pl.col("unit") == "") & pl.col("value").is_not_null())
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in table.select("submission", "metric", "target", "case", "value").iter_rows():
        found.setdefault(row[:3], {})[row[3]] = row[4]
    cases = sorted(measurements.filter(pl.col("unit") == "")["case"].unique().to_list())
    references = {name for name, role in (roles or {}).items() if role is Role.REFERENCE}
    submissions = sorted({key[0] for key in found} - {people} - references)
    verdicts = []
    for submission in submissions:
        for quantity in challenge.quantities:
            for target in quantity.targets:
                own = found.get((submission, quantity.metric, target), {})
                others = found.get((people, quantity.metric, target), {})
                if others and quantity.direction in (Direction.HIGHER, Direction.LOWER):
                    both = [case for case in cases if case in own and case in others]
                    least, most = metric_bounds(quantity.metric)
                    interval = interval_of(
                        [own[case] - others[case] for case in both],
                        clusters=[challenge.cluster(case) for case in both],
                        level=level,
                        bounds=(least - most, most - least),
                    )
                    left_out = tuple(case for case in cases if case not in both)
                    within = _within(interval, quantity.direction)
                    verdicts.append(Verdict(submission, quantity.metric, target, interval, left_out, within))
    return tuple(verdicts)


def _within(difference: Interval, direction: Direction) -> bool | None:
    """Return whether an interval reaches the side where the submission is as good as people, or better."""
    better = difference.high if direction is Direction.HIGHER else -difference.low
    return better >= 0 if math.isfinite(better) else None


def people_csv(verdicts: Sequence[Verdict]) -> str:
    """Return verdicts as CSV."""
    head = ("submission", "target", "metric", "difference", "low", "high", "within", "cases", "left_out")
    return csv_text(
        head,
        (
            (
                each.submission,
                each.target,
                each.metric,
                *("" if math.isnan(x) else repr(x) for x in _numbers(each.difference)),
                {True: "yes", False: "no", None: ""}[each.within],
                each.difference.cases,
                " ".join(each.left_out),
            )
            for each in verdicts
        ),
    )


def _numbers(interval: Interval) -> tuple[float, float, float]:
    return interval.mean, interval.low, interval.high

"""What a challenge with several annotators declares besides its rules."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from podium.model import Case, Challenge, Cube, LabelMap, Role, Status, Value
from podium.raters.panels import RaterAgreement

__all__ = ["PEOPLE", "RatedChallenge", "agreed_values", "undefined"]

PEOPLE = "raters"
"""How the agreement of people is called on a leaderboard."""


class RatedChallenge(Challenge):
    """A challenge whose truth holds what several people annotated."""

    @abstractmethod
    def rated_cases(self, truth: Path) -> list[Case]:
        """Find the cases that people annotated, sorted by name, with the files of every annotation."""

    @abstractmethod
    def panel(self, case: Case) -> Any:
        """Read the annotations of a case, each file once; raise InputError where they are damaged or missing."""

    @abstractmethod
    def agreement(
        self, case: Case, panel: Any, *, percentiles: Sequence[float] = (), metrics: Sequence[str] = ()
    ) -> RaterAgreement:
        """Compare the members of a panel.

        Parameters
        ----------
        case
            Which case.
        panel
            From `panel`.
        percentiles
            At which percentiles of surface distance tolerances are asked for.
        metrics
            Names of metrics besides the challenge's own.
        """

    def further_tables(self, cube: Cube, roles: Mapping[str, Role]) -> dict[str, str]:
        """Return people.csv, where people were measured: whether each submission is within inter-rater variability."""
        from podium.raters.people import people_csv, people_verdicts

        if PEOPLE not in self.built_in:
            return {}
        return {"people.csv": people_csv(people_verdicts(self, cube, roles=roles))}

    def samples(self, case: Case, panel: Any) -> Iterator[tuple[PurePosixPath, LabelMap]]:
        """Compose the plausible segmentations, one by one, each with the place that the organisers give it.

        Only where nobody annotated a whole case.
        """
        raise NotImplementedError


def agreed_values(agreement: RaterAgreement) -> list[Value]:
    """Return how far people agree on a case, as a leaderboard wants it."""
    values = []
    for metric, target in agreement.values:
        number = agreement.variability(metric, target)
        if math.isnan(number):
            values.append(undefined(agreement.case, metric, target, "undefined between two raters"))
        else:
            values.append(Value(agreement.case, metric, number, target))
    return values


def undefined(case: str, metric: str, target: str, reason: str) -> Value:
    """Return that there is no value, and why."""
    return Value(case, metric, None, target, status=Status.UNDEFINED, reason=reason)

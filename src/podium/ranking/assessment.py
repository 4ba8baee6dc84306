"""A ranking with everything that tells how sure it is: stability, confidence and sensitivity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from podium.model import Leaderboard
from podium.ranking.confidence import Confidence, confidence
from podium.ranking.contest import Contest
from podium.ranking.intervals import Method
from podium.ranking.sensitivity import Alternatives, Sensitivity, sensitivity
from podium.ranking.stability import LeftOut, Stability, jackknife, stability

__all__ = ["Assessment", "assess"]


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """A leaderboard, and how sure it is.

    Attributes
    ----------
    board
        The ranking itself.
    stability, left_out
        What becomes of it when cases are drawn anew, and without each case in turn.
    confidence
        Intervals of values, differences and ranks.
    sensitivity
        What other rules would have made of it.
    """

    board: Leaderboard
    stability: Stability
    left_out: tuple[LeftOut, ...]
    confidence: Confidence
    sensitivity: Sensitivity


def assess(
    contest: Contest,
    alternatives: Alternatives,
    *,
    bootstrap: int = 1000,
    seed: int = 1,
    level: float = 0.95,
    interval: Method = "bootstrap-t",
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Assessment:
    """Rank, and find out how sure the ranking is.

    Parameters
    ----------
    contest
        Of a challenge (`challenge_contest`) or of a table under a scheme (`scheme_contest`).
    alternatives
        Other rules to compare with: `challenge_alternatives` or `table_alternatives`.
    bootstrap, seed
        How many resamples tell about stability, and which; intervals always take 2,000.
    level, interval
        Of confidence intervals, and how those of columns are made.
    jobs
        Threads, which change no number.
    progress
        Is told what is being done, how much of it is done, and of how much.
    """
    tell = (lambda what: partial(progress, what)) if progress else (lambda _: None)
    return Assessment(
        board=contest.leaderboard(),
        stability=stability(contest, replicates=bootstrap, seed=seed, jobs=jobs, progress=tell("resamples")),
        left_out=tuple(jackknife(contest, progress=tell("cases left out"))),
        confidence=confidence(
            contest,
            level=level,
            method=interval,
            seed=seed,
            jobs=jobs,
            progress=tell("resamples for intervals"),
        ),
        sensitivity=sensitivity(contest, alternatives),
    )

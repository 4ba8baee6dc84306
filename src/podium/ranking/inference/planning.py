"""Planning: how many cases would separate the first from the second, told by drawing larger and smaller test sets.

Cases are drawn from those at hand, as many as the test set to be planned would have, and judged as they would be. This
takes the lead that was seen for the true one, which is optimistic: the first is first in part by luck. Hence everything
is told a second time for a smaller lead, the lower end of an interval (safeguard power).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from podium.model import Direction, Floats, InputError, Measure, shown_level, shown_number
from podium.model.errors import shortened
from podium.ranking.inference.confidence import influences
from podium.ranking.inference.resampling import Progress, Units, check_resamples
from podium.ranking.inference.sizes import draw_sets, moved_by, smallest_size
from podium.ranking.rule import Rule

__all__ = ["CasePlan", "Separation", "plan_cases"]

CHANCE = 0.8
"""With what chance a test set of the number that is told separates the two."""
CAUTION = 0.6
"""The interval whose lower end is the lead of a cautious plan."""
FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0, 10.0, 15.0, 22.0, 33.0, 50.0, 70.0, 100.0)
"""How large test sets are that are drawn, against the one at hand."""
FEWEST = 5


@dataclass(frozen=True, slots=True)
class Separation:
    """How many cases would show, by one criterion, that the first is better than the second.

    Attributes
    ----------
    criterion
        By what.
    lead, low
        The first less the second, positive where the first is better; and the lower end of its interval.
    present
        How many cases, or clusters of them, there are.
    sizes
        Those of the test sets that were drawn.
    chances, cautious
        The share of test sets of each size that separate the two, where the lead is true and where the lower end is.
    wanted
        The chance that is to be reached.
    """

    criterion: Measure
    lead: float
    low: float
    present: int
    sizes: tuple[int, ...] = ()
    chances: tuple[float, ...] = ()
    cautious: tuple[float, ...] = ()
    wanted: float = CHANCE

    @property
    def now(self) -> float | None:
        """The chance of a new test set of the present size."""
        return dict(zip(self.sizes, self.chances, strict=True)).get(self.present)

    @property
    def needed(self) -> int | None:
        """The number of cases that reaches the chance wanted; None where there is no lead, or none was enough."""
        return smallest_size(self.sizes, self.chances, self.wanted) if self.lead > 0 else None

    @property
    def needed_cautiously(self) -> int | None:
        """The same for the lower end of the lead's interval."""
        return smallest_size(self.sizes, self.cautious, self.wanted) if self.low > 0 else None


@dataclass(frozen=True, slots=True)
class CasePlan:
    """How many cases would separate the first from the second.

    Attributes
    ----------
    first, second
        The two, in the order of the leaderboard.
    note
        Who shares their places, in words; "" if nobody does.
    level
        Two are separated where this interval of their paired difference, for them alone, excludes zero.
    separations
        One for each criterion that is a mean or behaves like one; none where quantiles or counts of tests decide.
    present, sizes, order
        How many cases there are, how many were drawn, and the share of test sets in which the rule places the first
        before the second. Empty where one criterion alone decides, as its separation tells more.
    unit, whole
        What is drawn, one and many, and whether these are clusters of cases.
    replicates, seed
        How many test sets of each size, and which.
    """

    first: str
    second: str
    note: str
    level: float
    separations: tuple[Separation, ...]
    present: int
    sizes: tuple[int, ...]
    order: tuple[float, ...]
    unit: tuple[str, str]
    whole: bool
    replicates: int
    seed: int

    name = "plan"

    @property
    def needed_for_order(self) -> int | None:
        """The number of cases at which the order holds in as many test sets as the level says."""
        return smallest_size(self.sizes, self.order, self.level)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The plan in words."""
        many, level = self.unit[1], shown_level(self.level)
        lines = []
        if self.note:
            lines.append(f"Plan: {self.note}")
        if self.order:
            now = dict(zip(self.sizes, self.order, strict=True))[self.present]
            needed = self.needed_for_order
            enough = (
                f"{_about(needed, self.sizes)} {many} {_would(needed, self.present)} enough for {level}"
                if needed
                else f"even {self.sizes[-1]:,} {many} would not be enough for {level}"
            )
            lines.append(
                f"Plan: in test sets of {self.present:,} {many}, drawn anew from those at hand, {self.first} is before "
                f"{self.second} in {_share(now)}; {enough}. This takes the leads that were seen for true, which is "
                "optimistic."
            )
        lines += [self._words(separation) for separation in self.separations]
        if self.separations:
            lines.append(
                f"Separated is where the {level} interval of the paired difference, for these two alone, excludes zero."
            )
        per_size = f"{self.replicates:,} test sets of each size (seed {self.seed})"
        whole = f", {many} drawn whole" if self.whole else ""
        lines.append(f"The plan rests on {per_size}{whole}, and on future cases being like these.")
        return tuple(lines)

    def _words(self, separation: Separation) -> str:
        measure, many, wanted = separation.criterion, self.unit[1], shown_level(separation.wanted)
        lead = _number(separation.lead, measure)
        where = f"Plan by {measure.title}"
        if not separation.lead > 0:
            what = f"{self.second} leads" if separation.lead < 0 else "there is no lead"
            return f"{where}: {what}, so how many {many} would separate them in favour of {self.first} cannot be told."
        now, needed = separation.now, separation.needed
        text = (
            f"{where}: {self.first} leads {self.second} by {lead} in {separation.present:,} {many}. If that is the "
            f"truth, a new test set of {separation.present:,} {many} would separate them with a chance of {_share(now)}"
        )
        text += (
            f"; {_about(needed, separation.sizes)} {many} {_would(needed, separation.present)} enough for {wanted}."
            if needed
            else f"; even {separation.sizes[-1]:,} {many} would not be enough for {wanted}."
        )
        caution = shown_level(CAUTION)
        if not separation.low > 0:
            return (
                f"{text} But the lower end of the lead's {caution} interval is not above zero, so that the number "
                "cannot be told with any caution."
            )
        cautious = separation.needed_cautiously
        needs = f"it takes {_about(cautious, separation.sizes)}" if cautious else f"even {separation.sizes[-1]:,} fail"
        low = _number(separation.low, measure)
        return f"{text} If the lead is {low}, the lower end of its {caution} interval, {needs}."

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The chances by size: `plan`."""
        rows: list[tuple[Any, ...]] = [
            ("order", None, None, size, share, None) for size, share in zip(self.sizes, self.order, strict=True)
        ]
        for separation in self.separations:
            own = (separation.criterion.name, separation.lead, separation.low)
            chances = zip(separation.sizes, separation.chances, separation.cautious, strict=True)
            rows += [(*own, *chance) for chance in chances]
        schema = {
            "what": pl.String,
            "lead": pl.Float64,
            "low_lead": pl.Float64,
            "cases": pl.Int64,
            "chance": pl.Float64,
            "cautious_chance": pl.Float64,
        }
        return {"plan": pl.DataFrame(rows, schema=schema, orient="row")}

    @property
    def document(self) -> dict[str, Any]:
        """Everything as plain lists and numbers, for JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "note": self.note,
            "level": self.level,
            "present": self.present,
            "resamples": self.replicates,
            "seed": self.seed,
            "order": {"needed": self.needed_for_order, "sizes": list(self.sizes), "shares": list(self.order)}
            if self.order
            else None,
            "criteria": [
                {
                    "criterion": own.criterion.name,
                    "lead": own.lead,
                    "low_lead": own.low,
                    "present": own.present,
                    "chance_now": own.now,
                    "chance_wanted": own.wanted,
                    "needed": own.needed,
                    "needed_cautiously": own.needed_cautiously,
                    "sizes": list(own.sizes),
                    "chances": list(own.chances),
                    "cautious_chances": list(own.cautious),
                }
                for own in self.separations
            ],
            "sentences": list(self.sentences),
        }


def plan_cases(
    rule: Rule,
    *,
    level: float = 0.95,
    chance: float = CHANCE,
    replicates: int = 2000,
    seed: int = 1,
    progress: Progress | None = None,
) -> CasePlan:
    """Tell how many cases would separate the first from the second.

    Test sets of many sizes are drawn from the cases at hand, with replacement, whole clusters, each stratum growing in
    proportion. By a criterion that is a mean, or behaves like one, two are separated where their paired difference
    exceeds Student's t times the error that the drawn test set itself shows. Where several criteria decide, or
    quantiles, or counts of tests, it is told in how many of the test sets the rule places the first before the second.

    Parameters
    ----------
    level
        Of the two-sided interval that must exclude zero.
    chance
        With what chance a test set of the number told is to separate them.
    replicates, seed
        How many test sets of each size, and which.

    References
    ----------
    Perugini, Gallucci and Costantini 2014, Perspectives on Psychological Science 9(3), for the cautious lead.
    """
    for what, share in (("level", level), ("chance", chance)):
        if not 0 < share < 1:
            raise InputError(f"the {what} is {share}, but must lie between 0 and 1, as 0.8 does")
    if replicates < 1:
        raise InputError(f"{replicates} test sets are too few", advice="2000 are usual")
    check_resamples(replicates)
    clusters = len(rule.units.names)
    if clusters < 2:
        raise InputError(
            "there is only a single case, so no other test sets can be drawn", advice="Rank without a plan"
        )
    one, two, note = _first_two(rule)
    leads = _leads(rule, one, two)
    by_rule = len(rule.published.criteria) > 1 or not leads
    chances: dict[float, list[tuple[float, float]]] = {}
    order: dict[float, float] = {}
    for number, factor in enumerate(FACTORS):
        if factor < 1 and factor * clusters < FEWEST:
            continue
        draws = draw_sets(rule.units, factor, sets=replicates, seed=(seed, number))
        chances[factor] = [lead.chances(draws, rule.units, level) for lead in leads]
        if by_rule:
            places = np.concatenate([rule.score(rule.units.weights(counts)).places for counts in draws])
            order[factor] = float(np.mean(places[:, one] < places[:, two]))
        if progress:
            progress(number + 1, len(FACTORS))
        settled = all(
            share >= 0.95 or not lead > 0
            for own, shares in zip(leads, chances[factor], strict=True)
            for lead, share in zip((own.lead, own.low), shares, strict=True)
        )
        if factor >= 1 and settled and order.get(factor, 1.0) >= max(0.99, level):
            break
    return CasePlan(
        first=rule.submissions[one],
        second=rule.submissions[two],
        note=note,
        level=level,
        separations=tuple(
            Separation(
                lead.criterion,
                lead.lead,
                lead.low,
                lead.clusters,
                _sizes(chances, lead.clusters),
                tuple(shares[index][0] for shares in chances.values()),
                tuple(shares[index][1] for shares in chances.values()),
                chance,
            )
            for index, lead in enumerate(leads)
        ),
        present=clusters,
        sizes=_sizes(order, clusters),
        order=tuple(order.values()),
        unit=rule.unit_words,
        whole=clusters < len(rule.rows),
        replicates=replicates,
        seed=seed,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Lead:
    """The lead of the first by one criterion, what it owes to each cluster, and the lower end of its interval."""

    criterion: Measure
    lead: float
    low: float
    effect: Floats
    strata: tuple[slice, ...]
    clusters: int

    def chances(self, draws: Sequence[Floats], units: Units, level: float) -> tuple[float, float]:
        """Return the share of drawn test sets that separate the two, if the lead is true and if its lower end is."""
        from scipy.stats import t

        parts = [moved_by(self.effect, units, counts) for counts in draws]
        moved, error = (np.concatenate(part) for part in zip(*parts, strict=True))
        freedom = sum(draws[0][0, stratum].sum() - 1 for stratum in self.strata)
        limit = t.ppf((1 + level) / 2, max(freedom, 1)) * error
        # A difference that never varies is evidence; test sets that happen to repeat one case are not.
        judged = (error > 0) | (not self.effect.any())
        seen, cautious = (float(np.mean(judged & (lead + moved > limit))) for lead in (self.lead, self.low))
        return seen, cautious


def _leads(rule: Rule, one: int, two: int) -> list[_Lead]:
    """Return the leads by the criteria that are means or behave like one."""
    from scipy.stats import t

    units, ranked = rule.units, np.flatnonzero(rule.ranked).tolist()
    smooth = [column for column in rule.published.criteria if column.smooth]
    effects = influences(rule, rule.published, smooth)
    leads = []
    for column in smooth:
        sign = 1.0 if column.measure.direction is Direction.HIGHER else -1.0
        own = effects[column.name]
        effect = sign * (own[ranked.index(one)] - own[ranked.index(two)])
        lead = sign * float(column.values[0, one] - column.values[0, two])
        if not (np.isfinite(lead) and np.isfinite(effect).all()):
            continue
        inside = np.ones(len(units.names), bool)
        if column.rows is not None:
            inside = np.isin(np.arange(len(inside)), units.cluster[~np.isnan(column.rows).all(axis=0)])
        strata = tuple(stratum for stratum in units.strata if inside[stratum].any())
        error = float(moved_by(effect, units, np.ones((1, len(inside))))[1][0])
        freedom = max(sum(stratum.stop - stratum.start - 1 for stratum in strata), 1)
        low = lead - float(t.ppf((1 + CAUTION) / 2, freedom)) * error
        leads.append(_Lead(column.measure, lead, low, _widened(effect, units), strata, int(inside.sum())))
    return leads


def _widened(effect: Floats, units: Units) -> Floats:
    """Return influences that vary as those of all cases of the kind do: a sample varies by a little less."""
    wide = np.zeros(len(effect))
    for stratum in units.strata:
        size = stratum.stop - stratum.start
        wide[stratum] = (effect[stratum] - effect[stratum].mean()) * math.sqrt(size / max(size - 1, 1))
    return wide


def _first_two(rule: Rule) -> tuple[int, int, str]:
    """Return who stands first and second on the board, and in words who shares these places."""
    entries = rule.leaderboard().ranked
    if len(entries) < 2:
        raise InputError("fewer than two are ranked, so there is nobody to be separated from")
    first, second = entries[:2]
    sharing = [entry.submission for entry in entries if entry.place == second.place]
    note = ""
    if len(sharing) > 1:
        note = (
            f"{shortened(sharing)} share place {second.place}; {first.submission} and {second.submission} are compared."
        )
    return rule.submissions.index(first.submission), rule.submissions.index(second.submission), note


def _sizes(drawn: Mapping[float, object], clusters: int) -> tuple[int, ...]:
    return tuple(max(round(factor * clusters), 1) for factor in drawn)


def _about(needed: int, sizes: Sequence[int]) -> str:
    return f"{needed:,} or fewer" if needed <= sizes[0] else f"about {needed:,}"


def _would(needed: int, present: int) -> str:
    return "are" if needed > present else "would have been"


def _number(value: float, measure: Measure) -> str:
    """Return a lead for people: with the measure's digits, or as many as a small one needs."""
    digits = max(measure.digits, 1 - math.floor(math.log10(abs(value)))) if value else measure.digits
    return shown_number(value, digits, measure.unit)


def _share(share: float | None) -> str:
    if share is None:
        return "–"
    return "less than 1 %" if share < 0.01 else "more than 99 %" if share > 0.99 else f"{100 * share:.0f} %"

"""Whether a declaration can be measured and ranked at all; if not, where it is wrong and what would be right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from podium.challenges.kinds.declarations import Misdeclared, Quantity
from podium.challenges.kinds.scoring import SCORE
from podium.metrics.registry import metrics
from podium.model import Direction, InputError, Measure, Metric
from podium.model.errors import nearest
from podium.ranking import AVERAGE_RANK

if TYPE_CHECKING:
    from podium.challenges.kinds.declared import DeclaredChallenge

__all__ = ["check_quantities", "check_ranking"]

Place = tuple[str | int, ...]


def check_quantities(challenge: DeclaredChallenge) -> None:
    """Refuse what cannot be measured, and prices that are left open or would let failures pay."""
    names = [quantity.called for quantity in challenge.quantities]
    for number, quantity in enumerate(challenge.quantities):
        at = ("quantities", number)
        _check_targets(challenge, at, quantity)
        if quantity.called in (*names[:number], challenge.time.name, *challenge.reserved):
            raise Misdeclared(
                f"{quantity.called!r} is the name of another measure",
                *at,
                "name" if quantity.name else "metric",
                advice='Give this one a name of its own: name = "…"',
            )
        metric = challenge.metric_of(quantity)
        if quantity.decides and metric.direction is not Direction.NONE:
            _check_decision(at, quantity, metric, challenge)
        _check_price(challenge, at, quantity, metric)
        _check_options(challenge, at, quantity, metric)


def _check_targets(challenge: DeclaredChallenge, at: Place, quantity: Quantity) -> None:
    metric = challenge.metric_of(quantity)
    if not challenge.takes(metric):
        usable = ", ".join(other.name for other in metrics() if challenge.takes(other))
        raise Misdeclared(
            f"{metric.name} is a metric of {metric.family}, which is not for {challenge.kind}",
            *at,
            "metric",
            advice=f"For {challenge.kind} there are: {usable}",
        )
    if "of" in quantity.model_fields_set and not quantity.of:
        raise Misdeclared("it is measured of nothing", *at, "of", advice="Name some, or leave it out")
    for number, target in enumerate(quantity.of):
        if target in quantity.of[:number]:
            raise Misdeclared(f"{target!r} is there twice", *at, "of", advice="Name each once")
        if target not in challenge.targets:
            advice = nearest(target, challenge.targets)
            raise Misdeclared(f"there is nothing called {target!r} to measure", *at, "of", advice=advice)
    targets = challenge.targets_of(quantity)
    for key, table in {"failed": quantity.failed, "weight": quantity.weight, **quantity.options}.items():
        if not isinstance(table, Mapping):
            continue
        for target in table:
            if target not in targets:
                advice = nearest(target, targets)
                raise Misdeclared(f"this is not measured of {target!r}", *at, key, target, advice=advice)
        left = [target for target in targets if target not in table]
        if left and key != "weight":
            lacking = "what a failed case costs" if key == "failed" else key
            raise Misdeclared(f"{lacking} is left open for {left[0]!r}", *at, key, advice="Add it")


def _check_decision(at: Place, quantity: Quantity, metric: Metric[..., Any], challenge: DeclaredChallenge) -> None:
    """Refuse to rank by what cannot be ranked, or has no price."""
    if metric.direction is Direction.ZERO:
        raise Misdeclared(
            f"{metric.name} is best at zero, so that its values cancel out in a mean and cannot be ranked",
            *at,
            "metric",
            advice="Write decides = false to show it only, or take another metric",
        )
    if quantity.failed is None:
        raise Misdeclared(
            f"it is not said what a failed case costs in {metric.name}",
            *at,
            advice=f'Write failed = {challenge.worst_price(metric)}, or failed = "not ranked"',
        )
    if math.isnan(metric.empty.get("both", 0.0)) and quantity.absent == "count":
        raise Misdeclared(
            f"{metric.name} has no value where truth and prediction are both empty",
            *at,
            "metric",
            advice='Write absent = "leave out" to leave out cases whose truth lacks the target',
        )


def _check_price(challenge: DeclaredChallenge, at: Place, quantity: Quantity, metric: Metric[..., Any]) -> None:
    """Refuse a price that is no value of the metric, or its best."""
    if quantity.failed is None:
        return
    prices = quantity.failed if isinstance(quantity.failed, Mapping) else {"": quantity.failed}
    for target, cost in prices.items():
        if isinstance(cost, str):
            _check_words(challenge, (*at, "failed", *((target,) if target else ())), cost, alone=not target)
    if misfit := challenge.misfit(quantity, metric):
        raise Misdeclared(misfit[0], *at, "failed", advice=misfit[1])
    for target, cost in prices.items():
        where = (*at, "failed", *((target,) if target else ()))
        advice = f"Write {challenge.worst_price(metric)}"
        if isinstance(cost, str):
            continue
        if not metric.minimum <= cost <= metric.maximum:
            low, high = metric.minimum, metric.maximum
            raise Misdeclared(
                f"{cost:g} is no value of {metric.name}, which lies from {low:g} to {high:g}", *where, advice=advice
            )
        if cost == metric.perfect:
            raise Misdeclared(
                f"{cost:g} is the best value of {metric.name}, so that failing would pay", *where, advice=advice
            )


def _check_options(challenge: DeclaredChallenge, at: Place, quantity: Quantity, metric: Metric[..., Any]) -> None:
    """Refuse options that a metric does not take, or by which not even the truth would be right: teams would pay."""
    tried: list[dict[str, Any]] = []
    for target in challenge.targets_of(quantity):
        options = quantity.options_of(target)
        if not options or options in tried:
            continue
        tried.append(options)
        where = (*at, next(iter(options)))
        try:
            value = challenge.perfect_value(metric, options)
        except InputError as error:
            raise Misdeclared(error.problem, *where, advice=error.advice or "") from None
        if value is not None and metric.perfect is not None and not math.isclose(value, metric.perfect, abs_tol=1e-9):
            problem = f"by these options a perfect prediction would have {value:g} in {metric.name}"
            raise Misdeclared(problem, *where, advice=f"It should be {metric.perfect:g}: change them")


def _check_words(challenge: DeclaredChallenge, where: Place, cost: str, *, alone: bool) -> None:
    known = ["not ranked", *challenge.costs]
    if cost not in known:
        raise Misdeclared(f"no price is called {cost!r}", *where, advice=f"Write a number, or: {', '.join(known)}")
    if cost == "not ranked" and not alone:
        raise Misdeclared("'not ranked' holds for all targets alike", *where, advice='Write failed = "not ranked"')


def check_ranking(challenge: DeclaredChallenge) -> None:
    """Refuse rules that do not go together, and names of columns that do not exist."""
    rules, criteria = challenge.ranking, challenge.criteria
    if not criteria:
        raise Misdeclared("nothing decides", "quantities", 0, advice="Let one measure decide")
    if not sum(challenge.weight_of(*criterion) for criterion in criteria) + challenge.timing.weight > 0:
        raise Misdeclared("no criterion counts anything", "quantities", 0, "weight", advice="Give one a weight above 0")
    if rules.test is not None and rules.scheme == "weighted mean":
        advice = 'Leave the test out, or write scheme = "mean rank"'
        raise Misdeclared("a weighted mean makes no test", "ranking", "test", advice=advice)
    if rules.scheme == "weighted mean":
        _check_mean(challenge, criteria)
    row_by_row = (
        rules.test is not None or rules.scheme in ("rank then mean", "test then rank") or rules.statistic != "mean"
    )
    for quantity, _ in criteria:
        if row_by_row and challenge.pooled(quantity):
            key = "test" if rules.test is not None else "statistic" if rules.statistic != "mean" else "scheme"
            problem = f"{quantity.metric} is one number for all cases, which {key} cannot take case by case"
            raise Misdeclared(
                problem, "ranking", key, advice='Write scheme = "mean rank" or "weighted mean", and no more'
            )
    if rules.statistic != "mean" and (rules.test is not None or rules.scheme == "test then rank"):
        raise Misdeclared("tests compare means", "ranking", "statistic", advice="Leave the statistic out, or the test")
    _check_headings(challenge)
    columns = {measure.column: measure for _, measure in criteria}
    parting = (*columns, challenge.time.name)
    for name in rules.ties:
        if name not in parting:
            raise Misdeclared(f"there is no column {name!r}", "ranking", "ties", advice=nearest(name, parting))
    for key in ("at_least", "at_most"):
        for name, limit in getattr(challenge.eligibility, key).items():
            at = ("eligibility", key, name)
            if name not in columns:
                raise Misdeclared(f"there is no column {name!r}", *at, advice=nearest(name, columns))
            wrong = Direction.LOWER if key == "at_least" else Direction.HIGHER
            if columns[name].direction is wrong:
                other = "at_most" if key == "at_least" else "at_least"
                problem = f"{name} is better when {wrong.value.split()[0]}, so that {key} would refuse the better"
                raise Misdeclared(problem, *at, advice=f"Write {other}")
            low, high = columns[name].minimum, columns[name].maximum
            if not low <= limit <= high:
                advice = f"{name} lies from {low:g} to {high:g}"
                raise Misdeclared(f"{limit:g} is no value of {name}", *at, advice=advice)


def _check_headings(challenge: DeclaredChallenge) -> None:
    """Refuse two columns of one name."""
    heads = {AVERAGE_RANK.name, SCORE.name, challenge.time.name, Measure.rank_of(challenge.time).name}
    for quantity, measure in challenge.columns:
        name = measure.column
        own = {name, Measure.rank_of(measure.as_column()).name}
        if double := own & heads:
            at = ("quantities", challenge.quantities.index(quantity))
            problem = f"two columns would be called {min(double)!r}"
            raise Misdeclared(problem, *at, advice='Give this measure another name: name = "…"')
        heads |= own


def _check_mean(challenge: DeclaredChallenge, criteria: Sequence[tuple[Quantity, Measure]]) -> None:
    """Refuse to add up what is better in different directions or has different units."""
    first = criteria[0][1]
    advice = 'Write scheme = "mean rank", or decides = false for one of them'
    for quantity, measure in criteria:
        at = ("quantities", challenge.quantities.index(quantity), "metric")
        if measure.direction is not first.direction:
            problem = f"{first.name} and {measure.name} are better in different directions, and have no mean"
            raise Misdeclared(problem, *at, advice=advice)
        if measure.unit != first.unit:
            one, other = (f"{m.name} ({m.unit or 'a plain number'})" for m in (first, measure))
            raise Misdeclared(f"{one} and {other} have no mean", *at, advice=advice)
    if challenge.timing.weight:
        raise Misdeclared("seconds cannot be part of a weighted mean", "timing", "weight", advice=advice)

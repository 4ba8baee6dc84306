"""How places are made, in words for participants, from what a challenge declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from podium.challenges.kinds.declarations import PairedTest

if TYPE_CHECKING:
    from podium.challenges.kinds.declared import DeclaredChallenge

__all__ = ["placing_words"]


def placing_words(challenge: DeclaredChallenge) -> tuple[str, ...]:
    """Return a sentence or two for every rule."""
    return (*_scheme(challenge), *_weights(challenge), *_demands(challenge), *_resampling(challenge))


def _scheme(challenge: DeclaredChallenge) -> Iterator[str]:
    rules, cases = challenge.ranking, challenge.words.row[1]
    terms = [measure.title for _, measure in challenge.criteria]
    over = {"mean": "averaged", "median": "reduced to its median"}.get(
        str(rules.statistic), f"reduced to its quantile {rules.statistic}"
    )
    pooled = all(challenge.pooled(quantity) for quantity, _ in challenge.criteria)
    summed = f"computed over all {cases}" if pooled else f"{over} over {cases}"
    terms += ["time"] if challenge.timing.weight else []
    many = len(terms) > 1
    yield f"{f'{len(terms)} criteria' if many else 'One criterion'}: {'; '.join(terms)}."
    subject = "Each" if many else "It"
    last = "; the ranks are averaged, and the lowest average wins." if many else "."
    match rules.scheme:
        case "mean rank":
            yield f"{subject} is {summed} and ranks the teams{last}"
        case "rank then mean":
            yield f"Teams are ranked in every one of the {cases}, and these ranks are {over}{last}"
        case "test then rank":
            yield f"{subject} ranks the teams by how many others they are significantly better than{last}"
            yield f"Significant is: {_test(rules.test or PairedTest())}."
        case "weighted mean":
            score = "their weighted mean" if many else "that"
            yield f"{subject} is {summed}; {score} is the score, and the best score wins."
    if rules.test is not None and rules.scheme != "test then rank":
        yield f"{'In each, o' if many else 'O'}nly significant differences part teams: {_test(rules.test)}."
    if rules.ties:
        yield f"Equal places are parted by {', then '.join(rules.ties)}; who is equal in all shares the place."


def _test(test: PairedTest) -> str:
    adjusted = "" if test.adjustment == "none" else f", p-values adjusted by {test.adjustment.capitalize()}"
    return f"a paired Wilcoxon signed-rank test, p < {test.alpha:g}{adjusted}"


def _weights(challenge: DeclaredChallenge) -> Iterator[str]:
    weights = {measure.title: challenge.weight_of(quantity, measure) for quantity, measure in challenge.criteria}
    if challenge.timing.weight:
        weights["time"] = challenge.timing.weight
    if len(set(weights.values())) > 1:
        yield f"Weights: {'; '.join(f'{name} {weight:g}' for name, weight in weights.items())}."


def _demands(challenge: DeclaredChallenge) -> Iterator[str]:
    demands = challenge.eligibility
    limits = [f"{name} of at least {limit:g}" for name, limit in demands.at_least.items()]
    limits += [f"{name} of at most {limit:g}" for name, limit in demands.at_most.items()]
    if limits:
        yield f"Who is ranked needs {' and '.join(limits)}, over all {challenge.words.row[1]}."
    if demands.better_than:
        where = "every criterion" if demands.better_in == "all" else "at least one criterion"
        yield f"Who is ranked must be better than {demands.better_than} in {where}."


def _resampling(challenge: DeclaredChallenge) -> Iterator[str]:
    cluster, (one, _) = challenge.files.cluster, challenge.words.cluster
    if cluster is not None:
        yield f"For intervals, {challenge.words.row[1]} of one {one}, {cluster}, are resampled together."

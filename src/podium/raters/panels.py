"""A panel: several plausible references of one case, and how far they agree, pair by pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from podium.metrics import Structure, StructurePair, SurfaceDistances, get_metric
from podium.model import InputError, Measure

__all__ = [
    "PairValues",
    "RaterAgreement",
    "RaterPanel",
    "StructurePanel",
    "agreement_of",
    "rater_measures",
    "tolerance_mm",
]

Quantity: TypeAlias = tuple[str, str]
"""Metric and target."""
Level: TypeAlias = tuple[str, float]
"""Target and percentile."""


@dataclass(frozen=True, slots=True)
class RaterPanel:
    """Several plausible references of one case.

    Attributes
    ----------
    members
        Their names, each once.
    groups
        Places in `members`; within a group nothing is shared, so that its members can be compared. A member may be in
        several groups, and groups may be equal: they then count as often as they are listed.
    """

    members: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def pairs(self) -> tuple[tuple[int, int, int], ...]:
        """Return every pair within a group: the group, then two places in `members`, the reference first."""
        return tuple(
            (number, one, other)
            for number, group in enumerate(self.groups)
            for place, one in enumerate(group)
            for other in group[place + 1 :]
        )

    @property
    def weights(self) -> tuple[int, ...]:
        """Return how often each member counts where something is compared with every sample."""
        listed = [member for group in self.groups for member in group]
        return tuple(listed.count(member) for member in range(len(self.members)))


@dataclass(frozen=True, slots=True)
class PairValues:
    """What is measured of a pair: every metric of every target, and tolerances in mm; NaN where there is none."""

    values: Mapping[Quantity, float]
    tolerances: Mapping[Level, float]


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """How far the members of a case's panel agree.

    Attributes
    ----------
    case
        Its name.
    panel
        Who was compared with whom.
    values
        Of every metric and target, one number per pair of `panel.pairs`; NaN where the metric is undefined.
    tolerances
        Of every target and percentile likewise, in mm; NaN where the target is empty in either of the two.
    remarks
        What a reader should know about this case.
    """

    case: str
    panel: RaterPanel
    values: Mapping[Quantity, tuple[float, ...]]
    tolerances: Mapping[Level, tuple[float, ...]]
    remarks: tuple[str, ...] = ()

    def variability(self, metric: str, target: str = "") -> float:
        """Return the mean over pairs within groups, then over groups; NaN if any pair is undefined."""
        return self._mean(self.values[metric, target])

    def tolerance(self, target: str, percentile: float = 95.0) -> float:
        """Return the mean over pairs in mm; NaN if any pair is undefined."""
        return self._mean(self.tolerances[target, percentile])

    def _mean(self, numbers: Sequence[float]) -> float:
        groups: dict[int, list[float]] = {}
        for (group, _, _), number in zip(self.panel.pairs, numbers, strict=True):
            groups.setdefault(group, []).append(number)
        if not groups:
            return math.nan
        return _mean([_mean(group) for group in groups.values()])


def agreement_of(
    case: str, panel: RaterPanel, measure: Callable[[int, int], PairValues], *, remarks: Sequence[str] = ()
) -> RaterAgreement:
    """Measure every pair within groups, each distinct one once.

    Parameters
    ----------
    case
        Its name.
    panel
        Whose members are compared.
    measure
        Measures the members at two places.
    remarks
        What a reader should know about this case.
    """
    if not panel.pairs:
        raise InputError("there is only one complete annotation, so no two raters can be compared")
    known = {(one, other): PairValues({}, {}) for _, one, other in panel.pairs}
    for pair in known:
        known[pair] = measure(*pair)
    measured = [known[one, other] for _, one, other in panel.pairs]
    return RaterAgreement(
        case=case,
        panel=panel,
        values={key: tuple(pair_values.values[key] for pair_values in measured) for key in measured[0].values},
        tolerances={
            key: tuple(pair_values.tolerances[key] for pair_values in measured) for key in measured[0].tolerances
        },
        remarks=tuple(remarks),
    )


def tolerance_mm(distances: SurfaceDistances, *, percentile: float = 95.0) -> float:
    """Return the mean of the two directed percentiles of distance, in mm: the tolerance that one pair asks for.

    Boundary elements count alike, whatever their area, and percentiles are interpolated linearly. NaN where either
    boundary is empty.
    """
    if not 0 <= percentile <= 100:
        raise InputError(f"a percentile lies between 0 and 100, not {percentile}")
    if distances.empty:
        return math.nan
    return _mean([directed.linear_percentile(percentile) for directed in distances.directed])


def rater_measures(names: Sequence[str], *, besides: Sequence[Measure] = ()) -> list[Measure]:
    """Return measures by the names of their metrics, after some that are given; which need not be named again.

    Between raters there is no reference, so that a metric must be symmetric.
    """
    measures = list(besides)
    for name in names:
        if name in {measure.name for measure in measures}:
            continue
        metric = get_metric(name)
        if metric.family not in ("overlap", "surface", "centres"):
            raise InputError(f"{name} is no metric of segmentations, so raters cannot be compared with it")
        if not metric.symmetric:
            raise InputError(
                f"{name} depends on which of two is the reference, and between raters neither is",
                advice="Ask for a symmetric metric, such as dice or hausdorff_distance_95",
            )
        measures.append(Measure.by(metric))
    return measures


class StructurePanel:
    """A panel whose members are segmentations, every target of every member prepared once.

    Parameters
    ----------
    panel
        Whose members.
    members
        For each target, the structure of every member; members with the same structure share the object.
    """

    def __init__(self, panel: RaterPanel, members: Mapping[str, Sequence[Structure]]) -> None:
        self.panel = panel
        self.members = members

    def agreement(
        self,
        case: str,
        *,
        measures: Sequence[Measure],
        spacing_mm: tuple[float, ...],
        percentiles: Sequence[float] = (),
        remarks: Sequence[str] = (),
    ) -> RaterAgreement:
        """Compare the members within groups; each distinct pair of structures is measured once."""
        pairs = _Pairs(measures, spacing_mm, surface=bool(percentiles))

        def compared(one: int, other: int) -> PairValues:
            compared_targets = {
                target: pairs(structures[one], structures[other]) for target, structures in self.members.items()
            }
            return PairValues(
                {
                    (m.name, target): m(measured, target)
                    for target, measured in compared_targets.items()
                    for m in measures
                },
                {
                    (target, level): tolerance_mm(measured["surface"], percentile=level)
                    for target, measured in compared_targets.items()
                    for level in percentiles
                },
            )

        return agreement_of(case, self.panel, compared, remarks=remarks)

    def against(
        self, prediction: Mapping[str, Structure], *, measures: Sequence[Measure], spacing_mm: tuple[float, ...]
    ) -> dict[Quantity, float]:
        """Compare a prediction with every member; the mean, members that are in several groups counting as often."""
        weights = self.panel.weights
        pairs = _Pairs(measures, spacing_mm)
        result: dict[Quantity, float] = {}
        for target, members in self.members.items():
            pairings = [pairs(member, prediction[target]) for member in members]
            for measure in measures:
                numbers = [
                    measure(measured, target)
                    for weight, measured in zip(weights, pairings, strict=True)
                    for _ in range(weight)
                ]
                result[measure.name, target] = _mean(numbers)
        return result


class _Pairs:
    """What the families of metrics need to know of two structures, found out once for each distinct pair."""

    def __init__(self, measures: Sequence[Measure], spacing_mm: tuple[float, ...], *, surface: bool = False) -> None:
        self._families = {measure.metric.family for measure in measures if measure.metric} | (
            {"surface"} if surface else set()
        )
        self._spacing_mm = spacing_mm
        self._known: dict[tuple[int, int], dict[str, Any]] = {}

    def __call__(self, one: Structure, other: Structure) -> dict[str, Any]:
        """Return overlap, surface and centres, as far as they are needed; both must stay alive meanwhile."""
        key = id(one), id(other)
        if key not in self._known:
            pair = StructurePair(one, other, self._spacing_mm)
            names = {"overlap": "overlap", "surface": "distances", "centres": "centres"}
            self._known[key] = {family: getattr(pair, names[family]) for family in sorted(self._families)}
            self._known[key[::-1]] = self._known[key]  # metrics here do not ask who is the reference
        return self._known[key]


def _mean(numbers: Sequence[float]) -> float:
    """Return the mean; infinite or NaN where a number is."""
    if all(math.isfinite(number) for number in numbers):
        return math.fsum(numbers) / len(numbers)
    return sum(numbers) / len(numbers)

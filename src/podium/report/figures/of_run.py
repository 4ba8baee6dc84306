"""From a run to figures: which values each figure is drawn from, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from podium.model import Column, Direction, Floats, Measure, Purpose, Role, shown_level
from podium.ranking import counted_seconds
from podium.report.data import ReportData
from podium.report.figures import against_people, cases, heatmaps, ranks, values
from podium.report.figures._frame import case_ranks
from podium.report.figures.alive import orders, points, tell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from podium.ranking.inference.confidence import Confidence

__all__ = ["Drawn", "Nothing", "has_a_field", "has_several_measures", "knows_runs"]

PANELS = 4
"""Side by side in one figure."""
MOST_COLUMNS = 16
"""Of a leaderboard, in forest plots."""
MOST_COUNTED = 60
"""Submissions whose places within cases are told cell by cell; of more, the numbers would fill the page."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is no such figure of a run, and why."""

    reason: str


Drawn: TypeAlias = "list[tuple[str, Figure]] | Nothing"


def knows_runs(data: ReportData) -> bool:
    """Return whether there may be times and people, of which a table knows nothing."""
    return data.challenge is not None


def has_a_field(data: ReportData) -> bool:
    """Return whether places tell more than who of two is better, which other figures show, or than nothing, of one."""
    return len(data.competitors) not in (1, 2)


def has_several_measures(data: ReportData) -> bool:
    """Return whether there are measures to compare, or a run that ought to have them."""
    return knows_runs(data) or len(data.measures) > 1


def _per_measure(data: ReportData, drawn: Callable[[Measure], Figure], *, ranked: bool = False) -> Drawn:
    """Draw a figure for every measure."""
    if not data.seen or (ranked and not set(data.competitors) <= set(data.seen)):
        return Nothing("It shows single cases, which are not public.")
    if ranked and not data.competitors:
        return Nothing("Nobody is ranked.")
    if not data.measures:
        return Nothing("Nothing that decides was measured of single cases.")
    return [(measure.title, drawn(measure)) for measure in data.measures]


def _told_cases(data: ReportData, measure: Measure) -> dict[str, Any]:
    """Return which values of the page are the points of a figure; cases only where they are not all."""
    chosen = data.cases_of(measure).tolist()
    own = {} if len(chosen) == len(data.cases) else {"cases": chosen}
    return {"measure": data.measures.index(measure), **own}


def draw_dots_and_boxes(data: ReportData) -> Drawn:
    """Draw every case, one figure a measure."""

    def drawn(measure: Measure) -> Figure:
        figure = cases.dots_and_boxes(
            data.values(measure, data.seen)[:, data.cases_of(measure)],
            submissions=data.seen,
            label=measure.label,
            failed=data.failed(measure, data.seen)[:, data.cases_of(measure)],
            failed_word=data.called.failed,
            looks=data.looks,
        )
        tell(figure.axes[0], "dots", **_told_cases(data, measure))
        return figure

    return _per_measure(data, drawn)


def draw_podium_plot(data: ReportData) -> Drawn:
    """Draw who took which place in each case, one figure a measure."""
    names = data.competitors
    teams = [data.submissions.index(name) for name in names]

    def drawn(measure: Measure) -> Figure:
        matrix = data.values(measure, names)[:, data.cases_of(measure)]
        figure = cases.podium_plot(
            matrix, submissions=names, direction=measure.direction, label=measure.label, looks=data.looks
        )
        order = orders(case_ranks(matrix, measure.direction), cases.PLACES)
        tell(figure.axes[0], "podium", teams=teams, orders=order, **_told_cases(data, measure))
        return figure

    return _per_measure(data, drawn, ranked=True)


def draw_ranking_heatmap(data: ReportData) -> Drawn:
    """Draw how often each took each place, one figure a measure."""
    names = data.competitors
    teams = [data.submissions.index(name) for name in names]

    def drawn(measure: Measure) -> Figure:
        matrix = data.values(measure, names)[:, data.cases_of(measure)]
        figure = heatmaps.ranking_heatmap(
            matrix, submissions=names, direction=measure.direction, label=measure.label, looks=data.looks
        )
        if len(names) <= MOST_COUNTED:
            counts = heatmaps.place_counts(matrix, measure.direction)
            tell(figure.axes[0], "counts", teams=teams, counts=counts.tolist())
        return figure

    return _per_measure(data, drawn, ranked=True)


def draw_case_heatmap(data: ReportData) -> Drawn:
    """Draw every result as a cell, one figure a measure."""

    def drawn(measure: Measure) -> Figure:
        own = data.cases_of(measure)
        matrix = data.values(measure, data.seen)[:, own]
        figure = heatmaps.case_heatmap(
            matrix,
            submissions=data.seen,
            cases=[data.cases[index] for index in own],
            direction=measure.direction,
            label=measure.label,
            failed=data.failed(measure, data.seen)[:, own],
            failed_word=data.called.failed,
            bounds=(measure.minimum, measure.maximum),
            looks=data.looks,
        )
        order = own[heatmaps.difficulty(matrix, measure.direction)].tolist()
        tell(figure.axes[0], "cells", **_told_cases(data, measure) | {"cases": order})
        return figure

    return _per_measure(data, drawn)


def draw_metric_correlation(data: ReportData) -> Drawn:
    """Draw how measures agree."""
    measures = data.measures
    if not measures:
        return Nothing("Nothing that decides was measured of single cases.")
    if len(measures) < 2:
        return Nothing("There is only one measure, so there is nothing to compare it with.")
    table = np.stack([data.values(measure) for measure in measures])
    if (np.isfinite(table).sum(axis=0) < 2).all():
        return Nothing(f"No two {data.called.criteria} have a case in common.")
    varying = sum(np.unique(row[np.isfinite(row)]).size > 1 for row in table)
    if varying < 2:
        which = "Only one measure tells results apart" if varying else "All results are the same"
        return Nothing(f"{which}, so there is nothing to agree about.")
    return [
        (
            "",
            heatmaps.metric_correlation(
                table,
                labels=[measure.title for measure in measures],
                directions=[measure.direction for measure in measures],
            ),
        )
    ]


def _order(data: ReportData, names: tuple[str, ...]) -> list[int]:
    """Return where the competitors of an assessment stand, in the order of the board."""
    return [names.index(name) for name in data.competitors]


def draw_blob_plot(data: ReportData) -> Drawn:
    """Draw places in resamples."""
    if data.assessment is None:
        return Nothing(data.unassessed)
    if len(data.competitors) < 2:
        return Nothing("There is only one competitor, who is first in every resample.")
    stability, confidence = data.assessment.stability, data.assessment.confidence
    order = _order(data, stability.submissions)
    intervals = [(confidence.ranks[index].best, confidence.ranks[index].worst) for index in order]
    figure = ranks.blob_plot(
        stability.places[:, order],
        submissions=data.competitors,
        intervals=intervals,
        level=confidence.level,
        looks=data.looks,
    )
    tell(figure.axes[0], "shares", teams=[data.submissions.index(name) for name in data.competitors])
    return [("", figure)]


def draw_lines_over_schemes(data: ReportData) -> Drawn:
    """Draw places under other rules."""
    if data.assessment is None:
        return Nothing(data.unassessed)
    if len(data.competitors) < 2:
        return Nothing("There is only one competitor, who is first by every rule.")
    other = data.assessment.sensitivity
    order = _order(data, other.submissions)
    if not other.alternatives:
        return Nothing("There is no other rule to compare with.")
    if all((alternative.places == 1).all() for alternative in other.alternatives) and (other.published == 1).all():
        return Nothing("Everybody shares first place by every rule.")
    places = {"as published": other.published[order]} | {
        alternative.name: alternative.places[order] for alternative in other.alternatives
    }
    tau = {alternative.name: alternative.tau for alternative in other.alternatives}
    figure = ranks.lines_over_schemes(places, submissions=data.competitors, tau=tau, looks=data.looks)
    matrix = np.stack(list(places.values()), axis=1)
    teams = [data.submissions.index(name) for name in data.competitors]
    points(
        figure.axes[0],
        ranks.side_by_side(matrix).ravel(),
        np.tile(np.arange(float(len(places))), len(teams)),
        teams=np.repeat(teams, len(places)).tolist(),
        says=[f"{rule}: place {place:g}" for row in matrix for rule, place in zip(places, row, strict=True)],
        measured="",
    )
    return [("", figure)]


def draw_tau_violin(data: ReportData) -> Drawn:
    """Draw how far other rankings agree with the published one."""
    if data.assessment is None:
        return Nothing(data.unassessed)
    if len(data.competitors) < 2:
        return Nothing("There is only one competitor, so there is no order to agree with.")
    assessment, (one, many) = data.assessment, data.rule.unit_words
    groups: dict[str, Floats] = {
        f"{len(assessment.stability.tau):,} resamples\nof the {many}": assessment.stability.tau,
        f"{len(assessment.left_out):,} times\none {one} left out": np.array(
            [left_out.tau for left_out in assessment.left_out]
        ),
    }
    if rules := assessment.sensitivity.alternatives:
        groups[f"{len(rules)} other rules"] = np.array([rule.tau for rule in rules])
    if all(np.isnan(tau).all() for tau in groups.values()):
        return Nothing("Everybody shares one place, so there is no order to agree with.")
    return [("", ranks.tau_violin(groups))]


def draw_significance_map(data: ReportData) -> Drawn:
    """Draw who is better than whom: by all criteria together, then by each."""
    if data.assessment is None:
        return Nothing(data.unassessed)
    if len(data.competitors) < 2:
        return Nothing("There is only one competitor, so there is nobody to compare with.")
    confidence = data.assessment.confidence
    if not confidence.pairs:
        return Nothing("No criterion could be compared between two competitors.")
    order = np.ix_(*[_order(data, confidence.submissions)] * 2)
    groups = {"": confidence.pairs} if len(confidence.pairs) == 1 else {"all criteria": confidence.pairs}
    if len(confidence.pairs) > 1:
        groups |= {pair.criterion.measure.title: (pair,) for pair in confidence.pairs}
    alpha = 1 - confidence.level
    if not any((pair.adjusted[order] < alpha).any() for pair in confidence.pairs):
        return Nothing(_no_test_tells(data, confidence))
    return [
        (
            suffix,
            ranks.significance_map(
                [pair.adjusted[order] for pair in pairs],
                [pair.difference[order] for pair in pairs],
                submissions=data.competitors,
                directions=[pair.criterion.measure.direction for pair in pairs],
                alpha=alpha,
                looks=data.looks,
            ),
        )
        for suffix, pairs in groups.items()
    ]


def _no_test_tells(data: ReportData, confidence: Confidence) -> str:
    """Say why a map of significance would be empty, and that places may be certain all the same."""
    count, level = len(data.rule.units.names), shown_level(confidence.level)
    pairs = math.comb(len(data.competitors), 2)
    sentence = f"No paired Wilcoxon test, adjusted for {_pairs(pairs)}, tells two teams apart at {level} confidence"
    if pairs * 2.0 ** (1 - count) >= 1 - confidence.level:  # its least p, where all differences have one sign
        units = data.rule.unit_words[count != 1]
        sentence = f"{count} {units} are too few for a paired Wilcoxon test of {_pairs(pairs)} at {level} confidence"
    certain = confidence.ahead is not None and bool(confidence.ahead.any())
    return f"{sentence}{'; intervals of the differences of means do tell some apart' if certain else ''}."


def _pairs(count: int) -> str:
    return "one pair" if count == 1 else f"all {count:,} pairs"


def draw_forest_plot(data: ReportData) -> Drawn:
    """Draw the columns of the leaderboard that have intervals."""
    if data.assessment is None:
        return Nothing(data.unassessed)
    confidence, scores = data.assessment.confidence, data.rule.published
    # In the order of the board, so that what decides is among them.
    names = [column.name for column in data.board.columns if column.name in confidence.columns][:MOST_COLUMNS]
    if not names:
        return Nothing("No column of the leaderboard is a value with an interval.")
    others = {name for name, role in data.roles.items() if role is not Role.COMPETITOR}
    shown = tuple(name for name in data.submissions if name in data.competitors or name in others)
    where = {name: index for index, name in enumerate(confidence.submissions)}
    everyone = [data.rule.submissions.index(name) for name in shown]
    figures = []
    for start in range(0, len(names), PANELS):
        columns = [scores.column(name) for name in names[start : start + PANELS]]
        estimate = np.stack([column.values[0, everyone] for column in columns])
        low, high = np.full((2, *estimate.shape), np.nan)
        for row, column in enumerate(columns):
            for place, name in enumerate(shown):
                if name in where:
                    intervals = confidence.columns[column.name]
                    # What lies beyond the values that there can be means nothing.
                    ends = intervals.low[where[name]], intervals.high[where[name]]
                    bounds = column.measure.minimum, column.measure.maximum
                    low[row, place], high[row, place] = (e if np.isinf(e) else np.clip(e, *bounds) for e in ends)
        labels = [column.measure.label for column in columns]
        suffix = _span([column.measure.title for column in columns]) if len(names) > PANELS else ""
        figure = values.forest_plot(estimate, low, high, submissions=shown, labels=labels, looks=data.looks)
        for row, column in enumerate(columns):
            _told_intervals(figure.axes[row], data, shown, column.measure, estimate[row], low[row], high[row])
        figures.append((suffix, figure))
    return figures


def _told_intervals(
    axes: Axes,
    data: ReportData,
    shown: Sequence[str],
    measure: Measure,
    middle: Floats,
    low: Floats,
    high: Floats,
) -> None:
    """Say the value and the interval of each row."""
    says = []
    for value, *ends in zip(middle.tolist(), low.tolist(), high.tolist(), strict=True):
        known = not np.isnan(ends).any()
        interval = f" ({measure.shown(ends[0])} to {measure.shown(ends[1])})" if known else ""
        says.append(f"{measure.label}: {measure.shown(value)}{interval}")
    teams = [data.submissions.index(name) for name in shown]
    rows = np.arange(len(shown), dtype=np.float64)
    points(axes, middle, rows, teams=teams, says=says, measured="x", criterion=_measured(data, measure))


def _measured(data: ReportData, column: Measure) -> str:
    """Return what is measured of cases where a column averages it, so that figures of both are about one criterion."""
    return next((own.title for own in data.measures if own.column == column.name), column.title)


def _span(titles: Sequence[str]) -> str:
    """Name some panels by the first and the last."""
    return titles[0] if len(titles) == 1 else f"{titles[0]} … {titles[-1]}"


def draw_accuracy_runtime(data: ReportData) -> Drawn:
    """Draw the criteria against the mean time, one figure each."""
    if np.isnan(data.cube.seconds).all():
        return Nothing("No submission reported how long it took.")
    order = [data.cube.submissions.index(name) for name in data.submissions]
    mean = counted_seconds(data.cube)[order].mean(axis=1)
    if np.isnan(mean).all():
        return Nothing("No submission reported the time of every case.")
    scores = data.rule.published

    def tells_accuracy(column: Column) -> bool:
        measure = column.measure
        judging = measure.direction in (Direction.HIGHER, Direction.LOWER)
        return judging and not column.relative and measure.purpose is not Purpose.TIME

    columns = [column for column in scores.criteria if tells_accuracy(column)]
    columns = columns or [column for column in scores.columns if tells_accuracy(column)][:1]
    places = [data.rule.submissions.index(name) for name in data.submissions]

    def drawn(column: Column) -> Figure:
        measure, own = column.measure, column.values[0, places]
        figure = values.accuracy_runtime(
            mean,
            own,
            submissions=data.submissions,
            direction=measure.direction,
            label=measure.label,
            looks=data.looks,
        )
        pairs = zip(own.tolist(), mean.tolist(), strict=True)
        says = [f"{measure.label}: {measure.shown(value)}, {seconds:.3g} s per case" for value, seconds in pairs]
        everyone = range(len(data.submissions))
        criterion = _measured(data, measure)
        points(
            figure.axes[0], mean, own, teams=everyone, says=says, measured="xy", named=True, criterion=criterion
        )  # fmt: skip
        return figure

    figures = [(column.measure.title if len(columns) > 1 else "", drawn(column)) for column in columns]
    return figures or Nothing("No column of the leaderboard stands for accuracy alone.")


def draw_people_band(data: ReportData) -> Drawn:
    """Draw submissions against people."""
    if not data.people:
        return Nothing(
            "Nobody measured how far people agree: evaluate against the annotations of several raters, or name "
            "a person's submission as a reference."
        )
    raters = data.people[0]
    shown = tuple(name for name in data.submissions if name not in data.people)
    measures = [measure for measure in data.measures if np.isfinite(data.values(measure, (raters,))).any()]
    if not measures or not shown:
        return Nothing("People's agreement could not be measured in any case.")
    clusters = data.cube.clusters
    figures = []
    for start in range(0, len(measures), PANELS - 1):
        chosen = measures[start : start + PANELS - 1]
        bands = [
            against_people.band_of(
                data.values(measure, shown),
                data.values(measure, (raters,))[0],
                direction=measure.direction,
                clusters=clusters,
                bounds=(measure.minimum, measure.maximum),
            )
            for measure in chosen
        ]
        suffix = _span([measure.title for measure in chosen]) if len(measures) > PANELS - 1 else ""
        labels = [measure.label for measure in chosen]
        figure = against_people.people_band(bands, submissions=shown, labels=labels, looks=data.looks)
        for axes, band, measure in zip(figure.axes, bands, chosen, strict=True):
            _told_intervals(axes, data, shown, measure, band.mean, band.low, band.high)
        figures.append((suffix, figure))
    return figures

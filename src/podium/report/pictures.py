"""Pictures of cases: the worst, the median and the best of a submission, drawn from the inputs of the run.

Measurements are all that a report needs otherwise. A picture goes back to the files that were measured: it is drawn
only if they still are where run.json says, and are still the same; else a sentence says what is in the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from podium.model import Agreement, Challenge, Curves, Direction, InputError, Paths, Slices, View
from podium.report.data import ReportData
from podium.report.drawing import draw
from podium.report.originals import Originals, anonymous, plain
from podium.run import Run, Submission, opened
from podium.run.submissions import Files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Choice", "Picture", "chosen_cases", "draw", "draw_pictures"]

_MOST_NAMED = 3  # failed cases in a sentence


@dataclass(frozen=True, slots=True)
class Choice:
    """A case that is worth a look.

    Attributes
    ----------
    kind
        worst, median or best; `only` where there is one case.
    case
        Its name.
    value
        What it was chosen by.
    """

    kind: str
    case: str
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture, or why there is none.

    Attributes
    ----------
    submission
        As it is shown; "" for what concerns all of them.
    kind
        worst, median, best or only, for a case; `overview` over all cases; `failed` or `missing` where there is only a
        remark.
    case
        Its name; "" for what is not about one case.
    heading
        Which case this is, and why it was chosen.
    figure
        The picture; None if there is none.
    remark
        Why there is none.
    alternative
        What the picture shows, in words for those who cannot see it.
    """

    submission: str
    kind: str
    case: str = ""
    heading: str = ""
    figure: Figure | None = None
    remark: str = ""
    alternative: str = ""


def chosen_cases(data: ReportData, submission: str) -> list[Choice]:
    """Return the worst, median and best case of a submission by the first decisive quantity that was measured.

    Cases that failed wholly are left out, as there is nothing to be seen in them; of equal ones, the first by name is
    the worse. The median is the lower one of an even number.
    """
    if not data.measures:
        return []
    measure, cube, place = data.measures[0], data.cube, data.cube.submissions.index(submission)
    values = cube.of(*measure.key)[place]
    seen = np.flatnonzero(~np.isnan(values) & ~cube.lost[place])
    better = {Direction.HIGHER: 1.0, Direction.LOWER: -1.0}
    keys = values * better[measure.direction] if measure.direction in better else -np.abs(values)
    order = seen[np.lexsort(([cube.rows[row] for row in seen], keys[seen]))].tolist()
    if not order:
        return []
    places = {"worst": 0, "median": (len(order) - 1) // 2, "best": len(order) - 1}
    if len(order) < 3:
        places = {"only": 0} if len(order) == 1 else {"worst": 0, "best": 1}
    return [Choice(kind, cube.rows[order[at]], float(values[order[at]])) for kind, at in places.items()]


def draw_pictures(
    data: ReportData,
    run: Run,
    *,
    submissions: Sequence[str] | None = None,
    images: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Picture]:
    """Draw what the challenge shows of each submission, one picture after the other.

    Parameters
    ----------
    data
        Whose names are shown.
    run
        With real names: where the truth and the submissions lay, and the hash of every file.
    submissions
        Whose pictures, by the names that are shown; by default everybody's, or those of whom the report is about.
    images
        The folder with the images that were segmented, if there is one.
    progress
        Called with the number of submissions done, and of all.
    """
    shown = list(submissions if submissions is not None else [data.focus] if data.focus else data.submissions)
    inputs = None
    if _shows_cases(run.challenge):
        inputs = Originals.of(run)
        if inputs.problem:
            yield Picture("", "missing", remark=inputs.problem)
    for done, submission in enumerate(shown):
        if progress is not None:
            progress(done, len(shown))
        yield from _overviews(data, run.challenge, submission)
        if inputs is not None and not inputs.problem:
            yield from _of_cases(data, submission, inputs, images)
    if progress is not None:
        progress(len(shown), len(shown))


def _shows_cases(challenge: Challenge) -> bool:
    return type(challenge).views is not Challenge.views


def _overviews(data: ReportData, challenge: Challenge, submission: str) -> Iterator[Picture]:
    table = data.measurements.filter(pl.col("submission") == submission)
    if table.is_empty():
        return
    for view in challenge.overviews(table):
        yield Picture(submission, "overview", heading=view.title, figure=draw(view), alternative=_in_words(view))


def _of_cases(data: ReportData, submission: str, inputs: Originals, images: Path | None) -> Iterator[Picture]:
    real = data.names.get(submission, submission)
    given = inputs.run.record.submissions
    if real not in given:  # measured from the truth alone, so there is no prediction to be seen
        return
    if remark := _failures(data, submission):
        yield Picture(submission, "failed", remark=remark)
    choices = chosen_cases(data, submission)
    if not choices:
        return
    path = given[real].find(inputs.run.folder)
    if path is None:
        sentence = "This submission is no longer where it was when it was measured, so none of its cases is drawn."
        yield Picture(submission, "missing", remark=sentence)
        return
    try:
        known = Submission(real, path, taken=tuple(given[real].sha256))
        with opened(known, tuple(inputs.cases.values())) as files:
            for choice in choices:
                heading = _heading(data, submission, choice)
                yield from _of_case(data, submission, choice, heading, inputs, files, images)
    except (InputError, OSError) as error:
        sentence = f"This submission cannot be opened any more, so none of its cases is drawn: {plain(error, path)}"
        yield Picture(submission, "missing", remark=anonymous(data, sentence))


def _of_case(
    data: ReportData,
    submission: str,
    choice: Choice,
    heading: str,
    inputs: Originals,
    files: Files,
    images: Path | None,
) -> Iterator[Picture]:
    """Draw one case, if its files are the ones that were measured."""
    try:
        case = inputs.cases.get(choice.case)
        if case is None:
            raise InputError(f"the truth of {choice.case} is gone")
        inputs.check_truth(case)
        prediction = files.find(case)
        if prediction is None:
            raise InputError(f"the prediction of {case.name} is gone")
        inputs.check_prediction(data.names.get(submission, submission), files, prediction)
        challenge = inputs.run.challenge
        views = challenge.views(case, challenge.load(case), prediction, images=images)
    except (InputError, OSError) as error:
        reason = plain(error, files.root, inputs.truth)
        remark = anonymous(data, f"{choice.case} is not drawn: {reason}")
        yield Picture(submission, choice.kind, choice.case, heading, remark=remark)
        return
    for view in views:
        yield Picture(submission, choice.kind, choice.case, heading, draw(view), alternative=_in_words(view))


def _heading(data: ReportData, submission: str, choice: Choice) -> str:
    measure = data.measures[0]
    value = f"{choice.value:.4g}" + (f" {measure.unit}" if measure.unit else "")
    place = data.cube.submissions.index(submission)
    count = int(np.count_nonzero(~data.cube.lost[place] & ~np.isnan(data.cube.of(*measure.key)[place])))
    among = f"{choice.kind} of {count} measured cases" if choice.kind != "only" else "the only measured case"
    return f"{choice.case}, {among}: {measure.title} {value}"


def _failures(data: ReportData, submission: str) -> str:
    """Say which cases failed, so that there is nothing to be seen in them, and why."""
    place = data.cube.submissions.index(submission)
    lost = [row for row, gone in zip(data.cube.rows, data.cube.lost[place].tolist(), strict=True) if gone]
    if not lost:
        return ""
    table = data.measurements.filter(
        (pl.col("submission") == submission) & pl.col("case").is_in(lost) & (pl.col("reason") != "")
    )
    reasons = dict(zip(table["case"].to_list(), table["reason"].to_list(), strict=True))
    named = [f"{row} ({reasons.get(row, 'no reason was recorded')})" for row in lost[:_MOST_NAMED]]
    more = f"; and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
    what = "1 case" if len(lost) == 1 else f"{len(lost)} cases"
    return f"There is nothing to draw of {what} that failed: {'; '.join(named)}{more}."


def _in_words(view: View) -> str:
    match view:
        case Slices():
            panels = ", ".join(panel.caption for panel in view.panels) or "nothing"
            return f"{view.title}. Contours of reference and prediction: {panels}."
        case Curves():
            return f"{view.title}. {view.vertical} over {view.horizontal}: {_names(view)}."
        case Paths():
            return f"{view.title}. Lines in space: {_names(view)}."
        case Agreement():
            correlation = f", correlation {view.correlation:.3f}" if math.isfinite(view.correlation) else ""
            bias = f", mean difference {view.bias:.3g} {view.unit}".rstrip() if math.isfinite(view.bias) else ""
            return f"{view.title}. Predicted against true values, and Bland–Altman plot{correlation}{bias}."


def _names(view: Curves | Paths) -> str:
    return ", ".join(dict.fromkeys(line.name for line in view.lines)) or "nothing"

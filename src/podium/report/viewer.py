"""Cases to look at in the page: which, and what it holds of them, from the files that were measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.model import Case, Challenge, InputError
from podium.report.originals import Originals, anonymous, plain
from podium.report.packing import Store, packed_case, size_of, stored
from podium.report.pictures import chosen_cases
from podium.report.words import contained
from podium.run import Run, Submission, opened

if TYPE_CHECKING:
    from podium.report.data import ReportData
    from podium.run.submissions import Files

__all__ = ["MOST_SCENES", "ShownCases", "check_cases", "look_at", "worth_a_look"]

MOST_SCENES = 1_500_000
"""Bytes of cases to look at that a page holds; further ones are left out."""
_MOST_WINNERS = 3
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class ShownCases:
    """What can be looked at.

    Attributes
    ----------
    cases
        As the page stores them, see docs/report.md.
    notes
        What cannot be looked at, and why.
    """

    cases: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check_cases(data: ReportData, cases: Sequence[str]) -> None:
    """Refuse names of cases that there are not, and cases of challenges that show none."""
    if unknown := [name for name in cases if name not in data.cases]:
        near = get_close_matches(unknown[0], data.cases, n=3) or data.cases[:_MOST_NAMED]
        raise InputError(f"there is no case called {unknown[0]!r}", advice=f"There are: {', '.join(near)}")
    if cases and (data.challenge is None or not _has_scenes(data.challenge)):
        raise InputError(f"{data.title} shows no case to look at", advice="Leave --case out")


def _has_scenes(challenge: Challenge) -> bool:
    return type(challenge).scenes is not Challenge.scenes


def worth_a_look(data: ReportData, cases: Sequence[str] = ()) -> dict[str, list[str]]:
    """Return cases, and why each is worth a look: asked for, the worst of the winners, and disputed most.

    The worst of the submission that a report is about takes the place of the winners'. Disputed most is where the first
    decisive measure differs most among competitors that were measured; of equal cases, the first by name.
    """
    reasons: dict[str, list[str]] = {}
    for name in cases:
        reasons.setdefault(name, ["asked for"])
    winners = [name for name in data.competitors if data.places[name] == 1][:_MOST_WINNERS]
    for name in [data.focus] if data.focus else winners:
        for choice in chosen_cases(data, name)[:1]:
            kind = "the only measured case" if choice.kind == "only" else "the worst case"
            reasons.setdefault(choice.case, []).append(f"{kind} of {name}")
    if disputed := _disputed(data):
        case, low, high = disputed
        title = data.measures[0].title
        reasons.setdefault(case, []).append(f"disputed most, {title} from {low:.4g} to {high:.4g}")
    return reasons


def _disputed(data: ReportData) -> tuple[str, float, float] | None:
    if not data.measures or len(data.competitors) < 2:
        return None
    values = data.values(data.measures[0], data.competitors)
    lost = data.cube.lost[[data.cube.submissions.index(name) for name in data.competitors]]
    values = np.where(lost | ~np.isfinite(values) | data.failed(data.measures[0], data.competitors), np.nan, values)
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    spreads = np.nan_to_num(high - low)
    at = min(range(len(data.cases)), key=lambda row: (-spreads[row], data.cases[row]))
    return (data.cases[at], float(low[at]), float(high[at])) if spreads[at] > 0 else None


def look_at(
    data: ReportData,
    run: Run,
    *,
    submissions: Sequence[str],
    cases: Sequence[str] = (),
    images: Path | None = None,
    room: int = MOST_SCENES,
    progress: Callable[[int, int], None] | None = None,
) -> ShownCases | None:
    """Gather what can be looked at; None where the challenge shows nothing, or the truth is gone.

    Parameters
    ----------
    data
        Whose names are shown.
    run
        With real names: where the truth and the submissions lay, and the hash of every file.
    submissions
        Whose predictions, by the names that are shown.
    cases
        Those that were asked for; others are added, see `worth_a_look`.
    images
        The folder with the images that were segmented, if there is one.
    room
        Bytes that all of it may take; each case has an equal share of what those before it have left.
    progress
        Called with the number of cases done, and of all.
    """
    if not _has_scenes(run.challenge):
        return None
    originals = Originals.of(run)
    if originals.problem:  # which the pictures of cases tell
        return None
    look, left_out = ShownCases(), []
    wanted = worth_a_look(data, cases)
    with ExitStack() as stack:
        files = dict(_opened(data, originals, submissions, stack, look.notes))
        for done, (name, reasons) in enumerate(wanted.items()):
            if progress is not None:
                progress(done, len(wanted))
            try:
                stores, remarks = _stores(data, originals, name, files, images)
            except (InputError, OSError) as error:
                reason = plain(error, originals.truth)
                look.notes.append(anonymous(data, f"{name} cannot be looked at: {reason}"))
                continue
            if not stores:
                look.notes.extend(remarks)
                continue
            document = {"row": data.cases.index(name), "why": _why(data, reasons), "remarks": remarks}
            share = room // (len(wanted) - done) - size_of(document)
            scenes = packed_case(stores, share)
            if scenes is None:
                left_out.append(name)
                continue
            document["scenes"] = scenes
            look.cases.append(document)
            room -= size_of(document)
    if progress is not None:
        progress(len(wanted), len(wanted))
    if left_out:
        are = "is" if len(left_out) == 1 else "are"
        look.notes.append(f"To keep this page small, {', '.join(left_out)} {are} not among the cases to look at.")
    return look


def _why(data: ReportData, reasons: Sequence[str]) -> str:
    return contained("; ".join(reasons), data.submissions)


def _opened(
    data: ReportData, originals: Originals, submissions: Sequence[str], stack: ExitStack, notes: list[str]
) -> Iterator[tuple[str, Files]]:
    """Open the submissions that are still where they were, and note the others."""
    run = originals.run
    for submission in submissions:
        real = data.names.get(submission, submission)
        if real not in run.record.submissions:  # measured from the truth alone
            continue
        given = run.record.submissions[real]
        path = given.find(run.folder)
        if path is None:
            notes.append(f"{submission} is no longer where it was when it was measured.")
            continue
        try:
            known = Submission(real, path, taken=tuple(given.sha256))
            yield submission, stack.enter_context(opened(known, tuple(originals.cases.values())))
        except (InputError, OSError) as error:
            notes.append(anonymous(data, f"{submission} cannot be opened any more: {plain(error, path)}"))


def _stores(
    data: ReportData, originals: Originals, name: str, files: Mapping[str, Files], images: Path | None
) -> tuple[list[Store], list[str]]:
    """Read the truth of a case once and every prediction; return its scenes, and whose prediction is not in them."""
    case = originals.cases.get(name)
    if case is None:
        raise InputError(f"the truth of {name} is gone")
    originals.check_truth(case)
    truth = originals.run.challenge.load(case)
    stores: dict[str, Store] = {}
    remarks = []
    for submission, own in files.items():
        try:
            # The image is the same for all, and is read with the first.
            _add(stores, data, originals, submission, case, truth, own, None if stores else images)
        except (InputError, OSError) as error:
            reason = plain(error, own.root, originals.truth)
            remarks.append(anonymous(data, f"{submission} in {name}: {reason}"))
    return list(stores.values()), remarks


def _add(
    stores: dict[str, Store],
    data: ReportData,
    originals: Originals,
    submission: str,
    case: Case,
    truth: Any,
    files: Files,
    images: Path | None,
) -> None:
    prediction = files.find(case)
    if prediction is None:
        raise InputError("there is no prediction")
    originals.check_prediction(data.names.get(submission, submission), files, prediction)
    for scene in originals.run.challenge.scenes(case, truth, prediction, images=images):
        if scene.title not in stores:
            stores[scene.title] = stored(scene)
        stores[scene.title].add(data.submissions.index(submission), scene)

"""What the names in a submission tell of it: that it is of several teams, or has nothing to do with the truth."""

from __future__ import annotations

from collections.abc import Sequence

from podium.model import Case
from podium.model.errors import printable, shortened
from podium.run.submissions import JOBS, Files, archive_of
from podium.run.unpacking import ARCHIVES

__all__ = ["nothing_in_common", "teams_within"]


def teams_within(files: Files, cases: Sequence[Case]) -> str:
    """Name the teams that a folder holds instead of predictions: folders with predictions, and archives; "" if none.

    A folder that holds nothing but an archive is that archive.
    """
    teams = [
        printable(name)
        for name in files.top
        if name.lower().endswith(ARCHIVES) or (files.is_folder(name) and _holds_predictions(files, name, cases))
    ]
    return shortened(teams) if len(teams) > 1 else ""


def _holds_predictions(files: Files, name: str, cases: Sequence[Case]) -> bool:
    if archive_of(files.root / name, files.limits):
        return True
    within = Files(files.root / name, cases, limits=files.limits)
    return JOBS in within.top or bool(within.called(cases))


def nothing_in_common(cases: Sequence[Case], submissions: Sequence[Files]) -> str:
    """Say what truth and submissions in which no case was found are called instead; "" where there are no files."""
    strangers = list(dict.fromkeys(printable(name) for files in submissions for name in files.strangers()))
    if not strangers:
        return ""
    wanted = shortened([case.expected[0] for case in cases if case.expected], most=3)
    there_is = "there is" if len(strangers) == 1 else "there are"
    return f"truth and predictions share no name: {wanted} expected, {there_is} {shortened(strangers, most=3)}"

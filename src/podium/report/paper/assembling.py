"""The folder for a paper: everything is made first, then it appears; nothing that Podium did not write is touched."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import polars as pl

from podium import __version__
from podium.io import csv_text
from podium.model import InputError
from podium.report._contents import board
from podium.report.data import ReportData
from podium.report.paper.latex import leaderboard_table
from podium.report.paper.methods import as_latex, as_markdown, as_plain, cited, passages
from podium.report.paper.plates import captions_latex, captions_markdown, draw_plates
from podium.report.paper.references import bibliography
from podium.run import RunFolder

__all__ = ["leaderboard_frame", "write_paper"]

Progress = Callable[[str, int, int], None]


def write_paper(
    data: ReportData, folder: Path, *, only: Collection[str] | None = None, progress: Progress | None = None
) -> tuple[str, ...]:
    """Write figures, leaderboard, methods, captions and references; return the names of the files.

    Parameters
    ----------
    data
        From `podium.report.data.gather`.
    folder
        Where to: a folder of its own, which an earlier paper may be in.
    only
        Names of figures; by default all.
    progress
        Is told what is being done, how much of it, and of how much.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError("this is not a folder", path=folder, advice="Give a folder for what a paper needs")
    if any((folder / mark).exists() for mark in ("run.json", "raters.json")):
        advice = f"Give a folder of its own, such as {folder / 'paper'}"
        raise InputError("this folder holds a run, whose files a paper's would replace", path=folder, advice=advice)
    section, shown, frame = passages(data), board(data), leaderboard_frame(data)
    level = f" Below a value stands its {shown.level} confidence interval." if shown.level else ""
    caption = f"Leaderboard of {data.title}: {len(data.submissions)} submissions, {len(data.cases)} cases.{level}"
    files: dict[str, Any] = {
        "leaderboard.csv": csv_text(frame.columns, frame.iter_rows()).encode("utf-8", "replace"),
        "leaderboard.tex": leaderboard_table(shown, caption=caption, made_by=f"Podium {__version__}"),
        "methods.md": as_markdown(section),
        "methods.tex": as_latex(section),
        "methods.txt": as_plain(section),
        "references.bib": bibliography(cited(section)),
    }
    tell = (lambda done, total: progress("figures for a paper", done, total)) if progress else None
    drawn = list(draw_plates(data, only=only, progress=tell))
    files |= {"captions.md": captions_markdown(drawn), "captions.tex": captions_latex(drawn)}
    files |= {f"figures/{plate.name}.{form}": content for plate in drawn for form, content in plate.files.items()}
    contents = {n: c.encode("utf-8", "replace") if isinstance(c, str) else c for n, c in files.items()}
    folder.mkdir(parents=True, exist_ok=True)
    place = RunFolder(folder)
    place.claim(contents, take=False)
    place.forget(lambda name: name not in contents)
    place.add(contents)
    return tuple(contents)


def leaderboard_frame(data: ReportData) -> pl.DataFrame:
    """Return the leaderboard with every digit: beside each column the ends of its interval, where there is one."""
    frame = data.board.to_frame()
    if data.assessment is None:
        return frame
    confidence, stability = data.assessment.confidence, data.assessment.stability
    names = frame["submission"].to_list()
    where = {name: index for index, name in enumerate(confidence.submissions)}
    first = dict(zip(stability.submissions, stability.first.tolist(), strict=True))
    ranks = [confidence.ranks[where[name]] if name in where else None for name in names]
    columns = [
        *(frame[name] for name in ("place", "submission", "role", "remark")),
        pl.Series("true_place_best", [rank.best if rank else None for rank in ranks], pl.Int64),
        pl.Series("true_place_worst", [rank.worst if rank else None for rank in ranks], pl.Int64),
        pl.Series("first_in_resamples", [first.get(name) for name in names], pl.Float64),
    ]
    for measure in data.board.columns:
        columns.append(frame[measure.name])
        if intervals := confidence.columns.get(measure.name):
            for end, numbers in (("low", intervals.low), ("high", intervals.high)):
                ends = [float(numbers[where[name]]) if name in where else None for name in names]
                columns.append(pl.Series(f"{measure.name}_{end}", ends, pl.Float64).fill_nan(None))
    return pl.DataFrame(columns)

"""The figures of a report: what each is called, how it is read, and how it is drawn from a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from podium.model import InputError
from podium.report.data import ReportData
from podium.report.figures import of_run
from podium.report.figures.files import FORMATS, as_bytes, inline_svg, slug
from podium.report.figures.of_run import Drawn, Nothing
from podium.run import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "Drawing", "FigureKind", "draw", "save_all"]


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure that a report has.

    Attributes
    ----------
    name
        On the command line, and of its files.
    title
        Its heading.
    caption
        How it is read.
    draw
        From a run to figures, each with what tells it from the others of its kind ("" for the only one), or to the
        reason why there is none.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[ReportData], Drawn]


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A figure that was drawn and written, or the reason why there is none.

    Attributes
    ----------
    kind
        What it is.
    suffix
        What tells it from the others of its kind, for people; "" for the only one.
    name
        Of its files, without ending.
    files
        Where it was written.
    inline
        As a piece of a page, see `inline_svg`.
    reason
        Why there is none.
    """

    kind: FigureKind
    suffix: str = ""
    name: str = ""
    files: tuple[Path, ...] = ()
    inline: str = ""
    reason: str = ""


def draw(data: ReportData, *, only: Collection[str] | None = None) -> Iterator[tuple[FigureKind, Drawn]]:
    """Draw the figures of a run, one kind after the other.

    Parameters
    ----------
    data
        From `podium.report.data.gather`.
    only
        Names of figures; by default all.
    """
    for kind in _chosen(only):
        yield kind, kind.draw(data)


def save_all(
    data: ReportData,
    folder: Path,
    formats: Collection[str] = FORMATS,
    *,
    only: Collection[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Drawing]:
    """Write the figures of a run, replacing those of an earlier report, and return them for a page.

    Parameters
    ----------
    data
        From `podium.report.data.gather`.
    folder
        Where to.
    formats
        Of svg, pdf and png; a page needs none of them.
    only
        Names of figures; by default all.
    progress
        Is told how many kinds of figures are done, and of how many.
    """
    if unknown := sorted(set(formats) - set(FORMATS)):
        raise InputError(f"there is no format {unknown[0]!r}", advice=f"There are: {', '.join(FORMATS)}")
    chosen = _chosen(only)
    place = RunFolder(folder.parent)
    drawings: list[Drawing] = []
    for done, kind in enumerate(chosen, 1):
        place.forget(lambda name, kind=kind: _belongs(name, folder.name, kind))  # type: ignore[misc]
        drawn = kind.draw(data)
        if isinstance(drawn, Nothing):
            drawings.append(Drawing(kind, reason=drawn.reason))
        else:
            for suffix, figure in drawn:
                name = _file_name(kind, suffix, {drawing.name for drawing in drawings})
                drawings.append(_written(kind, suffix, figure, name, place, folder.name, formats))
        if progress:
            progress(done, len(chosen))
    return drawings


def _file_name(kind: FigureKind, suffix: str, taken: Collection[str]) -> str:
    """Return a name that no other figure has."""
    base = f"{kind.name}-{slug(suffix)}" if suffix else kind.name
    names = (base if number == 1 else f"{base}-{number}" for number in count(1))
    return next(name for name in names if name not in taken)


def _written(
    kind: FigureKind, suffix: str, figure: Figure, name: str, place: RunFolder, folder: str, formats: Collection[str]
) -> Drawing:
    svg = as_bytes(figure, "svg")
    files = {
        f"{folder}/{name}.{form}": svg if form == "svg" else as_bytes(figure, form)
        for form in FORMATS
        if form in formats
    }
    place.add(files)
    return Drawing(kind, suffix, name, tuple(place.path / file for file in files), inline_svg(svg, name))


def _belongs(name: str, folder: str, kind: FigureKind) -> bool:
    """Return whether a file is a figure of a kind, in any format and of any measure."""
    path = PurePosixPath(name)
    own = path.parent == PurePosixPath(folder) and path.suffix[1:] in FORMATS
    return own and (path.stem == kind.name or path.stem.startswith(f"{kind.name}-"))


def _chosen(only: Collection[str] | None) -> list[FigureKind]:
    for name in only or ():
        if name not in FIGURES:
            near = get_close_matches(name, FIGURES, n=3) or list(FIGURES)
            raise InputError(f"there is no figure called {name!r}", advice=f"There are: {', '.join(near)}")
    return [kind for name, kind in FIGURES.items() if only is None or name in only]


_KINDS = (
    FigureKind(
        "dots_and_boxes",
        "Every case of every submission",
        "Each dot is a case, each cross one that failed and counts at its price. The bar spans the middle half of the "
        "cases, with the median as a stroke and the mean as a diamond; the line ends at the last case within 1.5 times "
        "the bar's length.",
        of_run.draw_dots_and_boxes,
    ),
    FigureKind(
        "podium_plot",
        "Who was first in which case",
        "Each case is a line from its first to its last, and each dot the value with which a submission took that "
        "place. The bars count in how many cases each submission took each place.",
        of_run.draw_podium_plot,
    ),
    FigureKind(
        "ranking_heatmap",
        "Places within cases",
        "Each row tells in how many cases a submission took the first, the second … place. Dark cells on the "
        "diagonal belong to those who hold their place in most cases.",
        of_run.draw_ranking_heatmap,
    ),
    FigureKind(
        "places",
        "Places when cases are drawn anew",
        "The larger a blob, the more resamples of the cases gave the submission that place; the line holds 95 % "
        "of them. The grey band is wider: the places that the submission may truly have, right for all of them "
        "together.",
        of_run.draw_blob_plot,
    ),
    FigureKind(
        "lines_over_schemes",
        "Places under other rules",
        "Each row ranks the same measurements by another rule that would have been sensible. Lines that cross "
        "show whose place depends on the rule; τ at the right is 1 where the order stays the same.",
        of_run.draw_lines_over_schemes,
    ),
    FigureKind(
        "tau_violin",
        "How far rankings agree",
        "Kendall's τ compares other rankings with the published one: 1 is the same order, 0 none in common, −1 the "
        "reverse. The wider the shape, the more rankings agree that well; the stroke is the median.",
        of_run.draw_tau_violin,
    ),
    FigureKind(
        "significance_map",
        "Who is significantly better than whom",
        "A filled cell means that the row is better than the column by a paired Wilcoxon signed-rank test over cases, "
        "adjusted by Holm for all pairs. An empty cell means that the difference may be chance.",
        of_run.draw_significance_map,
    ),
    FigureKind(
        "forest_plot",
        "Means with their intervals",
        "Each dot is a value of the leaderboard, each line its 95 % confidence interval; the dotted line marks "
        "the value of the first. Lines that overlap do not prove that two are equal: see the significance map.",
        of_run.draw_forest_plot,
    ),
    FigureKind(
        "accuracy_runtime",
        "Accuracy against runtime",
        "Each point is a submission with its mean time. The line joins those that nobody beats in both: whoever is "
        "faster is worse, whoever is better is slower.",
        of_run.draw_accuracy_runtime,
    ),
    FigureKind(
        "people_band",
        "Algorithms against people",
        "The line and its band tell how far people agree with one another on the same cases. A filled dot is an "
        "algorithm within that variability, an open one is worse, by the 95 % interval of the difference case by "
        "case.",
        of_run.draw_people_band,
    ),
    FigureKind(
        "case_heatmap",
        "Every case, from the hardest",
        "Each column is a case and each cell a result, the brighter the better; cases that most found hard stand "
        "on the left. Cells in orange failed.",
        of_run.draw_case_heatmap,
    ),
    FigureKind(
        "metric_correlation",
        "How measures agree",
        "Spearman's rank correlation over all results of all submissions, each measure turned so that better is "
        "higher. Near 1, two measures tell the same; near 0, each tells something of its own.",
        of_run.draw_metric_correlation,
    ),
)

FIGURES: dict[str, FigureKind] = {kind.name: kind for kind in _KINDS}
"""All figures of a report by name, in the order of a page."""

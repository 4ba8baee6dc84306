"""The figures of a report: what each is called, how it is read, and how it is drawn from a run."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from podium.model import InputError
from podium.report.data import ReportData
from podium.report.figures import of_criteria, of_run
from podium.report.figures.alive import panels_of_figure
from podium.report.figures.files import FORMATS, as_bytes, inline_svg, slug
from podium.report.figures.of_run import Drawn, Nothing
from podium.report.style import drawing
from podium.run import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "Drawing", "FigureKind", "draw", "file_name", "save_all"]


LARGE = 250_000
"""Bytes of an SVG that a page may be without room for."""
_DOTS_OF_PICTURE = 139  # an inch, of its picture: 1,000 across
MANY = 100_000
"""Results of one measure, above which figures are cleared away kind by kind: together they would fill the memory."""


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
    concerns
        Whether a report is expected to have it; else it is not missed.
    aggregate
        Whether it sums up all cases of everybody, so that nothing of a single one can be told from it. Then it is drawn
        from everything, whoever reads the page; else from what the reader may see.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[ReportData], Drawn]
    concerns: Callable[[ReportData], bool] = lambda _: True
    aggregate: bool = False

    def drawn_from(self, data: ReportData) -> Drawn:
        """Draw it from what the reader of a report may see of it."""
        return self.draw(data.entire if self.aggregate else data)

    def worded(self, data: ReportData) -> FigureKind:
        """Return the same in the words of a report: what is averaged over, and what is drawn anew, have their names."""
        words = {part.name: getattr(data.called, part.name) for part in fields(data.called)}
        words["unit"], words["units"] = data.rule.unit_words
        return replace(self, title=self.title.format(**words), caption=self.caption.format(**words))


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
    picture
        As PNG, for a page that has no room for a large SVG; empty where it is small.
    panels
        What a page's script tells of it, see `podium.report.figures.alive`.
    reason
        Why there is none.
    """

    kind: FigureKind
    suffix: str = ""
    name: str = ""
    files: tuple[Path, ...] = ()
    inline: str = ""
    picture: bytes = b""
    panels: Sequence[Mapping[str, Any]] = ()
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
        yield kind, kind.drawn_from(data)


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
    chosen = [kind.worded(data) for kind in _chosen(only) if only is not None or kind.concerns(data)]
    place = RunFolder(folder.parent)
    place.forget(lambda name: any(_belongs(name, folder.name, kind) for kind in chosen))
    drawings: list[Drawing] = []
    if progress:
        progress(0, len(chosen))
    large = len(data.submissions) * len(data.cases) > MANY
    contents: dict[str, bytes] = {}  # written at once, since each writing waits for the disk
    for done, kind in enumerate(chosen, 1):
        with drawing(), _uncollected():
            drawn = kind.drawn_from(data)
            if isinstance(drawn, Nothing):
                drawings.append(Drawing(kind, reason=drawn.reason))
            else:
                waiting = list(drawn)
                del drawn
                while waiting:
                    suffix, figure = waiting.pop(0)
                    name = file_name(kind, suffix, {own.name for own in drawings})
                    finished, files = _as_files(kind, suffix, figure, name, folder, formats)
                    drawings.append(finished)
                    contents |= files
                    del figure
                    if large:
                        gc.collect()  # what one was drawn into is needed for the next
        if progress:
            progress(done, len(chosen))
    place.add(contents)
    return drawings


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let nobody look for garbage meanwhile: a figure is a web of objects, and searching it is a sixth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def file_name(kind: FigureKind, suffix: str, taken: Collection[str]) -> str:
    """Return a name that no other figure has."""
    base = f"{kind.name}-{slug(suffix)}" if suffix else kind.name
    names = (base if number == 1 else f"{base}-{number}" for number in count(1))
    return next(name for name in names if name not in taken)


def _as_files(
    kind: FigureKind, suffix: str, figure: Figure, name: str, folder: Path, formats: Collection[str]
) -> tuple[Drawing, dict[str, bytes]]:
    contents = {form: as_bytes(figure, form) for form in FORMATS if form in {*formats, "svg"}}
    inline = inline_svg(contents["svg"], name)
    picture = contents.get("png", b"")
    if len(inline) > LARGE and not picture:
        picture = as_bytes(figure, "png", dots_per_inch=_DOTS_OF_PICTURE)
    files = {f"{folder.name}/{name}.{form}": content for form, content in contents.items() if form in formats}
    paths = tuple(folder.parent / file for file in files)
    return Drawing(kind, suffix, name, paths, inline, picture, panels_of_figure(figure)), files


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
        "Each dot is a case, each cross a {lost}, which counts at its price. The bar spans the middle half of the "
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
        of_run.has_a_field,
    ),
    FigureKind(
        "ranking_heatmap",
        "Places within cases",
        "Each row tells in how many cases a submission took the first, the second … place. Dark cells on the "
        "diagonal belong to those who hold their place in most cases.",
        of_run.draw_ranking_heatmap,
        of_run.has_a_field,
        aggregate=True,
    ),
    FigureKind(
        "places",
        "Places when {units} are drawn anew",
        "The larger a blob, the more resamples of the {units} gave the submission that place; the line holds 95 % "
        "of them. The grey band is wider: the places that the submission may truly have, right for all of them "
        "together.",
        of_run.draw_blob_plot,
    ),
    FigureKind(
        "consensus",
        "Ranks in all {criteria}, and their average",
        "Each dot is a rank that a submission has in one {criterion} or more; the larger, the more of them give it. "
        "The diamond is the average, which decides; the line spans all ranks.",
        of_criteria.draw_consensus,
        of_criteria.has_several,
    ),
    FigureKind(
        "places_by_criterion",
        "The ranking that each {criterion} alone would give",
        "In each panel, the larger a blob, the more resamples of the {units} gave that place; the stroke is the place "
        "without resampling. Whoever lies beside the dotted line does better or worse here than in the published "
        "order.",
        of_criteria.draw_places_by_criterion,
        of_criteria.has_several,
    ),
    FigureKind(
        "places_by_submission",
        "Where each submission is strong, and where weak",
        "The same places, one panel a submission: a blob for each place by each {criterion}, larger where more "
        "resamples gave it. The dotted line is the published place.",
        of_criteria.draw_places_by_submission,
        of_criteria.has_several_in_a_field,
    ),
    FigureKind(
        "criteria_compared",
        "What each {criterion} tells",
        "Left to right: how many pairs it orders certainly, how often its winner stays first when {units} are "
        "drawn anew, how its ranking agrees with that of all {criteria} (Kendall's τ), and its results: median, middle "
        "half, and 90 %.",
        of_criteria.draw_criteria_compared,
        of_criteria.has_several,
    ),
    FigureKind(
        "dendrogram",
        "Which {criteria} rank alike",
        "Those that join further left give more similar rankings. Distance: Spearman's footrule per competitor, equals "
        "sharing the mean rank; groups are joined by the average distance of their members.",
        of_criteria.draw_dendrogram,
        of_criteria.has_several_in_a_field,
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
        of_run.has_a_field,
    ),
    FigureKind(
        "significance_map",
        "Who is significantly better than whom",
        "A filled cell means that the row is better than the column by a paired Wilcoxon signed-rank test over "
        "{units}, adjusted by Holm for all pairs; elsewhere the difference may be chance. The places that a submission "
        "may truly have rest on means, in all {criteria} together, and may say otherwise.",
        of_run.draw_significance_map,
    ),
    FigureKind(
        "forest_plot",
        "Means with their intervals",
        "Each dot is a value of the leaderboard, each line its 95 % confidence interval; the dotted line marks "
        "the value of the first. Lines that overlap do not prove that two are equal.",
        of_run.draw_forest_plot,
    ),
    FigureKind(
        "accuracy_runtime",
        "Accuracy against runtime",
        "Each point is a submission with its mean time. The line joins those that nobody beats in both: whoever is "
        "faster is worse, whoever is better is slower.",
        of_run.draw_accuracy_runtime,
        of_run.knows_runs,
        aggregate=True,
    ),
    FigureKind(
        "people_band",
        "Algorithms against people",
        "The line and its band tell how far people agree with one another on the same cases. A filled dot is an "
        "algorithm within that variability, an open one is worse, by the 95 % interval of the difference case by "
        "case.",
        of_run.draw_people_band,
        of_run.knows_runs,
        aggregate=True,
    ),
    FigureKind(
        "case_heatmap",
        "Every case, from the hardest",
        "Each column is a case and each cell a result, the brighter the better; cases that most found hard stand "
        "on the left. An orange cell is a {lost}.",
        of_run.draw_case_heatmap,
    ),
    FigureKind(
        "metric_correlation",
        "How measures agree",
        "Spearman's rank correlation over all results of all submissions, each measure turned so that better is "
        "higher. Near 1, two measures tell the same; near 0, each tells something of its own.",
        of_run.draw_metric_correlation,
        of_run.has_several_measures,
        aggregate=True,
    ),
)

FIGURES: dict[str, FigureKind] = {kind.name: kind for kind in _KINDS}
"""All figures of a report by name, in the order of a page."""

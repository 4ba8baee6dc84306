"""Figures for a paper: one column wide where they fit, else two, in vector form with letters that can be read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from podium.report.data import ReportData
from podium.report.figures import FIGURES, as_bytes
from podium.report.figures._frame import as_wide_as
from podium.report.figures.gallery import FigureKind, file_name
from podium.report.figures.of_run import Drawn, Nothing
from podium.report.paper.latex import escaped
from podium.report.style import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DOUBLE", "SINGLE", "Plate", "captions_latex", "captions_markdown", "draw_plates"]

SINGLE, DOUBLE = 3.5, 7.2
"""Inches of one column, 89 mm, and of two, 183 mm."""
_FORMATS = ("pdf", "svg")
_NARROW = {
    "accuracy_runtime",
    "consensus",
    "dendrogram",
    "dots_and_boxes",
    "places",
    "ranking_heatmap",
    "significance_map",
    "tau_violin",
}
"""Kinds that one column may be enough for."""
_MOST_POINTS = 20_000
"""More dots than these are drawn as pixels, so that a file can be opened."""
_DOTS_PER_INCH = 600
_LEAST_ROOM = 1.2
"""Inches that an axis needs beside the names."""


@dataclass(frozen=True, slots=True)
class Plate:
    """A figure as files.

    Attributes
    ----------
    name
        Of the files, without ending.
    title, caption
        In plain text.
    inches
        Of its width.
    files
        By format.
    """

    name: str
    title: str
    caption: str
    inches: float
    files: dict[str, bytes]

    @property
    def wide(self) -> bool:
        """Whether it needs both columns."""
        return self.inches > SINGLE + 0.01


def draw_plates(
    data: ReportData,
    *,
    only: Collection[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Plate]:
    """Draw the figures of a report for a paper.

    Parameters
    ----------
    data
        From `podium.report.data.gather`.
    only
        Names of figures; by default all.
    progress
        Is told how many kinds of figures are done, and of how many.
    """
    chosen = [kind for name, kind in FIGURES.items() if (name in only if only is not None else kind.concerns(data))]
    taken: list[str] = []
    for done, kind in enumerate(chosen, 1):
        worded = kind.worded(data)
        for suffix, figure in _drawn(kind, data):
            taken.append(file_name(kind, suffix, taken))
            title = f"{worded.title}: {suffix}" if suffix else worded.title
            files = {form: _written(data, figure, form) for form in _FORMATS}
            yield Plate(taken[-1], title, worded.caption, float(figure.get_figwidth()), files)
        if progress:
            progress(done, len(chosen))


def _drawn(kind: FigureKind, data: ReportData) -> list[tuple[str, Figure]]:
    """Draw all figures of a kind for one column; if one of them does not fit, all for two."""
    if kind.name in _NARROW:
        with as_wide_as(SINGLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="constrained_layout not applied")  # then it does not fit
            drawn: Drawn = kind.drawn_from(data)
        if isinstance(drawn, Nothing):
            return []
        if all(_fits(figure) for _, figure in drawn):
            return drawn
    with as_wide_as(DOUBLE):
        drawn = kind.drawn_from(data)
    return [] if isinstance(drawn, Nothing) else drawn


def _fits(figure: Figure) -> bool:
    """Return whether nothing is cut, no text lies on another, and names leave the axes room."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    with drawing():
        renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
        labels = [axis.label for axes in figure.axes if axes.axison for axis in (axes.xaxis, axes.yaxis)]
        extents = [label.get_window_extent(renderer).get_points() for label in labels if label.get_text()]
        named = [Bbox(points / figure.dpi) for points in extents]  # which Matplotlib 3.10 does not count
        taken, (wide, high) = Bbox.union([figure.get_tightbbox(renderer), *named]), figure.get_size_inches()
        inside = taken.x0 >= -0.02 and taken.y0 >= -0.02 and taken.x1 <= wide + 0.02 and taken.y1 <= high + 0.02
        texts = [text for axes in figure.axes for text in axes.texts if text.get_text()]
        boxes = [text.get_window_extent(renderer) for text in texts]
    apart = not any(
        min(one.x1, two.x1) - max(one.x0, two.x0) > 1 and min(one.y1, two.y1) - max(one.y0, two.y0) > 3
        for index, one in enumerate(boxes)
        for two in boxes[index + 1 :]
    )
    return inside and apart and max(axes.get_position().width for axes in figure.axes) * wide >= _LEAST_ROOM


def _written(data: ReportData, figure: Figure, form: str) -> bytes:
    from matplotlib.collections import QuadMesh

    if len(data.submissions) * len(data.cases) <= _MOST_POINTS:
        for artist in figure.findobj(lambda artist: bool(artist.get_rasterized()) and not isinstance(artist, QuadMesh)):
            artist.set_rasterized(False)  # but for a colour bar, whose cells would show seams
    return as_bytes(figure, form, dots_per_inch=_DOTS_PER_INCH)


def captions_markdown(drawn: Collection[Plate]) -> str:
    """Return what stands below each figure, with its file and its width."""
    blocks = [
        f"## {plate.name}\n\n**{plate.title}.** {plate.caption}\n\n`figures/{plate.name}.pdf`, "
        f"{25.4 * plate.inches:.0f} mm wide ({'two columns' if plate.wide else 'one column'})"
        for plate in drawn
    ]
    return "\n\n".join(blocks) + "\n"


def captions_latex(drawn: Collection[Plate]) -> str:
    """Return an environment for each figure, ready to be moved to its place."""
    blocks = []
    for plate in drawn:
        star = "*" if plate.wide else ""
        blocks.append(
            f"\\begin{{figure{star}}}\n\\centering\n\\includegraphics[width={plate.inches:.2f}in]"
            f"{{figures/{plate.name}.pdf}}\n\\caption{{\\textbf{{{escaped(plate.title)}.}} {escaped(plate.caption)}}}\n"
            f"\\label{{fig:{plate.name}}}\n\\end{{figure{star}}}"
        )
    return "% Needs \\usepackage{graphicx}.\n" + "\n\n".join(blocks) + "\n"

"""How figures look: colours that everybody can tell apart, one for each submission throughout a report."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from podium.model import Role
from podium.report.short_names import short_labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "ACCENT",
    "ALARM",
    "FAINT",
    "GRID",
    "INK",
    "OTHERS",
    "PALETTE",
    "PAPER",
    "SOFT",
    "Look",
    "drawing",
    "laid_out",
    "looks",
]

INK = "#21252b"
"""Of text and of what must be seen."""
SOFT = "#5d6672"
"""Of text that may be overlooked, and of baselines."""
OTHERS = "#9aa4b0"
"""Of what belongs to no submission."""
FAINT = "#c9ced5"
"""Of axes."""
GRID = "#e6e9ed"
"""Of lines that only guide the eye."""
PAPER = "#ffffff"
"""Of what lies behind everything."""
ACCENT = "#0072b2"
"""Of shares and of decisions."""
ALARM = "#d55e00"
"""Of what failed."""

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#882255")
"""Six colours of Okabe and Ito and one of Tol, told apart with any kind of colour vision; the first five also from
`OTHERS`."""
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
HIGHLIGHTED = 5
"""How many of more submissions than there are colours are named where there is no room for all."""

_FURTHER_FONTS = (
    "Noto Sans CJK SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "Microsoft YaHei",
    "PingFang SC",
    "Hiragino Sans",
    "Malgun Gothic",
    "Arial Unicode MS",
    "Noto Sans Devanagari",
    "Noto Emoji",
)
"""For names in scripts that DejaVu Sans does not know."""

_LOCK = threading.RLock()  # settings of Matplotlib are global
_SET = threading.local()  # whether this thread draws in Podium's style already

_SETTINGS = {
    "font.family": ["sans-serif"],
    "font.size": 8.5,
    "text.color": INK,
    "text.parse_math": False,  # a name may hold any sign
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.7,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.use_mathtext": False,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.4,
    "figure.facecolor": PAPER,
    "figure.dpi": 180,
    "text.hinting": "none",  # or the same text would be of another length in each format
    "savefig.facecolor": "auto",
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.05,
    "image.composite_image": False,
    "path.simplify": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "podium",
    "pdf.fonttype": 42,
}


@contextmanager
def _marked() -> Iterator[None]:
    _SET.inside = True
    try:
        yield
    finally:
        _SET.inside = False


@contextmanager
def drawing() -> Iterator[None]:
    """Draw or write figures in Podium's style: whatever the user's settings are, and one thread at a time.

    A name may hold signs that no font at hand has. They are drawn as boxes, without a warning; in an SVG they are text.
    Inside another such block nothing is set again, which takes long.
    """
    import matplotlib as mpl

    if getattr(_SET, "inside", False):
        yield
        return
    with _LOCK, warnings.catch_warnings(), mpl.rc_context(), _marked():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .*missing from", category=UserWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)  # type: ignore[arg-type]  # plain names of settings
        mpl.rcParams["font.sans-serif"] = list(_families())
        yield


def laid_out(figure: Figure) -> Figure:
    """Lay a figure out once and for all: else each file would begin where the one written before it ended."""
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
    return figure


@lru_cache(maxsize=1)
def _families() -> tuple[str, ...]:
    """Return the font of figures, then those at hand that have what it has not."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return ("DejaVu Sans", *(name for name in _FURTHER_FONTS if name in installed))


@dataclass(frozen=True, slots=True)
class Look:
    """How a submission is shown.

    Attributes
    ----------
    label
        Its name, short enough for an axis.
    place
        On the leaderboard; None if it is not ranked.
    colour, marker
        The same in every figure of a report.
    highlighted
        Whether it is named where there is no room for all.
    role
        Who it stands for.
    focus
        Whether the report is about it.
    index
        Where it stands on the leaderboard, the first being 0: a page finds it in figures by this.
    """

    label: str
    place: int | None
    colour: str
    marker: str
    highlighted: bool
    role: Role = Role.COMPETITOR
    focus: bool = False
    index: int = 0


def looks(
    submissions: Sequence[str],
    *,
    places: Mapping[str, int | None] | None = None,
    roles: Mapping[str, Role] | None = None,
    focus: str | None = None,
) -> dict[str, Look]:
    """Choose how each submission is shown.

    Every competitor has a colour and a marker; up to 49 of them, no two have both in common.

    Parameters
    ----------
    submissions
        In the order of the leaderboard.
    places
        Of those that are ranked; by default everybody is, in the given order.
    roles
        Of those that are no competitors.
    focus
        The submission that a report is about.
    """
    roles = roles or {}
    competitors = [name for name in submissions if roles.get(name, Role.COMPETITOR) is Role.COMPETITOR]
    if places is None:
        places = {name: place for place, name in enumerate(competitors, 1)}
    chosen = competitors if len(competitors) <= len(PALETTE) else competitors[:HIGHLIGHTED]
    if focus in competitors and focus not in chosen:
        chosen = [*chosen, focus]
    shown, labels, count = {}, short_labels(submissions), len(PALETTE)
    numbers = {name: number for number, name in enumerate(competitors)}
    for index, name in enumerate(submissions):
        role = roles.get(name, Role.COMPETITOR)
        if name in numbers:
            number = numbers[name]
            colour, marker = PALETTE[number % count], MARKERS[(number + number // count) % count]
        else:
            colour = SOFT if role is Role.BASELINE else INK
            marker = "|" if role is Role.BASELINE else "*"
        shown[name] = Look(labels[name], places.get(name), colour, marker, name in chosen, role, name == focus, index)
    return shown

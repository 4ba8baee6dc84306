"""A report from a ranking: figures as files, pictures of cases, and the page that shows everything."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from podium.report._document import as_json
from podium.report.page import Group, Image, Shown, ShownFigure, render
from podium.report.words import listed
from podium.run import Run, RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from podium.report.data import ReportData
    from podium.report.figures import Drawing
    from podium.report.pictures import Picture

__all__ = ["Built", "build_report"]

MOST_SVG = 3_000_000
"""Bytes of figures that a page holds as SVG; beyond, the largest are pictures, so that it can be mailed."""
MOST_IMAGES = 800_000
"""Bytes of such pictures; of each kind the first come first, and further ones are files only."""
MOST_OF_PAGE, LARGEST_PAGE = 4_950_000, 19_500_000
"""Bytes that a page should have, of up to 12,000 results of a measure and of 300,000, as far as figures and cases that
are shown can be fewer."""
FEW = 3_100_000
"""Bytes of figures that any page has room for which can be mailed."""
MAILED = 12_000
"""Results of a measure whose page can be mailed."""
FEWEST_PICTURES, MOST_PICTURES = 60_000, 1_000_000
"""Bytes of pictures of cases that a page holds, of a large and of a small run; further ones are files only."""
FEWEST_SCENES = 120_000
"""Bytes of cases to be looked at that even the page of a large run holds."""
MOST_OF_PICTURE = 60_000
"""Bytes of a picture as SVG, which follows the page's colours; a larger one is made of pixels."""
PICTURED = 8
"""Submissions whose cases are shown, from the first on; with --submission, only that one's."""
_WIDTH = 1000  # pixels of a picture in the page
_QUALITY, _LESS = 82, 50  # of pictures, and of those with many pixels
_MANY_PIXELS = 3_000_000

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Built:
    """What was written."""

    page: Path
    size: int
    figures: int
    pictures: int


def build_report(
    data: ReportData,
    page: Path,
    *,
    figures: Path,
    only: Collection[str] | None = None,
    formats: Collection[str] = ("svg", "pdf", "png"),
    run: Run | None = None,
    images: Path | None = None,
    cases: Sequence[str] = (),
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Draw and write everything.

    Parameters
    ----------
    data
        From `podium.report.data.gather`.
    page
        The HTML file to write.
    figures
        The folder for figures as files, beside the page.
    only
        Names of figures; by default all.
    formats
        Of the files: svg, pdf and png.
    run, images
        For pictures of cases, see `podium.report.pictures.draw_pictures`; without a run there are none, and only the
        organiser's page has any.
    cases
        That somebody wants to look at, see `podium.report.viewer.look_at`.
    overwrite
        Whether a page may be overwritten that Podium did not write, since somebody named it.
    progress
        Is told what is being done, how much of it, and of how much.
    """
    from podium.report.figures import save_all

    tell = (lambda what: lambda done, total: progress(what, done, total)) if progress else (lambda _: None)
    page.parent.mkdir(parents=True, exist_ok=True)
    RunFolder(page.parent).claim([page.name], overwrite=overwrite, take=False)
    if data.whole is not None or any(shown != real for shown, real in data.names.items()):
        # What an earlier report has left beside a page for others may tell what is not for them, or who is who.
        RunFolder(figures.parent).forget(lambda name: name.startswith(f"{figures.name}/"))
    drawn = save_all(data, figures, formats, only=only, progress=tell("figures"))
    pictured = run is not None and data.whole is None  # they show the truth
    room = _room(data) if pictured or sum(len(own.inline) for own in drawn) > FEW else MOST_OF_PAGE
    groups, absent = _groups(drawn, figures.name, room - FEWEST_PICTURES - FEWEST_SCENES)
    pictures: dict[str, list[Image]] = {}
    notes: dict[str, list[str]] = {}
    look = None
    if pictured and run is not None:
        from podium.report.viewer import MOST_SCENES, look_at

        chosen = _pictured(data)
        left = room - sum(_size(own) for group in groups for own in group.drawings)
        scenes = int(np.clip(left * 0.6, FEWEST_SCENES, MOST_SCENES))
        look = look_at(
            data, run, submissions=chosen, cases=cases, images=images, room=scenes, progress=tell("cases to look at")
        )
        images_room = int(np.clip(left * 0.4, FEWEST_PICTURES, MOST_PICTURES))
        pictures, notes = _pictures(
            data, run, figures, formats=formats, images=images, room=images_room, progress=tell("pictures of cases")
        )
    content = _encoded(render(data, Shown(groups, absent, pictures, notes, look)))
    RunFolder(page.parent).add({page.name: content}, overwrite=overwrite)
    count = sum(len(group.drawings) for group in groups)
    return Built(page, len(content), count, sum(map(len, pictures.values())))


def _encoded(text: str) -> bytes:
    """Return the bytes of a text; a name in it may come from a file system that does not know Unicode."""
    return text.encode("utf-8", "replace")


def _room(data: ReportData) -> int:
    """Return how many bytes figures and pictures may have: a page grows with its results, all of which it holds."""
    more = len(data.submissions) * len(data.cases) - MAILED
    most = int(np.clip(MOST_OF_PAGE + 50 * more, MOST_OF_PAGE, LARGEST_PAGE))
    return most - len(_encoded(render(data)))


def _size(drawing: ShownFigure) -> int:
    """Return how many bytes a figure has on the page."""
    frame = 900  # its caption, and what is around it
    return frame + (len(drawing.image) or len(_encoded(drawing.svg)) + len(_encoded(as_json(drawing.panels))))


def _groups(
    drawn: Sequence[Drawing], folder: str, room: int = MOST_OF_PAGE
) -> tuple[list[Group], list[tuple[str, str]]]:
    """Return what was drawn, kind by kind, and what was not, with the reason."""
    kinds: dict[str, list[Drawing]] = {}
    for drawing in drawn:
        kinds.setdefault(drawing.kind.name, []).append(drawing)
    heavy = _heavy(drawn)
    groups: list[Group] = []
    absent: list[tuple[str, str]] = []
    for name, members in kinds.items():
        kind = members[0].kind
        absent += [(kind.title, drawing.reason) for drawing in members if drawing.reason]
        shown = [_shown(drawing, folder, as_svg=drawing.name not in heavy) for drawing in members if not drawing.reason]
        if shown:
            groups.append(Group(len(groups) + 1, name, kind.title, kind.caption, tuple(shown)))
    left_out = _beyond(groups, room)
    only = f"To keep this page small, these are only in {folder}/."
    absent += [
        (
            f"{group.title}: {own.label}",
            only if own.files else "There was no room for these; --format writes them as files.",
        )
        for group in groups
        for own in group.drawings
        if own.name in left_out
    ]
    kept = [replace(g, drawings=tuple(own for own in g.drawings if own.name not in left_out)) for g in groups]
    return kept, absent


def _beyond(groups: Sequence[Group], room: int) -> set[str]:
    """Return the figures for which there is no room: the first of every kind has it, then the second, and so on."""
    turns = sorted(
        ((place, own) for group in groups for place, own in enumerate(group.drawings)), key=lambda turn: turn[0]
    )
    images, taken, beyond = 0, 0, set()
    for place, own in turns:
        size = _size(own)
        images += len(own.image)
        if place and (taken + size > room or (own.image and images > MOST_IMAGES)):
            beyond.add(own.name)
        else:
            taken += size
    return beyond


def _heavy(drawn: Sequence[Drawing]) -> set[str]:
    """Return the largest figures, without which the others are small enough."""
    pictured = [drawing for drawing in drawn if drawing.picture]
    sizes = sorted(((len(_encoded(own.inline)), own.name) for own in pictured), reverse=True)
    total, heavy = sum(len(_encoded(drawing.inline)) for drawing in drawn), set()
    for size, name in sizes:
        if total <= MOST_SVG:
            break
        heavy.add(name)
        total -= size
    return heavy


def _shown(drawn: Drawing, folder: str, *, as_svg: bool) -> ShownFigure:
    label = drawn.suffix
    alt = f"{drawn.kind.title}{f': {label}' if label else ''}. Told by the caption and the tables."
    endings = ",".join(path.suffix[1:] for path in drawn.files)
    files = f"{folder}/{drawn.name}.{f'{{{endings}}}' if len(drawn.files) > 1 else endings}" if endings else ""
    share = _share(drawn.inline)
    inline = ShownFigure(label, alt, svg=drawn.inline, share=share, files=files, name=drawn.name, panels=drawn.panels)
    if as_svg or not drawn.picture:
        return inline
    address, width, height = _embedded(drawn.picture)
    if len(address) >= len(drawn.inline):
        return inline
    return replace(inline, svg="", image=address, width=width, height=height, panels=())


def _share(svg: str) -> float:
    """Return how wide a figure is, the usual width being 1, so that letters are of one size throughout a page."""
    from podium.report.figures._frame import WIDTH

    width = re.match(r'<svg[^>]*\swidth="([\d.]+)pt"', svg)
    return round(min(float(width[1]) / (72 * WIDTH), 1.2), 3) if width else 1.0


def _pictured(data: ReportData) -> list[str]:
    """Return whose cases are shown."""
    return [data.focus] if data.focus else list(data.submissions[:PICTURED])


def _pictures(
    data: ReportData,
    run: Run,
    figures: Path,
    *,
    formats: Collection[str],
    images: Path | None,
    room: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, list[Image]], dict[str, list[str]]]:
    """Draw the cases of the first submissions, or of the one that the report is about."""
    from podium.report.pictures import draw_pictures

    place, target = RunFolder(figures.parent), f"{figures.name}/cases"
    place.forget(lambda name: name.startswith(f"{target}/"))  # an earlier report may have shown other names
    chosen = _pictured(data)
    shown: dict[str, list[Image]] = {}
    notes: dict[str, list[str]] = {}
    number = 0
    left_out: dict[str, int] = {}
    for picture in draw_pictures(data, run, submissions=chosen, images=images, progress=progress):
        if picture.figure is None:
            notes.setdefault(picture.submission, []).append(picture.remark)
            continue
        number += 1
        svg, png = _written(picture, picture.figure, place, target, number, formats)
        address, width, height = ("", 0, 0) if len(svg) <= MOST_OF_PICTURE else _embedded(png())
        room -= len(address) or len(svg)
        if room < 0:
            left_out[picture.submission] = left_out.get(picture.submission, 0) + 1
            continue
        label = f"{picture.kind}, {picture.case}" if picture.case else picture.heading
        inches = round(float(picture.figure.get_figwidth()), 2)
        about = number, label, picture.heading, picture.alternative
        shown.setdefault(picture.submission, []).append(
            Image(*about, address, width, height, inches, "" if address else svg, picture.case)
        )
    if len(data.submissions) > len(chosen) and data.focus is None:
        note = f"Shown are the first {len(chosen)} of {len(data.submissions)} submissions; --submission shows another."
        notes.setdefault("", []).append(note)
    if left_out:
        more = f"{sum(left_out.values())} more, of {listed(list(left_out))},"
        notes.setdefault("", []).append(f"To keep this page small, {more} are only in {figures.name}/cases.")
    return shown, notes


def _written(
    picture: Picture, figure: Figure, place: RunFolder, folder: str, number: int, formats: Collection[str]
) -> tuple[str, Callable[[], bytes]]:
    """Write a picture in some formats, and return it for the page, and how to get it as PNG."""
    from podium.report.figures import as_bytes, inline_svg, slug

    name = slug(f"{picture.submission[:40]} {picture.kind} {picture.case[:40] or picture.heading[:40]}")
    contents = {form: as_bytes(figure, form) for form in sorted({*formats, "svg"})}
    place.add({f"{folder}/{number:03d}-{name}.{form}": contents[form] for form in formats})
    svg = inline_svg(contents["svg"], f"picture-{number}")
    return svg, lambda: contents.get("png") or as_bytes(figure, "png")


def _embedded(png: bytes) -> tuple[str, int, int]:
    """Return a picture as an address that holds it, small enough for a page, with its width and height in pixels."""
    from PIL import Image as Pixels

    with Pixels.open(io.BytesIO(png)) as opened:
        image = opened.convert("RGB")
    if image.width > _WIDTH:
        image = image.resize((_WIDTH, round(image.height * _WIDTH / image.width)), Pixels.Resampling.LANCZOS)
    target = io.BytesIO()
    quality = _QUALITY if image.width * image.height <= _MANY_PIXELS else _LESS
    image.save(target, "WEBP", quality=quality, method=4)
    return f"data:image/webp;base64,{base64.b64encode(target.getvalue()).decode()}", image.width, image.height

"""Figures as files, the same bytes for the same data, and as pieces of a page."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from podium.model import InputError
from podium.report.style import FAINT, GRID, INK, OTHERS, PALETTE, PAPER, SOFT, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "THEMED", "as_bytes", "check_name", "inline_svg", "save", "slug"]

FORMATS = ("svg", "pdf", "png")
"""What figures can be written as."""
_DOTS_PER_INCH = {"svg": 110, "pdf": 160, "png": 180}  # of what is drawn as pixels
_METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}

_LARGE_IMAGE = 40_000
_NUMBERS, _LONG = re.compile(r' (?:d|x|y|transform)="[^"]*"'), re.compile(r"(\.\d\d)\d+")
_PATH, _COMMAND = re.compile(r'(?<= d=")[^"]*'), re.compile(r"\s*([A-Za-z])\s*")
_UPRIGHT = re.compile(r' transform="rotate\(-?0 [^"]*\)"')
_FONT = re.compile(r"font-family: [^;]*;? ?")  # the page has one of its own

THEMED = {
    INK: "--figure-ink",
    SOFT: "--figure-soft",
    OTHERS: "--figure-others",
    FAINT: "--figure-faint",
    GRID: "--figure-grid",
    PAPER: "--figure-paper",
    PALETTE[6]: "--figure-wine",
}
"""The colours that a page may change, dark for light, and the CSS variables that it sets for them."""


def check_name(path: Path) -> None:
    """Refuse a name whose ending tells no format, before anything is drawn."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"a figure ends with .png, .pdf or .svg, not '{path.suffix}'", path=path)


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the format follows from the name."""
    check_name(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_bytes(figure, path.suffix.lower()[1:]))


def as_bytes(figure: Figure, form: str, *, dots_per_inch: int | None = None) -> bytes:
    """Return a figure as svg, pdf or png: no dates, no random names, so that nothing differs between two calls.

    What is drawn as pixels has by default as many as a page needs.
    """
    if form not in FORMATS:
        raise InputError(f"there is no format {form!r}", advice=f"There are: {', '.join(FORMATS)}")
    target = io.BytesIO()
    with drawing():
        figure.savefig(target, format=form, dpi=dots_per_inch or _DOTS_PER_INCH[form], metadata=_METADATA[form])
    if form != "svg":
        return target.getvalue()
    numbers = count()
    named = re.sub(
        rb'(?<= id=")((?:team|row)-\d+)', lambda name: b"%s.%d" % (name[1], next(numbers)), target.getvalue()
    )
    return _with_small_images(named)


def _with_small_images(svg: bytes) -> bytes:
    """Return an SVG whose large images have few colours, which is a fourth of the bytes and looks the same."""
    return re.sub(rb'(?<=xlink:href="data:image/png;base64,)[^"]*', _reduced, svg)


def _reduced(match: re.Match[bytes]) -> bytes:
    from PIL import Image

    encoded = b"".join(match[0].split())
    if len(encoded) < _LARGE_IMAGE:
        return encoded
    image = Image.open(io.BytesIO(base64.b64decode(encoded)))
    target = io.BytesIO()
    image.quantize(64, method=Image.Quantize.FASTOCTREE).save(target, "png")
    return base64.b64encode(target.getvalue())


def inline_svg(svg: bytes, name: str) -> str:
    """Return an SVG as a piece of an HTML page.

    It grows with the page, has names that no other figure has, nothing behind it, and takes the colours of text and
    lines from the page's CSS variables, see `THEMED`. What belongs to a submission has its index on the leaderboard as
    data-team; dots that are cases have a class of that name. It is hidden from screen readers: a caption must tell.

    Parameters
    ----------
    svg
        From `as_bytes`.
    name
        Unique on the page.
    """
    text = svg.decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    prefix = f"f{sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"
    used = dict.fromkeys(re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', text))
    short = {long: f"{prefix}-{number}" for number, long in enumerate(used)}

    def renamed(match: re.Match[str]) -> str:
        if team := re.fullmatch(r"(team|row)-(\d+)\.\d+", match[1]):
            return f' class="{team[1]}" data-team="{team[2]}"'
        if match[1].startswith("cases-"):
            return ' class="cases"'
        return f' id="{short[match[1]]}"' if match[1] in short else ""

    head, tag, body = text.partition(">")
    size = dict(re.findall(r'(viewBox|width|height)="([^"]*)"', head))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{size["viewBox"]}" width="{size["width"]}" height="{size["height"]}" aria-hidden="true"'
    )
    # Only what stands inside a tag is changed: a name may look like anything.
    identified = re.compile(r' id="([^"]*)"')
    body = re.sub(r"<[^>]*>", lambda match: _themed(identified.sub(renamed, match[0]), short), body)
    background = re.compile(rf'<g>\s*<path d="[^"]*" style="fill: var\({THEMED[PAPER]}, {PAPER}\)"/>\s*</g>')
    body = background.sub("", body, count=1)
    return _small(re.sub(r">\s+<(?!/text|/tspan)", "><", head + tag + body).strip())


def _small(svg: str) -> str:
    """Return an SVG of which only what is seen is left: two decimals, no font, and the look of many signs told once."""
    svg = re.sub(r"<[^>]*>", lambda tag: _small_tag(tag[0]), svg)
    alike = re.compile(r'(?:<use [^>]*? (style="[^"]*")/>)(?:<use [^>]*? \1/>)+')
    return alike.sub(lambda match: f"<g {match[1]}>{match[0].replace(f' {match[1]}/>', '/>')}</g>", svg)


def _small_tag(tag: str) -> str:
    if "=" not in tag or tag.startswith("<image"):
        return tag
    if "." in tag:
        tag = _NUMBERS.sub(lambda numbers: _LONG.sub(r"\1", numbers[0]), tag)
    if ' d="' in tag:
        tag = _PATH.sub(lambda path: _COMMAND.sub(r"\1", path[0]), tag)
    elif tag.startswith("<text"):
        tag = _UPRIGHT.sub("", tag)
    start = tag.find(' style="') + 8
    if start < 8:
        return tag
    end = tag.index('"', start)
    style = _FONT.sub("", tag[start:end]).replace("; ", ";").replace(": ", ":")
    return f"{tag[:start]}{style}{tag[end:]}"


def _themed(tag: str, short: Mapping[str, str]) -> str:
    if "#" not in tag or tag.startswith("<image"):
        return tag
    tag = re.sub(r'(?<=xlink:href="#)[^"]*|(?<=url\(#)[^)]*', lambda name: short.get(name[0], name[0]), tag)
    return re.sub("|".join(THEMED), lambda match: f"var({THEMED[match[0]]}, {match[0]})", tag)


def slug(text: str) -> str:
    """Return a text as a part of a file's name.

    Examples
    --------
    >>> slug("Surface Dice, kidney and mass ↑")
    'surface-dice-kidney-and-mass'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")

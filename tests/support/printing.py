"""Pages as they are printed: what Chromium makes of them for paper, read back from the PDF."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest


@dataclass(frozen=True)
class Sheet:
    """A printed page.

    Attributes
    ----------
    text
        All of it, as it is read.
    smallest
        Points of the smallest letters.
    outside
        Letters that are beyond the paper.
    filled
        Down to which share of its height there is something, page number left out.
    """

    text: str
    smallest: float
    outside: str
    filled: float


def sheets_of(page: Any, *, paper: str = "A4") -> list[Sheet]:
    """Print a page that a browser shows."""
    return sheets(page.pdf(format=paper, prefer_css_page_size=True))


def sheets(pdf: bytes) -> list[Sheet]:
    """Read a PDF."""
    pdfium = pytest.importorskip("pypdfium2", reason="pypdfium2 is not installed: make test installs it")
    return [_sheet(page) for page in pdfium.PdfDocument(pdf)]


def _sheet(page: Any) -> Sheet:
    from pypdfium2 import raw

    reader, matrix = page.get_textpage(), raw.FS_MATRIX()
    wide, high = page.get_size()
    smallest, outside = np.inf, ""
    for index in range(reader.count_chars()):
        sign = chr(raw.FPDFText_GetUnicode(reader, index))
        if not sign.strip() or raw.FPDFText_IsGenerated(reader, index) == 1:
            continue
        raw.FPDFText_GetMatrix(reader, index, ctypes.byref(matrix))
        size = raw.FPDFText_GetFontSize(reader, index) * float(np.hypot(matrix.c, matrix.d))
        smallest = min(smallest, size)
        left, bottom, right, top = reader.get_charbox(index)
        if left < 0 or bottom < 0 or right > wide or top > high:
            outside += sign
    ink = (np.asarray(page.render(scale=0.5, grayscale=True).to_numpy()).squeeze() < 250).any(axis=1)
    above_number = ink[: int(0.93 * len(ink))]
    filled = float(np.flatnonzero(above_number).max(initial=0) / len(ink))
    return Sheet(" ".join(reader.get_text_range().split()), smallest, outside, filled)

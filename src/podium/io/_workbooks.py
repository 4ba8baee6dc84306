"""Turns Parquet files and Excel workbooks into CSV, or only tries to read them: a program of its own, within limits.

Such files say themselves how large they are, and a small one may unpack to anything. Nothing of Podium is imported.
The answer begins with a line of JSON; after it comes the CSV, every field in quotes.
"""

from __future__ import annotations

import json
import resource
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

MEMORY = 2**32
"""Bytes that unpacking may take."""
SECONDS = 120
"""Of computing."""


class RefusedError(Exception):
    """The file is refused, and why."""


def main() -> None:
    """Answer for the file, the sheet and the largest size that the command line gives."""
    path, kind, sheet, most = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    output = sys.stdout.buffer
    try:
        frame, facts = _KINDS[kind](path, sheet, most)
    except RefusedError as refusal:
        output.write(json.dumps({"refused": str(refusal)}).encode() + b"\n")
        return
    output.write(json.dumps(facts).encode() + b"\n")
    frame.write_csv(output, include_header=kind == "parquet", quote_style="always")


def _parquet(path: Path, _: str, most: int) -> tuple[Any, dict[str, Any]]:
    import polars as pl

    lazy = pl.scan_parquet(BytesIO(path.read_bytes()))  # a name may hold anything, such as a pattern
    schema = lazy.collect_schema()
    plain = [name for name, kind in schema.items() if not (kind.is_nested() or kind in (pl.Binary, pl.Object))]
    rows = lazy.select(pl.len()).collect().item()
    if rows * len(schema) > most:
        raise RefusedError(f"the table has {rows:,} rows and {len(schema):,} columns, more than are read")
    return lazy.select(pl.col(plain).cast(pl.String)).collect(), {}


def _trial(path: Path, _sheet: str, _most: int) -> tuple[Any, dict[str, Any]]:
    """Read a Parquet file, and answer only that it can be read."""
    import polars as pl

    pl.read_parquet(BytesIO(path.read_bytes()))
    return pl.DataFrame(), {}


def _excel(path: Path, sheet: str, most: int) -> tuple[Any, dict[str, Any]]:
    import fastexcel
    import polars as pl

    with zipfile.ZipFile(path) as archive:
        if "xl/workbook.xml" not in archive.namelist():
            raise RefusedError("this is a zip file, and no Excel workbook")
        if sum(member.file_size for member in archive.infolist()) > most:
            raise RefusedError(f"the table unpacks to more than {most:,} bytes")
    book = fastexcel.read_excel(path)
    names = list(book.sheet_names)
    if not sheet:
        first = {name: book.load_sheet(name, header_row=None, n_rows=1, dtypes="string") for name in names}
        used = [name for name, part in first.items() if part.visible == "visible" and part.height and part.width]
        if len(used) != 1:
            what = f"the sheets {', '.join(used)[:200]}" if used else "no sheet with anything in it"
            raise RefusedError(f"the workbook has {what}" + (". Say which: --sheet " + used[0] if used else ""))
        sheet = used[0]
    elif sheet not in names and sheet.isdecimal() and 0 < int(sheet) <= len(names):
        sheet = names[int(sheet) - 1]
    elif sheet not in names:
        raise RefusedError(f"there is no sheet {sheet!r}. There are: {', '.join(names)[:200]}")
    # As text, numbers lose all but nine decimals: where the number itself says more, it is taken.
    texts = book.load_sheet(sheet, header_row=None, dtypes="string").to_polars()
    numbers = book.load_sheet(sheet, header_row=None, dtypes="float").to_polars()
    frame = pl.DataFrame(
        {
            name: pl.select(
                pl.when(text.cast(pl.Float64, strict=False) != number).then(number.cast(pl.String)).otherwise(text)
            ).to_series()
            for name, text, number in zip(texts.columns, texts, numbers, strict=True)
        }
    )
    return frame, {"sheet": sheet, "sheets": len(names)}


_KINDS = {"parquet": _parquet, "trial": _trial, "excel": _excel}

if __name__ == "__main__":
    import fastexcel  # noqa: F401  # loaded before memory is limited
    import polars  # noqa: F401  # likewise

    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    memory = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    main()

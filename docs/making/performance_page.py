"""How fast it is: a page from the files that the benchmarks wrote, with the machine and the day."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import floor, log10
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"
TITLES = {
    "reading": "Reading a label map",
    "kits21": "A KiTS21 case, from two files to six numbers",
    "surfaces": "Surface distances in memory",
    "boundaries": "Surface distances, whatever the masks",
    "threads": "Several cases at once",
    "displacements": "Displacements, streamed",
    "tusrec": "A TUS-REC scan",
    "trackrad": "A TrackRAD sequence",
    "instances": "Instances",
    "measure": "Two folders",
    "ranking": "Resampling a ranking",
    "certainty": "What intervals keep of their promises",
    "raters": "Several annotators",
    "probabilities": "Scores and their bootstrap",
    "report": "The report",
    "scale": "Many submissions, many machines",
    "algorithms": "Running algorithms: what is added to their time",
    "start": "Starting, and what is installed",
}


def pages() -> Iterator[tuple[str, str]]:
    """Yield the page."""
    parts = benchmarks()
    text = _INTRODUCTION
    for part in [*(name for name in TITLES if name in parts), *(name for name in parts if name not in TITLES)]:
        text += f"\n## {TITLES.get(part, part)}\n\n{_table(parts[part]['rows'])}\n\n{_where(parts[part])}\n"
    yield "performance.md", text + _on_gpu()


_INTRODUCTION = """# How fast it is

`make bench` measures Podium and its peers side by side, in turns and in one run; the best of several rounds counts.
What matters is the ratio, the machine being whatever it is. Every table here is made from the file that the benchmark
wrote. An aim that was not reached says so. *≥ 25×* means that many times faster than the other; *≤ 2×* means at most so
many times what the other takes.
"""


def benchmarks() -> dict[str, Any]:
    """Return what the benchmark wrote, part by part."""
    parts: dict[str, Any] = json.loads((DATA / "benchmarks.json").read_text(encoding="utf-8"))["parts"]
    return parts


def plain(number: float) -> str:
    """Return a number with two digits or all before the point: 0.012, 1.8, 18, 1,820."""
    digits = max(1 - floor(log10(abs(number))), 0) if number else 0
    return f"{number:,.{digits}f}"


def _table(rows: list[Mapping[str, Any]]) -> str:
    lines = ["| what | Podium | against | takes | ratio | aim |", "|---|---|---|---|---|---|"]
    for row in rows:
        first = (row["what"], f"{plain(row['ours'])} {row['unit']}")
        if not row["others"]:
            lines.append(f"| {first[0]} | {first[1]} | | | | |")
        for place, (other, taken) in enumerate(row["others"].items()):
            sign, number = row["targets"].get(other, ("", 0))
            reached = row["ratios"][other]["reached"]
            aim = f"{sign} {number:g}×{'' if reached else ', not reached'}" if sign else ""
            what, ours = first if place == 0 else ("", "")
            ratio = plain(row["ratios"][other]["ratio"])
            lines.append(f"| {what} | {ours} | {other} | {plain(taken)} {row['unit']} | {ratio}× | {aim} |")
    return "\n".join(lines)


def _where(part: Mapping[str, Any]) -> str:
    machine = part["machine"]
    return f"*{machine['processor']}, {machine['cores']} cores, Python {machine['python']}, {part['date']}.*"


def _on_gpu() -> str:
    """Return the tables of masks on a GPU, and of files measured with one."""
    told = json.loads((DATA / "gpu.json").read_text(encoding="utf-8"))
    names = ("Podium", "Podium, graph", "DisTorch", "MONAI, HD95 alone")
    heads = ("what", "Podium", "as a CUDA graph", "DisTorch", "ratio", "MONAI", "bytes a voxel")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in told["rows"]:
        ours, graph, theirs, monai = (row["ms"].get(name, [None])[0] for name in names)
        cells = [_ms(ours), _ms(graph), _ms(theirs), f"{plain(theirs / ours)}×" if theirs else "", _ms(monai)]
        lines.append(f"| {row['what']} | {' | '.join(cells)} | {row['bytes a voxel']:.1f} |")
    where = f"*{told['device']}, PyTorch {told['torch']}, {told['date']}; medians, in ms.*"
    return "\n".join([_GPU, *lines, "", where, ""])


_GPU = """
## Masks on a GPU

From masks in the memory of a GPU to surface Dice, HD95 and averages on the host. DisTorch gives the distances of
surface elements too; MONAI's HD95 alone falls back to the CPU where cuCIM is not there. [On a GPU](gpu.md) tells more.
"""


def _ms(number: float | None) -> str:
    return "" if number is None else plain(number)

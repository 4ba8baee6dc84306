"""The table of speed in README, from what benchmarks wrote. `python docs/making/readme_figures.py` puts it there."""

from __future__ import annotations

import json
from pathlib import Path

from performance_page import DATA, benchmarks, plain

README = Path(__file__).resolve().parents[2] / "README.md"
FIRST, LAST = (
    "<!-- figures: written by docs/making/readme_figures.py from docs/data/, which benchmarks wrote -->",
    "<!-- end of figures -->",
)
# What README says of it, the part of the benchmark, its row, and the peers to name.
CHOSEN = (
    (
        "KiTS21: six CT cases, from files to Dice and surface Dice",
        "kits21",
        "KiTS21, all cases",
        ("SimpleITK + MedPy + DeepMind",),
    ),
    (
        "the same, beside decompressing the files and nothing else",
        "kits21",
        "KiTS21, all cases",
        ("decompression alone",),
    ),
    ("surface distances of 18 pairs of masks", "surfaces", "surfel distances, all cases and regions", ("DeepMind",)),
    ("distances of edge voxels, the same masks", "surfaces", "voxel distances, all cases and regions", ("MONAI",)),
)


def table() -> str:
    """Return the table, in Markdown."""
    parts = benchmarks()
    lines = ["| | Podium | | |", "|---|---|---|---|"]
    for words, part, what, peers in CHOSEN:
        row = next(row for row in parts[part]["rows"] if row["what"] == what)
        for peer in peers:
            taken = f"{peer} {plain(row['others'][peer])} {row['unit']}"
            lines.append(
                f"| {words} | {plain(row['ours'])} {row['unit']} | {taken} | {plain(row['ratios'][peer]['ratio'])}× |"
            )
    told = json.loads((DATA / "gpu.json").read_text(encoding="utf-8"))
    near = told["rows"][0]["ms"]
    ratio = near["DisTorch"][0] / near["Podium"][0]
    lines.append(
        f"| on an H200: a pair of CTs with three regions | {plain(near['Podium'][0])} ms "
        f"| DisTorch {plain(near['DisTorch'][0])} ms | {plain(ratio)}× |"
    )
    machine, days = parts["kits21"]["machine"], {parts[part]["date"] for _, part, _, _ in CHOSEN}
    where = f"On {machine['cores']} cores of an {machine['processor']}, one thread, {' and '.join(sorted(days))}."
    return "\n".join([*lines, "", where])


def written(text: str) -> str:
    """Return a README with the table in its place."""
    before, _, rest = text.partition(FIRST)
    return f"{before}{FIRST}\n\n{table()}\n\n{LAST}{rest.partition(LAST)[2]}"


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")

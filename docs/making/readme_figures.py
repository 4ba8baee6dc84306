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
        "SimpleITK + MedPy + DeepMind",
    ),
    ("the same, beside decompressing the files and nothing else", "kits21", "KiTS21, all cases", "decompression alone"),
    ("surface distances of 18 pairs of masks", "surfaces", "surfel distances, all cases and regions", "DeepMind"),
    ("distances of edge voxels, the same masks", "surfaces", "voxel distances, all cases and regions", "MONAI"),
    (
        "TrackRAD: 200 frames, every metric",
        "trackrad",
        "TrackRAD sequence, 200 frames of 270 × 270",
        "SciPy, frame by frame",
    ),
    (
        "10,000 resamples of a ranking, 100 teams × 1,000 cases",
        "ranking",
        "bootstrap, 100 × 1,000 × 10,000, mean then rank",
        "NumPy loop",
    ),
    (
        "1,000 resamples, test then rank, 30 × 300",
        "ranking",
        "bootstrap, 30 × 300 × 1,000, test then rank",
        "SciPy loop",
    ),
    (
        "panoptic quality of 1,045 components",
        "instances",
        "panoptic quality of 1,045 and 1,046 components, from instances",
        "panoptica",
    ),
)


def table() -> str:
    """Return the table, in Markdown."""
    parts = benchmarks()
    lines = ["| | Podium | | |", "|---|---|---|---|"]
    for words, part, what, peer in CHOSEN:
        row = next(row for row in parts[part]["rows"] if row["what"] == what)
        taken, ratio = f"{peer} {plain(row['others'][peer])} {row['unit']}", plain(row["ratios"][peer]["ratio"])
        lines.append(f"| {words} | {plain(row['ours'])} {row['unit']} | {taken} | {ratio}× |")
    told = json.loads((DATA / "gpu.json").read_text(encoding="utf-8"))
    near = told["rows"][0]["ms"]
    ratio = near["DisTorch"][0] / near["Podium"][0]
    lines.append(
        f"| on an H200: a pair of CTs with three regions | {plain(near['Podium'][0])} ms "
        f"| DisTorch {plain(near['DisTorch'][0])} ms | {plain(ratio)}× |"
    )
    machine, days = parts["kits21"]["machine"], {parts[part]["date"] for _, part, _, _ in CHOSEN}
    where = (
        f"On one of {machine['cores']} cores of an {machine['processor']}, {' and '.join(sorted(days))}; "
        f"the last on an {told['device']}, {told['date']}."
    )
    return "\n".join([*lines, "", where])


def written(text: str) -> str:
    """Return a README with the table in its place."""
    before, _, rest = text.partition(FIRST)
    return f"{before}{FIRST}\n\n{table()}\n\n{LAST}{rest.partition(LAST)[2]}"


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")

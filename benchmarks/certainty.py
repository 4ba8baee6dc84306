"""What confidence promises, simulated: how often claims are false, intervals cover, and a winner is certain.

    python benchmarks/certainty.py [--rounds N] [--only SCENARIO] [--json FILE] [--before FILE]

prints a Markdown table, a line as soon as it is known. Every number is seeded: the same code gives the same table. With
`--before`, the JSON of an earlier version, its figures stand beside.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from harness import Row

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from populations import SCENARIOS, cells
from promises import Figure, simulated

SHORT = 60
"""Rounds for `make bench`."""
COLUMNS = ("scenario", "population", "n", "measured", "before", "value", "asked for", "reached", "s")


def rows() -> list[Row]:
    """Count for each scenario the promises that are missed by more than chance explains."""
    results = []
    for scenario in SCENARIOS:
        figures = [figure for cell in cells(scenario) for figure in simulated(cell, SHORT)]
        asked = [figure.reached(errors=3) for figure in figures if figure.reached() is not None]
        results.append(
            Row(
                f"promises of confidence that are missed, {scenario}",
                float(asked.count(False)),
                {"promises": float(len(asked))},
                unit="",
                targets={"promises": ("≤", 0.0)},
            )
        )
    return results


def shown(quantity: str, value: float, error: float | None = None) -> str:
    """Return a figure with its standard error: shares in percent, widths as they are."""
    if not math.isfinite(value):
        return "∞"
    wide = "width" in quantity
    numbers = [value] if error is None else [value, error]
    if wide:
        return " ± ".join(f"{number:.3g}" if math.isfinite(number) else "∞" for number in numbers)
    return " ± ".join(f"{100 * number:.1f}" for number in numbers) + " %"


def asked_for(figure: Figure) -> str:
    """Return what is promised."""
    promise = figure.promise
    bound = f"{promise.bound:g}" if "width" in promise.quantity else f"{100 * promise.bound:g} %"
    return f"{promise.sign} {bound}" if promise.sign else "–"


def verdict(figure: Figure) -> str:
    """Return whether it is kept, and whether chance may explain it if not."""
    if figure.reached() is None:
        return "–"
    return "yes" if figure.reached() else "within two errors" if figure.reached(errors=2) else "NO"


def as_json(figure: Figure) -> dict[str, Any]:
    """Return everything; infinity as text, which JSON has no number for."""
    cell, promise = figure.cell, figure.promise
    numbers = {"value": figure.value, "error": figure.error, "bound": promise.bound}
    return {
        "key": [cell.scenario, cell.population, cell.cases, cell.method, promise.quantity],
        "sign": promise.sign,
        "reached": figure.reached(),
        "rounds": figure.rounds,
        "seconds": round(figure.seconds, 1),
    } | {name: number if math.isfinite(number) else str(number) for name, number in numbers.items()}


def line(figure: Figure, before: dict[tuple[Any, ...], dict[str, Any]]) -> str:
    """Return a line of the table."""
    cell, quantity = figure.cell, figure.promise.quantity
    method = f", {cell.method}" if cell.scenario == "bounded" else ""
    earlier = before.get((cell.scenario, cell.population, cell.cases, cell.method, quantity))
    fields = (
        cell.scenario,
        cell.population + method,
        str(cell.cases),
        quantity,
        shown(quantity, float(earlier["value"])) if earlier else "",
        shown(quantity, figure.value, figure.error),
        asked_for(figure),
        verdict(figure),
        f"{figure.seconds:.1f}",
    )
    return f"| {' | '.join(fields)} |"


def main() -> None:
    """Simulate what is named, or everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=400, help="of each cell")
    parser.add_argument("--only", choices=SCENARIOS, action="append", default=[], help="a scenario; may be repeated")
    parser.add_argument("--json", type=Path, help="where figures are kept, as they come")
    parser.add_argument("--before", type=Path, help="figures of an earlier version")
    options = parser.parse_args()
    earlier = json.loads(options.before.read_text()) if options.before else []
    before = {tuple(entry["key"]): entry for entry in earlier}
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    entries = []
    for cell in cells(*options.only):
        for figure in simulated(cell, options.rounds):
            print(line(figure, before), flush=True)
            entries.append(as_json(figure))
        if options.json:
            options.json.write_text(json.dumps(entries, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()

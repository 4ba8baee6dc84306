"""`podium measure`: any two folders of label maps, every metric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli._completion import metric_lists
from podium.cli._console import counted, failing_clearly, print_json, say
from podium.cli._options import Device, Jobs, Json, Level, given_regions
from podium.cli.compare import Boundary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

    from podium.challenges.kinds.measurements import Measurements
    from podium.model import Measure

_NARROW = 12
_WIDE = 28
"""Headings are broken into lines of so many characters, at least where numbers stand below, and at most."""
_TOLD = 5
"""So many reasons of failures are said."""


def measure(
    context: typer.Context,
    references: Annotated[
        Path, typer.Argument(metavar="REFERENCES", help="The truth: a folder of label maps, or one.")
    ],
    predictions: Annotated[
        str,
        typer.Argument(
            metavar="PREDICTIONS", help="What to measure: a folder, or one label map; perhaps as NAME=PATH."
        ),
    ],
    *,
    against: Annotated[
        list[str] | None,
        typer.Option(help="Other predictions, to compare with; repeat for more.", metavar="[NAME=]PATH"),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="nnU-Net's dataset.json. Default: the one that lies there; without, every label.", metavar="FILE"
        ),
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(help="A label or region as NAME=LABEL,LABEL,…; repeat for more.", metavar="NAME=LABELS"),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            help="Metrics or families, with commas between; `podium metrics` lists them; all for all. Default: "
            "overlap,surface,centres.",
            metavar="NAME,…",
            autocompletion=metric_lists,
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(help="Of surface Dice in mm, of all or of one label. Default: 1.", metavar="[LABEL=]MM"),
    ] = None,
    boundary: Annotated[
        Boundary,
        typer.Option(
            help="surfel: DeepMind's surface elements. voxel: edge voxels, as MONAI and MedPy.", metavar="surfel|voxel"
        ),
    ] = Boundary.surfel,
    geometry: Annotated[
        str, typer.Option(help="full, or shape to accept another spacing or origin.", metavar="full|shape")
    ] = "full",
    ending: Annotated[
        str,
        typer.Option(help="Of references, where other files lie beside them: .mha, _seg.nii.gz, …", metavar="TEXT"),
    ] = "",
    common: Annotated[
        bool, typer.Option("--common", help="Leave out references without a prediction; else they count as failed.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="A folder for all tables, and for a run to rank and report.", metavar="RUN")
    ] = None,
    level: Level = 0.95,
    jobs: Jobs = None,
    device: Device = "cpu",
    resume: Annotated[bool, typer.Option("--resume", help="Measure only what is missing or has changed.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Make a run anew that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Measure label maps against references: two folders, paired by name, or two files.

    Exit code 0 if every prediction could be measured, 3 if some are missing or cannot be used, which then have the
    worst value.

    Examples
    --------
    podium measure labelsTs predictions
    podium measure labelsTs mine=fold-0 --against theirs=baseline --out run     # who is better, case by case
    podium measure truth.nii.gz guess.nii.gz --region tumor=2,3 --tolerance 2
    podium measure labelsTs predictions --metrics dice,hausdorff_distance_95 --json
    """
    with failing_clearly(context):
        import podium
        from podium.cli._progress import cases_done
        from podium.model import InputError

        if geometry not in ("full", "shape"):
            raise InputError(f"--geometry {geometry} is not understood", advice="Say full or shape")
        with cases_done("measuring") as progress:
            measured = podium.measure(
                references,
                predictions,
                against=against or (),
                labels=labels,
                regions=given_regions(region),
                metrics=[name.strip() for text in metrics or () for name in text.split(",") if name.strip()],
                tolerances_mm=_tolerances(tolerance),
                boundary=boundary.value,
                geometry=geometry,  # type: ignore[arg-type]  # it is one of them
                ending=ending,
                common=common,
                level=level,
                out=out,
                jobs=jobs,
                device=device,
                resume=resume,
                restart=restart,
                progress=progress,
                say=say,
            )
        if as_json:
            _print_json(measured)
        else:
            _print_tables(measured)
        failed = _tell_failures(measured)
        if out is not None:
            whole = measured.run is not None
            more = (
                f"; podium rank {out} and podium report {out} go on from here" if whole else "; one case ranks nobody"
            )
            say(f"Every value is in {out / 'cases.csv'}, means in summary.csv{more}.")
        elif not as_json:
            rest = len(measured.challenge.measures) - len(measured.deciding)
            say(f"{counted(rest, 'more metric')} and every case: --out FOLDER or --json." if rest else "")
    if failed:
        raise typer.Exit(3)


def _tolerances(given: list[str] | None) -> float | dict[str, float]:
    from podium.model import InputError

    tolerances: dict[str, float] = {}
    for text in given or ["1"]:
        name, _, number = text.rpartition("=")
        try:
            tolerances[name] = float(number)
        except ValueError:
            raise InputError(f"--tolerance {text} is not understood", advice="Say 2, or liver=2, in mm") from None
    return tolerances[""] if set(tolerances) == {""} else {name: mm for name, mm in tolerances.items() if name}


def _print_tables(measured: Measurements) -> None:
    """Print means with intervals, a row for each label and prediction; then the worst cases, and differences."""
    from rich.console import Console
    from rich.text import Text

    from podium.model.measure import shown_level

    console, several = Console(), len(measured.names) > 1
    rows = {(row["prediction"], row["label"], row["metric"]): row for row in measured.summary.iter_rows(named=True)}
    table, width = _by_label(measured, rows)
    if width > console.width:
        table, _ = _by_metric(measured, rows)
    console.print(table)
    counts = [
        f"{f'{name}: ' if several else ''}{counted(row['cases'], 'case')}{_lost(row)}"
        for name in measured.names
        for row in [rows[name, measured.labels[0], measured.deciding[0].name]]
    ]
    if len(measured.cases) > len(measured.labels) * len(measured.names):
        intervals = f"Means and their {shown_level(measured.level)} intervals"
        console.print(Text(f"{intervals}. {'; '.join(counts)}.", style="dim"))
    _print_worst(measured, console)
    if several:
        _print_differences(measured, console)


def _by_label(measured: Measurements, rows: Mapping[Any, Any]) -> tuple[Table, int]:
    """Return a row for each label and prediction, a column for each metric."""
    columns, several = measured.deciding, len(measured.names) > 1
    lacking = measured.summary["empty_reference"].sum() > 0
    lines: list[list[str]] = []
    for label in measured.labels:
        lines += [[label]] * several
        for name in measured.names:
            own = [rows[name, label, column.name] for column in columns]
            empty = [str(own[0]["empty_reference"])] if lacking else []
            cells = [_interval(column, row) for column, row in zip(columns, own, strict=True)]
            lines.append([f"  {name}" if several else label, *empty, *cells])
    return _table(["", *(["not in reference"] if lacking else []), *(column.label for column in columns)], lines)


def _by_metric(measured: Measurements, rows: Mapping[Any, Any]) -> tuple[Table, int]:
    """Return a row for each metric and label, a column for each prediction: what is too wide otherwise."""
    lines: list[list[str]] = []
    for measure in measured.deciding:
        lines.append([measure.label])
        for label in measured.labels:
            cells = [_interval(measure, rows[name, label, measure.name]) for name in measured.names]
            lines.append([f"  {label}", *cells])
    return _table(["", *(measured.names if len(measured.names) > 1 else ["mean"])], lines)


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]], room: int = 0) -> tuple[Table, int]:
    """Return a table whose numbers are never broken, and how wide it is; a line of one cell is a heading.

    Where there is less room, the first column is broken into more lines.
    """
    from textwrap import wrap

    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    columns: list[tuple[list[str], int]] = []
    for number, heading in enumerate(headings):
        own = [len(line[number]) for line in lines if len(line) > max(number, 1)]
        words = wrap(heading, max(_NARROW, *own), break_long_words=False) if heading else []
        wide = max([*own, *map(len, words), 0 if number else min(_WIDE, max(len(line[0]) for line in lines))])
        columns.append((words, wide))
    whole = sum(wide + 2 for _, wide in columns)
    for number, (words, wide) in enumerate(columns):
        kept = wide if number or not room else max(wide - max(whole - room, 0), _NARROW)
        table.add_column(Text("\n".join(words)), justify="right" if number else "left", no_wrap=number > 0, width=kept)
    for line in lines:
        table.add_row(Text(line[0], style="bold" if len(line) == 1 < len(headings) else ""), *line[1:])
    return table, whole


def _lost(row: Mapping[str, Any]) -> str:
    lost = [f"{row[key]} {key}" for key in ("missing", "unusable") if row[key]]
    return f", {' and '.join(lost)} (worst value)" if lost else ""


def _interval(measure: Measure, row: Mapping[str, Any], key: str = "mean", *, sign: bool = False) -> str:
    """Return a mean with its interval, for people."""
    from podium.model.measure import shown_number

    digits = 3 if measure.unit == "" else 2
    mean, low, high = (shown_number(row[name], digits, sign=sign) for name in (key, "low", "high"))
    return mean if row["low"] is None else f"{mean} ({low}{' to ' if sign else '–'}{high})"


def _print_worst(measured: Measurements, console: Console) -> None:
    """Name the worst cases of the first prediction by the first measure."""
    import polars as pl
    from rich.text import Text

    measure, name = measured.deciding[0], measured.names[0]
    if measured.cases["case"].n_unique() < 2:
        return
    own = measured.worst.filter(pl.col("prediction") == name, pl.col("metric") == measure.name)
    several = f" of {name}" if len(measured.names) > 1 else ""
    console.print(Text(f"\nWorst {measure.title}{several}"))
    for label in measured.labels:
        cases = own.filter(pl.col("label") == label).select("case", "value", "status").iter_rows()
        named = (f"{case} {value:.3f}{'' if status == 'ok' else f' ({status})'}" for case, value, status in cases)
        console.print(Text(f"  {label}: {', '.join(named)}"))


def _print_differences(measured: Measurements, console: Console) -> None:
    """Say by how much the first prediction differs from each other."""
    import polars as pl
    from rich.text import Text

    for other in measured.names[1:]:
        console.print(Text(f"\n{measured.names[0]} − {other}, case by case"))
        lines: list[list[str]] = []
        for measure in measured.deciding:
            own = measured.differences.filter(pl.col("other") == other, pl.col("metric") == measure.name)
            lines.append([measure.label])
            for row in own.iter_rows(named=True):
                change = _interval(measure, row, "difference", sign=True)
                lines.append([f"  {row['label']}", change, str(row["better"]), str(row["worse"]), f"{row['p']:.2g}"])
        console.print(_table(["", "difference", "better", "worse", "p"], lines, console.width)[0])


def _tell_failures(measured: Measurements) -> int:
    """Say which predictions failed and why, alike ones together, the first few; return how many."""
    from podium.model.errors import shortened

    lost = measured.failures.filter(measured.failures["status"] != "warning")
    alike: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name, case, _, reason in lost.iter_rows():
        alike.setdefault((name, reason.replace(case, "")), []).append((case, reason))
    for (name, _), ((case, reason), *others) in list(alike.items())[:_TOLD]:
        more = f" So failed {shortened([other for other, _ in others], most=3)}." if others else ""
        say(f"failed: {f'{name}, ' if len(measured.names) > 1 else ''}{case}: {reason}{'.' if more else ''}{more}")
    if untold := sum(map(len, list(alike.values())[_TOLD:])):
        say(f"… and {untold} more failed.")
    return len(lost)


def _print_json(measured: Measurements) -> None:
    from podium import __version__

    document = {
        "podium": __version__,
        "predictions": measured.names,
        "labels": {name: list(measured.challenge.numbers[name]) for name in measured.labels},
        "pairing": measured.said,
        "level": measured.level,
        "summary": measured.summary.to_dicts(),
        "differences": measured.differences.to_dicts() if len(measured.names) > 1 else [],
        "worst": measured.worst.to_dicts(),
        "cases": measured.cases.to_dicts(),
    }
    print_json(document)

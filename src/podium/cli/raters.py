"""`podium raters`: how far people agree, and the tolerances that follow; and whether algorithms are as good as they."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli._console import failing_clearly, say
from podium.cli.challenge import Json, Name, Options, Rules, challenge_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.evaluate import Measured
    from podium.model import Challenge
    from podium.raters import Interval, Line, Summary, Survey

_MOST_CASES_SHOWN = 12
_NUMERIC = ("mean", "95 %", "cases")


def raters(
    context: typer.Context,
    name: Name,
    *,
    truth: Annotated[Path, typer.Option(help="The folder with the truth and everybody's annotations.")],
    out: Annotated[Path | None, typer.Option(help="A folder for tables (CSV) and raters.json.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; by default all processors.", min=1)] = None,
    write_samples: Annotated[
        Path | None, typer.Option(help="A folder to write the plausible segmentations to, in the organisers' layout.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Measure only what --out does not hold yet.")] = False,
    percentile: Annotated[
        list[float] | None,
        typer.Option(help="Of the distances between raters, for tolerances; repeat for more. 95 is always there."),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="A metric besides the challenge's own; repeat for more.", metavar="NAME")
    ] = None,
    rules: Rules = "document",
    option: Options = None,
    as_json: Json = False,
) -> None:
    """How far do people agree, and which tolerance follows from it? For challenges with several annotators.

    Exit code 0 if every case could be measured, 3 if some were counted out, 1 if none is left.
    """
    with failing_clearly(debug=context.obj["debug"]):
        from podium.cli._progress import cases_done
        from podium.model import InputError
        from podium.raters import PERCENTILES, RatedChallenge, summarise, survey, survey_document, write_survey

        challenge = challenge_named(name, rules, option)
        if not isinstance(challenge, RatedChallenge):
            raise InputError(f"{challenge.title} has one annotator only, so there is nobody to compare")
        if resume and out is None:
            raise InputError("--resume needs --out", advice="Name the folder of the survey that was begun")
        with cases_done(f"{challenge.title}: raters") as progress:
            found = survey(
                challenge,
                truth=truth,
                percentiles=percentile or PERCENTILES,
                metrics=metric or (),
                jobs=jobs,
                progress=progress,
                keep=None if out is None else out / "cases",
                resume=resume,
                samples=write_samples,
            )
        summary = summarise(found)
        if out is not None:
            write_survey(out, challenge, found, summary, truth=truth)
        if as_json:
            from podium.io import json_text

            typer.echo(json_text(survey_document(challenge, found, summary, truth=truth)), nl=False)
        else:
            _show(challenge, found, summary)
        if out is not None:
            say(f"The survey is in {out}.")
        if not found.agreements:
            raise InputError(f"no case is left: all {len(found.counted_out)} were counted out")
    if found.counted_out:
        raise typer.Exit(3)


def compare_with_people(challenge: Challenge, measured: Measured, out: Path) -> None:
    """Print whether each submission is within inter-rater variability, and write people.csv to a run folder."""
    from podium.io import write_text
    from podium.raters import compared_with_people, people_csv

    verdicts = compared_with_people(challenge, measured.table, roles=measured.roles)
    write_text(out / "people.csv", people_csv(verdicts))
    titles = {quantity.metric: quantity.title for quantity in challenge.quantities}
    rows = [
        [
            each.submission,
            _words(each.target),
            titles[each.metric],
            _number(each.difference.mean, 4, sign=True),
            _ends(each.difference, 4, sign=True),
            {True: "yes", False: "no", None: "–"}[each.within],
        ]
        for each in verdicts
    ]
    _print_table("Within inter-rater variability", ["submission", "", "", "mean", "95 %", "within"], rows)
    notes = ["The difference is submission − raters, case by case, both measured against the same plausible truths."]
    if any(each.difference.vague for each in verdicts):
        notes.append("Where an interval is missing or has an infinite end, there are too few cases to tell.")
    if left_out := sorted({case for each in verdicts for case in each.left_out}):
        notes.append(f"Left out where the raters or the submission have no value: {', '.join(left_out)}.")
    _print_lines(notes, style="dim")


def _show(challenge: Challenge, survey: Survey, summary: Summary) -> None:
    """Print tables: variability, tolerances, how these depend on the percentile, cases, and who is counted out."""
    if survey.agreements:
        _print_table(
            f"{challenge.title}: inter-rater variability",
            ["", "metric", "mean", "95 %", "cases"],
            [[_words(line.target), _words(line.name), *_cells(line)] for line in summary.variability],
        )
        _print_table(
            "Tolerance: 95th percentile of distance, mm",
            ["", "mean", "95 %", "cases"],
            [[_words(line.target), *_cells(line)] for line in summary.tolerance],
        )
        targets = list(dict.fromkeys(line.target for line in summary.tolerances))
        means = {(line.target, line.percentile): line.interval.mean for line in summary.tolerances}
        _print_table(
            "Tolerance by percentile, mm",
            ["percentile", *(_words(target) for target in targets)],
            [[f"{p:g}", *(_number(means[target, p], 4) for target in targets)] for p in survey.percentiles],
        )
        if len(survey.agreements) <= _MOST_CASES_SHOWN:
            _print_table(
                "Tolerance by case, mm",
                ["case", *(_words(target) for target in targets)],
                [[each.case, *(_number(each.tolerance(t), 4) for t in targets)] for each in survey.agreements],
            )
    remarks = [f"{each.case}: {remark}." for each in survey.agreements for remark in each.remarks]
    undefined = sorted({(case, line.target) for line in summary.tolerance for case in line.undefined})
    remarks += [f"{case}: no tolerance of {_words(t)}, somebody drew none." for case, t in undefined]
    remarks += [f"{case} is counted out: {reason}" for case, reason in survey.counted_out.items()]
    _print_lines(remarks)


def _print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; what repeats the first cell of the row above is left out."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, justify="right" if heading in _NUMERIC else "left", no_wrap=True)
    last = ""
    for first, *others in rows:
        table.add_row(Text(first if first != last else ""), *(Text(cell) for cell in others))
        last = first
    console = Console()
    console.print(Text(f"\n{title}", style="bold"))
    console.print(table)


def _print_lines(lines: Sequence[str], *, style: str = "") -> None:
    from rich.console import Console
    from rich.text import Text

    for line in lines:
        Console().print(Text(line, style=style))


def _cells(line: Line) -> list[str]:
    return [_number(line.interval.mean, 4), _ends(line.interval, 4), str(line.interval.cases)]


def _ends(interval: Interval, digits: int, *, sign: bool = False) -> str:
    low, high = (_number(end, digits, sign=sign) for end in (interval.low, interval.high))
    return "–" if low == high == "–" else f"{low} … {high}"


def _number(number: float, digits: int, *, sign: bool = False) -> str:
    if math.isnan(number):
        return "–"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return f"{number:+.{digits}f}" if sign else f"{number:.{digits}f}"


def _words(name: str) -> str:
    return name.replace("_", " ")

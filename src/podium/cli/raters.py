"""`podium raters`: how far people agree, and the tolerances that follow; and whether algorithms are as good as they."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli._completion import metric_names
from podium.cli._console import failing_clearly, print_json, say
from podium.cli._options import Jobs, Json, Name, Options, Rules, given_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.raters import Interval, SummaryLine, Survey
    from podium.run import Run

_MOST_CASES_SHOWN = 12
_NUMERIC = ("mean", "95 %", "cases")


def raters(
    context: typer.Context,
    name: Name,
    *,
    truth: Annotated[Path, typer.Option(help="The folder with the truth and everybody's annotations.", metavar="DIR")],
    out: Annotated[Path | None, typer.Option(help="A folder for tables (CSV) and raters.json.", metavar="DIR")] = None,
    jobs: Jobs = None,
    write_samples: Annotated[
        Path | None,
        typer.Option(
            help="A folder to write the plausible segmentations to, in the organisers' layout.", metavar="DIR"
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Measure only what --out does not hold yet.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Make a survey anew that is there.")] = False,
    percentile: Annotated[
        list[float] | None,
        typer.Option(
            help="Of the distances between raters, for tolerances; repeat for more. 95 is always there.",
            metavar="PERCENT",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="A metric besides the challenge's own; repeat for more.", metavar="NAME", autocompletion=metric_names
        ),
    ] = None,
    rules: Rules = "document",
    option: Options = None,
    as_json: Json = False,
) -> None:
    """How far do people agree, and which tolerance follows from it? For challenges with several annotators.

    Exit code 0 if every case could be measured, 3 if some were counted out, 1 if none is left.

    Examples
    --------
    podium raters kits21 --truth truth --out survey
    podium raters kits21 --truth truth --percentile 90 --metric hausdorff_distance_95
    podium raters kits21 --truth truth --write-samples samples
    """
    with failing_clearly(context):
        import podium
        from podium.cli._progress import cases_done
        from podium.model import InputError

        options = given_options(option)
        with cases_done(f"{name}: raters") as progress:
            survey = podium.agreement(
                name,
                truth=truth,
                out=out,
                rules=rules,
                options=options,
                **({"percentiles": percentile} if percentile else {}),
                metrics=metric or (),
                samples=write_samples,
                jobs=jobs,
                resume=resume,
                restart=restart,
                progress=progress,
            )
        if as_json:
            from podium.challenges import get_challenge
            from podium.raters import survey_document

            challenge = get_challenge(name, edition=rules, **options)
            print_json(survey_document(challenge, survey, truth=truth))
        else:
            _show(podium.list_challenges()[name].title, survey)
        if out is not None:
            say(f"The survey is in {out}.")
        if not survey.agreements:
            raise InputError(f"no case is left: all {len(survey.counted_out)} were counted out")
    if survey.counted_out:
        raise typer.Exit(3)


def show_people(run: Run) -> None:
    """Print whether each submission is within inter-rater variability, where people were measured."""
    from podium.raters import people_verdicts

    verdicts = people_verdicts(run.challenge, run.cube, roles=run.roles)
    if not verdicts:
        return
    titles = {measure.name: measure.title for measure in run.challenge.measures}
    rows = [
        [
            verdict.submission,
            _words(verdict.target),
            titles[verdict.metric],
            _number(verdict.difference.mean, 4, sign=True),
            _ends(verdict.difference, 4, sign=True),
            {True: "yes", False: "no", None: "–"}[verdict.within],
        ]
        for verdict in verdicts
    ]
    _print_table("Within inter-rater variability", ["submission", "", "", "mean", "95 %", "within"], rows)
    notes = ["The difference is submission − raters, case by case, both measured against the same plausible truths."]
    if any(verdict.difference.vague for verdict in verdicts):
        notes.append("Where an interval is missing or has an infinite end, there are too few cases to tell.")
    if left_out := sorted({case for verdict in verdicts for case in verdict.left_out}):
        notes.append(f"Left out where the raters or the submission have no value: {', '.join(left_out)}.")
    _print_lines(notes, style="dim")


def _show(title: str, survey: Survey) -> None:
    """Print tables: variability, tolerances, how these depend on the percentile, cases, and who is counted out."""
    summary = survey.summary
    if survey.agreements:
        _print_table(
            f"{title}: inter-rater variability",
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
                [
                    [agreement.case, *(_number(agreement.tolerance(t), 4) for t in targets)]
                    for agreement in survey.agreements
                ],
            )
    remarks = [f"{agreement.case}: {remark}." for agreement in survey.agreements for remark in agreement.remarks]
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


def _number(number: float, digits: int, *, sign: bool = False) -> str:
    from podium.model import shown_number

    return shown_number(number, digits, sign=sign)


def _cells(line: SummaryLine) -> list[str]:
    return [_number(line.interval.mean, 4), _ends(line.interval, 4), str(line.interval.cases)]


def _ends(interval: Interval, digits: int, *, sign: bool = False) -> str:
    low, high = (_number(end, digits, sign=sign) for end in (interval.low, interval.high))
    return "–" if low == high == "–" else f"{low} … {high}"


def _words(name: str) -> str:
    return name.replace("_", " ")

"""`podium challenges`, `check` and `evaluate`: from files to a leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli._console import failing_clearly, say

if TYPE_CHECKING:
    from podium.evaluate import Limits, Measured
    from podium.model import Challenge, Leaderboard

Name = Annotated[str, typer.Argument(metavar="CHALLENGE", help="Which challenge; `podium challenges` lists them.")]
Rules = Annotated[
    str, typer.Option("--rules", help="document: what the challenge's page says. code: what its organisers' code does.")
]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="An option of the challenge; repeat for more.", metavar="KEY=VALUE")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs to read.")]


def challenges(context: typer.Context, *, as_json: Json = False) -> None:
    """List the challenges that are built in, and their rules in a paragraph."""
    with failing_clearly(debug=context.obj["debug"]):
        from podium.challenges import challenges as all_challenges

        found = all_challenges()
        if as_json:
            import json

            listed = {n: {"title": c.title, "page": c.page, "rules": c.summary} for n, c in found.items()}
            typer.echo(json.dumps(listed, indent=2, ensure_ascii=False))
            return
        from rich.console import Console
        from rich.padding import Padding
        from rich.text import Text

        console = Console()
        for name, challenge in found.items():
            console.print(Text.assemble((name, "bold"), f"  {challenge.title}  ", (challenge.page, "dim")))
            console.print(Padding(Text(challenge.summary), (0, 0, 1, 4)))


def check(
    context: typer.Context,
    name: Name,
    predictions: Annotated[Path, typer.Argument(help="Your predictions: a folder, .zip or .tar.gz.")],
    *,
    truth: Annotated[
        Path | None, typer.Option(help="The truth, if you have it: then what is missing is known.")
    ] = None,
    rules: Rules = "document",
    option: Options = None,
    as_json: Json = False,
) -> None:
    """Would this submission be accepted? Lists every problem at once; exit code 1 if there is any."""
    with failing_clearly(debug=context.obj["debug"]):
        from podium.evaluate import check_submission

        problems = check_submission(challenge_named(name, rules, option), predictions, truth=truth)
    if as_json:
        import json

        typer.echo(json.dumps([{"file": p.file, "problem": p.what} for p in problems], indent=2, ensure_ascii=False))
    elif problems:
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table("file", "problem", box=box.SIMPLE_HEAD, show_edge=False)
        for problem in problems:
            table.add_row(Text(problem.file), Text(problem.what))
        Console().print(table)
        say(f"{len(problems)} problem{'s' if len(problems) > 1 else ''}.")
    else:
        known = "" if truth else " (whether cases are missing cannot be known without the truth)"
        say(f"Nothing is wrong with {predictions}{known}.")
    if problems:
        raise typer.Exit(1)


def evaluate(
    context: typer.Context,
    name: Name,
    *,
    truth: Annotated[Path, typer.Option(help="The folder with the truth.")] = Path("/opt/ml/input/data/ground_truth"),
    submissions: Annotated[Path | None, typer.Option(help="The folder with one entry per team.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder to write.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; by default all processors.", min=1)] = None,
    rules: Rules = "document",
    baseline: Annotated[
        list[str] | None,
        typer.Option(help="A submission that is shown but not ranked; repeat for more.", metavar="NAME"),
    ] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="A submission made by people: shown, not ranked.", metavar="NAME")
    ] = None,
    geometry: Annotated[str | None, typer.Option(help="full, or shape to accept another geometry.")] = None,
    references: Annotated[
        str | None,
        typer.Option(
            help="Which truth of several annotators, such as samples; see the challenge's README.", metavar="WHICH"
        ),
    ] = None,
    option: Options = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Measure only what is missing, or whose files or rules have changed.")
    ] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Begin anew although an unfinished run is there.")] = False,
    dask: Annotated[
        str | None,
        typer.Option(help="Measure on a Dask cluster: tcp://scheduler:8786, or local:N.", metavar="ADDRESS"),
    ] = None,
    most_entries: Annotated[int, typer.Option(help="Files that a submission may hold.", min=1)] = 100_000,
    most_unpacked_gb: Annotated[float, typer.Option(help="Gigabytes that an archive may unpack to.", min=0.001)] = 256,
    highest_ratio: Annotated[
        float, typer.Option(help="Bytes unpacked for each byte of an archive; deflate alone reaches 1032.", min=1)
    ] = 1100,
    grand_challenge: Annotated[
        bool, typer.Option("--grand-challenge", help="Evaluate one team inside a grand-challenge.org container.")
    ] = False,
    predictions: Annotated[Path, typer.Option(help="With --grand-challenge: the list of jobs.")] = Path(
        "/input/predictions.json"
    ),
    metrics: Annotated[Path, typer.Option(help="With --grand-challenge: where the results go.")] = Path(
        "/output/metrics.json"
    ),
) -> None:
    """Measure every submission on every case, rank them, and write a run folder.

    Exit code 0 if every prediction could be measured, 3 if some failed; failures.csv says which and why.
    """
    with failing_clearly(debug=context.obj["debug"]):
        from podium.model import InputError

        shorthands = {"geometry": geometry, "references": references}
        options = [*(option or []), *(f"{key}={value}" for key, value in shorthands.items() if value)]
        challenge = challenge_named(name, rules, options)
        if grand_challenge:
            from podium.evaluate.grand_challenge import evaluate_on_grand_challenge
            from podium.ranking import scores_alone

            evaluate_on_grand_challenge(
                challenge,
                truth=truth,
                predictions=predictions,
                metrics=metrics,
                scores=lambda table: scores_alone(challenge, table),
            )
            say(f"Written to {metrics}.")
            return
        from podium.evaluate import Limits

        if submissions is None or out is None:
            raise InputError("--truth, --submissions and --out are needed", advice="See podium evaluate --help")
        board, measured = run(
            challenge,
            truth=truth,
            submissions=submissions,
            out=out,
            jobs=jobs,
            baselines=baseline,
            references=reference,
            resume=resume,
            restart=restart,
            dask=dask,
            limits=Limits(entries=most_entries, unpacked_bytes=int(most_unpacked_gb * 2**30), ratio=highest_ratio),
        )
        if resume:
            say(resumed(measured))
        show(board)
        if challenge.people():
            from podium.cli.raters import compare_with_people

            compare_with_people(challenge, measured, out)
        lost = [failure for failure in measured.failures if failure[2] != "warning"]
        cases = len({failure[:2] for failure in lost})
        if measured.failures:
            warnings = len(measured.failures) - len(lost)
            say(f"{cases} predictions failed, {warnings} warnings: see {out / 'failures.csv'}.")
        say(f"The run is in {out}.")
    if lost:
        raise typer.Exit(3)


def run(
    challenge: Challenge,
    *,
    truth: Path,
    submissions: Path,
    out: Path,
    jobs: int | None = None,
    baselines: list[str] | None = None,
    references: list[str] | None = None,
    resume: bool = False,
    restart: bool = False,
    dask: str | None = None,
    limits: Limits | None = None,
) -> tuple[Leaderboard, Measured]:
    """Evaluate and rank, with a progress bar, and write the run folder."""
    import shutil
    from contextlib import nullcontext
    from datetime import UTC, datetime

    from podium.cli._progress import cases_done
    from podium.evaluate import Parts, dask_pool, find_submissions, sole_writer, write_leaderboard, write_run
    from podium.evaluate import evaluate as evaluate_submissions
    from podium.model import InputError
    from podium.ranking import leaderboard_of

    started = datetime.now(UTC)
    found = find_submissions(
        submissions,
        baselines=tuple(baselines or ()),
        references=tuple(references or ()),
        truth=truth if truth.is_dir() else None,  # what is no folder is refused before anything is measured
        limits=limits,
    )
    with sole_writer(out):
        parts = Parts(out)
        if parts.unfinished and not resume and not restart:
            raise InputError(
                f"an unfinished run is here, with {len(parts)} cases measured",
                path=out,
                advice="Add --resume to go on with it, or --restart to begin anew",
            )
        scratch = out / "unpacked"
        shutil.rmtree(scratch, ignore_errors=True)  # of a run that was killed
        scratch.mkdir()
        try:
            with (
                dask_pool(dask, say=say) if dask else nullcontext() as pool,
                cases_done(f"{challenge.title}: {len(found)} submissions") as progress,
            ):
                measured = evaluate_submissions(
                    challenge,
                    truth=truth,
                    submissions=found,
                    jobs=jobs,
                    pool=pool,
                    parts=parts,
                    resume=resume,
                    scratch=scratch,
                    progress=progress,
                )
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        write_run(out, challenge, measured, started=started, ended=datetime.now(UTC), truth=truth)
        board = leaderboard_of(challenge, measured.table, roles=measured.roles)
        write_leaderboard(out, board)
        parts.finish()
    return board, measured


def resumed(measured: Measured) -> str:
    """Say what was kept of an earlier run, what was measured, and why."""
    lines = [f"Resumed: {measured.kept:,} predictions were known."]
    for reason, teams in sorted(measured.why.items()):
        named = ", ".join(f"{name} {count}" for name, count in sorted(teams.items())[:6])
        more = f" and {len(teams) - 6} more submissions" if len(teams) > 6 else ""
        lines.append(f"{teams.total():,} were measured ({reason}): {named}{more}.")
    return "\n".join(lines)


def show(board: Leaderboard, beside: Mapping[str, Mapping[str, str]] | None = None) -> None:
    """Print a leaderboard, the ranked first, no wider than the terminal; below it, what should be known about it.

    `beside` are further columns, from heading and submission to what is shown after the name.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from podium.evaluate.record import number, shown

    console = Console()
    headings = [h for h in board.headings if not h.name.endswith("_rank") or h.name == "average_rank"]
    longest = min(max((len(entry.submission) for entry in board.entries), default=0), 24)
    room = console.width - max(longest, 10) - 10
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("#", justify="right")
    table.add_column("submission", no_wrap=True, width=max(longest, 10), overflow="ellipsis")
    columns = []
    for title, cells_by_name in (beside or {}).items():
        cells = [cells_by_name.get(entry.submission, "–") for entry in board.entries]
        width = max(len(word) for word in [*title.split(), *cells])
        room -= width + 3
        table.add_column(Text(title), justify="right", width=width)
        columns.append(cells)
    extra = len(columns)
    for heading in headings:
        title = shown(heading.title, heading.unit, heading.direction.arrow)
        cells = [number(entry.values[heading.name], heading.digits) for entry in board.entries]
        width = max(len(word) for word in [*title.split(), *cells])
        room -= width + 3
        if room < 0:
            break
        table.add_column(Text(title), justify="right", width=width)
        columns.append(cells)
    for index, entry in enumerate(board.entries):
        table.add_row(str(entry.place or "–"), Text(entry.submission), *(Text(cells[index]) for cells in columns))
    console.print(table)
    remarks = [f"{entry.submission} is not ranked: {entry.remark}." for entry in board.entries if entry.remark]
    if len(columns) - extra < len(headings):
        remarks.append(f"{len(headings) - len(columns) + extra} more columns are in leaderboard.csv.")
    for remark in [*remarks, *board.notes]:
        console.print(Text(remark, style="dim"))


def challenge_named(name: str, rules: str, given: list[str] | None) -> Challenge:
    """Return the challenge in an edition, with options."""
    from podium.challenges import get_challenge

    return get_challenge(name, edition=rules, **challenge_options(name, given))


def challenge_options(name: str, given: list[str] | None) -> dict[str, Any]:
    """Return the options that were given, of the types that the challenge declares."""
    from dataclasses import fields

    from podium.challenges import get_challenge
    from podium.model import InputError

    options: dict[str, Any] = {}
    named = [field for field in fields(get_challenge(name)) if field.name not in ("edition", "emphasis")]
    declared = {field.name: str(field.type) for field in named}
    for text in given or []:
        key, equals, value = text.partition("=")
        if not equals or key not in declared:
            known = ", ".join(sorted(declared)) or "none"
            raise InputError(f"--option {text} is not understood", advice=f"Options of {name}: {known}")
        options[key] = _typed(value, declared[key], text)
    return options


def _typed(value: str, annotation: str, text: str) -> Any:
    from podium.model import InputError

    if annotation.startswith("bool"):
        if value.lower() not in ("true", "false"):
            raise InputError(f"--option {text}: write true or false")
        return value.lower() == "true"
    try:
        return float(value) if "float" in annotation else int(value) if annotation.startswith("int") else value
    except ValueError:
        raise InputError(f"--option {text}: a number is expected") from None

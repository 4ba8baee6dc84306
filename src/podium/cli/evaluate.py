"""`podium evaluate`: from files to a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli._console import failing_clearly, say
from podium.cli._options import Device, Jobs, Name, Options, Rules, given_options

if TYPE_CHECKING:
    from podium.run import Run

_NEEDED = "Required, except with --grand-challenge"
_LIMITS = "Limits of a submission"
_PLATFORM = "With --grand-challenge"


def evaluate(
    context: typer.Context,
    name: Name,
    *,
    truth: Annotated[
        Path | None, typer.Option(help="The folder with the truth.", metavar="DIR", rich_help_panel=_NEEDED)
    ] = None,
    submissions: Annotated[
        Path | None,
        typer.Option(
            help="The folder with one folder, .zip or .tar.gz per team.", metavar="DIR", rich_help_panel=_NEEDED
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run folder to write.", metavar="RUN", rich_help_panel=_NEEDED)
    ] = None,
    jobs: Jobs = None,
    device: Device = "cpu",
    rules: Rules = "document",
    baseline: Annotated[
        list[str] | None,
        typer.Option(help="A submission that is shown but not ranked; repeat for more.", metavar="NAME"),
    ] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="A submission made by people: shown, not ranked.", metavar="NAME")
    ] = None,
    geometry: Annotated[
        str | None, typer.Option(help="full, or shape to accept another geometry.", metavar="full|shape")
    ] = None,
    references: Annotated[
        str | None,
        typer.Option(
            help="Which truth of several annotators, such as samples; see the challenge's README.", metavar="WHICH"
        ),
    ] = None,
    units: Annotated[
        str | None, typer.Option(help="Of LVQuan18: mm, or normalised in any case.", metavar="UNITS")
    ] = None,
    option: Options = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Measure only what is missing, or whose files or rules have changed.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Make a run anew that is there; it stays until the new one is complete.")
    ] = False,
    dask: Annotated[
        str | None,
        typer.Option(help="Measure on a Dask cluster: tcp://scheduler:8786, or local:N.", metavar="ADDRESS"),
    ] = None,
    most_entries: Annotated[
        int, typer.Option(help="Files that a submission may hold.", metavar="N", rich_help_panel=_LIMITS, min=1)
    ] = 100_000,
    most_unpacked_gb: Annotated[
        float,
        typer.Option(help="Gigabytes that an archive may unpack to.", metavar="GB", rich_help_panel=_LIMITS, min=0.001),
    ] = 256,
    most_prediction_gb: Annotated[
        float, typer.Option(help="Gigabytes of one prediction.", metavar="GB", rich_help_panel=_LIMITS, min=0.001)
    ] = 16,
    highest_ratio: Annotated[
        float,
        typer.Option(
            help="Bytes unpacked for each byte of an archive; deflate alone reaches 1032.",
            metavar="N",
            rich_help_panel=_LIMITS,
            min=1,
        ),
    ] = 1100,
    grand_challenge: Annotated[
        bool, typer.Option("--grand-challenge", help="Evaluate one team inside a grand-challenge.org container.")
    ] = False,
    predictions: Annotated[
        Path, typer.Option(help="The list of jobs.", metavar="FILE", rich_help_panel=_PLATFORM)
    ] = Path("/input/predictions.json"),
    metrics: Annotated[
        Path, typer.Option(help="Where the results go.", metavar="FILE", rich_help_panel=_PLATFORM)
    ] = Path("/output/metrics.json"),
    keys: Annotated[
        str,
        typer.Option(
            help="podium, or organisers to have the organisers' own keys as well.",
            metavar="podium|organisers",
            rich_help_panel=_PLATFORM,
        ),
    ] = "podium",
    socket: Annotated[
        str | None,
        typer.Option(
            help="The slug of the output to take, where jobs have several.", metavar="SLUG", rich_help_panel=_PLATFORM
        ),
    ] = None,
) -> None:
    """Measure every submission on every case, rank them, and write a run folder.

    Exit code 0 if every prediction could be measured, 3 if some failed; failures.csv says which and why. 1 if the
    leaderboard is withheld, because the challenge itself is at fault. With --grand-challenge 0 even if some cases
    failed, as the platform would show nothing else, and 1 if no case has an output.

    Examples
    --------
    podium evaluate kits21 --truth truth --submissions teams --out run
    podium evaluate kits21 --truth truth --submissions teams --out run --resume    # go on, or add teams
    podium evaluate kits21 --truth truth --submissions teams --out run --rules code --option reference=OR
    podium evaluate trackrad2025 --grand-challenge                                 # one team, in a container
    podium evaluate kits21 --help                                                  # with the challenge's options
    """
    with failing_clearly(context):
        import podium
        from podium.cli._progress import cases_done
        from podium.model import InputError

        shorthands = {"geometry": geometry, "references": references, "units": units}
        options = given_options(option) | {key: value for key, value in shorthands.items() if value}
        if grand_challenge:
            if keys not in ("podium", "organisers"):
                raise InputError(f"there are no keys {keys!r}", advice="Say podium or organisers")
            document = podium.grand_challenge(
                name,
                **({} if truth is None else {"truth": truth}),
                predictions=predictions,
                metrics=metrics,
                rules=rules,
                options=options,
                keys=keys,  # type: ignore[arg-type]  # it is one of them
                socket=socket,
            )
            _tell_platform(document)
            say(f"Written to {metrics}.")
            return
        if socket is not None:
            raise InputError("--socket says which output of a job counts", advice="It needs --grand-challenge")
        if truth is None or submissions is None or out is None:
            from podium.report.words import listed

            given = {"--truth": truth, "--submissions": submissions, "--out": out}
            lacking = [flag for flag, place in given.items() if place is None]
            raise InputError(f"{listed(lacking)} must be given", advice=f"See podium evaluate {name} --help")
        from podium.run import Limits

        with cases_done(name) as progress:
            run = podium.evaluate(
                name,
                truth=truth,
                submissions=submissions,
                out=out,
                rules=rules,
                options=options,
                baselines=baseline or (),
                references=reference or (),
                jobs=jobs,
                resume=resume,
                restart=restart,
                dask=dask,
                device=device,
                limits=Limits(
                    entries=most_entries,
                    unpacked_bytes=int(most_unpacked_gb * 2**30),
                    prediction_bytes=int(most_prediction_gb * 2**30),
                    ratio=highest_ratio,
                ),
                progress=progress,
                say=say,
            )
        if resume:
            say(_resumed(run))
        if not run.withheld:
            _show(run)
        failed = _failed(run, out)
        say(f"The run is in {out}.")
        if run.withheld:
            raise InputError(
                f"the leaderboard is withheld, as the challenge itself is at fault ({run.withheld})",
                advice="Mend it, and evaluate again with --resume: what was measured is kept",
            )
    if failed:
        raise typer.Exit(3)


def _tell_platform(document: dict[str, Any]) -> None:
    """Say how many cases failed, the first reason, and what stands in the way of a rank."""
    failures = document["evaluation"]["failures"]
    if failed := {case: reason for _, case, status, reason in failures if status != "warning"}:
        case, reason = next(iter(failed.items()))
        say(f"{len(failed)} case{'' if len(failed) == 1 else 's'} failed, the first: {case}, {reason}.")
    for remark in document["remarks"]:
        say(f"predictions.json: {remark}.")
    if not document["eligibility"]["eligible"]:
        say(f"Not eligible for a rank: {document['eligibility']['reason']}.")


def _show(run: Run) -> None:
    from podium.cli._board import show_board
    from podium.cli.raters import show_people

    show_board(run.leaderboard)
    show_people(run)


def _failed(run: Run, out: Path) -> int:
    """Say how many predictions failed, and return that."""
    lost = run.failures.filter(run.failures["status"] != "warning")
    failed, warnings = lost.select("submission", "case").n_unique() if len(lost) else 0, len(run.failures) - len(lost)
    if len(run.failures):
        counts = (
            f"{failed} prediction{'' if failed == 1 else 's'} failed, {warnings} warning{'' if warnings == 1 else 's'}"
        )
        say(f"{counts}: see {out / 'failures.csv'}.")
    return failed


def _resumed(run: Run) -> str:
    """Say what was kept of an earlier run, what was measured, and why."""
    lines = [f"Resumed: {run.kept:,} predictions were known."]
    for reason, teams in sorted(run.why.items()):
        named = ", ".join(f"{name} {count}" for name, count in sorted(teams.items())[:6])
        more = f" and {len(teams) - 6} more submissions" if len(teams) > 6 else ""
        lines.append(f"{teams.total():,} were measured ({reason}): {named}{more}.")
    return "\n".join(lines)

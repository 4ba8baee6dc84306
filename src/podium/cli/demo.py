"""`podium demo`: synthetic data for every challenge, evaluated, ranked and reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli._completion import challenge_names
from podium.cli._console import failing_clearly, say

if TYPE_CHECKING:
    from podium.model import Challenge
    from podium.ranking import Ranking


def demo(
    context: typer.Context,
    challenge: Annotated[
        str | None,
        typer.Argument(
            metavar="CHALLENGE",
            help="One challenge; by default all of them, one by one.",
            autocompletion=challenge_names,
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(help="Where to put data and results.", metavar="DIR")] = Path("demo-run"),
    report: Annotated[bool, typer.Option("--report/--no-report", help="Whether to write reports too.")] = True,
    seed: Annotated[int, typer.Option(help="Which data: the same for the same number.", metavar="N", min=0)] = 0,
) -> None:
    """Make synthetic data in each challenge's own layout, evaluate several submissions, rank them, write a report.

    Examples
    --------
    podium demo                                # every challenge, one by one
    podium demo kits21 --no-report --out try   # one of them, without pages
    podium demo my-challenge/challenge.toml    # one that `podium init` began
    """
    with failing_clearly(context):
        import podium
        from podium.cli._progress import cases_done

        with cases_done("demo") as progress:
            runs = podium.demo(
                challenge,
                out=out,
                report=report,
                seed=seed,
                before=lambda rules, folder: _announce(rules, folder, challenge or rules.name, report=report),
                after=_show,
                progress=progress,
            )
        if report:
            say("\nThe reports, to be opened in a browser:")
            for run in runs:
                say(f"  {run.folder}/report.html")


def _announce(challenge: Challenge, folder: Path, called: str, *, report: bool) -> None:
    """Say what is about to be done, and by which commands."""
    from podium.challenges.baselines import demo_algorithms

    algorithms = demo_algorithms(challenge)
    commands = " ".join(f'--command "{one.name}=python -m {one.command[2]} …"' for one in algorithms)
    baseline = " --baseline baseline" if (folder / "submissions" / "baseline").exists() else ""
    say(
        f"\n{challenge.title}: {challenge.summary or 'made-up data'}\n"
        f"$ podium evaluate {called} --truth {folder / 'truth'} --submissions {folder / 'submissions'} "
        f"--out {folder / 'run'}{baseline}\n"
        f"$ podium rank {folder / 'run'} --bootstrap 1000\n"
        + (f"$ podium report {folder / 'run'} --format svg\n" if report else "")
        + (
            f"$ podium run {called} --truth {folder / 'truth'} --out {folder / 'algorithms'} "
            f"--protocol {algorithms[0].protocol} {commands}\n"
            if algorithms
            else ""
        )
    )


def _show(ranking: Ranking) -> None:
    """Print the board, how sure it is, and some of what went wrong."""
    from podium.cli._board import show_ranking

    if ranking.run.folder.parent.name == "algorithms":
        say("\nThe baselines, run and timed as participants' algorithms are:")
    show_ranking(ranking)
    failures = ranking.run.failures
    if len(failures):
        say(f"\nWhat went wrong is told in {ranking.run.folder / 'failures.csv'}, such as")
        for submission, case, status, reason in failures.head(3).iter_rows():
            say(f"  {submission}, {case or 'in general'}: {status}: {reason}")

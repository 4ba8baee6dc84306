"""`podium demo`: synthetic data for every challenge, evaluated, ranked and reported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli._console import failing_clearly, say


def demo(
    context: typer.Context,
    challenge: Annotated[str | None, typer.Argument(help="One challenge; by default all of them, one by one.")] = None,
    *,
    out: Annotated[Path, typer.Option(help="Where to put data and results.")] = Path("demo-run"),
    report: Annotated[bool, typer.Option("--report/--no-report", help="Whether to write reports too.")] = True,
) -> None:
    """Make synthetic data in each challenge's own layout, evaluate several submissions, rank them, write a report."""
    with failing_clearly(debug=context.obj["debug"]):
        from importlib import import_module
        from importlib.util import find_spec

        from podium.challenges import challenges, get_challenge
        from podium.cli.challenge import run
        from podium.cli.rank import rank_with_uncertainty
        from podium.cli.report import write_report
        from podium.model import InputError

        with_demo = [name for name in challenges() if find_spec(f"podium.demo.{name}") is not None]
        if challenge and get_challenge(challenge).name not in with_demo:
            raise InputError(f"there is no demo of {challenge}", advice=f"There are: {', '.join(with_demo)}")
        names = [challenge] if challenge else with_demo
        pages = []
        for name in names:
            folder = out / name
            import_module(f"podium.demo.{name}").write(folder)
            rules = get_challenge(name)
            submissions = folder / "submissions"
            baselines = ["baseline"] if (submissions / "baseline").exists() else []
            say(
                f"\n{rules.title}: {rules.summary}\n"
                f"$ podium evaluate {name} --truth {folder / 'truth'} --submissions {folder / 'submissions'} "
                f"--out {folder / 'run'}{' --baseline baseline' if baselines else ''}\n"
                f"$ podium rank {folder / 'run'} --bootstrap 1000\n"
                + (f"$ podium report {folder / 'run'} --format svg\n" if report else "")
            )
            _, measured = run(
                rules, truth=folder / "truth", submissions=submissions, out=folder / "run", baselines=baselines
            )
            rank_with_uncertainty(folder / "run")
            if measured.failures:
                say(f"\nWhat went wrong is told in {folder / 'run' / 'failures.csv'}, such as")
                for submission, case, status, reason in measured.failures[:3]:
                    say(f"  {submission}, {case or 'in general'}: {status}: {reason}")
            if report:
                say("")
                pages.append(write_report(folder / "run", formats=("svg",)))
        if len(pages) > 1:
            say("\nThe reports, to be opened in a browser:")
            for page in pages:
                say(f"  {page}")

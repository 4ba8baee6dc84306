"""`podium gather`: evaluations of several teams, joined into one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli._console import counted, failing_clearly, say


def gather(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]RUN",
            help="Run folders, or metrics.json files of podium evaluate --grand-challenge. NAME= names the only team "
            "of one.",
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(help="The run folder to write.", metavar="RUN")],
    restart: Annotated[
        bool, typer.Option("--restart", help="Make a run anew that is there; it stays until the new one is complete.")
    ] = False,
) -> None:
    """Join evaluations of several teams into one run that can be ranked.

    They must have the same challenge, edition, options and truth. A metrics file's team is called like the file, or
    like its folder if that is metrics.json.

    Examples
    --------
    podium gather run-a run-b --out all
    podium gather alpha=job-1/metrics.json beta=job-2/metrics.json --out all
    """
    with failing_clearly(context):
        import podium
        from podium.cli._board import show_board

        run = podium.gather(_named(sources), out=out, restart=restart)
        if not run.withheld:
            show_board(run.leaderboard)
        failed = run.failures.filter(run.failures["status"] != "warning").select("submission", "case").n_unique()
        if failed:
            say(f"{counted(failed, 'prediction')} failed: see {out}/failures.csv.")
        say(f"Gathered {counted(len(run.record.gathered), 'evaluation')}. The run is in {out}.")


def _named(texts: list[str]) -> list[tuple[str, Path]]:
    """Return what was given as NAME=PATH or PATH; a path may have an equals sign in it."""
    named = []
    for text in texts:
        name, equals, place = text.partition("=")
        own = bool(equals) and not Path(text).exists() and "/" not in name
        named.append((name if own else "", Path(place if own else text)))
    return named

"""The command line: parses, calls, prints. Heavy imports happen inside the commands, so that help is instant."""

from __future__ import annotations

import codecs
import io
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from podium import __version__
from podium.cli._help import SETTINGS, HelpfulGroup, add_to
from podium.cli.challenges import challenges
from podium.cli.check import check
from podium.cli.compare import compare
from podium.cli.demo import demo
from podium.cli.evaluate import evaluate
from podium.cli.gather import gather
from podium.cli.init import init
from podium.cli.measure import measure
from podium.cli.metrics import metrics
from podium.cli.rank import rank
from podium.cli.raters import raters
from podium.cli.report import report
from podium.cli.run import run
from podium.cli.verify import verify

__all__ = ["app", "main"]

app = typer.Typer(
    name="podium",
    cls=HelpfulGroup,
    context_settings=SETTINGS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    demo,
    challenges,
    init,
    check,
    evaluate,
    run,
    gather,
    rank,
    report,
    measure,
    compare,
    metrics,
    raters,
    verify,
):
    add_to(app, command)


def _version(*, wanted: bool) -> None:
    if wanted:
        from podium._commit import commit_of

        commit = commit_of(Path(__file__).parent.parent)
        typer.echo(f"podium {__version__}{f' (commit {commit})' if commit else ''}")
        raise typer.Exit


@app.callback()
def podium(
    context: typer.Context,
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback where something goes wrong.")] = False,
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option(
            "--version",
            help="Show the version, and the commit where it is known.",
            callback=lambda v: _version(wanted=v),
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Exact evaluation and honest ranking of biomedical imaging challenges.

    Examples
    --------
    podium demo kits21                                                   # everything once, with made-up data
    podium evaluate kits21 --truth truth --submissions teams --out run   # measure every team
    podium rank run --bootstrap 1000                                     # who is first, and how sure that is
    podium report run                                                    # a page that can be published
    podium COMMAND --help                                                # examples and options of each
    """
    context.obj = {"debug": debug}


def main() -> None:
    """Run the command line."""
    codecs.register_error("escaped", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="escaped")
    app(prog_name="podium")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""Write what a terminal or pipe has no letters for as \u2013, so that JSON stays JSON."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end

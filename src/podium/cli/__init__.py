"""The command line: parses, calls, prints. Heavy imports happen inside the commands, so that help is instant."""

from __future__ import annotations

import codecs
import io
import json
import sys
from typing import Annotated

import typer

from podium import __version__
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
    help="Exact evaluation and honest ranking of biomedical imaging challenges.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
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
    app.command()(command)


def _version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"podium {__version__}")
        raise typer.Exit


@app.callback()
def podium(
    context: typer.Context,
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback where something goes wrong.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Show the version.", callback=lambda v: _version(wanted=v), is_eager=True)
    ] = False,
) -> None:
    """Exact evaluation and honest ranking of biomedical imaging challenges."""
    context.obj = {"debug": debug}


def main() -> None:
    """Run the command line."""
    codecs.register_error("escaped", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="escaped")
    app()


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""Write what a terminal or pipe has no letters for as \u2013, so that JSON stays JSON."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end

"""`podium verify`: whether a run is what it says it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.cli._console import counted, failing_clearly, print_json, say
from podium.cli._options import Json

_SHOWN = 20


def verify(
    context: typer.Context,
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, from podium evaluate.")],
    *,
    sample: Annotated[int, typer.Option(help="How many cases to measure again.", metavar="N", min=0)] = 5,
    seed: Annotated[int, typer.Option(help="Which cases.", metavar="N", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Hash all inputs again, measure a sample again, rank again, and say what differs.

    Also names submissions that are identical, or nearly. Exit code 0 if nothing differs, 3 if anything does.

    Examples
    --------
    podium verify run
    podium verify run --sample 100 --json    # measure a hundred cases again; 0 measures none
    """
    with failing_clearly(context):
        import podium
        from podium.cli._progress import stages_done

        with stages_done() as progress:
            verification = podium.load(run_folder).verify(sample=sample, seed=seed, progress=progress)
    if as_json:
        print_json({"run": str(run_folder)} | verification.document)
    else:
        _show(verification.document)
    if not verification.nothing_differs:
        raise typer.Exit(3)


def _show(document: dict[str, Any]) -> None:
    parts: dict[str, tuple[str, Callable[[Any], str]]] = {
        "inputs": (
            f"{counted(document['files'], 'input file')} hashed",
            lambda line: " ".join(filter(None, (f"{line['of']}:", line["file"], line["what"]))),
        ),
        "measurements": (
            f"{counted(len(document['cases']), 'case')} measured again{_named(document['cases'])}",
            lambda line: f"{line['submission']}, {line['case']}: {line['what']}",
        ),
        "ranking": ("ranked again", str),
    }
    for part, (what, in_words) in parts.items():
        different = document[part]
        number = f"{len(different):,} differ{'s' * (len(different) == 1)}" if different else "nothing differs"
        say(f"{what}: {number}.")
        for difference in different[:_SHOWN]:
            typer.echo(f"  {in_words(difference)}")
        if len(different) > _SHOWN:
            typer.echo(f"  and {len(different) - _SHOWN} more")
    if document["not_kept"]:
        say(f"Predictions of {', '.join(document['not_kept'])} were not kept, and so not looked at again.")
    for pair in document["twins"]:
        same = "identical" if max(pair["equal_files"], pair["equal_cases"]) == 1 else "nearly identical"
        typer.echo(
            f"{pair['first']} and {pair['second']} are {same}: {100 * pair['equal_files']:.0f} % of their files and "
            f"{100 * pair['equal_cases']:.0f} % of their measured cases are equal."
        )


def _named(cases: list[str], most: int = 5) -> str:
    """Return cases in brackets, the first few of many; nothing where there are none."""
    return f" ({', '.join(cases[:most])}{', …' * (len(cases) > most)})" if cases else ""

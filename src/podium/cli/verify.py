"""`podium verify`: whether a run is what it says it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.cli._console import failing_clearly, say
from podium.cli.challenge import Json

_SHOWN = 20


def verify(
    context: typer.Context,
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, from podium evaluate.")],
    *,
    sample: Annotated[int, typer.Option(help="How many cases to measure again.", min=0)] = 5,
    seed: Annotated[int, typer.Option(help="Which cases.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Hash all inputs again, measure a sample again, rank again, and say what differs.

    Also names submissions that are identical, or nearly. Exit code 0 if nothing differs, 3 if anything does.
    """
    with failing_clearly(debug=context.obj["debug"]):
        found = _verified(run_folder, sample=sample, seed=seed)
    if as_json:
        from podium.io import json_text

        typer.echo(json_text(found), nl=False)
    else:
        _show(found)
    if any(found[part] for part in ("inputs", "measurements", "ranking")):
        raise typer.Exit(3)


def _verified(folder: Path, *, sample: int, seed: int) -> dict[str, Any]:
    from dataclasses import asdict

    from podium.challenges import get_challenge
    from podium.cli._progress import stages_done
    from podium.evaluate import load_run
    from podium.evaluate.verifying import changed_inputs, remeasured, twins
    from podium.model import InputError, Role
    from podium.ranking import leaderboard_of

    run = load_run(folder)
    challenge = get_challenge(run.info["challenge"], **run.info["options"])
    if challenge.version != run.info["version"]:
        raise InputError(
            f"this run was measured by version {run.info['version']} of {challenge.title}, this is {challenge.version}",
            path=folder,
            advice="Evaluate it again, or verify it with the Podium that made it",
        )
    with stages_done() as progress:
        inputs = changed_inputs(run.info, progress=lambda done, total: progress("files hashed", done, total))
        cases, measurements = remeasured(
            challenge,
            run.info,
            run.table,
            sample=sample,
            seed=seed,
            progress=lambda done, total: progress("cases measured", done, total),
        )
    board = leaderboard_of(challenge, run.table, roles=run.roles)
    teams = [name for name in run.info["submissions"] if run.roles.get(name) is not Role.REFERENCE]
    return {
        "run": str(folder),
        "files": sum(map(len, run.info["sha256"].values())),
        "cases": cases,
        "inputs": [{"of": name, "file": file, "what": what} for name, file, what in inputs],
        "measurements": [{"submission": name, "case": case, "what": what} for name, case, what in measurements],
        "ranking": _ranking_differences(folder, board),
        "twins": [asdict(each) for each in twins(run.table, run.info["sha256"], teams)],
    }


def _ranking_differences(folder: Path, board: Any) -> list[str]:
    """Return how the leaderboard that was written differs from one made now."""
    import json

    from podium.evaluate.record import leaderboard_document
    from podium.io import json_text

    path = folder / "leaderboard.json"
    if not path.is_file():
        return ["there is no leaderboard.json"]
    try:
        written = json.loads(path.read_text())
        before = {entry["submission"]: entry for entry in written["entries"]}
    except (ValueError, KeyError, TypeError):
        return ["leaderboard.json is damaged"]
    now = {entry["submission"]: entry for entry in json.loads(json_text(leaderboard_document(board)))["entries"]}
    found = [f"{name} is not on the leaderboard" for name in sorted(now.keys() - before.keys())]
    found += [f"{name} is on the leaderboard, but was not measured" for name in sorted(before.keys() - now.keys())]
    for name in sorted(now.keys() & before.keys()):
        if now[name]["place"] != before[name].get("place"):
            found.append(f"{name} has place {now[name]['place']}, the leaderboard says {before[name].get('place')}")
        elif now[name] != before[name]:
            keys = [key for key, value in now[name]["values"].items() if value != before[name]["values"].get(key)]
            found.append(f"{name} has other values: {', '.join(keys[:5]) or 'remark or role'}")
    return found


def _show(found: dict[str, Any]) -> None:
    parts: dict[str, tuple[str, Callable[[Any], str]]] = {
        "inputs": (f"{found['files']:,} input files hashed", lambda e: f"{e['of']}: {e['file']} {e['what']}"),
        "measurements": (
            f"{len(found['cases'])} cases measured again ({', '.join(found['cases'][:5])})",
            lambda e: f"{e['submission']}, {e['case']}: {e['what']}",
        ),
        "ranking": ("ranked again", str),
    }
    for part, (what, told) in parts.items():
        different = found[part]
        say(f"{what}: {f'{len(different)} differ' if different else 'nothing differs'}.")
        for each in different[:_SHOWN]:
            typer.echo(f"  {told(each)}")
        if len(different) > _SHOWN:
            typer.echo(f"  and {len(different) - _SHOWN} more")
    for pair in found["twins"]:
        same = "identical" if max(pair["equal_files"], pair["equal_cases"]) == 1 else "nearly identical"
        typer.echo(
            f"{pair['first']} and {pair['second']} are {same}: {pair['equal_files']:.0%} of their files and "
            f"{pair['equal_cases']:.0%} of their measured cases are equal."
        )

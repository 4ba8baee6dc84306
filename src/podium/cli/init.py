"""`podium init`: a challenge of one's own."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from podium.cli._console import failing_clearly, say
from podium.cli._options import given_options


def init(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write it.")] = Path(),
    *,
    kind: Annotated[
        str | None, typer.Option(help="What is predicted: segmentation, detection, landmarks, ...", metavar="KIND")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Of the challenge; by default the folder's.", metavar="NAME")] = None,
    title: Annotated[str | None, typer.Option(help="For people; by default the name.", metavar="TEXT")] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="A folder of truth to look at: file patterns and labels follow from it.", metavar="DIR"),
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="A label and its number; repeat for more.", metavar="NAME=NUMBER")
    ] = None,
    python: Annotated[
        bool, typer.Option("--python", help="Write a Python package with tests, for what TOML cannot say.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    ask: Annotated[
        bool | None, typer.Option("--ask/--no-ask", help="Ask what is not said; by default at a terminal.")
    ] = None,
) -> None:
    """Write a challenge.toml, with comments and valid at once: a challenge of your own, in one page.

    Examples
    --------
    podium init my-challenge --truth labels                            # patterns and labels from a folder of truth
    podium init my-challenge --kind segmentation --label tumor=1 --no-ask
    podium init my-challenge --python                                  # a package with tests, for what TOML cannot say
    """
    with failing_clearly(context):
        import podium
        from podium.challenges.kinds.drafts import DRAFTED, plain_name
        from podium.challenges.kinds.toml_files import DEFAULT_KIND, FILE_NAME
        from podium.io import write_text
        from podium.model import InputError

        usual = plain_name(folder.resolve().name)
        labels = _numbers(given_options(label, flag="--label", form="NAME=NUMBER"))
        if sys.stdin.isatty() if ask is None else ask:
            title = title or typer.prompt("What is the challenge called", default=name or usual, err=True)
            name = name or plain_name(title)
            if not python:
                kind = kind or _asked_kind(DRAFTED, DEFAULT_KIND)
                if truth is None and not labels:
                    truth = _asked_folder()
        if python:
            from podium.challenges.kinds.packages import write_package

            written = write_package(folder, name or usual, title=title or "", force=force)
            say(f"Wrote {', '.join(str(path) for path in written)}.\nNext:")
            say(f"  pip install -e {folder} && pytest {folder}")
            return
        draft = podium.draft_challenge(
            name or usual, title=title or "", kind=kind or DEFAULT_KIND, truth=truth, labels=labels
        )
        path = folder / FILE_NAME
        if path.exists() and not force:
            raise InputError("there is one already", path=path, advice="Say --force to replace it")
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, draft.text)
    say(f"Wrote {path}. {' '.join(draft.remarks)}".rstrip())
    say("Change what you like in it. Then:")
    quoted, looked_at = (shlex.quote(str(place)) for place in (path, truth or "TRUTH"))
    say(f"  podium challenges {quoted}     what participants are told")
    say(f"  podium demo {quoted}           everything once, with made-up data")
    say(f"  podium evaluate {quoted} --truth {looked_at} --submissions TEAMS --out run")


def _asked_kind(kinds: Iterable[str], usual: str) -> str:
    from podium.model.errors import nearest

    known = list(kinds)
    while (answer := typer.prompt(f"What is predicted ({', '.join(known)})", default=usual, err=True)) not in known:
        say(f"There is no kind {answer!r}. {nearest(answer, known)}")
    return str(answer)


def _asked_folder() -> Path | None:
    usual = "truth" if Path("truth").is_dir() else ""
    while answer := typer.prompt(
        "A folder of truth to look at (Enter: none)", default=usual, show_default=bool(usual), err=True
    ):
        if Path(answer).is_dir():
            return Path(answer)
        say(f"There is no folder {answer}.")
    return None


def _numbers(texts: dict[str, str]) -> dict[str, int]:
    """Return labels by name."""
    from podium.model import InputError

    for name, text in texts.items():
        if not (text.isascii() and text.isdigit() and int(text) > 0):
            raise InputError(f"--label {name}={text}: a label is a whole number from 1", advice="Say --label tumor=1")
    return {name: int(text) for name, text in texts.items()}

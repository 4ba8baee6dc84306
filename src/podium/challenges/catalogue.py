"""Finding challenges: every folder here with a challenge.py, and the entry points of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from podium.model import Challenge, InputError
from podium.model.errors import nearest

__all__ = ["challenges", "chosen_challenge", "get_challenge", "recorded_challenge"]

_GROUP = "podium.challenges"


def challenges() -> dict[str, type[Challenge]]:
    """Return every challenge there is, by name."""
    known: dict[str, type[Challenge]] = {}
    here = Path(__file__).parent
    classes = [
        import_module(f"podium.challenges.{path.parent.name}.challenge").CHALLENGE
        for path in sorted(here.glob("*/challenge.py"))
    ]
    classes += [entry_point.load() for entry_point in sorted(entry_points(group=_GROUP), key=lambda e: e.name)]
    for kind in classes:
        if kind.name in known:
            raise ValueError(f"two challenges are called {kind.name!r}: {known[kind.name]} and {kind}")
        known[kind.name] = kind
    return known


def get_challenge(name: str, *, edition: str = "document", **options: Any) -> Challenge:
    """Return a challenge ready to use, by its name or as a path to a challenge.toml declares it.

    It is in an edition of its rules, with options, which may be text.
    """
    if name not in challenges() and _is_file(name):
        from podium.challenges.kinds.toml_files import read_challenge

        made = read_challenge(name, edition=edition)
        return made.varied(**options) if options else made
    return _named(name).made(edition=edition, **options)


def recorded_challenge(name: str, *, edition: str, options: Mapping[str, Any], given: Challenge | None) -> Challenge:
    """Return the challenge that made a run: by its name, by the declaration that the run holds, or the one given."""
    if given is None and options.get("declaration", {}).get("kind"):
        from podium.challenges.kinds.making import challenge_of

        return challenge_of({"edition": edition, **options})
    return (given or _named(name).made()).varied(**{"edition": edition, **options})


def chosen_challenge(challenge: str | Challenge, rules: str | None, options: Mapping[str, Any] | None) -> Challenge:
    """Return a challenge by its name, or as it was given, in an edition and with options where these are given."""
    changes = {**(options or {}), **({} if rules is None else {"edition": rules})}
    made = challenge if isinstance(challenge, Challenge) else get_challenge(challenge)
    if unknown := sorted(set(changes) - {"edition", *made.option_names()}):
        known = ", ".join(made.option_names()) or "none"
        raise InputError(f"{made.title} has no option {unknown[0]!r}", advice=f"Options of {made.name}: {known}")
    return made.varied(**changes) if changes else made


def _named(name: str) -> type[Challenge]:
    """Return the class of a challenge by its name, which is no path: run folders come from strangers, too."""
    known = challenges()
    if name not in known:
        raise InputError(f"there is no challenge called {name!r}", advice=nearest(name, known))
    return known[name]


def _is_file(name: str) -> bool:
    """Return whether a name is the path of a challenge.toml, or of the folder that holds one."""
    try:
        return name.endswith(".toml") or Path(name, "challenge.toml").is_file()
    except OSError:  # longer than a path can be
        return False

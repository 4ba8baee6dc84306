"""A challenge as a challenge.toml, as far as it can be expressed."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from podium.challenges.kinds.declared import DeclaredChallenge
from podium.challenges.kinds.making import KINDS
from podium.challenges.kinds.toml_files import FILE_NAME, IDENTITY, TABLES
from podium.challenges.kinds.toml_writing import toml_text
from podium.model import Challenge

__all__ = ["in_toml"]


def in_toml(challenge: Challenge) -> str:
    """Return the TOML of a challenge; what cannot be expressed is said in comments.

    Where a challenge.toml lies beside its module, it is that. Else a declared challenge is written from its
    declaration; of another, its name, its files and those measures that are one metric, which is a start and no more.
    """
    module = getattr(sys.modules[type(challenge).__module__], "__file__", None)  # none in a notebook
    if module and (beside := Path(module).with_name(FILE_NAME)).is_file():
        return beside.read_text(encoding="utf-8")
    if not isinstance(challenge, DeclaredChallenge):
        return _started(challenge)
    whole = challenge.varied(edition=challenge.editions[0])
    return _comments(_replaced(challenge)) + toml_text(_document(whole))


def _comments(lines: list[str]) -> str:
    return "".join(f"# {line}\n" for line in lines) + ("\n" if lines else "")


def _replaced(challenge: DeclaredChallenge) -> list[str]:
    """Name what a subclass does in its own way."""
    kind = KINDS[challenge.kind]
    if type(challenge) is kind:
        return []
    methods = sorted(name for name, own in vars(type(challenge)).items() if inspect.isfunction(own) and name[0] != "_")
    lines = [f"{challenge.title} has Python of its own, which TOML cannot express: {', '.join(methods)}."] * bool(
        methods
    )
    options = challenge.option_names()
    return lines + [f"Options of its own are not expressed either: {', '.join(options)}."] * bool(options)


def _document(challenge: DeclaredChallenge) -> dict[str, Any]:
    """Return the tables of a declaration, without what is as by default."""
    own = {"edition", "emphasis", *challenge.option_names()}
    defaults = {name: field.get_default() for name, field in KINDS[challenge.kind].model_fields.items()}
    of_all = [name for name in DeclaredChallenge.model_fields if name != "files"]
    fields = [name for name in type(challenge).model_fields if name not in own and name not in IDENTITY]
    names = sorted(fields, key=lambda name: (name in of_all, name != "files"))
    held = challenge.model_dump(mode="json", exclude_defaults=False, include=set(names))
    document: dict[str, Any] = {"challenge": {"name": challenge.name, "title": challenge.title, "kind": challenge.kind}}
    if challenge.version != 1:
        document["challenge"]["revision"] = challenge.version
    for name in names:
        value = getattr(challenge, name)
        if value == defaults.get(name) or value == {}:
            continue
        table = TABLES.get(name, name)
        if name == "quantities":
            document[table] = [_quantity(quantity.model_dump(mode="json", exclude_defaults=True)) for quantity in value]
        elif name == "variants":
            document[table] = {
                edition: {TABLES.get(keyword, keyword): content for keyword, content in changed.items()}
                for edition, changed in held[name].items()
            }
        elif hasattr(value, "model_dump"):
            document[table] = _lists(value.model_dump(mode="json", exclude_defaults=True))
        else:
            document[table] = held[name]
    return document


def _quantity(table: dict[str, Any]) -> dict[str, Any]:
    """Put options beside the other keys, as a file has them."""
    options = table.pop("options", {})
    return {"metric": table.pop("metric"), **options, **table}


def _lists(table: dict[str, Any]) -> dict[str, Any]:
    """Write a list of one pattern as the pattern."""
    several = {key: table[key] for key in ("prediction", "inputs") if len(table.get(key, ())) == 1}
    return {**table, **{key: single[0] for key, single in several.items() if isinstance(single, list)}}


def _started(challenge: Challenge) -> str:
    """Return what can be said of a challenge that is programmed."""
    lines = [
        f"{challenge.title} is programmed, and this is a start and no whole challenge.toml.",
        "What TOML cannot express of it: how its files are read and its cases measured, how places are made, its",
        f"editions ({', '.join(challenge.editions)}) and options ({', '.join(challenge.option_names()) or 'none'}).",
    ]
    measures = []
    for measure in challenge.measures:
        cost = None if measure.price is None else measure.price.amount
        if measure.metric is None or not measure.judges:
            judged = measure.direction.value if measure.judges else "which describes"
            lines.append(f"Measured by its own code: {measure.name}, {judged}.")
            continue
        failed = cost if isinstance(cost, int | float) else measure.price.words if measure.price else ""
        of = {"of": list(measure.targets)} if measure.targets != ("",) else {}
        options = {key: value for own in measure.options.values() for key, value in own.items()}
        measures.append({"metric": measure.metric.name, **of, **options, "failed": failed})
    files = [name.replace("*", "{case}", 1) for name in challenge.naming if name not in challenge.single_files]
    document: dict[str, Any] = {"challenge": {"name": challenge.name, "title": challenge.title}}
    if files:
        document["files"] = {"prediction": files}
    if measures:
        document["measure"] = measures
    document["words"] = {"page": challenge.page, "summary": challenge.summary}
    return _comments(lines) + toml_text(document)

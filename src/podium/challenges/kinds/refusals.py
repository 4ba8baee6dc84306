"""What is wrong with a declaration, in words, from what pydantic says of it."""

from __future__ import annotations

from datetime import date, time
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from podium.challenges.kinds.declarations import Misdeclared
from podium.model import InputError
from podium.model.errors import nearest

__all__ = ["problems_of"]

_PLAIN = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "mapping_type": "a table",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


def problems_of(model: type[BaseModel], error: ValidationError) -> list[Misdeclared]:
    """Return all that is wrong, each with its place in the declaration."""
    details = error.errors()
    # A list is also told to be too short where what it holds is wrong.
    short = [place["loc"] for place in details if place["type"] == "too_short"]
    empty = [loc for loc in short if not any(d["loc"] != loc and d["loc"][: len(loc)] == loc for d in details)]
    return [_refusal(model, d) for d in details if d["type"] != "too_short" or d["loc"] in empty]


def _refusal(model: type[BaseModel], detail: Any) -> Misdeclared:
    at, given, kind = _place(detail["loc"]), detail.get("input"), detail["type"]
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, Misdeclared):
        return Misdeclared(cause.problem, *at, *cause.at, advice=cause.advice, misspelt=cause.misspelt)
    if isinstance(cause, InputError):
        return Misdeclared(cause.problem, *at, advice=cause.advice or "")
    if cause is not None:
        return Misdeclared(str(cause), *at)
    key = next((str(step) for step in reversed(at) if isinstance(step, str)), "")
    if kind == "extra_forbidden":
        known = _known_keys(model, at[:-1])
        return Misdeclared(f"there is no key {key!r} here", *at, advice=nearest(key, known), misspelt=True)
    if kind == "missing":
        short = f"{key} has too few entries"
        return Misdeclared(short if isinstance(at[-1], int) else f"{key!r} is missing", *at, advice="Add it")
    if kind == "literal_error":
        return Misdeclared(
            f"{key} cannot be {_written(given)}", *at, advice=_choices(str(given), detail["ctx"]["expected"])
        )
    if kind == "too_short":
        return Misdeclared(f"{key} is empty", *at, advice="Name one at least")
    if kind in _PLAIN:
        advice = f'Write ["{given}"]' if _PLAIN[kind] == "a list" and isinstance(given, str) else ""
        return Misdeclared(f"{key} is {_PLAIN[kind]}, not {_written(given)}", *at, advice=advice)
    return Misdeclared(f"{key}: {detail['msg'][:1].lower()}{detail['msg'][1:]}", *at)


def _place(steps: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return a place in the declaration, without the names that pydantic gives to alternatives."""
    return tuple(step for step in steps if isinstance(step, int) or "[" not in step)


def _written(value: Any) -> str:
    """Return a value as it stands in TOML, where Python writes it otherwise."""
    return (
        str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, date | time) else repr(value)
    )


def _choices(given: str, expected: str) -> str:
    """Advise on one of several words; pydantic lists them in quotes."""
    words = [word.strip().strip("'") for part in expected.split(",") for word in part.split(" or ")]
    advice = nearest(given, words)
    return advice if advice.startswith("Did") else f"It is one of: {', '.join(words)}"


def _known_keys(model: type[BaseModel], at: tuple[str | int, ...]) -> list[str]:
    """Return the keys of the table at a place of a declaration."""
    for step in at:
        if isinstance(step, str) and step in model.model_fields:
            inner = _model_in(model.model_fields[step].annotation)
            model = inner or model
    return [name for name in model.model_fields if name not in ("edition", "emphasis")]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the table that a field holds, alone or in a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for model in map(_model_in, get_args(annotation)) if model is not None), None)

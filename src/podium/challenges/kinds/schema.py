"""The JSON Schema of challenge.toml, for editors: `python -m podium.challenges.kinds.schema > FILE`."""

from __future__ import annotations

import sys
from typing import Any

from pydantic import TypeAdapter

from podium.challenges.kinds.declarations import Quantity
from podium.challenges.kinds.declared import DeclaredChallenge
from podium.challenges.kinds.making import KINDS
from podium.challenges.kinds.toml_files import DEFAULT_KIND, IDENTITY, TABLES
from podium.io import json_text
from podium.metrics.registry import metrics

__all__ = ["toml_schema"]

_BESIDES = ("edition", "emphasis")


def toml_schema() -> dict[str, Any]:
    """Return the schema: what every kind has, and under `then` what each has by itself."""
    branches: list[dict[str, Any]] = []
    definitions: dict[str, Any] = {}
    for name, kind in KINDS.items():
        schema = kind.model_json_schema(mode="validation")
        definitions |= schema.pop("$defs", {})
        definitions[f"{name}-measure"] = _measure(kind, definitions["Quantity"])
        branches.append(_branch(name, schema, default=name == DEFAULT_KIND))
    definitions.pop("Quantity")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "challenge.toml of Podium",
        "type": "object",
        "required": ["challenge"],
        "allOf": branches,
        "$defs": dict(sorted(definitions.items())),
    }


def _branch(name: str, schema: dict[str, Any], *, default: bool) -> dict[str, Any]:
    """Return the tables of one kind, and when it is meant."""
    own = {key: value for key, value in schema["properties"].items() if key not in _BESIDES}
    about = {
        "type": "object",
        "properties": {**{key: own[key] for key in IDENTITY}, "kind": {"enum": list(KINDS), "default": DEFAULT_KIND}},
        "required": ["name"],
        "additionalProperties": False,
    }
    tables = {TABLES.get(key, key): value for key, value in own.items() if key not in IDENTITY}
    tables["measure"] = {**tables["measure"], "items": {"$ref": f"#/$defs/{name}-measure"}}
    required = [TABLES.get(key, key) for key in schema["required"] if key not in IDENTITY]
    said = {"properties": {"challenge": {"properties": {"kind": {"const": name}}, "required": ["kind"]}}}
    unsaid = {"properties": {"challenge": {"not": {"required": ["kind"]}}}}
    return {
        "if": {"anyOf": [said, unsaid]} if default else said,
        "then": {
            "properties": {"challenge": about, **tables},
            "required": ["challenge", *required],
            "additionalProperties": False,
        },
    }


def _measure(kind: type[DeclaredChallenge], quantity: dict[str, Any]) -> dict[str, Any]:
    """Return what a measure of one kind may say: its keys, and every option of every metric."""
    usable = [metric for metric in metrics() if kind.takes(metric)]
    types = {key: declared for metric in usable for key, declared in Quantity.option_types(metric).items()}
    keys = {key: value for key, value in quantity["properties"].items() if key != "options"}
    keys["metric"] = {**keys["metric"], "enum": [metric.name for metric in usable]}
    for key, declared in sorted(types.items()):
        one = TypeAdapter(declared).json_schema()
        keys.setdefault(key, {"anyOf": [one, {"type": "object", "additionalProperties": one}]})
    return {**quantity, "properties": keys, "additionalProperties": False}


if __name__ == "__main__":
    sys.stdout.write(json_text(toml_schema()))

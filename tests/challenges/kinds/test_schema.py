"""The JSON Schema of challenge.toml: published, current, and of one mind with Podium about good and misspelt files."""

import json
import tomllib

import pytest
from declared_challenges import TOML
from shared_data import PROJECT

from podium.challenges.kinds.schema import toml_schema

SCHEMA = json.loads(json.dumps(toml_schema()))
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def fits(value, schema):
    """Return whether a value fits a schema, as far as ours goes."""
    if "$ref" in schema:
        return fits(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema and not isinstance(value, TYPES[schema["type"]]):
        return False
    if "anyOf" in schema and not any(fits(value, one) for one in schema["anyOf"]):
        return False
    if not all(fits(value, one) for one in schema.get("allOf", ())):
        return False
    if "not" in schema and fits(value, schema["not"]):
        return False
    if "if" in schema and fits(value, schema["if"]) and not fits(value, schema["then"]):
        return False
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return all(fits(one, schema["items"]) for one in value)
    if not isinstance(value, dict):
        return True
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    if any(name not in value for name in schema.get("required", ())):
        return False
    for name, inner in value.items():
        of_name = known.get(name, others)
        if of_name is False or (isinstance(of_name, dict) and not fits(inner, of_name)):
            return False
    return True


def test_the_published_schema_is_current():
    path = PROJECT / "docs" / "challenge.schema.json"
    advice = f"python -m podium.challenges.kinds.schema > {path}"
    assert json.loads(path.read_text()) == SCHEMA, advice


@pytest.mark.parametrize("path", sorted(TOML.glob("*.toml")), ids=lambda path: path.stem)
def test_good_files_fit_and_misspelt_ones_do_not(path):
    document = tomllib.loads(path.read_text())
    assert fits(document, SCHEMA)
    assert not fits({**document, "measures": []}, SCHEMA)
    for table in ("challenge", "files"):
        assert not fits({**document, table: {**document[table], "titel": "x"}}, SCHEMA)
    for spoiled in ({"tolerance": 1}, {"metric": "dise"}, {"weight": "much"}):
        measures = [{**document["measure"][0], **spoiled}, *document["measure"][1:]]
        assert not fits({**document, "measure": measures}, SCHEMA)
    del document["measure"]
    assert not fits(document, SCHEMA)

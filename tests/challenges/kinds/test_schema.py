"""The JSON Schema of challenge.toml: published, current, and of one mind with Podium about good and misspelt files."""

import copy
import json
import random
import tomllib

import pytest
from declared_challenges import TOML
from shared_data import PROJECT

from podium.challenges.kinds import parse_challenge
from podium.challenges.kinds.schema import toml_schema
from podium.challenges.kinds.toml_writing import toml_value
from podium.model import InputError

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
    if isinstance(value, list) and not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return False
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
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


VALUES = [0, 1, -1, 0.5, True, "", "x", "{case}", "mean", "not ranked", [], [1], ["a"], [["a"]], [0.5], {}, {"a": 1}]
KEYS = sorted({"options", "ranking", "time", *(key for own in SCHEMA["$defs"].values() for key in own["properties"])})


def places(value, path=()):
    """Return the paths of all tables, lists and values in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, own in inner for place in places(own, (*path, key)))]


def at(document, path):
    for key in path:
        document = document[key]
    return document


def spoiled(document, draw):
    """Return a document with something else somewhere: another value, one less, or one more."""
    result = copy.deepcopy(document)
    *path, key = draw.choice(places(result)[1:])
    table, value = at(result, path), copy.deepcopy(draw.choice(VALUES))
    match draw.choice(["other", "other", "less", "more", "more"]):
        case "other":
            table[key] = value
        case "less":
            del table[key]
        case "more" if isinstance(table[key], dict):
            table[key][draw.choice(KEYS)] = value
        case "more" if isinstance(table[key], list):
            table[key].append(value)
    return result


def accepted(document):
    text = "".join(f"{toml_value(key)} = {toml_value(own)}\n" for key, own in document.items())
    try:
        parse_challenge(text)
    except InputError:
        return False
    return True


def check_spoiled(seed, count):
    draw = random.Random(seed)
    documents = [tomllib.loads(path.read_text()) for path in sorted(TOML.glob("*.toml"))]
    good = 0
    for _ in range(count):
        document = spoiled(draw.choice(documents), draw)
        if accepted(document):
            good += 1
            assert fits(document, SCHEMA), document
    assert good > count / 10


def test_what_is_accepted_fits():
    """The schema refuses nothing that Podium takes; so Podium refuses what it forbids. And nothing breaks."""
    check_spoiled(0, 400)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(1, 9))
def test_what_is_accepted_fits_whatever_is_drawn(seed):
    check_spoiled(seed, 2000)

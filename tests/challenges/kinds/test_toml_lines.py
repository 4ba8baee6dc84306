"""On which line each key of a TOML text stands."""

import tomllib

import pytest
from declared_challenges import TOML

from podium.challenges.kinds.toml_lines import key_lines

TEXT = '''# a comment with [brackets] and = signs
title = "a # b"  # no key = here
"quoted key".inner = 'x = 1'
long = """
several
lines = 1
"""
literal = \'\'\'
[no table]
\'\'\'
numbers = [
  1,  # one
  { a = 1, b = [2, 3] },
]
when = 1979-05-27 07:32:00

[a.b]
c = { d = { e = 1 } }

[[list]]
x = 1
[list.sub]
y = 2
[[list]]
x = 3
[[list.deep]]
z = 4
'''


def paths(value, path=()):
    """Return the path of everything in a document."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from paths(inner, (*path, place))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("quoted key", "inner"), 3),
        (("long",), 4),
        (("literal",), 8),
        (("numbers", 0), 12),
        (("numbers", 1, "b", 1), 13),
        (("when",), 15),
        (("a", "b"), 17),
        (("a", "b", "c", "d", "e"), 18),
        (("list", 0), 20),
        (("list", 0, "sub", "y"), 23),
        (("list", 1, "x"), 25),
        (("list", 1, "deep", 0, "z"), 27),
    ],
)
def test_every_key_has_its_line(path, line):
    assert key_lines(TEXT)[path] == line


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), *(p.read_text() for p in TOML.glob("*.toml"))])
def test_nothing_of_a_document_is_without_a_line(text):
    lines = key_lines(text)
    known = {path[:length] for path in lines for length in range(len(path) + 1)}
    assert set(paths(tomllib.loads(text))) <= known

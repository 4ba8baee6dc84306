"""Short names: of a length that fits, and no two the same."""

import pytest

from podium.report.short_names import pieces, short_labels, shortened

ENDS = [f"the team of {city} and of all its many friends" for city in ("Aachen", "Berlin", "Bern", "Bergen")]
MANY = [f"a group with a very long name, number {number:02d}, of the university" for number in range(24)]


@pytest.mark.parametrize(
    "names",
    [ENDS, MANY, ["x" * 200, "x" * 199], ["深度" * 40, "深度" * 39 + "a"], ["", "–", " "]],
)
@pytest.mark.parametrize("longest", [14, 26, 60])
def test_no_two_names_read_the_same(names, longest):
    labels = short_labels(names, longest)
    assert list(labels) == names
    assert len(set(labels.values())) == len(names)
    wide = [sum(1 + ("\u4e00" <= sign <= "\u9fff") for sign in label) for label in labels.values()]
    assert max(wide) <= longest


def test_names_are_cut_where_they_differ():
    assert short_labels(MANY)[MANY[7]] == "a group …er 07, of the un…"
    assert short_labels(["plain", "x" * 40], 20) == {"plain": "plain", "x" * 40: shortened("x" * 40, 20)}


def test_pieces_make_the_whole():
    for name, parts in pieces([*ENDS, *MANY, "short"], 30).items():
        assert "".join(text for text, _ in parts) == name
    assert pieces(["short"], 30) == {"short": [("short", True)]}

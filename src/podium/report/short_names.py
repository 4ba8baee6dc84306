"""Names short enough for an axis or a card, of which no two read the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import takewhile

__all__ = ["cleaned", "pieces", "short_labels", "shortened"]

LONGEST = 26
"""Columns that a name may take in a figure."""

Stretch = tuple[int, int]


def cleaned(name: str) -> str:
    """Return a name without signs that no file can hold or that turn the text around them."""
    return "".join(" " if sign in "\n\r\t\v\f" else "\ufffd" if _harmful(sign) else sign for sign in name).strip()


def _harmful(sign: str) -> bool:
    """Return whether a sign is a control, half of a sign, no sign at all, or changes the direction of writing."""
    return unicodedata.category(sign) in ("Cc", "Cs") or sign in "\ufffe\uffff\u202a\u202b\u202c\u202d\u202e"


def shortened(name: str, longest: int = LONGEST) -> str:
    """Return a name of at most so many columns; what is left out of its middle is an ellipsis.

    Examples
    --------
    >>> shortened("a team that is proud of its very long name", 20)
    'a team that i…g name'
    """
    name = cleaned(name)
    return _joined(name, _ends(name, longest)) or "–"


def short_labels(names: Sequence[str], longest: int = LONGEST) -> dict[str, str]:
    """Return each name in at most so many columns, cut where it differs from those that would read the same.

    Names that cannot be told apart by any of their parts are numbered.

    Examples
    --------
    >>> short_labels(["the group of A and of all its friends", "the group of B and of all its friends", "C"], 20)
    {'the group of A and of all its friends': 'the gr…of A and of …', \
'the group of B and of all its friends': 'the gr…of B and of …', 'C': 'C'}
    """
    labels: dict[str, str] = {}
    clean = {name: cleaned(name) for name in dict.fromkeys(names)}
    cuts = dict(_cuts(list(dict.fromkeys(clean.values())), longest))
    taken: set[str] = set()
    for name, shown in clean.items():
        label = _joined(shown, cuts[shown]) or "–"
        number = 1
        while label in taken:
            number += 1
            sign = f" ({number})"
            label = shortened(shown, longest - len(sign)) + sign
        taken.add(label)
        labels[name] = label
    return labels


def pieces(names: Sequence[str], longest: int) -> dict[str, list[tuple[str, bool]]]:
    """Return the parts of each name in order, and whether each is shown where only so many columns are.

    Examples
    --------
    >>> pieces(["a team that is proud of its very long name"], 20)
    {'a team that is proud of its very long name': [('a team that i', True), ('s proud of its very lon', False), \
('g name', True)]}
    """
    return {name: list(_parts(name, stretches)) for name, stretches in _cuts(list(dict.fromkeys(names)), longest)}


def _parts(name: str, stretches: Sequence[Stretch]) -> Iterator[tuple[str, bool]]:
    at = 0
    for start, stop in (*stretches, (len(name), len(name))):
        if at < start:
            yield name[at:start], False
        if start < stop:
            yield name[start:stop], True
        at = stop


def _cuts(names: Sequence[str], longest: int) -> Iterator[tuple[str, list[Stretch]]]:
    """Return which stretches of each name are shown: its ends, or where those would be the same, what differs."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_joined(name, _ends(name, longest)), []).append(name)
    for group in alike.values():
        if len(group) == 1:
            yield group[0], _ends(group[0], longest)
        else:
            yield from _differing(group, longest)


def _differing(names: Sequence[str], longest: int) -> Iterator[tuple[str, list[Stretch]]]:
    """Return the beginning of each name and, further on, where these names part."""
    start = sum(1 for _ in takewhile(lambda signs: len(set(signs)) == 1, zip(*names, strict=False)))
    alike: dict[str, list[str]] = {}
    cuts = {name: _around(name, start, longest) for name in names}
    for name in names:
        alike.setdefault(_joined(name, cuts[name]), []).append(name)
    for group in alike.values():
        if len(group) == 1 or len(group) == len(names):
            yield from ((name, cuts[name]) for name in group)
        else:
            yield from _differing(group, longest)


def _around(name: str, start: int, longest: int) -> list[Stretch]:
    head = _fitting(name, 0, longest // 3)
    begin = max(head, start - 3)
    return [(0, head), (begin, _fitting(name, begin, longest - longest // 3 - 2))]


def _ends(name: str, longest: int) -> list[Stretch]:
    """Return the whole of a short name; of a long one most of its beginning, and some of its end."""
    if sum(map(_width, name)) <= longest:
        return [(0, len(name))]
    tail = (longest - 1) // 3
    return [(0, _fitting(name, 0, longest - 1 - tail)), (len(name) - _fitting(name[::-1], 0, tail), len(name))]


def _fitting(name: str, start: int, room: int) -> int:
    """Return where to stop, so that what is between takes no more columns than there are."""
    stop = start
    for sign in name[start:]:
        if (room := room - _width(sign)) < 0:
            break
        stop += 1
    return stop


def _width(sign: str) -> int:
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def _joined(name: str, stretches: Sequence[Stretch]) -> str:
    parts = list(_parts(name, stretches))
    return "".join(text if shown else "…" for text, shown in parts)

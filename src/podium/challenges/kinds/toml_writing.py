"""Writing TOML, of which the standard library reads only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["toml_key", "toml_text", "toml_value"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_key(name: str) -> str:
    """Return a key, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """Return a value on one line.

    Examples
    --------
    >>> toml_value({"long/plaque": [1, 2.0, True], "b": "a word"})
    '{ "long/plaque" = [1, 2.0, true], b = "a word" }'
    """
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{toml_key(key)} = {toml_value(own)}" for key, own in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_text(document: Mapping[str, Any]) -> str:
    r"""Return a document of tables, and of lists of tables.

    Examples
    --------
    >>> print(toml_text({"files": {"truth": "{case}.mha"}, "measure": [{"metric": "dice", "failed": 0.0}]}), end="")
    [files]
    truth = "{case}.mha"
    <BLANKLINE>
    [[measure]]
    metric = "dice"
    failed = 0.0
    """
    blocks = []
    for name, content in document.items():
        several = isinstance(content, list | tuple)
        head = f"[[{toml_key(name)}]]" if several else f"[{toml_key(name)}]"
        tables = content if several else [content]
        lines = ([f"{toml_key(key)} = {toml_value(own)}" for key, own in table.items()] for table in tables)
        blocks += ["\n".join([head, *own]) for own in lines]
    return "\n\n".join(blocks) + "\n"

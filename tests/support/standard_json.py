"""JSON as the standard has it: NaN and Infinity, which Python would write and read, are none."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def strict_json(text: str) -> Any:
    """Return what a JSON text says; raise AssertionError where it is none."""

    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)

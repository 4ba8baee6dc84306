"""Pages that stand at the root of the project, where people look for them: changes, how to contribute, security."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
NAMES = {"CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "reporting.md"}


def pages() -> Iterator[tuple[str, str]]:
    """Yield them, with links that hold in docs/."""
    for name, path in NAMES.items():
        yield path, re.sub(r"\]\(docs/", "](", (PROJECT / name).read_text(encoding="utf-8"))

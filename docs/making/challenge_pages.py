"""One page a challenge: its README, and what it declares to participants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import podium
from podium.challenges import challenges, get_challenge
from podium.challenges.guide import Section, guide_to

FOLDER = Path(podium.__file__).parent / "challenges"


def pages() -> Iterator[tuple[str, str]]:
    """Yield an index and a page for each challenge that comes with Podium."""
    own = [kind for name, kind in challenges().items() if (FOLDER / name / "README.md").exists()]
    rows = [f"| [`{kind.name}`]({kind.name}.md) | {kind.title} | {kind.summary} |" for kind in own]
    yield "challenges/index.md", _INDEX + "\n".join(rows) + "\n"
    for kind in own:
        text = (FOLDER / kind.name / "README.md").read_text(encoding="utf-8")
        yield f"challenges/{kind.name}.md", _relinked(text) + _told(kind.name)


_INDEX = """# The challenges

Each has two editions of its rules: `document`, what the challenge's page says (the default), and `code`, what its
organisers' own program does where that differs (`--rules code`). What the pages leave open is decided on the page of
each.

| name | challenge | what is judged, and how |
|---|---|---|
"""


def _told(name: str) -> str:
    """Return what `podium challenges NAME` prints, as a part of a page."""
    sections = guide_to(get_challenge(name), called=name)
    return "\n\n## What participants are told\n\n" + "\n\n".join(map(_section, sections)) + "\n"


def _section(section: Section) -> str:
    if section.verbatim:
        return f"### {section.title}\n\n```text\n" + "\n".join(section.lines) + "\n```"
    return f"### {section.title}\n\n" + "\n".join(f"- {line}" for line in section.lines)


def _relinked(text: str) -> str:
    """Return a README whose links into docs/ hold in docs/challenges/."""
    return re.sub(r"\]\((?:\.\./)+docs/", "](../", text)

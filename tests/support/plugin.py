"""A package with a challenge of its own, installed for a test by an entry point."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIXTH = Path(__file__).with_name("sixth_challenge.py")
ENTRY = "[podium.challenges]\nlandmarks = podium_landmarks:Landmarks\n"


@contextmanager
def installed(folder: Path) -> Iterator[Path]:
    """Install the sixth challenge in a folder that Python looks for packages in; yield that folder."""
    (folder / "podium_landmarks.py").write_text(SIXTH.read_text(encoding="utf-8"), encoding="utf-8")
    facts = folder / "podium_landmarks-1.0.dist-info"
    facts.mkdir(exist_ok=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: podium-landmarks\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(ENTRY)
    sys.path.insert(0, str(folder))
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("podium_landmarks", None)


def write_landmarks(folder: Path, teams: dict[str, dict[str, str]], *, cases: int = 4) -> tuple[Path, Path]:
    """Write a truth whose points are all at the origin, and teams' texts by case; return both folders.

    A team without a text for a case is 1 mm away in it.
    """
    truth, submissions = folder / "truth", folder / "teams"
    truth.mkdir(parents=True)
    names = [f"{number:03d}" for number in range(1, cases + 1)]
    for name in names:
        (truth / f"{name}.txt").write_text("0 0 0")
    for team, texts in teams.items():
        (submissions / team).mkdir(parents=True)
        for name in names:
            text = texts.get(name, "1 0 0")
            if text:
                (submissions / team / f"{name}.txt").write_text(text)
    return truth, submissions

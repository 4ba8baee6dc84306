"""The commit that this code is, where that can be known for certain."""

from __future__ import annotations

import subprocess
from pathlib import Path

_WRITTEN = "_commit.txt"
"""Lies beside this file in a package that was built from a checkout, and in no checkout."""


def commit_of(package: Path) -> str:
    """Return a commit, such as 1a2b3c4d5e, and +changes where files differ from it; "" where it is not known.

    Parameters
    ----------
    package
        The folder of the package: in a checkout, as src/podium, or installed.
    """
    if (package / _WRITTEN).is_file():
        return (package / _WRITTEN).read_text(encoding="utf-8").strip()
    root = package.parent.parent
    if not (root / ".git").exists() or _git(root, "ls-files", "--", f"{package / '__init__.py'}") == "":
        return ""
    number = _git(root, "rev-parse", "--short=10", "HEAD")
    changes = _git(root, "status", "--porcelain", "--", "src", "pyproject.toml")
    return f"{number}+changes" if number and changes else number


def _git(root: Path, *words: str) -> str:
    """Return what Git says, or nothing where it cannot be asked."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=20, encoding="utf-8"
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return done.stdout.strip()

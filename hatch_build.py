"""What is built from a checkout says which commit it is."""

from __future__ import annotations

import runpy
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Adds the commit to wheels and source distributions; one that is there already stays."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write it where `podium._commit` looks for it."""
        package = Path(self.root) / "src" / "podium"
        known = runpy.run_path(str(package / "_commit.py"))
        commit = known["commit_of"](package)
        if version == "editable" or not commit or (package / known["_WRITTEN"]).exists():
            return
        written = Path(mkdtemp()) / known["_WRITTEN"]
        written.write_text(f"{commit}\n", encoding="utf-8")
        place = "podium" if self.target_name == "wheel" else "src/podium"
        build_data["force_include"][str(written)] = f"{place}/{written.name}"

"""The site's generated pages: MkDocs calls this module, it asks every maker, and puts their pages among those written.

A maker is a module with a function `pages` that gives paths below docs/ with their texts. What it shows is taken from
where it is declared: commands from the command line, challenges from their folders, figures from the benchmark's files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import challenge_pages
import command_pages
import figure_pages
import metric_pages
import performance_page
import reference_pages
import root_pages
import uncertainty_page

MAKERS = (
    challenge_pages,
    command_pages,
    figure_pages,
    metric_pages,
    performance_page,
    reference_pages,
    root_pages,
    uncertainty_page,
)
_GENERATED: dict[str, str] = {}


def generated() -> Iterator[tuple[str, str]]:
    """Yield every generated page and picture: its path below docs/ and its text."""
    for maker in MAKERS:
        yield from maker.pages()


def on_config(config: Any) -> Any:
    """Put the generated pages into the menu, where it names a folder with a star: `challenges/*`."""
    _GENERATED.update(generated())
    config.nav = [_expanded(entry, _GENERATED) for entry in config.nav]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Put the generated pages among the files of the site."""
    from mkdocs.structure.files import File

    for path, text in _GENERATED.items():
        files.append(File.generated(config, path, content=text))
    return files


def _expanded(entry: Any, paths: dict[str, str]) -> Any:
    """Return an entry of the menu, a starred folder replaced by its pages without the index."""
    if isinstance(entry, dict):
        return {title: _expanded(inner, paths) for title, inner in entry.items()}
    if isinstance(entry, list):
        return [page for inner in entry for page in _starred(inner, paths)]
    return entry


def _starred(entry: Any, paths: dict[str, str]) -> list[Any]:
    if not isinstance(entry, str) or not entry.endswith("/*"):
        return [_expanded(entry, paths)]
    folder = entry.removesuffix("*")
    return [path for path in paths if path.startswith(folder) and path.endswith(".md") and path != f"{folder}index.md"]

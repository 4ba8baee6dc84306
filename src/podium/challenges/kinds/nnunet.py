"""nnU-Net's dataset.json: which labels and regions there are, and how files end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium.io import read_text
from podium.model import InputError

__all__ = ["DATASET", "DatasetLabels", "dataset_near", "read_dataset"]

DATASET = "dataset.json"
_BACKGROUND = "background"
_IGNORE = "ignore"


@dataclass(frozen=True)
class DatasetLabels:
    """What a dataset.json says of labels: the numbers of each label or region by name, and the ending of files."""

    regions: Mapping[str, tuple[int, ...]]
    ending: str = ""
    ignored: int | None = None
    source: Path | None = field(default=None, compare=False)


def read_dataset(path: Path) -> DatasetLabels:
    """Read a dataset.json, that of nnU-Net's second version or of its first, or one that holds nothing but labels.

    Raises
    ------
    InputError
        It is no JSON, or its labels are not understood.
    """
    path = path / DATASET if path.is_dir() else path
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"this is not JSON ({error})", path=path) from None
    labels = document.get("labels", document) if isinstance(document, Mapping) else None
    if not isinstance(labels, Mapping) or not labels:
        raise InputError("it holds no labels", path=path, advice='Write {"labels": {"background": 0, "liver": 1}}')
    regions: dict[str, tuple[int, ...]] = {}
    ignored = None
    for key, given in labels.items():
        name, members = _label(key, given, path)
        if name == _IGNORE and len(members) == 1:
            ignored = members[0]
        elif name != _BACKGROUND and members != (0,):
            if 0 in members:
                raise InputError(f"the region {name!r} holds 0, which is background", path=path)
            if name in regions:
                raise InputError(f"two labels are called {name!r}", path=path, advice="Give each a name of its own")
            regions[name] = members
    if not regions:
        raise InputError("it holds no labels but background", path=path)
    ending = document.get("file_ending", "")
    return DatasetLabels(regions, ending if isinstance(ending, str) else "", ignored, path)


def _label(key: str, given: Any, path: Path) -> tuple[str, tuple[int, ...]]:
    """Return name and numbers of a label: `"liver": 1`, `"whole": [1, 2]`, or `"1": "liver"` as it once was."""
    if isinstance(given, str) and key.isdecimal():
        key, given = given, int(key)
    members = given if isinstance(given, list) else [given]
    numbers = [number for number in members if isinstance(number, int) and not isinstance(number, bool) and number >= 0]
    if not members or len(numbers) < len(members):
        raise InputError(
            f"label {key!r} is {json.dumps(given)[:60]}", path=path, advice='Write "liver": 1, or "whole": [1, 2]'
        )
    return key.replace("/", "-"), tuple(sorted(set(numbers)))


def dataset_near(*folders: Path) -> Path | None:
    """Return the dataset.json in the first folder that has one, or beside it, as nnU-Net lays them out."""
    places = [folder / DATASET for folder in folders] + [folder.resolve().parent / DATASET for folder in folders[:1]]
    return next((place for place in places if place.is_file()), None)

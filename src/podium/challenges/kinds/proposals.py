"""Looking at a folder of truth, and proposing how a challenge on it may be declared."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from podium.challenges.kinds.nnunet import DatasetLabels, dataset_near, read_dataset
from podium.challenges.kinds.patterns import Pattern
from podium.io import SUFFIXES, read_label_map, read_text
from podium.model import InputError

__all__ = ["UNNAMED", "Proposal", "look_at_label_maps", "look_at_table", "look_at_tables", "proposed_patterns"]

UNNAMED = re.compile(r"label_\d+")
"""What labels are called that have no name."""
_MOST_FILES = 20_000
_MOST_READ = 10
_MOST_LABELS = 64
_LABELS = re.compile(r"(?:^|[_\-./])(?:seg|segs|segmentation|label|labels|mask|masks|gt)(?=[_\-./]|$)", re.I)
_SEPARATORS = re.compile(r"([_\-./])")
_PARTS = ("subject", "visit")


@dataclass(frozen=True)
class Proposal:
    """What a folder of truth suggests.

    Attributes
    ----------
    truth, prediction, case, cluster
        Patterns of files; no cluster where cases seem to be independent.
    cases
        How many files fit.
    columns, rows, spread
        Of tables: their columns but the first, what the first holds in one of them, and how far numbers are apart.
    labels, regions
        By name.
    remarks
        What a person should know: how labels came by their names, and what was not read.
    """

    truth: str = ""
    prediction: str = ""
    case: str = ""
    cluster: str = ""
    cases: int = 0
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    spread: float = 100.0
    labels: dict[str, int] = field(default_factory=dict)
    regions: dict[str, list[str]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def look_at_label_maps(truth: Path) -> Proposal:
    """Propose patterns and labels for a folder of label maps.

    Raises
    ------
    InputError
        There is no such folder, or nothing in it is a label map.
    """
    reason = InputError(
        "there is no label map in it", path=truth, advice=f"Label maps end in {', '.join(sorted(SUFFIXES))}"
    )
    groups = _alike(truth)
    for names in groups:
        try:
            numbers = _labels_in([truth / name for name in _spread(names)])
        except InputError as error:
            reason = error
            continue
        pattern, prediction, cluster = proposed_patterns(names)
        labels, regions, remark = _named(truth, numbers)
        read = min(len(names), _MOST_READ)
        remarks = [remark] if remark else []
        if read < len(names):
            remarks.append(f"Labels are those of {read} of {len(names)} files; add others if there are any.")
        if others := [group for group in groups if group is not names and _labelled(group) == _labelled(names)]:
            remarks.append(f"{proposed_patterns(others[0])[0]} looks like truth, too.")
        patterns = Proposal(pattern, prediction, cluster=cluster, cases=len(names))
        return replace(patterns, labels=labels, regions=regions, remarks=tuple(remarks))
    raise reason


def look_at_tables(truth: Path) -> Proposal:
    """Propose patterns and columns for a folder of tables, one for each case."""
    names = next(iter(_alike(truth, (".csv",))), [])
    if not names:
        raise InputError("there is no table in it", path=truth, advice="Tables end in .csv")
    pattern, prediction, cluster = proposed_patterns(names)
    columns, rows, spread = _content(truth / names[0])
    patterns = Proposal(pattern, prediction, cluster=cluster, cases=len(names))
    return replace(patterns, columns=columns, rows=rows, spread=spread)


def look_at_table(truth: Path) -> Proposal:
    """Propose columns and names of cases for a folder with one table of all cases."""
    paths = sorted(path for path in truth.glob("*.csv") if path.is_file())
    if len(paths) != 1:
        problem = f"there are {len(paths)} tables in it, and one is needed with a line for each case"
        raise InputError(problem, path=truth, advice="Tables end in .csv")
    columns, rows, spread = _content(paths[0])
    parts = Pattern(_split(rows) or "{case}").parts
    repeated = len({re.split(r"[_\-.]", row)[0] for row in rows}) < len(rows)
    case, cluster = (_split(rows), "{subject}") if parts == _PARTS and repeated else ("", "")
    remarks = (f"{paths[0].name} has {len(rows)} cases.",)
    patterns = Proposal(paths[0].name, "predictions.csv", case, cluster)
    return replace(patterns, columns=columns, rows=rows, spread=spread, remarks=remarks)


def _content(path: Path) -> tuple[tuple[str, ...], tuple[str, ...], float]:
    """Return the columns of numbers, what the first column holds, and how far numbers are apart."""
    lines = [line for line in csv.reader(read_text(path).splitlines()) if line]
    if len(lines) < 2 or len(lines[0]) < 2:
        raise InputError("this is no table: a line of names, and lines of numbers", path=path)
    table = {
        name.strip(): [_number(line[place]) for line in lines[1:] if place < len(line)]
        for place, name in enumerate(lines[0])
        if place
    }
    numeric = {name: numbers for name, numbers in table.items() if not all(map(math.isnan, numbers))}
    if not numeric:
        raise InputError("no column of this table holds numbers", path=path)
    spans = [max(numbers) - min(numbers) for numbers in numeric.values() if not any(map(math.isnan, numbers))]
    spread = float(f"{max([*spans, 1.0]):.1g}")
    return tuple(numeric), tuple(line[0].strip() for line in lines[1:]), spread


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _alike(folder: Path, endings: Collection[str] = tuple(SUFFIXES)) -> list[list[str]]:
    """Return names of files of one sort: called like labels, in few folders, and many, first; pictures last."""
    groups: dict[tuple[bool, int, str], list[str]] = {}
    for path in islice(_files(folder, endings), _MOST_FILES):
        name = path.relative_to(folder).as_posix()
        last = name.rpartition("/")[2]
        words = re.sub(r"\d+", "#", last) if "/" in name else _ending(name)
        groups.setdefault((_LABELS.search(_stem(last)) is None, name.count("/"), words), []).append(name)
    ordered = sorted(
        groups.items(), key=lambda group: (_is_picture(group[1][0]), group[0][:2], -len(group[1]), group[0])
    )
    return [sorted(names) for _, names in ordered]


def _is_picture(name: str) -> bool:
    """Return whether a file may be a preview of another."""
    return name.lower().endswith(".png")


def _labelled(names: Sequence[str]) -> tuple[bool, int]:
    """Return whether files are called like labels, and in how many folders they are."""
    return _LABELS.search(_stem(names[0].rpartition("/")[2])) is not None, names[0].count("/")


def _files(folder: Path, endings: Collection[str]) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(piece.startswith(".") for piece in path.relative_to(folder).parts)
        if not hidden and path.name.lower().endswith(tuple(endings)) and path.is_file():
            yield path


def _ending(name: str) -> str:
    known = (ending for ending in sorted(SUFFIXES, key=len, reverse=True) if name.lower().endswith(ending))
    return next(known, Path(name).suffix)


def _stem(name: str) -> str:
    return name[: len(name) - len(_ending(name))]


def _spread(names: Sequence[str]) -> list[str]:
    """Return some names from all over the list."""
    step = max(1, len(names) // _MOST_READ)
    return list(names[::step][:_MOST_READ])


def _labels_in(paths: Sequence[Path]) -> list[int]:
    numbers = sorted({number for path in paths for number in read_label_map(path).labels} - {0})
    if len(numbers) > _MOST_LABELS:
        raise InputError(f"it has {len(numbers)} labels and more, as an image has", path=paths[0])
    return numbers


def _named(truth: Path, numbers: Sequence[int]) -> tuple[dict[str, int], dict[str, list[str]], str]:
    """Return names of labels and regions: those of nnU-Net's dataset.json, or such as label_1."""
    if path := dataset_near(truth):
        labels, regions, remark = _of_dataset(read_dataset(path))
        if set(numbers) <= set(labels.values()):
            return labels, regions, f"Labels are called as in {path.name}.{remark}"
    if not numbers:
        return {"structure": 1}, {}, "Every file is empty; say which labels there are."
    return {f"label_{number}": number for number in numbers}, {}, "Give labels the names that participants know."


def _of_dataset(dataset: DatasetLabels) -> tuple[dict[str, int], dict[str, list[str]], str]:
    """Return labels, regions, and what is to be known of them; numbers that only regions have are called label_3."""
    members = {_plain(name): own for name, own in dataset.regions.items()}
    known = {own[0]: name for name, own in members.items() if len(own) == 1}
    remark = ""
    if dataset.ignored is not None:
        remark = f" What it ignores is label_{dataset.ignored}, which counts as background of all others."
    numbers = {number for own in members.values() for number in own} | {dataset.ignored or 0}
    for number in sorted(numbers - {0}):
        known.setdefault(number, f"label_{number}")
    regions = {name: [known[number] for number in own] for name, own in members.items() if len(own) > 1}
    return {name: number for number, name in sorted(known.items())}, regions, remark


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name.strip()).strip("_") or "structure"


def proposed_patterns(names: Sequence[str]) -> tuple[str, str, str]:
    """Return patterns of truth, prediction and cluster for names of files.

    Examples
    --------
    >>> proposed_patterns(["s1_0_seg.nii.gz", "s1_1_seg.nii.gz", "s2_0_seg.nii.gz"])
    ('{subject}_{visit}_seg.nii.gz', '{subject}_{visit}.nii.gz', '{subject}')
    >>> proposed_patterns(["case_00001/seg.mha", "case_00002/seg.mha"])
    ('case_{case}/seg.mha', 'case_{case}.mha', '')
    """
    ending, stems = _ending(names[0]), list(map(_stem, names))
    pattern = _split(stems) + ending
    if not _fits(pattern, names):
        pattern = _cut(stems) + ending
    truth = Pattern(pattern)
    clustered = truth.parts == _PARTS and max(Counter(_first(truth, name) for name in names).values()) > 1
    folder, _, name = pattern.removesuffix(ending).rpartition("/")
    stem = _LABELS.sub("", name)
    predicted = stem if set(Pattern(stem or "none").parts) == set(truth.parts) else f"{folder}/{name}"
    if "/" in predicted and set(Pattern(folder.rpartition("/")[2] or "none").parts) == set(truth.parts):
        predicted = folder.rpartition("/")[2]
    return pattern, predicted + ending, "{subject}" if clustered else ""


def _first(pattern: Pattern, name: str) -> str:
    parts = pattern.match(name)
    assert parts is not None
    return parts[pattern.parts[0]]


def _split(stems: Sequence[str]) -> str:
    """Return a pattern whose parts are the words that differ, where all names have the same separators."""
    words = [_SEPARATORS.split(stem) for stem in stems]
    if len({(len(own), *own[1::2]) for own in words}) > 1:
        return ""
    columns = list(zip(*words, strict=True))
    differing = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    if not differing and (digits := [place for place, column in enumerate(columns) if column[0].isdigit()]):
        differing = digits[:1]  # a single file, perhaps in a folder
    if not differing:
        differing = [0]
    alike = list(dict.fromkeys(columns[place] for place in differing))  # what is there twice is one part
    if len(alike) > len(_PARTS):
        return ""
    parts = dict(zip(alike, _PARTS if len(alike) == len(_PARTS) else ("case",), strict=True))
    return "".join(f"{{{parts[column]}}}" if place in differing else column[0] for place, column in enumerate(columns))


def _fits(pattern: str, names: Sequence[str]) -> bool:
    """Return whether a pattern tells all names apart."""
    if "{" not in pattern:
        return False
    made = Pattern(pattern)
    return len({str(made.match(name)) for name in names} - {"None"}) == len(set(names))


def _cut(stems: Sequence[str]) -> str:
    """Return a pattern with one part: what lies between the words that all names begin and end with."""
    folders = {stem.rpartition("/")[0] for stem in stems}
    names = [stem.rpartition("/")[2] for stem in stems]
    words = [_SEPARATORS.split(name) for name in names]
    last = 0
    while all(len(own) > last + 2 for own in words) and len({tuple(own[len(own) - last - 2 :]) for own in words}) == 1:
        last += 2
    tail = "".join(words[0][len(words[0]) - last :]) if last else ""
    depth = stems[0].count("/")
    parts = ["folder" if depth == 1 else f"folder_{level + 1}" for level in range(depth)]
    folder = folders.pop() if len(folders) == 1 else "/".join(f"{{{part}}}" for part in parts)
    return f"{folder}/{{case}}{tail}" if folder else f"{{case}}{tail}"

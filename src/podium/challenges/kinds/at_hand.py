"""Pairs of label maps that are at hand, as files or as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from podium.challenges.kinds.grids import check_grid
from podium.challenges.kinds.labelling import MeasuringOptions, TableOfPairs, every_label, listed, usable
from podium.challenges.kinds.nnunet import DatasetLabels, dataset_near, read_dataset
from podium.io import read_label_map
from podium.model import Case, InputError, LabelMap, Status, Value
from podium.run import Contract
from podium.run.measuring import tabulated
from podium.run.runs import failures_frame

__all__ = ["measured_arrays", "measured_files"]


def measured_files(
    reference: Path,
    places: Mapping[str, str | Path],
    chosen: DatasetLabels | None,
    options: MeasuringOptions,
    tell: Callable[[str], None],
    *,
    strict: bool,
) -> TableOfPairs:
    """Measure files against a file, whatever they are called."""
    paths = {name: Path(place) for name, place in places.items()}
    for path in paths.values():
        if path.is_dir():
            raise InputError("this is a folder, and the reference is a file", path=path)
    tell(f"{', '.join(str(path) for path in paths.values())} is measured against {reference}.")
    if reference.name.endswith(".png"):
        tell("A PNG knows no size of pixels: what is called mm is counted in pixels.")
    if chosen is None and (place := dataset_near(reference.parent)) is not None:
        chosen = read_dataset(place)
        tell(f"Labels are those of {place}: {listed(chosen.regions)}.")
    if chosen is None:
        regions = every_label({label for path in (reference, *paths.values()) for label in read_label_map(path).labels})
    else:
        regions = usable(chosen)
    challenge = options.challenge(regions, strict=strict and chosen is not None)
    case = Case(reference.name.partition(".")[0], (reference,), ("*",))
    truth = challenge.load(case)
    contract = Contract(challenge)
    values = [
        (name, value)
        for name, path in paths.items()
        for value in contract.held([case.name], truth, challenge.measure(case, truth, path))
    ]
    return TableOfPairs(tabulated(values), failures_frame(()), challenge)


def measured_arrays(
    references: Any,
    predictions: Mapping[str, Any],
    chosen: DatasetLabels | None,
    options: MeasuringOptions,
    spacing_mm: float | Sequence[float] | None,
    *,
    strict: bool,
    common: bool,
) -> TableOfPairs:
    """Measure arrays or label maps that are at hand."""
    truths, _ = _label_maps(references, spacing_mm)
    guesses, unusable = dict[str, dict[str, LabelMap]](), dict[tuple[str, str], str]()
    for name, own in predictions.items():
        guesses[name], bad = _label_maps(own, spacing_mm, lenient=True)
        unusable |= {(name, case): why for case, why in bad.items()}
        if isinstance(references, list | tuple) and len(truths) != len(guesses[name]) + len(bad):
            raise InputError(f"there are {len(truths)} references and {len(guesses[name]) + len(bad)} predictions")
    present = {label for own in (truths, *guesses.values()) for labels in own.values() for label in labels.labels}
    regions = every_label(present) if chosen is None else usable(chosen)
    challenge = options.challenge(regions)
    known = {0, *(number for numbers in regions.values() for number in numbers)}
    if strict and (strange := sorted(present - known)):
        raise InputError(f"label {strange[0]} is none of those given: {listed(regions)}")
    if not any(case in own or (name, case) in unusable for case in truths for name, own in guesses.items()):
        raise InputError("no reference and prediction have a name in common", advice="Call cases alike in both")
    contract, values, failures = Contract(challenge), list[tuple[str, Value]](), []
    for (case, truth), (name, own) in product(truths.items(), guesses.items()):
        if common and not any(case in others for others in guesses.values()):
            continue
        status, why = Status.MISSING, "it is missing"
        if (name, case) in unusable:
            status, why = Status.INVALID, unusable[name, case]
        try:
            if case in own:
                check_grid(truth, own[case], Path(case), geometry="any", otherwise="")
                measured = contract.held([case], {"": truth}, challenge.compared(case, truth, own[case]))
                values += [(name, value) for value in measured]
                continue
        except InputError as error:
            if not _is_several(references):
                raise InputError(error.problem) from None
            status, why = Status.INVALID, error.problem
        failures.append((name, case, status.value, why))
        values += [(name, value) for value in contract.failed([case], {"": truth}, status, why)]
    return TableOfPairs(tabulated(values), failures_frame(failures), challenge)


def _is_several(given: Any) -> bool:
    """Whether cases are given, by name or as a list of arrays, and not one array, perhaps as lists of numbers."""
    if isinstance(given, list | tuple):
        return any(isinstance(one, LabelMap) or getattr(one, "ndim", 0) > 1 for one in given)
    return isinstance(given, Mapping)


def _label_maps(
    given: Any, spacing_mm: float | Sequence[float] | None, *, lenient: bool = False
) -> tuple[dict[str, LabelMap], dict[str, str]]:
    """Return the label maps by case, and why others are none."""
    if isinstance(given, str | Path):
        raise InputError("this is a path, and the reference is an array", path=given, advice="Give two of one kind")
    cases: Mapping[Any, Any] = {"case": given}
    if _is_several(given):
        cases = given if isinstance(given, Mapping) else {str(n): one for n, one in enumerate(given, 1)}
    if not cases:
        raise InputError("there are no cases")
    maps, unusable = dict[str, LabelMap](), dict[str, str]()
    for case, labels in cases.items():
        try:
            maps[str(case)] = (
                labels
                if isinstance(labels, LabelMap)
                else LabelMap.from_array(np.asanyarray(labels), spacing=spacing_mm)
            )
        except InputError as error:
            if not _is_several(given):
                raise
            if not lenient:
                raise InputError(f"{case}: {error.problem}", advice=error.advice) from None
            unusable[str(case)] = error.problem
    return maps, unusable

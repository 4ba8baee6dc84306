"""Any two folders, files or arrays of label maps: paired, measured, and ready to be ranked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from podium.challenges.kinds.at_hand import measured_arrays, measured_files
from podium.challenges.kinds.choices import Tolerances
from podium.challenges.kinds.folders import PairedFolders
from podium.challenges.kinds.labelling import MeasuringOptions, Regions, numbered
from podium.challenges.kinds.measurements import Measurements
from podium.challenges.kinds.nnunet import DatasetLabels, read_dataset
from podium.metrics.devices import usable_device
from podium.model import InputError, measured_on

__all__ = ["measure"]

AnyPath: TypeAlias = str | Path
Labelled: TypeAlias = Any
"""A path, an array of labels, a label map, or a mapping from cases to arrays or label maps, or a list of these."""
_NAMED = re.compile(r"([^\s=/{}]+)=(.+)")


def measure(
    references: Labelled,
    predictions: Labelled,
    *,
    against: Sequence[AnyPath] | Mapping[str, Labelled] = (),
    labels: AnyPath | Regions | None = None,
    regions: Regions | None = None,
    metrics: str | Sequence[str] = (),
    tolerances_mm: Tolerances = 1.0,
    boundary: Literal["surfel", "voxel"] = "surfel",
    geometry: Literal["full", "shape"] = "full",
    spacing_mm: float | Sequence[float] | None = None,
    ending: str = "",
    common: bool = False,
    level: float = 0.95,
    out: AnyPath | None = None,
    jobs: int | None = None,
    device: str = "cpu",
    resume: bool = False,
    restart: bool = False,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Measurements:
    """Measure any predictions against their references: two folders, two files, or arrays.

    Parameters
    ----------
    references, predictions
        Two folders with label maps, which are paired by name; two files; two arrays or label maps; or two mappings from
        cases to these, or two lists, whose cases are called 1, 2, … A path may have a name for tables before it:
        "ours=preds/fold_0".
    against
        Further predictions of the same cases, to be compared with the first.
    labels
        nnU-Net's dataset.json, or names and numbers of labels. By default the dataset.json that lies in one of the
        folders or beside the references; without one, every label that a reference has.
    regions
        Names and labels of regions, in place of labels; all other labels are background.
    metrics
        Names of metrics or of their families, or "all"; in one text, with commas between. By default overlap, surface
        and centres.
    tolerances_mm
        Of surface Dice: one for all labels, or by name.
    boundary
        "surfel" for surface elements weighted by area, "voxel" for boundary voxels of equal weight.
    geometry
        "shape" to measure predictions whose spacing, origin or direction is another, with the reference's.
    spacing_mm
        Of arrays; by default 1.
    ending
        Of references, where files of several kinds lie in their folder.
    common
        Leave out references that no prediction is there for; else these cases count as failed.
    level
        Of confidence intervals.
    out
        A folder for tables and, of folders, for a run that can be ranked and reported.
    jobs, device, resume, restart, progress
        As of `podium.evaluate`.
    say
        Is told how files are paired, and what else a person should know.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([[0, 1, 1], [2, 1, 1]])
    >>> two = np.array([[0, 1, 1], [2, 2, 1]])
    >>> measured = measure(one, two, metrics=["dice"])
    >>> dict(zip(measured.cases["label"], measured.cases["dice"].round(3)))
    {'1': 0.857, '2': 0.667}
    """
    said: list[str] = []

    def tell(text: str) -> None:
        said.append(text)
        say(text)

    if isinstance(metrics, str):
        metrics = [name.strip() for name in metrics.split(",") if name.strip()]
    options = MeasuringOptions(metrics, tolerances_mm, boundary, geometry)
    chosen: DatasetLabels | None = None
    if labels is not None and regions is not None:
        raise InputError("labels and regions are both given", advice="Give one of them")
    if isinstance(labels, str | Path):
        chosen = read_dataset(Path(labels))
    elif labels is not None or regions is not None:
        chosen = DatasetLabels(numbered((labels if regions is None else regions) or {}))
    if not 0 < level < 1:
        raise InputError(f"the level is {level}, but must lie between 0 and 1, as 0.95 does")
    names = _named(predictions, against)
    if isinstance(references, str | Path) and (
        others := [name for name, own in names.items() if not isinstance(own, str | Path)]
    ):
        raise InputError(f"{others[0]} is no path, as the references are", advice="Give two of one kind")
    with measured_on(usable_device(device, say)):
        if not isinstance(references, str | Path):
            result = measured_arrays(
                references, names, chosen, options, spacing_mm, strict=regions is None, common=common
            )
        elif spacing_mm is not None:
            raise InputError("spacing_mm is for arrays", advice="Leave it out: files know theirs")
        elif Path(references).is_file():
            result = measured_files(Path(references), names, chosen, options, tell, strict=regions is None)
        else:
            folders = PairedFolders(
                Path(references), {name: Path(place) for name, place in names.items()}, ending, tell
            )
            challenge = folders.challenge(chosen, options, common=common, strict=regions is None, jobs=jobs)
            result = folders.measured(
                challenge,
                out=None if out is None else Path(out),
                jobs=jobs,
                resume=resume,
                restart=restart,
                progress=progress,
            )
    table, failures, challenge, made = result
    measured = Measurements(challenge, table, failures, tuple(names), tuple(said), made, level)
    for doubt in measured.doubts:
        tell(doubt)
    measured = replace(measured, said=tuple(said))
    if out is not None:
        measured.write(out)
    return measured


def _named(predictions: Any, against: Sequence[AnyPath] | Mapping[str, Any]) -> dict[str, Any]:
    """Return what is measured by name: that which was given, or that of a path, as short as it tells them apart."""
    others = against if isinstance(against, Mapping) else {}
    given = [predictions, *(() if others else [against] if isinstance(against, str | Path) else against)]
    if not isinstance(predictions, str | Path):
        if len(given) > 1:
            raise InputError("predictions that are arrays need names", advice="Write against={'other': array}")
        return {"prediction": predictions, **others}
    named = [_NAMED.fullmatch(str(one)) for one in given]
    places = [
        Path(match[2]) if match and not Path(one).exists() else Path(one)
        for match, one in zip(named, given, strict=True)
    ]
    names = _short_names([place.absolute() for place in places])
    names = [
        match[1] if match and not Path(one).exists() else name
        for match, one, name in zip(named, given, names, strict=True)
    ]
    every = [*zip(names, places, strict=True), *others.items()]
    if double := [name for name, count in Counter(name for name, _ in every).items() if count > 1]:
        raise InputError(f"two predictions are called {double[0]}", advice="Give them names: ours=FOLDER")
    return dict(every)


def _short_names(places: Sequence[Path]) -> list[str]:
    """Return the last part of each path that tells them apart."""
    for depth in range(1, max(len(place.parts) for place in places)):
        parts = [place.parts[-depth] if len(place.parts) > depth else "" for place in places]
        if len(set(parts)) == len(parts) and all(parts):
            return (
                [part.partition(".")[0] or part for part in parts] if len(parts) > 1 or places[0].is_file() else parts
            )
    raise InputError("the same predictions are given twice", path=places[0])

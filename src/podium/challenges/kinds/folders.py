"""Any two folders, files or arrays of label maps: paired, measured, and ready to be ranked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from podium.challenges.kinds.choices import Tolerances, chosen_quantities, made_challenge
from podium.challenges.kinds.measurements import Measurements
from podium.challenges.kinds.nnunet import DatasetLabels, dataset_near, read_dataset
from podium.challenges.kinds.pairing import LabelFiles, Pairing, pair_folders
from podium.challenges.kinds.segmentation import SegmentationChallenge
from podium.io import read_label_map
from podium.model import Case, InputError, LabelMap, Status, Value
from podium.model.errors import shortened
from podium.run import Contract, Run, RunRecord, Submission, Threads, measure_all
from podium.run.evaluating import evaluate_teams
from podium.run.measuring import tabulated
from podium.run.runs import failures_frame
from podium.run.submissions import keep_apart

__all__ = ["measure"]

AnyPath: TypeAlias = str | Path
Labelled: TypeAlias = Any
"""A path, an array of labels, a label map, or a mapping from cases to arrays or label maps."""
Regions: TypeAlias = Mapping[str, int | Sequence[int]]
_PREDICTED = ("predict_from_raw_data_args.json", "plans.json")
"""What nnU-Net writes beside predictions, and never beside references."""
_LIKE_REFERENCES = re.compile(r"labels|gt|ground.?truth|truth|ref", re.IGNORECASE)
_MOST_LABELS = 256
_NAMED = re.compile(r"([^\s=/{}]+)=(.+)")


def measure(
    references: Labelled,
    predictions: Labelled,
    *,
    against: Sequence[AnyPath] | Mapping[str, Labelled] = (),
    labels: AnyPath | Regions | None = None,
    regions: Regions | None = None,
    metrics: Sequence[str] = (),
    tolerances_mm: Tolerances = 1.0,
    boundary: Literal["surfel", "voxel"] = "surfel",
    geometry: Literal["full", "shape"] = "full",
    spacing_mm: float | Sequence[float] | None = None,
    ending: str = "",
    common: bool = False,
    level: float = 0.95,
    out: AnyPath | None = None,
    jobs: int | None = None,
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
        cases to these. A path may have a name for tables before it: "ours=preds/fold_0".
    against
        Further predictions of the same cases, to be compared with the first.
    labels
        nnU-Net's dataset.json, or names and numbers of labels. By default the dataset.json that lies in one of the
        folders or beside the references; without one, every label that a reference has.
    regions
        Names and labels of regions, in place of labels; all other labels are background.
    metrics
        Names of metrics or of their families, or "all". By default overlap, surface and centres.
    tolerances_mm
        Of surface Dice: one for all labels, or by name.
    boundary
        "surfel" for surface elements weighted by area, "voxel" for boundary voxels of equal weight.
    geometry
        "shape" to measure predictions whose spacing, origin or direction is another, with the reference's.
    spacing_mm
        Of arrays; by default 1.
    ending
        Of files, where several kinds lie in the folder of references.
    common
        Leave out references that no prediction is there for; else these cases count as failed.
    level
        Of confidence intervals.
    out
        A folder for tables and, of folders, for a run that can be ranked and reported.
    jobs, resume, restart, progress
        As of `podium.evaluate`.
    say
        Is told how files are paired, and what else a person should know.

    Examples
    --------
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

    options = _Options(metrics, tolerances_mm, boundary, geometry)
    chosen: DatasetLabels | None = None
    if labels is not None and regions is not None:
        raise InputError("labels and regions are both given", advice="Give one of them")
    if isinstance(labels, str | Path):
        chosen = read_dataset(Path(labels))
    elif labels is not None or regions is not None:
        chosen = DatasetLabels(_numbered((labels if regions is None else regions) or {}))
    names = _named(predictions, against)
    if not isinstance(references, str | Path):
        result = _measured_arrays(references, names, chosen, options, spacing_mm, strict=regions is None)
    elif spacing_mm is not None:
        raise InputError("spacing_mm is for arrays", advice="Leave it out: files know theirs")
    elif Path(references).is_file():
        result = _measured_files(Path(references), names, chosen, options, tell, strict=regions is None)
    else:
        folders = _Folders(Path(references), {name: Path(place) for name, place in names.items()}, ending, tell)
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
    if out is not None:
        measured.write(out)
    return measured


@dataclass(frozen=True)
class _Options:
    """How is measured, whatever it is."""

    metrics: Sequence[str]
    tolerances_mm: Tolerances
    boundary: str
    geometry: str

    def challenge(self, regions: Mapping[str, Sequence[int]], **given: Any) -> SegmentationChallenge:
        """Return the challenge that measures these regions."""
        quantities = chosen_quantities(
            self.metrics, list(regions), tolerances_mm=self.tolerances_mm, boundary=self.boundary
        )
        return made_challenge(regions, quantities, geometry=self.geometry, **given)


class _Measured(NamedTuple):
    table: pl.DataFrame
    failures: pl.DataFrame
    challenge: SegmentationChallenge
    run: Run | None = None


class _Folders:
    """A folder of references and one or several of predictions."""

    def __init__(self, references: Path, places: Mapping[str, Path], ending: str, tell: Callable[[str], None]) -> None:
        self._references, self._places, self._ending, self._tell = references, places, ending, tell
        if not references.exists():
            raise InputError("there is no such folder", path=references)
        for place in places.values():
            if place.is_file():
                raise InputError("this is a file, and the references are a folder", path=place)
            if place.resolve() == references.resolve():
                raise InputError("references and predictions are the same folder", path=place)
        if (odd := self._odd()) is not None:
            tell(odd)

    def challenge(
        self, chosen: DatasetLabels | None, options: _Options, *, common: bool, strict: bool, jobs: int | None
    ) -> SegmentationChallenge:
        """Pair the files, and return the challenge that measures them."""
        if chosen is None and (place := dataset_near(self._references, *self._places.values())) is not None:
            chosen = read_dataset(place)
        ending = self._ending or ("" if chosen is None else chosen.ending)
        files = LabelFiles.within(self._references, ending)
        guesses = [LabelFiles.within(place, self._ending) for place in self._places.values()]
        pairings = pair_folders(files, guesses)
        for guess in guesses:
            _check_links(guess)
        keep_apart(self._references, self._places.values())
        for place, pairing in zip(self._places.values(), pairings, strict=True):
            self._tell(_in_words(self._references, place, pairing, common=common))
        regions = self._discovered(pairings, jobs) if chosen is None else _usable(chosen)
        if chosen is not None and chosen.source is not None:
            self._tell(f"Labels are those of {chosen.source}: {_listed(regions)}.")
        patterns = dict.fromkeys(pattern for pairing in pairings for pattern in pairing.prediction)
        pairing = replace(pairings[0], prediction=tuple(patterns))
        only = sorted({case for own in pairings for case in own.pairs}) if common else ()
        return options.challenge(regions, pairing=pairing, strict=strict and chosen is not None, only=only)

    def measured(
        self, challenge: SegmentationChallenge, *, out: Path | None, jobs: int | None, **given: Any
    ) -> _Measured:
        """Measure all cases; into a run folder where one is given."""
        teams = [Submission(name, place) for name, place in self._places.items()]
        if out is not None:
            places = {f"the predictions {name}": place for name, place in self._places.items()}
            places = {"the references": self._references, **places}
            run = evaluate_teams(out, challenge, truth=self._references, teams=teams, places=places, jobs=jobs, **given)
        else:
            started = datetime.now(UTC)
            evaluation = measure_all(
                challenge,
                truth=self._references,
                submissions=teams,
                pool=Threads(jobs),
                progress=given["progress"],
            )
            record = RunRecord.of(
                evaluation,
                folder=Path.cwd(),
                truth=self._references,
                places=self._places,
                started=started,
                ended=datetime.now(UTC),
            )
            run = Run(challenge, record, evaluation.table, failures_frame(evaluation.failures))
        if run.record.faults:
            _, case, what = run.record.faults[0]
            raise InputError(f"{case}: {what.replace('the truth', 'the reference')}")
        return _Measured(run.measurements, run.failures, challenge, run)

    def _odd(self) -> str | None:
        """Say what looks as if references and predictions were swapped."""
        for name in _PREDICTED:
            if (self._references / name).is_file():
                return (
                    f"{self._references} holds {name}, as nnU-Net writes beside predictions: are the folders swapped?"
                )
        for place in self._places.values():
            if _LIKE_REFERENCES.match(place.name) and not _LIKE_REFERENCES.match(self._references.name):
                return f"{place} are the predictions, although called like references: are the folders swapped?"
        return None

    def _discovered(self, pairings: Sequence[Pairing], jobs: int | None) -> dict[str, tuple[int, ...]]:
        """Return every label that any file of a pair has."""
        references = dict.fromkeys(self._references / one for own in pairings for one, _ in own.pairs.values())
        others = [
            place / two
            for place, own in zip(self._places.values(), pairings, strict=True)
            for _, two in own.pairs.values()
        ]

        def present(path: Path) -> set[int]:
            try:
                return set(read_label_map(path).labels)
            except (InputError, OSError):
                if path in references:
                    raise
                return set()  # it will fail by itself, with the reason

        labels = set[int]().union(*Threads(jobs).done(present, [*references, *others]))
        regions = _every_label(labels)
        self._tell(f"Labels are all that occur: {_listed(regions)}; --labels or --region would give them names.")
        return regions


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _check_links(files: LabelFiles) -> None:
    """Refuse predictions that are links, which no run follows: they would all count as failed."""
    for name in map(files.called, files.endings):
        if (link := files.folder / name).is_symlink():
            advice = f"Give the folder that holds the files, such as {link.resolve().parent}"
            raise InputError("this is a symbolic link, and predictions must be files", path=link, advice=advice)


def _in_words(references: Path, place: Path, pairing: Pairing, *, common: bool) -> str:
    words = [f"{place} is paired with {references} {pairing.rule}: {_count(len(pairing.pairs), 'pair')}"]
    if pairing.missing:
        fate = "left out" if common else "counted as failed (--common leaves them out)"
        lost = shortened(list(pairing.missing), most=3)
        words.append(f"{_count(len(pairing.missing), 'reference')} without a prediction, {fate}: {lost}")
    if pairing.extra:
        strangers = shortened(list(pairing.extra), most=3)
        words.append(f"{_count(len(pairing.extra), 'prediction')} without a reference, left out: {strangers}")
    return "; ".join(words) + "."


def _measured_files(
    reference: Path,
    places: Mapping[str, AnyPath],
    chosen: DatasetLabels | None,
    options: _Options,
    tell: Callable[[str], None],
    *,
    strict: bool,
) -> _Measured:
    """Measure files against a file, whatever they are called."""
    paths = {name: Path(place) for name, place in places.items()}
    for path in paths.values():
        if path.is_dir():
            raise InputError("this is a folder, and the reference is a file", path=path)
    tell(f"{', '.join(str(path) for path in paths.values())} is measured against {reference}.")
    if chosen is None and (place := dataset_near(reference.parent)) is not None:
        chosen = read_dataset(place)
        tell(f"Labels are those of {place}: {_listed(chosen.regions)}.")
    if chosen is None:
        regions = _every_label(
            {label for path in (reference, *paths.values()) for label in read_label_map(path).labels}
        )
    else:
        regions = _usable(chosen)
    challenge = options.challenge(regions, strict=strict and chosen is not None)
    case = Case(reference.name.partition(".")[0], (reference,), ("*",))
    truth = challenge.load(case)
    contract = Contract(challenge)
    values = [
        (name, value)
        for name, path in paths.items()
        for value in contract.held([case.name], truth, challenge.measure(case, truth, path))
    ]
    return _Measured(tabulated(values), failures_frame(()), challenge)


def _measured_arrays(
    references: Any,
    predictions: Mapping[str, Any],
    chosen: DatasetLabels | None,
    options: _Options,
    spacing_mm: float | Sequence[float] | None,
    *,
    strict: bool,
) -> _Measured:
    """Measure arrays or label maps that are at hand."""
    truths = _label_maps(references, spacing_mm)
    guesses = {name: _label_maps(own, spacing_mm) for name, own in predictions.items()}
    present = {label for own in (truths, *guesses.values()) for labels in own.values() for label in labels.labels}
    regions = _every_label(present) if chosen is None else _usable(chosen)
    challenge = options.challenge(regions)
    known = {0, *(number for numbers in regions.values() for number in numbers)}
    if strict and (strange := sorted(present - known)):
        raise InputError(f"label {strange[0]} is none of those given: {_listed(regions)}")
    contract, values, failures = Contract(challenge), list[tuple[str, Value]](), []
    for (case, truth), (name, own) in product(truths.items(), guesses.items()):
        if case in own and own[case].shape == truth.shape:
            values += [
                (name, value)
                for value in contract.held([case], {"": truth}, challenge.compared(case, truth, own[case]))
            ]
            continue
        status, why = Status.MISSING, "it is missing"
        if case in own:
            shapes = (" × ".join(map(str, labels.shape)) for labels in (own[case], truth))
            status, why = Status.INVALID, "wrong shape: {} voxels, the reference has {}".format(*shapes)
            if not isinstance(references, Mapping):
                raise InputError(why)
        failures.append((name, case, status.value, why))
        values += [(name, value) for value in contract.failed([case], {"": truth}, status, why)]
    return _Measured(tabulated(values), failures_frame(failures), challenge)


def _label_maps(given: Any, spacing_mm: float | Sequence[float] | None) -> dict[str, LabelMap]:
    if isinstance(given, str | Path):
        raise InputError("this is a path, and the reference is an array", path=given, advice="Give two of one kind")
    cases = given if isinstance(given, Mapping) else {"case": given}
    if not cases:
        raise InputError("there are no cases")
    return {
        str(case): labels
        if isinstance(labels, LabelMap)
        else LabelMap.from_array(np.asarray(labels), spacing=spacing_mm)
        for case, labels in cases.items()
    }


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


def _numbered(regions: Regions) -> dict[str, tuple[int, ...]]:
    """Return regions as numbers, checked."""
    if not regions:
        raise InputError("there are no labels", advice="Give one at least: {'liver': 1}")
    result = {}
    for name, given in regions.items():
        members = (given,) if isinstance(given, int) else tuple(given)
        if not members or not all(isinstance(n, int | np.integer) and n >= 1 for n in members):
            raise InputError(f"{name!r} is {given!r}", advice="Labels are whole numbers from 1: {'liver': 1}")
        result[str(name).replace("/", "-")] = tuple(sorted({int(number) for number in members}))
    return result


def _usable(chosen: DatasetLabels) -> dict[str, tuple[int, ...]]:
    if chosen.ignored is not None:
        raise InputError(
            f"label {chosen.ignored} is to be ignored, which cannot be measured yet",
            path=chosen.source,
            advice="Name what to measure with --region; the label is background then",
        )
    return dict(chosen.regions)


def _every_label(labels: Collection[int]) -> dict[str, tuple[int, ...]]:
    own = sorted(set(labels) - {0})
    if not own:
        raise InputError("no file has any label but 0", advice="Say what to measure: --region liver=1")
    if len(own) > _MOST_LABELS:
        raise InputError(
            f"there are {len(own):,} labels, as in an image or a map of instances",
            advice="Say what to measure: --region liver=1",
        )
    return {str(label): (label,) for label in own}


def _listed(regions: Mapping[str, Sequence[int]]) -> str:
    return shortened(
        [
            name if name == (own := ",".join(map(str, numbers))) else f"{name} ({own})"
            for name, numbers in regions.items()
        ]
    )

"""Folders of label maps: paired by name, and measured by the engine of runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from podium.challenges.kinds.labelling import MeasuringOptions, TableOfPairs, every_label, listed, usable
from podium.challenges.kinds.nnunet import DatasetLabels, dataset_near, read_dataset
from podium.challenges.kinds.pairing import LabelFiles, Pairing, pair_folders
from podium.challenges.kinds.patterns import Pattern
from podium.challenges.kinds.segmentation import SegmentationChallenge
from podium.io import read_label_map
from podium.model import InputError
from podium.model.errors import shortened
from podium.run import Run, RunRecord, Submission, Threads, measure_all
from podium.run.evaluating import evaluate_teams
from podium.run.runs import failures_frame
from podium.run.submissions import keep_apart

__all__ = ["PairedFolders"]

_PREDICTED = ("predict_from_raw_data_args.json", "plans.json")
"""What nnU-Net writes beside predictions, and never beside references."""
_LIKE_REFERENCES = re.compile(r"labels|gt|ground.?truth|truth|ref", re.IGNORECASE)


class PairedFolders:
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
        self, chosen: DatasetLabels | None, options: MeasuringOptions, *, common: bool, strict: bool, jobs: int | None
    ) -> SegmentationChallenge:
        """Pair the files, and return the challenge that measures them."""
        if chosen is None and (place := dataset_near(self._references, *self._places.values())) is not None:
            chosen = read_dataset(place)
        ending = self._ending or ("" if chosen is None else chosen.ending)
        files = LabelFiles.within(self._references, ending)
        guesses = [LabelFiles.within(place) for place in self._places.values()]
        pairings = pair_folders(files, guesses)
        for guess in guesses:
            _check_links(guess)
        keep_apart(self._references, self._places.values())
        for place, pairing in zip(self._places.values(), pairings, strict=True):
            self._tell(_in_words(self._references, place, pairing, common=common))
        regions = self._discovered(pairings, jobs) if chosen is None else usable(chosen)
        if chosen is not None and chosen.source is not None:
            self._tell(f"Labels are those of {chosen.source}: {listed(regions)}.")
        patterns = dict.fromkeys(pattern for pairing in pairings for pattern in pairing.prediction)
        for place, pairing in zip(self._places.values(), pairings, strict=True):
            _check_single(place, pairing, patterns)
        pairing = replace(pairings[0], prediction=tuple(patterns))
        only = sorted({case for own in pairings for case in own.pairs}) if common else ()
        if any(file.endswith(".png") for own in pairings for two in own.pairs.values() for file in two):
            self._tell("A PNG knows no size of pixels: what is called mm is counted in pixels.")
        title = f"Measured against {self._references.resolve().name}"
        return options.challenge(regions, pairing=pairing, strict=strict and chosen is not None, only=only, title=title)

    def measured(
        self, challenge: SegmentationChallenge, *, out: Path | None, jobs: int | None, **given: Any
    ) -> TableOfPairs:
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
        return TableOfPairs(run.measurements, run.failures, challenge, run)

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
        regions = every_label(labels)
        self._tell(f"Labels are all that occur: {listed(regions)}; --labels or --region would give them names.")
        return regions


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _check_links(files: LabelFiles) -> None:
    """Refuse predictions that are links, which no run follows: they would all count as failed."""
    for name in map(files.called, files.endings):
        if (link := files.folder / name).is_symlink():
            advice = f"Give the folder that holds the files, such as {link.resolve().parent}"
            raise InputError("this is a symbolic link, and predictions must be files", path=link, advice=advice)


def _check_single(place: Path, pairing: Pairing, patterns: Iterable[Pattern]) -> None:
    """Refuse a folder with another prediction of a case than that of its pair: a run might take it."""
    files = {**dict.fromkeys(pairing.missing), **dict(pairing.pairs.values())}
    for reference, own in files.items():
        parts = pairing.truth.match(reference) or {}
        names = [name for name in (pattern.fill(parts) for pattern in patterns) if (place / name).is_file()]
        if others := [name for name in names if name != own]:
            what = f"{own} and {others[0]} are both called" if own else f"{others[0]} is called, unlike all others,"
            problem = f"{what} like a prediction for {reference}"
            raise InputError(problem, path=place, advice="Move or rename what is not meant")


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

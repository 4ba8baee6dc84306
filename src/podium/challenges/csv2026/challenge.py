"""CSV 2026: carotid plaque segmentation and vulnerability. Rules and sources are in the README beside this file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from podium.challenges.csv2026.files import (
    CLASSES,
    SHAPE,
    VIEWS,
    Labels,
    PlaqueSample,
    read_baseline_seconds,
    read_sample,
)
from podium.challenges.csv2026.organisers import baseline_dice, baseline_surface_dice
from podium.challenges.csv2026.scoring import COUNTS, METRICS, class_f1, segmentation_score
from podium.challenges.csv2026.views import films, slices
from podium.metrics import dice, mean_over_defined, overlap, surface_dice, surface_distances
from podium.metrics.mixups import image_doubts
from podium.model import (
    TOLERANCE_SCALES,
    Case,
    Challenge,
    Column,
    Cube,
    Direction,
    Floats,
    InputError,
    Measure,
    OrganisersKeys,
    Price,
    Scene,
    Scores,
    Status,
    Value,
    View,
)
from podium.model.options import PositiveNumber, ToleranceScale, other_tolerances
from podium.ranking import competition_ranks, counted_seconds, min_max_score, weighted_mean

STRUCTURES = {"plaque": (1,), "vessel": (2,)}
TARGETS = tuple(f"{view}/{structure}" for view in VIEWS for structure in STRUCTURES)
_OFFICIAL = {f"{metric}_{target}": f"{metric}_{target.replace('/', '_')}" for metric in METRICS for target in TARGETS}
SHORTEST, LONGEST = 1 / 3, 2.0
"""Times are clipped to this range, in units of the organisers' own time."""


def _counts() -> tuple[Measure, ...]:
    """Return where a class stands in the confusion matrix; a failed class counts as the one that is not true."""

    def true(truth: Any, _: str, target: str) -> float:
        return float(truth.risk == int(target))

    def other(truth: Any, _: str, target: str) -> float:
        return float(truth.risk != int(target))

    declared = (
        ("True positive", Direction.HIGHER, Price(0.0)),
        ("False positive", Direction.LOWER, Price(other, "a false positive of the class that is not true")),
        ("False negative", Direction.LOWER, Price(true, "a false negative of the true class")),
    )
    return tuple(
        Measure(name, title, way, minimum=0, maximum=1, targets=tuple(map(str, CLASSES)), price=price, decides=False)
        for name, (title, way, price) in zip(COUNTS, declared, strict=True)
    )


def _share(name: str, title: str, direction: Direction = Direction.HIGHER) -> Measure:
    price = Price(0.0, "0 for each view that failed")
    return Measure(name, title, direction, minimum=0, maximum=1, targets=TARGETS, price=price)


class CSV2026(Challenge):
    """Segmentation of two views, a class, and time: 40 %, 40 % and 20 % of a score from 0 to 100."""

    name: ClassVar[str] = "csv2026"
    title: ClassVar[str] = "CSV 2026"
    page: ClassVar[str] = "http://www.csv-isbi.net"
    editions: ClassVar[tuple[str, ...]] = ("document", "code")
    scoring_options: ClassVar[tuple[str, ...]] = ("baseline_seconds", "tolerance_scale")
    version: ClassVar[int] = 2
    naming: ClassVar[tuple[str, ...]] = ("*_pred.h5", "preds/*_pred.h5")
    contents: ClassVar[tuple[str, ...]] = (
        "Datasets long_mask and trans_mask, 512 × 512: 0 background, 1 plaque, 2 vessel (or 0, 128, 255 for the same).",
        "Whole numbers of any type.",
        "Dataset cls: 0 low risk, 1 high risk; a scalar or one number, and no probability.",
    )
    placing: ClassVar[tuple[str, ...]] = (
        "S_seg: 100 times the mean over both views of 0.6 plaque + 0.4 vessel, each half Dice, half surface Dice.",
        "S_cls: 100 times the mean F1 of both classes. S_time: from 100 for the fastest team to 0 for the slowest.",
        "The highest 0.4 S_seg + 0.4 S_cls + 0.2 S_time wins; equals share the better place.",
    )
    summary: ClassVar[str] = (
        "Carotid plaque and vessel in two ultrasound views, and whether the plaque is high-risk. The score is 40 % "
        "segmentation (Dice and surface Dice at 3 pixels, plaque counting more), 40 % macro F1, 20 % time relative to "
        "the other teams. A failed view scores 0, a failed class counts as the wrong class."
    )
    organisers_keys: ClassVar[OrganisersKeys | None] = OrganisersKeys(
        "case",
        results=_OFFICIAL,
        aggregates=_OFFICIAL
        | {f"{view}_{name}": f"seg_socre_{view}_{name}" for view in VIEWS for name in STRUCTURES}  # as they spell it
        | {"classification": "cls_score", "segmentation": "seg_score", "total": "total_score"},
    )
    measures: ClassVar[tuple[Measure, ...]] = (
        _share("dice", "Dice"),
        _share("nsd", "Surface Dice"),
        *(
            _share(f"nsd{ending}", f"Surface Dice, tolerance × {scale:g}", Direction.NONE)
            for scale, ending in TOLERANCE_SCALES.items()
            if ending
        ),
        *_counts(),
    )

    tolerance_px: PositiveNumber = 3.0
    """How far apart boundaries may be and still agree; the page gives no number, the organisers' baseline this one."""
    baseline_seconds: PositiveNumber | None = None
    """The organisers' own time per case; by default what challenge.toml beside the truth says."""
    tolerance_scale: ToleranceScale = 1.0
    """At which multiple of its tolerance surface Dice is scored: 0.5, 1 or 2; all three are measured."""

    def prepared(self, truth: Path) -> Self:
        """Take the organisers' time from challenge.toml beside the truth, unless it was given."""
        return self.varied(baseline_seconds=self.baseline_seconds or read_baseline_seconds(truth))

    def cases(self, truth: Path) -> list[Case]:
        """Find labels/001_label.h5, or 001_label.h5 in the folder itself.

        A prediction is called 001_pred.h5, perhaps in the folder preds that the organisers' script makes.
        """
        settings = tuple(truth.glob("challenge.toml"))  # recorded with every case, as it changes their score
        for folder in (truth / "labels", truth):
            files = sorted(path for path in folder.glob("*_label.h5") if not path.name.startswith("."))
            if files:
                names = {path.name.removesuffix("_label.h5"): path for path in files}
                return [
                    Case(name, (path, *settings), (f"{name}_pred.h5", f"preds/{name}_pred.h5"))
                    for name, path in names.items()
                ]
        return []

    def load(self, case: Case) -> PlaqueSample:
        """Read the true masks and class; all three must be usable."""
        truth = read_sample(case.files[0])
        if truth.problems:
            raise InputError(f"the truth is unusable: {'; '.join(truth.problems.values())}", path=case.files[0].parent)
        return truth

    def truth_as_prediction(self, case: Case) -> Path | None:
        """Offer the truth, which has the layout of a prediction."""
        return case.files[0]

    def measure(self, case: Case, truth: PlaqueSample, prediction: Path) -> list[Value]:
        """Measure both views and the class; each fails alone."""
        guess = _read_prediction(prediction, truth)
        values: list[Value] = []
        for view in VIEWS:
            if view in guess.problems:
                failed = [m for m in self.measures if m.targets == TARGETS]
                targets = [f"{view}/{structure}" for structure in STRUCTURES]
                values += [_unusable(case, m, target, guess.problems[view]) for m in failed for target in targets]
            else:
                values += self._measure_view(case, view, truth.masks[view], guess.masks[view])
        for count in (count for measure in self.measures if measure.name in COUNTS for count in measure.each):
            name, target = count.key
            if guess.risk is None:
                values.append(_unusable(case, count, target, guess.problems["cls"]))
            else:
                true, predicted = truth.risk == int(target), guess.risk == int(target)
                outcomes = true and predicted, predicted and not true, true and not predicted
                values.append(Value(case.name, name, float(outcomes[COUNTS.index(name)]), target))
        return values

    def _measure_view(self, case: Case, view: str, truth: Labels, guess: Labels) -> Iterator[Value]:
        overlaps = overlap(truth, guess, regions=STRUCTURES)
        surfaces = surface_distances(
            truth, guess, regions=STRUCTURES, boundary="voxel" if self.edition == "code" else "surfel"
        )
        for structure in STRUCTURES:
            counts, distances = overlaps[structure], surfaces[structure]
            share = baseline_dice(counts) if self.edition == "code" else dice(counts)
            yield Value(case.name, "dice", share, f"{view}/{structure}")
            for scale, ending in TOLERANCE_SCALES.items():
                tolerance = scale * self.tolerance_px
                if self.edition == "code":
                    share = baseline_surface_dice(distances, tolerance_px=tolerance)
                else:
                    share = surface_dice(distances, tolerance_mm=tolerance)  # a pixel is 1 wide
                yield Value(case.name, f"nsd{ending}", share, f"{view}/{structure}")

    @property
    def counts_time(self) -> bool:
        """A fifth of the score is time, but in the organisers' code."""
        return self.edition == "document"

    def views(self, case: Case, truth: PlaqueSample, prediction: Path, *, images: Path | None = None) -> list[View]:
        """Show both views, as far as they can be used."""
        return [slices(case, truth, _read_prediction(prediction, truth), images=images)]

    def scenes(self, case: Case, truth: PlaqueSample, prediction: Path, *, images: Path | None = None) -> list[Scene]:
        """Show both views, as far as they can be used, as pictures whose labels can be compared."""
        return films(case, truth, _read_prediction(prediction, truth), images=images)

    def check(self, case: Case | None, prediction: Path) -> list[str]:
        """Say what is wrong with a prediction, as far as can be seen without truth."""
        shapes = None
        if case is not None and case.files:
            truth = read_sample(case.files[0])
            shapes = {view: mask.shape for view, mask in truth.masks.items()}
        try:
            unusable = read_sample(prediction, shapes=shapes).problems.values()
        except InputError as error:
            return [error.problem]
        return [problem.removeprefix(f"{prediction.name}: ") for problem in unusable]

    def doubts(self, case: Case | None, truth: PlaqueSample | None, prediction: Path) -> list[str]:  # noqa: ARG002  # what every challenge is given
        """Say which view is of another size than the challenge's, empty, or has its labels swapped or is mirrored."""
        doubts = []
        for view, mask in read_sample(prediction).masks.items():
            if truth is None and mask.shape != SHAPE:
                sizes = (" × ".join(map(str, shape)) for shape in (mask.shape, SHAPE))
                doubts.append("'{}_mask' has {} pixels, those of the challenge have {}".format(view, *sizes))
            reference = None if truth is None else truth.masks[view]
            doubts += [f"'{view}_mask': {doubt}" for doubt in image_doubts(mask, reference)]
        return doubts

    @property
    def terms(self) -> tuple[str, ...]:
        """Everything that has a weight: the parts of the total; metrics, structures and views within segmentation."""
        time = () if self.edition == "code" else ("time",)
        return ("segmentation", "classification", *time, *METRICS, *STRUCTURES, *VIEWS)

    def alternatives(self, cube: Cube) -> dict[str, Challenge]:
        """Score surface Dice at half and at twice the tolerance, where that was measured."""
        return other_tolerances(self, cube, "nsd", TARGETS[0])

    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Weigh segmentation, classification and (in `document`) time."""
        segmentation, details = segmentation_score(
            cube, weights, emphasis=self.weight, tolerance_scale=self.tolerance_scale
        )
        f1 = class_f1(cube, weights)
        f1_columns = [
            Column(Measure(f"f1_{c}", f"F1 class {c}", _UP, minimum=0, maximum=1), f1[..., i])
            for i, c in enumerate(CLASSES)
        ]
        if self.edition == "code":
            # scikit-learn, which the baseline calls, gives 0 for a class that occurs nowhere.
            parts = {"segmentation": segmentation, "classification": np.nan_to_num(f1[..., CLASSES.index(1)], nan=0.0)}
            shares, digits = {"segmentation": 0.4, "classification": 0.4}, 4
        else:
            seconds, time = self._time(cube, weights, ranked)
            parts = {"segmentation": 100 * segmentation, "classification": 100 * mean_over_defined(f1), "time": time}
            shares, digits = {"segmentation": 0.4, "classification": 0.4, "time": 0.2}, 2
        # Other weights than the challenge's are made to add up to what its own do.
        changed = {name: share * self.weight(name) for name, share in shares.items()}
        scale = sum(shares.values()) / sum(changed.values())
        total = np.sum([scale * changed[name] * values for name, values in parts.items()], axis=0)
        highest = 1.0 if self.edition == "code" else 100.0
        most = {"total": highest * sum(shares.values()), **dict.fromkeys(parts, highest)}
        columns = [
            Column(
                Measure(name, _TITLES[name], _UP, minimum=0, maximum=most[name], digits=digits),
                values,
                relative=self.edition == "document" and name in ("total", "time"),
            )
            for name, values in {"total": total, **parts}.items()
        ]
        if self.edition == "document":
            columns.append(Column(replace(self.time, title="Time per case"), seconds))
        places = competition_ranks(total, direction=Direction.HIGHER, among=ranked)
        return Scores(places, (*columns, *f1_columns, *details))

    def _time(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> tuple[Floats, Floats]:
        """Return the mean seconds per case, and the score that they get among the ranked."""
        if self.baseline_seconds is None:
            raise InputError(
                f"{self.title} cannot score time without the organisers' own time per case",
                advice="Write baseline_seconds = 1.5 (or what it is) into challenge.toml in the folder of the truth, "
                "or give --option baseline_seconds=1.5",
            )
        seconds = weighted_mean(counted_seconds(cube), weights)
        return seconds, min_max_score(seconds / self.baseline_seconds, lowest=SHORTEST, highest=LONGEST, among=ranked)

    def notes(self, cube: Cube) -> tuple[str, ...]:
        """Say what the scores rest on, who failed what, and who has no time."""
        boundary = "boundary pixels of equal weight" if self.edition == "code" else "boundary surfel"
        notes = [f"NSD: {boundary}, tolerance {self.tolerance_px:g} pixels."]
        for name, failed in zip(cube.submissions, cube.failed, strict=True):
            if failed.any():
                notes.append(f"{name}: {failed.sum()} of {failed.size} cases failed, in part or altogether.")
        if self.edition == "code":
            return (*notes, "Time does not count.")
        f1 = class_f1(cube, np.ones((1, len(cube.rows))))
        for index, label in enumerate(CLASSES):
            if names := _named(cube, np.isnan(f1[0, :, index])):
                notes.append(f"S_cls without class {label}, which is neither true nor predicted: {names}.")
        if self.baseline_seconds is not None:
            low, high = (limit * self.baseline_seconds for limit in (SHORTEST, LONGEST))
            clipped = f"times are clipped to {low:.3g} – {high:.3g} s"
            notes.append(f"The organisers' time is {self.baseline_seconds:g} s per case; {clipped}.")
        if names := _named(cube, np.asarray(np.isnan(counted_seconds(cube)).all(axis=1))):
            notes.append(f"Without a time for every case, which counts as the longest time: {names}.")
        return tuple(notes)


_UP = Direction.HIGHER
_TITLES = {"total": "S_total", "segmentation": "S_seg", "classification": "S_cls", "time": "S_time"}


def _read_prediction(path: Path, truth: PlaqueSample) -> PlaqueSample:
    return read_sample(path, shapes={view: truth.masks[view].shape for view in VIEWS})


def _named(cube: Cube, which: npt.NDArray[np.bool_]) -> str:
    return ", ".join(name for name, chosen in zip(cube.submissions, which.tolist(), strict=True) if chosen)


def _unusable(case: Case, measure: Measure, target: str, reason: str) -> Value:
    return Value(case.name, measure.name, None, target, status=Status.INVALID, reason=reason)


CHALLENGE = CSV2026

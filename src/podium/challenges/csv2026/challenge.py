"""CSV 2026: carotid plaque segmentation and vulnerability. Rules and sources are in the README beside this file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from podium.challenges.csv2026.files import (
    CLASSES,
    SHAPE,
    VIEWS,
    Labels,
    Sample,
    positive_number,
    read_baseline_seconds,
    read_sample,
)
from podium.challenges.csv2026.organisers import baseline_dice, baseline_surface_dice
from podium.challenges.csv2026.scoring import COUNTS, METRICS, class_f1, segmentation_score
from podium.challenges.csv2026.views import slices
from podium.metrics import dice, mean_over_defined, overlap, surface_dice, surface_distances
from podium.model import (
    TOLERANCE_SCALES,
    Case,
    Challenge,
    Column,
    Cube,
    Direction,
    Expected,
    Floats,
    InputError,
    Quantity,
    Scores,
    Status,
    Value,
    View,
)
from podium.ranking import competition_ranks, min_max_score, reported_seconds, weighted_mean

STRUCTURES = {"plaque": (1,), "vessel": (2,)}
TARGETS = tuple(f"{view}/{structure}" for view in VIEWS for structure in STRUCTURES)
SHORTEST, LONGEST = 1 / 3, 2.0
"""Times are clipped to this range, in units of the organisers' own time."""
_TIME_DIGITS = 12


@dataclass
class CSV2026(Challenge):
    """Segmentation of two views, a class, and time: 40 %, 40 % and 20 % of a score from 0 to 100."""

    name: ClassVar[str] = "csv2026"
    scoring_options: ClassVar[tuple[str, ...]] = ("baseline_seconds", "tolerance_scale")
    title: ClassVar[str] = "CSV 2026"
    page: ClassVar[str] = "http://www.csv-isbi.net"
    summary: ClassVar[str] = (
        "Carotid plaque and vessel in two ultrasound views, and whether the plaque is high-risk. The score is 40 % "
        "segmentation (Dice and surface Dice at 3 pixels, plaque counting more), 40 % macro F1, 20 % time relative to "
        "the other teams. A failed view scores 0, a failed class counts as not predicted."
    )

    tolerance_px: float = 3.0
    """How far apart boundaries may be and still agree; the page gives no number, the organisers' baseline this one."""
    baseline_seconds: float | None = None
    """The organisers' own time per case; by default what challenge.toml beside the truth says."""
    tolerance_scale: float = 1.0
    """At which multiple of its tolerance surface Dice is scored: 0.5, 1 or 2; all three are measured."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tolerance_scale not in TOLERANCE_SCALES:
            raise InputError(f"tolerance_scale is {self.tolerance_scale}", advice="There are: 0.5, 1, 2")
        self.tolerance_px = positive_number(self.tolerance_px, "tolerance_px")
        if self.baseline_seconds is not None:
            self.baseline_seconds = positive_number(self.baseline_seconds, "baseline_seconds")
        self._chosen_seconds = self.baseline_seconds

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Dice and surface Dice of each structure in each view, the class's place in the confusion matrix, seconds."""
        titles = ("True positive", "False positive", "False negative")
        directions = (Direction.HIGHER, Direction.LOWER, Direction.LOWER)
        classes = tuple(map(str, CLASSES))
        price = "a false negative of the true class"
        return (
            Quantity("dice", "Dice", "", Direction.HIGHER, price="0 for each view that failed", targets=TARGETS),
            Quantity("nsd", "Surface Dice", "", Direction.HIGHER, price="0 for each view that failed", targets=TARGETS),
            *(
                Quantity(f"nsd{ending}", f"Surface Dice, tolerance × {scale:g}", "", Direction.NONE, "0", TARGETS)
                for scale, ending in TOLERANCE_SCALES.items()
                if ending
            ),
            *(
                Quantity(metric, title, "", direction, price=price, targets=classes)
                for metric, title, direction in zip(COUNTS, titles, directions, strict=True)
            ),
            Quantity("seconds", "Time", "s", Direction.LOWER, price="the time of a failed case is not counted"),
        )

    def cases(self, truth: Path) -> list[Case]:
        """Find labels/001_label.h5, or 001_label.h5 in the folder itself; read the organisers' time."""
        self.baseline_seconds = self._chosen_seconds or read_baseline_seconds(truth)
        for folder in (truth / "labels", truth):
            files = sorted(path for path in folder.glob("*_label.h5") if not path.name.startswith("."))
            if files:
                settings = tuple(truth.glob("challenge.toml"))  # recorded with every case, as it changes their score
                return [Case(path.name.removesuffix("_label.h5"), (path, *settings)) for path in files]
        return []

    def expected(self, case: Case) -> Expected:
        """Name the prediction: 001_pred.h5, perhaps in the folder preds that the organisers' script makes."""
        return Expected(case.name, (f"{case.name}_pred.h5", f"preds/{case.name}_pred.h5"))

    def load(self, case: Case) -> Sample:
        """Read the true masks and class; all three must be usable."""
        truth = read_sample(case.files[0])
        if truth.problems:
            raise InputError(f"the truth is unusable: {'; '.join(truth.problems.values())}", path=case.files[0].parent)
        return truth

    def measure(self, case: Case, truth: Sample, prediction: Path) -> list[Value]:
        """Measure both views and the class; each fails alone."""
        guess = _read_prediction(prediction, truth)
        values: list[Value] = []
        for view in VIEWS:
            if view in guess.problems:
                values += _failed_view(case, view, Status.INVALID, guess.problems[view])
            else:
                values += self._measure_view(case, view, truth.masks[view], guess.masks[view])
        status = Status.INVALID if guess.risk is None else Status.OK
        return values + _class_values(case, truth, guess.risk, status, guess.problems.get("cls", ""))

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

    def views(self, case: Case, truth: Sample, prediction: Path, *, images: Path | None = None) -> list[View]:
        """Show both views, as far as they can be used."""
        return [slices(case, truth, _read_prediction(prediction, truth), images=images)]

    def failed(self, case: Case, truth: Sample, status: Status, reason: str) -> list[Value]:
        """Price a failed case: 0 in both views, and a false negative of the true class."""
        views = [value for view in VIEWS for value in _failed_view(case, view, status, reason)]
        return views + _class_values(case, truth, None, status, reason)

    def check(self, case: Case | None, prediction: Path) -> list[str]:
        """Say what is wrong with a prediction, or with all in the folder preds, as far as can be seen without truth."""
        if prediction.is_dir():
            if prediction.name != "preds":
                return ["a folder where only preds is expected"]
            return [
                problem if problem.startswith(path.name) else f"{path.name}: {problem}"
                for path in sorted(prediction.iterdir())
                if not path.name.startswith(".")
                for problem in self._check_file(None, path)
            ]
        return self._check_file(case, prediction)

    def _check_file(self, case: Case | None, path: Path) -> list[str]:
        problems = []
        if case is None and (not path.name.endswith("_pred.h5") or path.name == "_pred.h5"):
            problems.append("the name is not of the form 001_pred.h5")
        if path.suffix != ".h5":
            return problems
        try:
            found = read_sample(path, shapes=dict.fromkeys(VIEWS, SHAPE)).problems.values()
        except InputError as error:
            return [*problems, error.found]
        return problems + [problem.removeprefix(f"{path.name}: ") for problem in found]

    @property
    def terms(self) -> tuple[str, ...]:
        """Everything that has a weight: the parts of the total; metrics, structures and views within segmentation."""
        time = () if self.edition == "code" else ("time",)
        return ("segmentation", "classification", *time, *METRICS, *STRUCTURES, *VIEWS)

    @property
    def decisive(self) -> tuple[tuple[str, str], ...]:
        """Dice and surface Dice; a class is right or wrong, which only F1 over all cases makes a number of."""
        return tuple((metric, target) for metric in METRICS for target in TARGETS)

    def alternatives(self, cube: Cube) -> dict[str, Challenge]:
        """Score surface Dice at half and at twice the tolerance, where that was measured."""
        return {
            f"tolerance × {scale:g}": replace(self, tolerance_scale=scale)
            for scale, ending in TOLERANCE_SCALES.items()
            if scale != self.tolerance_scale and cube.has(f"nsd{ending}", TARGETS[0])
        }

    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Weigh segmentation, classification and (in `document`) time."""
        segmentation, details = segmentation_score(
            cube, weights, emphasis=self.weight, tolerance_scale=self.tolerance_scale
        )
        f1 = class_f1(cube, weights)
        f1_columns = [Column(f"f1_{c}", f"F1 class {c}", f1[..., i], direction=_UP) for i, c in enumerate(CLASSES)]
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
        columns = [
            Column(name, _TITLES[name], values, direction=_UP, digits=digits, relative=name in ("total", "time"))
            for name, values in {"total": total, **parts}.items()
        ]
        if self.edition == "document":
            columns.append(Column("seconds", "Time per case", seconds, unit="s", direction=Direction.LOWER, digits=3))
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
        seconds = weighted_mean(reported_seconds(cube), weights)
        # Means that only rounding tells apart are equal; else one of them would get 100 points and the other none.
        relative = np.round(seconds / self.baseline_seconds, _TIME_DIGITS)
        return seconds, min_max_score(relative, lowest=SHORTEST, highest=LONGEST, among=ranked)

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
        for index, each in enumerate(CLASSES):
            if names := _named(cube, np.isnan(f1[0, :, index])):
                notes.append(f"S_cls without class {each}, which is neither true nor predicted: {names}.")
        if self.baseline_seconds is not None:
            low, high = (limit * self.baseline_seconds for limit in (SHORTEST, LONGEST))
            clipped = f"times are clipped to {low:.3g} – {high:.3g} s"
            notes.append(f"The organisers' time is {self.baseline_seconds:g} s per case; {clipped}.")
        if names := _named(cube, np.all(np.isnan(reported_seconds(cube)), axis=1)):
            notes.append(f"S_time is 0 without a time for every case that did not fail: {names}.")
        return tuple(notes)


_UP = Direction.HIGHER
_TITLES = {"total": "S_total", "segmentation": "S_seg", "classification": "S_cls", "time": "S_time"}


def _read_prediction(path: Path, truth: Sample) -> Sample:
    return read_sample(path, shapes={view: truth.masks[view].shape for view in VIEWS})


def _named(cube: Cube, which: npt.NDArray[np.bool_]) -> str:
    return ", ".join(name for name, chosen in zip(cube.submissions, which.tolist(), strict=True) if chosen)


def _failed_view(case: Case, view: str, status: Status, reason: str) -> list[Value]:
    return [
        Value(case.name, metric, 0.0, f"{view}/{structure}", status=status, reason=reason)
        for structure in STRUCTURES
        for metric in ("dice", *(f"nsd{ending}" for ending in TOLERANCE_SCALES.values()))
    ]


def _class_values(
    case: Case, truth: Sample, risk: int | None, status: Status = Status.OK, reason: str = ""
) -> list[Value]:
    """Return where a predicted class stands in the confusion matrix; without one, the true class was missed."""
    values = []
    for each in CLASSES:
        true, predicted = truth.risk == each, risk == each
        counts = true and predicted, predicted and not true, true and not predicted
        for metric, count in zip(COUNTS, counts, strict=True):
            values.append(Value(case.name, metric, float(count), str(each), status=status, reason=reason))
    return values


CHALLENGE = CSV2026

"""TUS-REC: trackerless freehand ultrasound reconstruction. Rules and sources are in the README beside this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from podium.challenges.tusrec._errors import errors_of, non_finite, shape_problems
from podium.challenges.tusrec._prediction import HandedPrediction, open_prediction
from podium.challenges.tusrec._scan import Scan, find_scans, parts_of, read_scan
from podium.challenges.tusrec.reported import METRICS, read_keys, read_metrics
from podium.challenges.tusrec.views import sweep, views_of
from podium.model import (
    Case,
    Challenge,
    Column,
    Cube,
    Direction,
    Floats,
    Handed,
    InputError,
    Measure,
    OrganisersKeys,
    Price,
    Role,
    Scene,
    Scores,
    Value,
    View,
)
from podium.ranking import (
    behind_fewer_failures,
    counted_seconds,
    mean_column,
    tie_broken_ranks,
    weighted_mean,
    weighted_sum,
)

ERRORS = {"gpe": "GPE", "gle": "GLE", "lpe": "LPE", "lle": "LLE"}
_OFFICIAL = ERRORS | {"seconds": "time_elapsed"}
SCORES = {
    "score": ("Final score", ("gpe", "gle", "lpe", "lle")),
    "global": ("Global score", ("gpe", "gle")),
    "local": ("Local score", ("lpe", "lle")),
    "pixel": ("Pixel score", ("gpe", "lpe")),
    "landmark": ("Landmark score", ("gle", "lle")),
}
"""The final score and the four categories: the mean of which normalised errors each is."""

BASELINE = "no-motion"

_TAKEN = f"taken from {METRICS}, not measured"
_FIRST_FRAME = "; a landmark on the first frame moved there like the last frame: rules `code` say the same"
_NOTHING_MM = 1e-9
"""Less than this is what rounding leaves of zero when equal poses are divided by one another."""

Number = TypeVar("Number", float, Floats)


def combine(normalised: Mapping[str, Number], emphasis: Mapping[str, float] | None = None) -> dict[str, Number]:
    """Return final score and category scores of four normalised errors; numbers or arrays.

    Each counts the same, unless another emphasis is put on some; where all of a category are dropped, nothing changes.
    """
    scores: dict[str, Number] = {}
    for name, (_, errors) in SCORES.items():
        shares = [(emphasis or {}).get(error, 1.0) for error in errors]
        if not sum(shares) > 0:
            shares = [1.0] * len(errors)
        first, *others = (normalised[error] * share for share, error in zip(shares, errors, strict=True))
        scores[name] = sum(others, start=first) / sum(shares)  # type: ignore[assignment]  # a number stays a number
    return scores


class TUSREC(Challenge):
    """Four reconstruction errors, each normalised by that of no motion; the mean of the four is the score of a scan."""

    name: ClassVar[str] = "tusrec"
    title: ClassVar[str] = "TUS-REC"
    page: ClassVar[str] = "https://github-pages.ucl.ac.uk/tus-rec-challenge/assessment.html"
    editions: ClassVar[tuple[str, ...]] = ("document", "code")
    version: ClassVar[int] = 2
    row_words: ClassVar[tuple[str, str]] = ("scan", "scans")
    cluster_words: ClassVar[tuple[str, str]] = ("subject", "subjects")
    organisers_keys: ClassVar[OrganisersKeys | None] = OrganisersKeys("scan", results=_OFFICIAL, aggregates=_OFFICIAL)
    contents: ClassVar[tuple[str, ...]] = (
        "Datasets GP and LP [N - 1, 3, H · W], GL and LL [3, landmarks]: displacements of pixels and landmarks in mm.",
        "G is to the first frame, L to the previous one; pixels are row by row, x fastest.",
        "Or datasets global and local [N - 1, 4, 4]: transforms of image mm, from which these follow.",
        "Any real or whole numbers, all finite.",
    )
    placing: ClassVar[tuple[str, ...]] = (
        "The mean score over all scans, rounded to three decimals, ranks the teams.",
        "Equals are parted by the smaller mean time per scan; who is equal in both shares the place.",
    )
    summary: ClassVar[str] = (
        "3-D reconstruction of freehand ultrasound without a tracker. Predicted displacements of pixels and landmarks, "
        "to the first frame and to the previous one, give four errors in mm; each is normalised so that 1 is perfect "
        "and 0 is as bad as no motion. Their mean over scans, to three decimals, ranks the teams; the faster one wins "
        "a tie. A failed scan scores 0."
    )

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Each error in mm, that of no motion, the normalised error, and the score of the scan."""
        document = self.edition == "document"
        price = Price(0.0) if document else Price(None, "the team stands below all with fewer failed scans")
        least = 0.0 if document else -np.inf
        none = Price(None, "none: the mean is over scored scans")
        measures = []
        for error, title in ERRORS.items():
            measures += [
                Measure(error, title, Direction.LOWER, "mm", minimum=0, price=none, decides=False),
                Measure(f"{error}_identity", f"{title} of no motion", unit="mm", minimum=0, price=_identity(error)),
                Measure(f"{error}_score", f"{title}*", Direction.HIGHER, "", least, 1, price=price, decides=False),
            ]
        return (*measures, Measure("score", "Score of the scan", Direction.HIGHER, "", least, 1, price=price))

    reported: Literal["", "seconds", "minutes"] = ""
    """Take the errors in metrics.h5, which the organisers' container writes, where there are no predictions, and its
    times in this unit: seconds (2025) or minutes (2024). By default it is a file like any other, since a team could
    write into it what it likes."""

    def cases(self, truth: Path) -> list[Case]:
        """Find the scans that dataset_keys.h5 names: transfs/050/RH_rotation.h5 and what belongs to it."""
        scans = find_scans(truth)
        if not self.reported:
            return scans
        keys = truth / "dataset_keys.h5"
        if not keys.is_file():
            raise InputError(
                f"dataset_keys.h5 is missing, which says what scan each number of {METRICS} belongs to", path=truth
            )
        return [replace(scan, files=(*scan.files, keys), expected=(*scan.expected, METRICS)) for scan in scans]

    @property
    def naming(self) -> tuple[str, ...]:
        """How predictions are called; or what the organisers' container writes about all of them."""
        return ("sub*__*.h5", "sub*__*.npz", "sub*__*", *([METRICS] if self.reported else []))

    def load(self, case: Case) -> Scan:
        """Read poses, landmarks, calibration and the size of the frames, and derive the truth from them."""
        return read_scan(case, first_is_last=self.edition == "code")

    def measure(self, case: Case, truth: Scan, prediction: Path) -> list[Value]:
        """Measure the four errors, reading the displacements a few frames at a time; or take what was reported."""
        if self._is_report(prediction):
            errors = read_metrics(prediction, read_keys(case.files[3]), case.name, unit=self.reported)
            other = self.edition == "document" and bool((truth.landmarks[:, 0] == 0).any())
            reason = f"{_TAKEN}{_FIRST_FRAME * other}"
            values = [replace(value, reason=reason) for value in self._values(case, truth, errors)]
            seconds = errors.get("seconds")
            return values if seconds is None else [*values, Value(case.name, self.time.name, seconds)]
        with open_prediction(prediction) as opened:
            return self._values(case, truth, errors_of(opened, truth))

    def measure_handed(self, case: Case, truth: Scan, arrays: Handed) -> list[Value]:
        """Measure the four errors of arrays that a function returned, a few frames at a time."""
        return self._values(case, truth, errors_of(HandedPrediction(arrays), truth))

    @property
    def counts_time(self) -> bool:
        """Equal scores are ranked by runtime."""
        return True

    def views(self, case: Case, truth: Scan, prediction: Path, *, images: Path | None = None) -> list[View]:  # noqa: ARG002  # what every challenge is given
        """Show the frames' way through space, and the error along it; the images themselves show neither."""
        if self._is_report(prediction):
            return []
        with open_prediction(prediction) as opened:
            return views_of(opened, truth)

    def scenes(self, case: Case, truth: Scan, prediction: Path, *, images: Path | None = None) -> list[Scene]:  # noqa: ARG002  # what every challenge is given
        """Show how the corners of the frames move through space."""
        if self._is_report(prediction):
            return []
        with open_prediction(prediction) as opened:
            return [sweep(opened, truth)]

    def _is_report(self, prediction: Path) -> bool:
        return bool(self.reported) and prediction.name == METRICS

    def _values(self, case: Case, truth: Scan, errors: Mapping[str, float]) -> list[Value]:
        normalised = {error: self._normalised(errors[error], truth.identity[error]) for error in ERRORS}
        values = []
        for error in ERRORS:
            values.append(Value(case.name, error, errors[error]))
            values.append(Value(case.name, f"{error}_identity", truth.identity[error]))
            values.append(Value(case.name, f"{error}_score", normalised[error]))
        return [*values, Value(case.name, "score", combine(normalised)["score"])]

    def _normalised(self, error: float, identity: float) -> float:
        """Return E*: 1 for no error, 0 for that of no motion; where nothing moved, 1 only for no error at all."""
        if identity <= _NOTHING_MM:
            return float(error <= _NOTHING_MM)
        value = 1.0 - error / identity
        return min(1.0, max(0.0, value)) if self.edition == "document" else value

    @property
    def built_in(self) -> Mapping[str, Role]:
        """No displacement anywhere, which is what 0 stands for."""
        return {BASELINE: Role.BASELINE}

    def measure_built_in(self, name: str, case: Case, truth: Scan) -> list[Value]:  # noqa: ARG002  # what every challenge is given
        """Measure no displacement anywhere."""
        return self._values(case, truth, truth.identity)

    def check(self, case: Case | None, prediction: Path) -> list[str]:
        """Say what is wrong with a prediction, as far as it can be seen without the truth."""
        if self._is_report(prediction) or (case is None and not _of_known_form(prediction)):
            return []  # which an evaluation takes as it is, or does not look at
        with open_prediction(prediction) as opened:
            return shape_problems(opened) or non_finite(opened)

    def doubts(self, case: Case | None, truth: Scan | None, prediction: Path) -> list[str]:  # noqa: ARG002  # what every challenge is given
        """Say that a file is none of the forms that a prediction may have."""
        return [] if _of_known_form(prediction) else ["unexpected file: a prediction is a .h5, a .npz or a folder"]

    def cluster(self, row: str) -> str:
        """Return the subject: scans of one arm and the other are not independent."""
        return parts_of(row)[0]

    def notes(self, cube: Cube) -> tuple[str, ...]:
        """Say how categories are scored, what failed scans cost, and who reported no complete timing."""
        notes = ["Category scores are means of normalised errors, larger is better, as on the published leaderboard."]
        if self.reported:
            notes.append(f"Where a team has no predictions, its errors were taken from {METRICS} and not measured.")
        lost = _lost(cube)
        if failures := [f"{name} {int(n)}" for name, n in zip(cube.submissions, lost.sum(axis=1), strict=True) if n]:
            cost = "Each costs: 0" if self.edition == "document" else "Whoever failed fewer comes first"
            notes.append(f"Failed scans (of {len(cube.rows)}): {', '.join(failures)}. {cost}.")
        untimed = np.isnan(counted_seconds(cube)).all(axis=1) & ~lost.all(axis=1)
        if names := [
            name
            for name, none in zip(cube.submissions, np.atleast_1d(untimed), strict=True)
            if none and name != BASELINE
        ]:
            notes.append(f"No runtime for every scan, so last among equal scores: {', '.join(names)}.")
        return tuple(notes)

    @property
    def terms(self) -> tuple[str, ...]:
        """The four errors."""
        return tuple(ERRORS)

    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Average each score over scans; rank by the final one to three decimals, then by runtime."""
        lost = _lost(cube)
        scans = combine({error: cube.of(f"{error}_score") for error in ERRORS}, self.emphasis)
        scans = {name: np.where(lost, self._unscored, values) for name, values in scans.items()}
        least = self.measures[-1].minimum
        shown = {
            n: Measure(n, title, Direction.HIGHER, minimum=least, maximum=1, digits=3)
            for n, (title, _) in SCORES.items()
        }
        means = {name: mean_column(measure, scans[name], weights) for name, measure in shown.items()}
        exact = means["score"]
        score = _to_three_decimals(exact.values)
        seconds = weighted_mean(counted_seconds(cube), weights)
        places = np.full(seconds.shape, np.nan)
        if any(ranked):
            places = tie_broken_ranks(score, seconds, direction=Direction.HIGHER, among=ranked, scales=exact.scales)
            if self.edition == "code":
                places = behind_fewer_failures(places, lost, weights, among=ranked)
        columns = [replace(column, rows=None) for column in means.values()]
        columns[0] = replace(columns[0], values=score)
        for measure in self.measures:
            if measure.name in ERRORS and cube.has(measure.name):
                mean = weighted_mean(np.where(lost, np.nan, cube.of(measure.name)), weights)
                columns.append(Column(replace(measure, digits=3), mean))
        scored = weighted_sum((~lost).astype(np.float64), weights)
        columns.append(Column(Measure("scored_scans", "Scored scans", digits=0), scored))
        columns.append(Column(replace(self.time, title="Runtime"), seconds))
        return Scores(places, tuple(columns), (exact,))

    @property
    def _unscored(self) -> float:
        """What a failed scan scores: 0; in `code` there is no number, and the mean is over scored scans."""
        return 0.0 if self.edition == "document" else np.nan


def _of_known_form(prediction: Path) -> bool:
    return prediction.is_dir() or prediction.suffix in (".h5", ".npz")


def _identity(error: str) -> Price:
    return Price(lambda truth, _row, _target: truth.identity[error], "none: it follows from the truth")


def _lost(cube: Cube) -> npt.NDArray[np.bool_]:
    """Return which scans have no score, shape (submissions, rows): nothing unscored may outrank what is scored."""
    missing = [np.isnan(cube.of(f"{error}_score")) for error in ERRORS]
    return np.asarray(cube.failed | np.any(missing, axis=0))


def _to_three_decimals(values: Floats) -> Floats:
    """Round as the leaderboard is printed, free of what summation leaves in the last digits."""
    return np.array([round(round(value, 12), 3) + 0.0 for value in values.ravel().tolist()]).reshape(values.shape)


CHALLENGE = TUSREC

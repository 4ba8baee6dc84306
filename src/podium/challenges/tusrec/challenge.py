"""TUS-REC: trackerless freehand ultrasound reconstruction. Rules and sources are in the README beside this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from podium.challenges.tusrec._errors import errors_of, non_finite, shape_problems
from podium.challenges.tusrec._prediction import open_prediction
from podium.challenges.tusrec._scan import Scan, find_scans, parts_of, read_scan
from podium.challenges.tusrec.views import views_of
from podium.model import (
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
from podium.ranking import reported_seconds, tie_broken_ranks, weighted_mean, weighted_sum

ERRORS = {"gpe": "GPE", "gle": "GLE", "lpe": "LPE", "lle": "LLE"}
SCORES = {
    "score": ("Final score", ("gpe", "gle", "lpe", "lle")),
    "global": ("Global score", ("gpe", "gle")),
    "local": ("Local score", ("lpe", "lle")),
    "pixel": ("Pixel score", ("gpe", "lpe")),
    "landmark": ("Landmark score", ("gle", "lle")),
}
"""The final score and the four categories: the mean of which normalised errors each is."""

BASELINE = "no-motion"

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


@dataclass
class TUSREC(Challenge):
    """Four reconstruction errors, each normalised by that of no motion; the mean of the four is the score of a scan."""

    name: ClassVar[str] = "tusrec"
    title: ClassVar[str] = "TUS-REC"
    page: ClassVar[str] = "https://github-pages.ucl.ac.uk/tus-rec-challenge/assessment.html"
    summary: ClassVar[str] = (
        "3-D reconstruction of freehand ultrasound without a tracker. Predicted displacements of pixels and landmarks, "
        "to the first frame and to the previous one, give four errors in mm; each is normalised so that 1 is perfect "
        "and 0 is as bad as no motion. Their mean over scans, to three decimals, ranks the teams; the faster one wins "
        "a tie. A failed scan scores 0."
    )

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Each error in mm, that of no motion, the normalised error, and the score of the scan."""
        price = "0" if self.edition == "document" else "the worst score of any team on the scan, and at most 0"
        none = "none: the mean is over scored scans"
        found = []
        for error, title in ERRORS.items():
            found.append(Quantity(error, title, "mm", Direction.LOWER, price=none))
            found.append(Quantity(f"{error}_identity", f"{title} of no motion", "mm", Direction.NONE, price=none))
            found.append(Quantity(f"{error}_score", f"{title}*", "", Direction.HIGHER, price=price))
        return (*found, Quantity("score", "Score of the scan", "", Direction.HIGHER, price=price))

    def cases(self, truth: Path) -> list[Case]:
        """Find the scans that dataset_keys.h5 names: transfs/050/RH_rotation.h5 and what belongs to it."""
        return find_scans(truth)

    def expected(self, case: Case) -> Expected:
        """Name the prediction: sub050__RH_rotation.h5, .npz, or a folder of .npy."""
        return Expected(case.name, (f"{case.name}.h5", f"{case.name}.npz", case.name))

    def load(self, case: Case) -> Scan:
        """Read poses, landmarks, calibration and the size of the frames, and derive the truth from them."""
        return read_scan(case, first_is_last=self.edition == "code")

    def measure(self, case: Case, truth: Scan, prediction: Path) -> list[Value]:
        """Measure the four errors, reading the displacements a few frames at a time."""
        with open_prediction(prediction) as opened:
            return self._values(case, truth, errors_of(opened, truth))

    def views(self, case: Case, truth: Scan, prediction: Path, *, images: Path | None = None) -> list[View]:  # noqa: ARG002
        """Show the frames' way through space, and the error along it; the images themselves show neither."""
        with open_prediction(prediction) as opened:
            return views_of(opened, truth)

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

    def failed(self, case: Case, truth: Scan | None, status: Status, reason: str) -> list[Value]:
        """Price a failed scan: 0 (`code`: what the others reach decides, so there is no number yet); no error in mm."""
        price = 0.0 if self.edition == "document" else None
        values = []
        for error in ERRORS:
            values.append(Value(case.name, error, None, status=status, reason=reason))
            if truth is not None:
                identity = truth.identity[error]
                values.append(Value(case.name, f"{error}_identity", identity, status=status, reason=reason))
            values.append(Value(case.name, f"{error}_score", price, status=status, reason=reason))
        return [*values, Value(case.name, "score", price, status=status, reason=reason)]

    def baselines(self) -> tuple[str, ...]:
        """Name the baseline: no displacement anywhere, which is what 0 stands for."""
        return (BASELINE,)

    def measure_baseline(self, name: str, case: Case, truth: Scan) -> list[Value]:
        """Measure no displacement anywhere."""
        if name != BASELINE:
            raise InputError(f"{self.title} has no baseline called {name!r}")
        return self._values(case, truth, truth.identity)

    def check(self, case: Case | None, prediction: Path) -> list[str]:
        """Say what is wrong with a prediction, as far as it can be seen without the truth."""
        problems = []
        stem = prediction.name if prediction.is_dir() else prediction.stem
        known = prediction.is_dir() or prediction.suffix in (".h5", ".npz")
        if case is None and not (known and parts_of(stem)[1]):
            problems.append("the name is not of the form sub050__RH_rotation.h5 (or .npz, or a folder without)")
        if not known:
            return problems
        with open_prediction(prediction) as opened:
            shapes = shape_problems(opened)
            return problems + (shapes or non_finite(opened))

    def cluster(self, row: str) -> str:
        """Return the subject: scans of one arm and the other are not independent."""
        return parts_of(row)[0]

    def notes(self, cube: Cube) -> tuple[str, ...]:
        """Say how categories are scored, what failed scans cost, and who reported no complete timing."""
        notes = ["Category scores are means of normalised errors, larger is better, as on the published leaderboard."]
        lost = _lost(cube)
        if failures := [f"{name} {int(n)}" for name, n in zip(cube.submissions, lost.sum(axis=1), strict=True) if n]:
            price = "0" if self.edition == "document" else "the worst score of any team on the scan, at most 0"
            notes.append(f"Failed scans (of {len(cube.rows)}): {', '.join(failures)}. Each costs: {price}.")
        untimed = np.isnan(reported_seconds(cube)).all(axis=1) & ~lost.all(axis=1)
        if names := [
            name
            for name, none in zip(cube.submissions, np.atleast_1d(untimed), strict=True)
            if none and name != BASELINE
        ]:
            notes.append(f"No runtime for every scored scan, so last among equal scores: {', '.join(names)}.")
        return tuple(notes)

    @property
    def decisive(self) -> tuple[tuple[str, str], ...]:
        """The score of a scan, which holds all four errors."""
        return (("score", ""),)

    @property
    def terms(self) -> tuple[str, ...]:
        """The four errors."""
        return tuple(ERRORS)

    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Average each score over scans; rank by the final one to three decimals, then by runtime."""
        lost = _lost(cube)
        scans = combine({error: cube.of(f"{error}_score") for error in ERRORS}, self.emphasis)
        scans = {name: np.where(lost, self._price(values, lost, ranked), values) for name, values in scans.items()}
        means = {name: weighted_mean(values, weights) for name, values in scans.items()}
        exact = Column(
            "score", SCORES["score"][0], means["score"], direction=Direction.HIGHER, digits=3, rows=scans["score"]
        )
        means["score"] = _to_three_decimals(means["score"])
        seconds = weighted_mean(reported_seconds(cube), weights)
        places = np.full(seconds.shape, np.nan)
        if any(ranked):
            places = tie_broken_ranks(means["score"], seconds, direction=Direction.HIGHER, among=ranked)
        columns = [
            Column(name, title, means[name], direction=Direction.HIGHER, digits=3)
            for name, (title, _) in SCORES.items()
        ]
        for error, title in ERRORS.items():
            if cube.has(error):
                mean = weighted_mean(np.where(lost, np.nan, cube.of(error)), weights)
                columns.append(Column(error, title, mean, unit="mm", direction=Direction.LOWER, digits=3))
        scored = weighted_sum((~lost).astype(np.float64), weights)
        columns.append(Column("scored_scans", "Scored scans", scored, digits=0))
        columns.append(Column("seconds", "Runtime", seconds, unit="s", direction=Direction.LOWER, digits=3))
        return Scores(places, tuple(columns), (exact,))

    def _price(self, values: Floats, lost: npt.NDArray[np.bool_], ranked: Sequence[bool]) -> Floats | float:
        """Return what a failed scan scores: 0, or in `code` the worst of those who compete, at most 0, for each row."""
        if self.edition == "document":
            return 0.0
        compared = np.where(lost | ~np.asarray(ranked, bool)[:, None], 0.0, values)
        return np.asarray(np.minimum(0.0, compared.min(axis=0, initial=0.0)))


def _lost(cube: Cube) -> npt.NDArray[np.bool_]:
    """Return which scans have no score, shape (submissions, rows): nothing unscored may outrank what is scored."""
    missing = [np.isnan(cube.of(f"{error}_score")) for error in ERRORS]
    return np.asarray(cube.failed | np.any(missing, axis=0))


def _to_three_decimals(values: Floats) -> Floats:
    """Round as the leaderboard is printed, free of what summation leaves in the last digits."""
    exact = np.round(values, 12).tolist()
    return np.array([[round(value, 3) + 0.0 for value in row] for row in exact]).reshape(values.shape)


CHALLENGE = TUSREC

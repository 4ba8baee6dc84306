"""Made-up material for pictures: a challenge with landmarks of the skull, small tables, and cases to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import polars as pl

import podium
from podium.challenges.kinds import LandmarkChallenge
from podium.model import Agreement, Curves, Floats, Line, Panel, Paths, Slices, View
from podium.report.audience import Audience
from podium.report.data import ReportData, gather

LANDMARKS = ("nasion", "sella", "gonion", "menton")
PATIENTS = 36
TEAMS = {"Alder": 9.0, "Birch": 3.2, "Cedar": 5.5, "Elm": 1.1, "Fir": 2.4, "Larch": 0.6}
"""Who competes, and how many seconds each takes for a patient."""
SPREAD_MM = {
    "Alder": (0.9, 1.0, 1.0, 0.9),
    "Birch": (1.2, 1.1, 1.9, 1.2),
    "Cedar": (1.6, 1.5, 1.1, 1.6),
    "Elm": (1.5, 1.8, 1.4, 1.9),
    "Fir": (2.1, 2.3, 2.2, 1.7),
    "Larch": (2.3, 2.9, 2.3, 2.6),
    "average skull": (6.0, 6.0, 6.0, 6.0),
    "second reader": (1.3, 1.2, 1.3, 1.2),
}
"""How far from the truth each marks each landmark; the last two do not compete."""
BASELINE, PEOPLE = "average skull", "second reader"
LOST = ("Elm", 3)
"""A patient for whom a team gave nothing."""


def skull_challenge(landmarks: Sequence[str] = LANDMARKS) -> LandmarkChallenge:
    """Return the rules: ranks by every landmark, averaged."""
    return LandmarkChallenge.model_validate(
        {
            "name": "skull",
            "title": "Landmarks of the skull",
            "files": {"truth": "{patient}.csv", "prediction": "{patient}.csv"},
            "points": {"names": list(landmarks), "axes": ["x", "y"], "unit": "mm"},
            "quantities": [{"metric": "landmark_error", "failed": 15}],
            "ranking": {"scheme": "mean rank"},
        }
    )


def skull_ranking(
    *,
    teams: Sequence[str] = tuple(TEAMS),
    patients: int = PATIENTS,
    landmarks: int = len(LANDMARKS),
    equal: bool = False,
    alone: bool = False,
    bootstrap: int = 500,
) -> podium.Ranking:
    """Evaluate made-up answers to the challenge, and rank them.

    Parameters
    ----------
    teams
        Who competes.
    patients, landmarks
        How many.
    equal
        Whether everybody is off by the same.
    alone
        Whether teams tell no times, and nobody read the images a second time.
    bootstrap
        How many resamples.
    """
    random = np.random.default_rng(7)
    named = LANDMARKS[:landmarks]
    truth = random.uniform(20, 180, (patients, landmarks, 2))
    hardness = random.lognormal(0, 0.3, (patients, 1, 1))
    present = {*teams, BASELINE, *(() if alone else (PEOPLE,))}
    with TemporaryDirectory() as place:
        folder = Path(place)
        _write_points(folder / "truth", named, truth)
        for name, spread in SPREAD_MM.items():
            errors = hardness * np.array(spread)[:landmarks, None] * random.normal(size=truth.shape)
            seconds = TEAMS.get(name, 0.0) * random.lognormal(0, 0.1, patients)
            if name in present:
                own = folder / "teams" / name
                _write_points(own, named, truth + (1.0 if equal else errors))
                if name in TEAMS and not alone:
                    _write_times(own, seconds)
        (folder / "teams" / LOST[0] / f"{_patient(LOST[1])}.csv").unlink(missing_ok=True)
        run = podium.evaluate(
            skull_challenge(named),
            truth=folder / "truth",
            submissions=folder / "teams",
            out=folder / "run",
            baselines=[BASELINE],
            references=[] if alone else [PEOPLE],
        )
        return run.rank(bootstrap=bootstrap)


def _patient(number: int) -> str:
    return f"patient_{number:02d}"


def _write_points(folder: Path, landmarks: Sequence[str], points: Floats) -> None:
    folder.mkdir(parents=True)
    for number, own in enumerate(points):
        lines = [f"{name},{x:.3f},{y:.3f}\n" for name, (x, y) in zip(landmarks, own.tolist(), strict=True)]
        (folder / f"{_patient(number)}.csv").write_text("landmark,x,y\n" + "".join(lines), encoding="utf-8")


def _write_times(folder: Path, seconds: Floats) -> None:
    lines = [f"{_patient(number)},{own:.3f}\n" for number, own in enumerate(seconds.tolist())]
    (folder / "timing.csv").write_text("case,seconds\n" + "".join(lines), encoding="utf-8")


@dataclass(frozen=True)
class Situation:
    """Something that a report can be about, in words that follow "there is none", and what it is made of."""

    words: str
    data: ReportData


def situations() -> list[Situation]:
    """Return small reports that lack something: resamples, teams, cases, criteria, times, people, a right to see."""
    small = partial(skull_ranking, teams=("Alder", "Birch", "Cedar", "Larch"), patients=12, landmarks=3, bootstrap=20)
    whole = small()
    first = whole.rule.competitors[0]
    return [
        Situation("without resampling (`--bootstrap 0`)", gather(small(bootstrap=0))),
        Situation("for a single submission", gather(small(teams=("Alder",)))),
        Situation("for two submissions", gather(small(teams=("Alder", "Larch")))),
        Situation("for a single case", gather(small(patients=1))),
        Situation("for one criterion", gather(small(landmarks=1))),
        Situation("for two criteria", gather(small(landmarks=2))),
        Situation("where everybody is equal", gather(small(equal=True))),
        Situation("where no times are known and no person is among the submissions", gather(small(alone=True))),
        Situation("for a table", gather(_of_table(whole))),
        Situation("on a page for the public (`--public`)", gather(whole, audience=Audience.PUBLIC)),
        Situation("on a team's page (`--team`)", gather(whole, audience=Audience.TEAM, submission=first)),
    ]


def _of_table(ranking: podium.Ranking) -> podium.Ranking:
    """Rank the measurements of a run as a table that somebody has."""
    competing = pl.col("submission").is_in(ranking.rule.competitors)
    table = ranking.run.measurements.filter(competing, pl.col("metric") == "landmark_error")
    scores = table.select("submission", "case", pl.col("target").alias("task"), "value")
    return podium.rank(scores, better="lower", bootstrap=20)


def views() -> Mapping[str, View]:
    """Return what a challenge may show of a case, one of each kind, by name."""
    random = np.random.default_rng(5)
    time = np.arange(0, 20, 0.25)
    motion = 6 * np.sin(time) + 0.4 * random.normal(size=time.size)
    followed = 6 * np.sin(time - 0.25) + 0.6 * random.normal(size=time.size)
    turn = np.linspace(0, 4, 60)
    sweep = np.column_stack([20 * np.cos(turn), 20 * np.sin(turn), 12 * turn])
    drifted = sweep + np.column_stack([0.6 * turn**2, -0.3 * turn**2, 0.9 * turn])
    area = random.normal(2300, 320, 60)
    measured = area + random.normal(70, 110, 60)
    return {
        "slices": Slices("Kidney and tumour", (_panel(),), {1: "kidney", 2: "tumour"}),
        "curves": Curves(
            "Centre of the target along the rows",
            "time, s",
            "mm",
            (
                Line("reference", np.column_stack([time, motion]), "reference"),
                Line("predicted", np.column_stack([time, followed])),
            ),
        ),
        "paths": Paths(
            "Centres of the frames", "mm", (Line("reference", sweep, "reference"), Line("predicted", drifted))
        ),
        "agreement": _agreement("Area of the cavity", "mm²", area, measured),
    }


def _panel() -> Panel:
    """Return a disc with a smaller one in it, both predicted a little beside."""
    rows, columns = np.mgrid[:72, :96]

    def labels(shift: float) -> npt.NDArray[np.uint8]:
        kidney = (rows - 36) ** 2 / 26**2 + (columns - 44 - shift) ** 2 / 36**2 < 1
        tumour = (rows - 30 - shift) ** 2 + (columns - 66) ** 2 < (13 - shift) ** 2
        return np.asarray(np.where(kidney & tumour, 2, kidney), np.uint8)

    return Panel("slice 31 of 62", labels(0), labels(3))


def _agreement(title: str, unit: str, reference: Floats, prediction: Floats) -> Agreement:
    difference = prediction - reference
    bias, spread = float(difference.mean()), 1.96 * float(difference.std(ddof=1))
    correlation = float(np.corrcoef(reference, prediction)[0, 1])
    return Agreement(title, unit, reference, prediction, correlation, bias, (bias - spread, bias + spread))

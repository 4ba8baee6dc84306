"""One team: arrays that are handed over, answers that become one file, and a baseline's time."""
# ruff: noqa: ARG002

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from asked_landmarks import (
    ANSWER,
    AskedLandmarks,
    JoiningInterface,
    python,
)
from ran_algorithms import CRASH, POINTS, asking, listed, run

from podium.algorithms.specs import Algorithm, Ending, Outcome, Spans
from podium.model import Case, Handed, InputError, Question, Role, Value

# Arrays that are handed over.


class Arrays(Handed):
    """Arrays of this process."""

    def __init__(self, case, arrays):
        super().__init__(case, {name: (array.shape, array.dtype) for name, array in arrays.items()})
        self._arrays = arrays

    def rows(self, name, start, stop):
        """Return some entries."""
        return self._arrays[name][start:stop] if self._arrays[name].shape else self._arrays[name]


class TakingArrays(AskedLandmarks):
    """Landmarks in arrays, or in folders of them."""

    def cases(self, truth):
        """Predictions are folders."""
        return [Case(case.name, case.files, (case.name,)) for case in super().cases(truth)]

    def measure(self, case, truth, prediction):
        """Measure a file."""
        return [Value(case.name, "distance", float(np.linalg.norm(np.load(prediction / "point.npy")[0] - truth)))]


class TakingHanded(TakingArrays):
    """Landmarks in arrays that need no file."""

    def measure_handed(self, case, truth, arrays):
        """Measure what is handed over."""
        return [Value(case.name, "distance", float(np.linalg.norm(arrays.whole("point")[0] - truth)))]


def hand_over(algorithm, confinement, interface, questions, **given):
    for question in questions:
        point = np.array([[float(number) for number in question.files[0].read_text().split()]])
        yield Outcome(
            question.name, Ending.ANSWERED, spans=Spans(run=1.0), answer=Arrays(question.name, {"point": point})
        )


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("challenge", [TakingArrays(), TakingHanded()])
def test_arrays_are_measured_as_they_are_handed_over(places, challenge, keep, monkeypatch):
    if isinstance(challenge, TakingHanded) and not keep:
        monkeypatch.setattr(TakingArrays, "measure", None)
    ran = run(places, Algorithm("f", function="f.py:predict"), challenge=challenge, ask=hand_over, keep=keep)
    assert ran.run.leaderboard.entries[0].values["distance"] == pytest.approx((0 + 5 + 2 + 1) / 4)
    files = [f"f/{name}/point.npy" for name in POINTS] if keep else []
    assert listed(places["out"] / "submissions") == [*files, "f/timing.csv"]


@pytest.mark.parametrize("measured", [False, True])
def test_arrays_that_are_written_are_output_as_any_other(places, measured):
    """A function may return terabytes that take no memory; those are not written."""
    huge = {"point": np.broadcast_to(np.zeros(3), (2**20, 2**20, 3))}

    def ask(algorithm, confinement, interface, questions, **given):
        for question in questions:
            yield Outcome(question.name, Ending.ANSWERED, spans=Spans(run=1.0), answer=Arrays(question.name, huge))

    ran = run(
        places, Algorithm("f", function="f.py:predict"), challenge=TakingArrays(), ask=ask, measured=measured, keep=True
    )
    assert {case.reason for case in ran.timings["f"].cases.values()} == {"too much output: more than 16 GiB of output"}
    assert listed(places["out"] / "submissions") == ["f/timing.csv"]


# One file for all cases.


class Joined(AskedLandmarks):
    """All points in one file."""

    @property
    def interface(self):
        """Return one that joins."""
        return JoiningInterface()

    def cases(self, truth):
        """One case with all rows."""
        return [Case("all", tuple(sorted(truth.glob("*.txt"))), ("points.txt",))]

    def rows(self, case, truth):
        """Name the images."""
        return tuple(POINTS)

    def load(self, case):
        """Nothing: all is at the origin."""
        return [0.0, 0.0, 0.0]

    def measure(self, case, truth, prediction):
        """Measure every line."""
        lines = dict(line.split(" ", 1) for line in prediction.read_text().splitlines())
        for row in POINTS:
            if row not in lines:
                raise InputError(f"{row} is missing", path=prediction)
        numbers = {row: [float(number) for number in text.split()] for row, text in lines.items()}
        return [Value(row, "distance", float(np.linalg.norm(point))) for row, point in numbers.items()]


@pytest.mark.parametrize("keep", [False, True])
def test_answers_become_one_file_where_that_is_a_submission(places, keep):
    ran = run(places, python("a"), python("b", CRASH + ANSWER), challenge=Joined(), keep=keep)
    assert ran.run.leaderboard.entries[0].values["distance"] == 2
    assert ("b", "002", "missing", "crashed: exit code 3") in ran.run.failures.rows()
    assert listed(places["out"] / "submissions") == (["a/points.txt", "b/points.txt"] if keep else [])
    assert (places["out"] / "timing" / "a.csv").exists()
    seen = []
    again = run(
        places, python("a"), python("b", CRASH + ANSWER), challenge=Joined(), ask=asking(seen), resume=True, keep=keep
    )
    assert seen == []
    assert again.run.measurements.equals(ran.run.measurements)


@pytest.mark.parametrize("challenge", [AskedLandmarks(), Joined()])
def test_what_was_not_kept_is_not_verified_and_the_rest_is(places, challenge):
    ran = run(places, python("a"), python("b", CRASH + ANSWER), challenge=challenge)
    verification = ran.run.verify()
    assert verification.nothing_differs, verification
    assert verification.not_kept == ("a", "b")
    assert json.loads((places["out"] / "run" / "run.json").read_text())["submissions"]["a"]["kept"] is False
    (places["truth"] / "001.txt").write_text("0 0 1")
    assert ran.run.verify().inputs == (("the truth", "001.txt", "has changed"),)


@pytest.mark.parametrize("challenge", [AskedLandmarks(), Joined()])
def test_what_was_kept_is_verified(places, challenge):
    ran = run(places, python("a"), challenge=challenge, keep=True)
    verification = ran.run.verify()
    assert (verification.nothing_differs, verification.not_kept) == (True, ())
    assert '"kept"' not in (places["out"] / "run" / "run.json").read_text()
    shutil.rmtree(places["out"] / "submissions" / "a")
    assert ran.run.verify().inputs


def test_one_file_that_was_kept_is_measured_once_there_is_a_truth(places):
    run(places, challenge=Joined(), measured=False)
    seen = []
    ran = run(places, challenge=Joined(), ask=asking(seen), resume=True)
    assert seen == []
    assert ran.run.leaderboard.entries[0].values["distance"] == 2


def test_a_file_is_called_after_its_case_whatever_the_team_called_it(places):
    for name, expected in {"x.txt": "001.txt", "a.b.nii.gz": "001.nii.gz", "002.csv.txt": "001.txt"}.items():
        assert JoiningInterface().file_name(Question("001"), Path(name)) == expected


# A baseline.


def test_the_baselines_time_becomes_the_option(places):
    ran = run(places, python("a"), baseline=python("baseline"))
    assert ran.run.roles == {"a": Role.COMPETITOR, "baseline": Role.BASELINE}
    assert ran.run.record.options["baseline_seconds"] == pytest.approx(ran.timings["baseline"].seconds_a_case)
    seen = []
    more = run(places, python("b"), resume=True, ask=asking(seen))
    assert {name for name, _ in seen} == {"b"}
    assert set(more.run.roles) == {"a", "b", "baseline"}, "who was run before stays"
    assert more.run.record.options == ran.run.record.options


def test_a_baseline_that_fails_has_no_time(places):
    seen = []
    with pytest.raises(InputError, match=r"the baseline failed on 002 \(crashed: exit code 3\)"):
        run(places, python("a"), baseline=python("baseline", CRASH + ANSWER), ask=asking(seen))
    assert {name for name, _ in seen} == {"baseline"}

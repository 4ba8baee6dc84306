"""Algorithms run over all cases: what is kept, measured and written, what a failure costs, and what is resumed."""
# ruff: noqa: ARG002

import csv
import json
import os
import shutil
import signal
import threading
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from asked_landmarks import (
    ANSWER,
    AskedLandmarks,
    JoiningInterface,
    PlainConfinement,
    ask_plainly,
    python,
    write_images,
)

from podium.algorithms.running import run_algorithms
from podium.algorithms.specs import Algorithm, Allowance, Ending, Outcome, Spans
from podium.algorithms.timings import TeamTiming
from podium.model import Case, Handed, InputError, Role, Value
from podium.run import evaluate_into

POINTS = {"001": "0 0 0", "002": "3 4 0", "003": "0 0 2", "004": "1 0 0"}
CRASH = "exec('if t[0] == chr(51): sys.exit(3)'); "
"""On 002, whose point begins with 3."""


@pytest.fixture
def places(tmp_path):
    """Return where images and truth lie, and where results go."""
    truth = tmp_path / "truth"
    truth.mkdir()
    for name in POINTS:
        (truth / f"{name}.txt").write_text("0 0 0")
    return {"out": tmp_path / "out", "inputs": write_images(tmp_path, POINTS), "truth": truth}


def run(places, *algorithms, challenge=None, ask=ask_plainly, confinement=None, **given):
    places = dict(places)
    if not given.pop("measured", True):
        places.pop("truth")
    algorithms = algorithms or (python("team"),)
    return run_algorithms(
        places.pop("out"),
        challenge or AskedLandmarks(),
        algorithms,
        ask=ask,
        confine=lambda *_: confinement or PlainConfinement(),
        **{"allowance": Allowance(case_seconds=60), **places, **given},
    )


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def listed(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def asking(seen):
    """Return a way to ask that notes which cases it was asked about."""

    def ask(algorithm, confinement, interface, questions, **given):
        def noted():
            for question in questions:
                seen.append((algorithm.name, question.name))
                yield question

        yield from ask_plainly(algorithm, confinement, interface, noted(), **given)

    return ask


# What is written.


def test_predictions_and_times_are_kept_without_a_truth(places):
    ran = run(places, python("a"), python("b", CRASH + ANSWER), measured=False)
    out = places["out"]
    assert listed(out / "submissions") == sorted(
        [
            *(f"a/{name}.txt" for name in POINTS),
            "a/timing.csv",
            *(f"b/{n}.txt" for n in POINTS if n != "002"),
            "b/timing.csv",
        ]
    )
    assert (out / "submissions" / "a" / "002.txt").read_text() == "3 4 0"
    assert ran.run is None
    assert not (out / "run").exists()
    assert not (out / ".scratch").exists()
    assert not (out / ".answers" / "a").exists()
    lines = table(out / "submissions" / "b" / "timing.csv")
    assert [line["case"] for line in lines] == sorted(POINTS), "failed ones included"
    assert all(float(line["seconds"]) > 0 and line["frames"] == "5" for line in lines)
    assert [tuple(line.values()) for line in table(out / "failures.csv")] == [("b", "002", "crashed", "exit code 3")]
    assert ran.failed == 1
    assert (out / "logs" / "b" / "002.log").exists()


def test_everything_about_times_is_in_a_typed_document(places):
    run(places, measured=False, repeat=3, ask=partial(ask_plainly, load=2.0))
    document = json.loads((places["out"] / "timing" / "team.json").read_text())
    assert document["schema"] == 1
    assert document["loading"] == 2.0
    assert document["repeat"] == 3
    assert document["allowance"]["case_seconds"] == 60
    assert document["algorithm"]["protocol"] == "case"
    assert document["machines"][0]["hardware"]["processors"] >= 1
    case = document["cases"]["003"]
    assert [repeat["ending"] for repeat in case["repeats"]] == ["answered"] * 3
    assert case["seconds"] == sorted(repeat["run"] for repeat in case["repeats"])[1]
    assert case["spread"] > 0
    timing = TeamTiming.read(places["out"] / "timing" / "team.json")
    assert timing.cases["003"].prediction == "003.txt"
    assert timing.ended is not None
    assert not timing.isolated


def test_questions_come_in_an_order_that_tells_nothing_and_is_always_the_same(places):
    orders = []
    for _ in range(2):
        seen = []
        run(places, ask=asking(seen), measured=False)
        orders.append(seen)
        shutil.rmtree(places["out"])
    assert orders[0] == orders[1]
    assert orders[0] != sorted(orders[0])


# Measured as it goes.


def test_what_is_measured_as_it_goes_is_what_an_evaluation_of_kept_predictions_gives(places, tmp_path):
    teams = [python("a"), python("b", "t = '1 1 1'; " + ANSWER), python("c", "t = 'no point'; " + ANSWER)]
    ran = run(places, *teams)
    kept = run({**places, "out": tmp_path / "kept"}, *teams, keep=True)
    submissions = tmp_path / "kept" / "submissions"
    evaluated = evaluate_into(tmp_path / "e", AskedLandmarks(), truth=places["truth"], submissions=submissions)
    quality = pl.col("metric") == "distance"
    for run_ in (ran.run, kept.run):
        assert run_.measurements.filter(quality).equals(evaluated.measurements.filter(quality))
        assert run_.failures.equals(evaluated.failures)
    assert kept.run.measurements.equals(evaluated.measurements), "times as well"
    assert listed(places["out"] / "submissions") == ["a/timing.csv", "b/timing.csv", "c/timing.csv"]
    assert (places["out"] / "run" / "leaderboard.csv").exists()
    assert ran.run.leaderboard.entries[0].submission == "b"


def test_there_is_never_more_than_one_prediction(places, monkeypatch):
    counts = []
    measure = AskedLandmarks.measure

    def counted(self, case, truth, prediction):
        counts.append(sum(path.suffix == ".txt" for path in places["out"].rglob("*") if path.is_file()))
        return measure(self, case, truth, prediction)

    monkeypatch.setattr(AskedLandmarks, "measure", counted)
    run(places, python("a"), python("b"))
    assert len(counts) == 8
    assert set(counts) <= {1, 2}, "the prediction, and the image that it was made of"
    assert not [name for name in listed(places["out"]) if name.endswith(".txt")]


def test_a_missing_prediction_is_named_with_the_reason_why(places):
    ran = run(places, python("a", CRASH + ANSWER), python("b", "exec('if t[0] != chr(51): ' + " + repr(ANSWER) + ")"))
    assert ran.run.failures.rows() == [
        ("a", "002", "missing", "crashed: exit code 3"),
        ("b", "002", "missing", "no output: there is no point.txt"),
    ]
    assert ran.run.leaderboard.entries[0].values["distance"] == pytest.approx((0 + 100 + 2 + 1) / 4)


def test_a_slow_case_costs_that_case(places):
    wait = "import time; exec('if t[0] == chr(51): time.sleep(600)'); " + ANSWER
    ran = run(places, python("a", wait), allowance=Allowance(case_seconds=5))
    assert ran.timings["a"].failures["002"].ending is Ending.TOO_SLOW
    assert ran.timings["a"].failures["002"].seconds >= 5
    assert ran.run.failures.rows() == [("a", "002", "missing", "too slow: more than 5 s")]


def test_an_answer_that_is_a_link_is_none(places):
    link = "import os; os.symlink('/etc/passwd', o / 'point.txt')"
    ran = run(places, python("a", link), python("b"), measured=False)
    assert {case.ending for case in ran.timings["a"].cases.values()} == {Ending.WRONG_OUTPUT}
    assert listed(places["out"] / "submissions" / "a") == ["timing.csv"]


def test_loading_is_recorded_where_it_was_measured(places):
    ran = run(places, ask=partial(ask_plainly, load=2.0))
    loading = ran.run.measurements.filter(pl.col("metric") == "loading")
    assert loading["value"].to_list() == [2.0] * 4
    assert ran.run.cube.loading.tolist() == [2.0]


def test_inputs_without_truth_are_not_asked_for_and_truth_without_inputs_is_refused(places):
    said = []
    (places["truth"] / "004.txt").unlink()
    ran = run(places, say=said.append)
    assert set(ran.timings["team"].cases) == {"001", "002", "003"}
    assert said == ["004: no truth, so not asked for."]
    shutil.rmtree(places["out"])
    (places["truth"] / "005.txt").write_text("0 0 0")
    with pytest.raises(InputError, match="there are no inputs of 005, of which there is a truth"):
        run(places)


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


def test_one_file_that_was_kept_is_measured_once_there_is_a_truth(places):
    run(places, challenge=Joined(), measured=False)
    seen = []
    ran = run(places, challenge=Joined(), ask=asking(seen), resume=True)
    assert seen == []
    assert ran.run.leaderboard.entries[0].values["distance"] == 2


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


# Resuming.


def stop_after(count, action):
    """Return a way to ask that does something once so many answers have come."""

    def ask(*given, **more):
        for number, outcome in enumerate(ask_plainly(*given, **more), start=1):
            yield outcome
            if number == count:
                action()

    return ask


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("stop", [interrupt, lambda: os.kill(os.getpid(), signal.SIGTERM)])
@pytest.mark.parametrize("measured", [False, True])
def test_what_is_done_is_kept_when_it_is_stopped_and_the_rest_is_resumed(places, tmp_path, stop, measured):
    seen, confinement = [], PlainConfinement()
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        run(places, ask=stop_after(2, stop), measured=measured, confinement=confinement)
    assert signal.getsignal(signal.SIGTERM) is before
    assert confinement.closed == 1
    assert not (places["out"] / ".scratch").exists()
    assert len(table(places["out"] / "submissions" / "team" / "timing.csv")) == 2
    with pytest.raises(InputError, match="algorithms were run here already"):
        run(places, measured=measured)
    ran = run(places, ask=asking(seen), measured=measured, resume=True)
    assert len(seen) == 2
    assert set(ran.timings["team"].cases) == set(POINTS)
    if measured:
        whole = run({**places, "out": tmp_path / "whole"})
        quality = pl.col("metric") == "distance"
        assert ran.run.measurements.filter(quality).equals(whole.run.measurements.filter(quality))


def test_failed_cases_stay_failed_when_resumed(places):
    run(places, python("a", CRASH + ANSWER))
    seen = []
    ran = run(places, python("a", CRASH + ANSWER), ask=asking(seen), resume=True)
    assert seen == []
    assert ran.failed == 1


def test_what_was_run_otherwise_is_run_anew_and_it_is_said(places):
    run(places, python("a"), python("b"))
    seen, said = [], []
    run(places, python("a"), python("b", "t = '1 1 1'; " + ANSWER), ask=asking(seen), resume=True, say=said.append)
    assert {name for name, _ in seen} == {"b"}
    assert said == ["b is run anew, as it was run with other algorithm."]
    seen.clear()
    run(places, python("a"), ask=asking(seen), resume=True, allowance=Allowance(case_seconds=50))
    assert len(seen) == 4


def test_what_lost_its_prediction_or_its_measurement_is_run_again(places):
    run(places, measured=False)
    (places["out"] / "submissions" / "team" / "002.txt").unlink()
    seen = []
    run(places, ask=asking(seen), measured=False, resume=True)
    assert seen == [("team", "002")]
    run(places, restart=True)
    (places["truth"] / "003.txt").write_text("9 9 9")
    seen.clear()
    run(places, ask=asking(seen), resume=True)
    assert seen == [("team", "003")]


def test_predictions_that_were_kept_are_measured_once_there_is_a_truth(places):
    run(places, python("a", CRASH + ANSWER), measured=False)
    seen = []
    ran = run(places, python("a", CRASH + ANSWER), ask=asking(seen), resume=True)
    assert seen == []
    assert ran.run.leaderboard.entries[0].values["distance"] == pytest.approx((0 + 100 + 2 + 1) / 4)
    assert ran.run.failures.rows() == [("a", "002", "missing", "crashed: exit code 3")]
    assert listed(places["out"] / "submissions") == ["a/timing.csv"]


def test_what_could_not_begin_is_no_run(places):
    class Missing(PlainConfinement):
        def prepare(self, algorithm):
            if algorithm.name == "b":
                raise InputError("there is no program")

    seen = []
    with pytest.raises(InputError, match="there is no program"):
        run(places, python("a"), python("b"), confinement=Missing(), ask=asking(seen))
    assert seen == [], "which is known before others have run for hours"
    run(places, python("a"))


def test_a_team_that_was_left_half_way_is_left_out_of_the_board(places):
    with pytest.raises(KeyboardInterrupt):
        run(places, python("a"), ask=stop_after(2, interrupt))
    said = []
    ran = run(places, python("b"), resume=True, say=said.append)
    assert set(ran.run.roles) == {"b"}
    assert said == ["a has not been asked about every case, and is left out. Give it again with --resume."]


def test_beginning_anew_removes_what_was_written_and_nothing_else(places):
    run(places, python("a"), keep=True)
    own = places["out"] / "submissions" / "mine" / "notes.txt"
    own.parent.mkdir()
    own.write_text("keep")
    ran = run(places, python("b"), restart=True)
    assert set(ran.timings) == {"b"}
    assert listed(places["out"] / "submissions") == ["b/timing.csv", "mine/notes.txt"]


# Several at once, and bad calls.


def test_cases_run_side_by_side_only_where_time_does_not_count(places):
    together, most, lock = [], [], threading.Lock()

    def ask(*given, **more):
        with lock:
            together.append(1)
            most.append(len(together))
        try:
            yield from ask_plainly(*given, **more)
        finally:
            with lock:
                together.pop()

    said = []
    ran = run(places, ask=ask, jobs=2)
    assert len(most) == 2
    assert set(ran.timings["team"].cases) == set(POINTS)
    assert ran.run.failures.is_empty()
    most.clear()
    run(
        {**places, "out": places["out"] / "other"},
        ask=ask,
        jobs=2,
        challenge=AskedLandmarks(counts=True),
        say=said.append,
    )
    assert len(most) == 1
    assert said == ["Landmarks counts time, so cases are run one after the other, whatever --jobs says."]


def test_side_by_side_everything_is_stopped_where_one_is(places):
    def ask(algorithm, confinement, interface, questions, **given):
        if any(question.name == "002" for question in questions):
            raise InputError("no")
        yield from ask_plainly(algorithm, confinement, interface, questions, **given)

    with pytest.raises(InputError, match="no"):
        run(places, python("a", "import time; time.sleep(600)"), ask=ask, jobs=2, allowance=Allowance(case_seconds=600))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithms": [python("a"), python("a")]}, "two algorithms are called a"),
        ({"algorithms": [python("../a")]}, "a team cannot be called '../a'"),
        ({"algorithms": [Algorithm("a")]}, "a is neither a command, nor an image, nor a function"),
        ({"resume": True, "restart": True}, "either resumed or made anew"),
        ({"inputs": Path("nowhere")}, "this is not a folder. Give the folder that holds the inputs"),
    ],
)
def test_bad_calls_get_one_line(places, given, message):
    algorithms = given.pop("algorithms", [python("a")])
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        run({**places, **given}, *algorithms)
    assert not places["out"].exists()


def test_folders_that_are_not_ours_stay_as_they_are(places):
    places["out"].mkdir()
    (places["out"] / "thesis.txt").write_text("mine")
    for more in ({}, {"resume": True}, {"restart": True}):
        with pytest.raises(InputError, match="this folder is not empty, and of no podium run"):
            run(places, **more)
    for among in ("inputs", "truth"):
        with pytest.raises(InputError, match=f"the results would lie among the {among}"):
            run({**places, "out": places[among] / "out"})
    assert listed(places["out"]) == ["thesis.txt"]


def test_where_it_runs_is_told_what_must_not_be_seen(places):
    hidden = []
    run_algorithms(
        places["out"],
        AskedLandmarks(),
        [python("a")],
        inputs=places["inputs"],
        truth=places["truth"],
        ask=ask_plainly,
        confine=lambda _, folders: hidden.extend(folders) or PlainConfinement(),
    )
    assert hidden == [places["inputs"], places["truth"], places["out"]]


def test_algorithms_of_another_challenge_are_not_mixed_with_these(places):
    class Other(AskedLandmarks):
        name = "other"

    run(places, measured=False)
    with pytest.raises(InputError, match="algorithms of asked-landmarks were run here, not of other"):
        run(places, python("b"), challenge=Other(), measured=False, resume=True)


def test_a_challenge_without_an_interface_is_refused(places):
    class Plain(AskedLandmarks):
        @property
        def interface(self):
            return None

    with pytest.raises(InputError, match="does not say how algorithms are asked"):
        run(places, challenge=Plain())

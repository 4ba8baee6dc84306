"""Algorithms run over all cases: what is written, measured and refused, and several at once."""

import json
import shutil
import threading
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from asked_landmarks import (
    ANSWER,
    AskedLandmarks,
    PlainConfinement,
    ask_plainly,
    python,
)
from ran_algorithms import CRASH, POINTS, asking, listed, run, table

from podium.algorithms.asking import ask_cases
from podium.algorithms.commands import Bubblewrapped
from podium.algorithms.confinement import UnusableError
from podium.algorithms.running import run_algorithms
from podium.algorithms.specs import Algorithm, Allowance, Ending
from podium.algorithms.timings import TeamTiming
from podium.model import InputError
from podium.run import evaluate_into

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


class Broken(PlainConfinement):
    """An image that cannot be started."""

    def prepare(self, algorithm):
        """Say so."""
        if algorithm.name == "b":
            raise UnusableError("there is nothing to start")


@pytest.mark.parametrize("protocol", ["case", "many"])
def test_what_cannot_be_started_fails_on_every_case_and_others_go_on(places, protocol):
    """TUS-REC scores 0 where the code cannot run."""
    images = [python(name, image="image:1", protocol=protocol if name == "b" else "case") for name in "abc"]

    def ask(algorithm, *rest, **given):
        return (ask_cases if algorithm.name == "b" else ask_plainly)(algorithm, *rest, **given)

    ran = run(places, *images, ask=ask, confinement=Broken())
    assert len(ran.timings["b"].failures) == len(POINTS)
    for case in ran.timings["b"].cases.values():
        assert case.ending is Ending.CRASHED
        assert "it cannot be started: there is nothing to start" in case.reason
    assert not ran.timings["a"].failures
    assert not ran.timings["c"].failures
    assert {entry.submission: entry.place for entry in ran.run.leaderboard.entries}["b"] is None


def test_a_truth_of_links_is_hidden_where_it_lies(places, tmp_path):
    (tmp_path / "home" / "data").mkdir(parents=True)
    (places["truth"] / "001.txt").rename(tmp_path / "home" / "data" / "001.txt")
    (places["truth"] / "001.txt").symlink_to(tmp_path / "home" / "data" / "001.txt")
    with pytest.raises(InputError, match=r"must not see .*home/data/001\.txt"):
        run_algorithms(
            challenge=AskedLandmarks(),
            algorithms=[python("team", folder=tmp_path / "home")],
            ask=ask_plainly,
            confine=lambda _, hidden: Bubblewrapped(hidden=hidden),
            **places,
        )


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
        ({"inputs": Path("nowhere")}, "there is no such folder. Give the folder that holds the inputs"),
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

"""Runs that were stopped, killed or changed: what is kept, what is run again, and what is begun anew."""

import os
import signal
from functools import partial

import polars as pl
import pytest
from asked_landmarks import (
    ANSWER,
    PlainConfinement,
    ask_plainly,
    python,
)
from ran_algorithms import CRASH, POINTS, asking, listed, run, table

from podium.algorithms.specs import Algorithm, Allowance
from podium.model import InputError

# Resuming.


def stop_after(count, action):
    """Return a way to ask that does something once so many answers have come."""

    def ask(*given, **more):
        for number, outcome in enumerate(ask_plainly(*given, **more), start=1):
            yield outcome
            if number == count:
                action()

    return ask


SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("stop", [interrupt, *(partial(os.kill, os.getpid(), signum) for signum in SIGNALS)])
@pytest.mark.parametrize("measured", [False, True])
def test_what_is_done_is_kept_when_it_is_stopped_and_the_rest_is_resumed(places, tmp_path, stop, measured):
    seen, confinement = [], PlainConfinement()
    before = [signal.getsignal(number) for number in SIGNALS]
    with pytest.raises(KeyboardInterrupt):
        run(places, ask=stop_after(2, stop), measured=measured, confinement=confinement)
    assert [signal.getsignal(number) for number in SIGNALS] == before
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


def test_whoever_stops_it_twice_does_not_keep_it_from_leaving_nothing(places):
    ended = []

    def ask(*given, scratch, **options):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            yield
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
            ended.append(scratch)

    with pytest.raises(KeyboardInterrupt):
        run(places, ask=ask)
    assert ended
    assert not (places["out"] / ".scratch").exists()


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
    assert said == ["b is run anew, as this is not what it was: command."]
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
    named = Algorithm("b", image="registry/b:1")
    for other in (python("b"), named):
        with pytest.raises(InputError, match=r"b: there is no program\. Mend it, or leave b out; --resume goes on"):
            run(places, python("a"), other, confinement=Missing(), ask=asking(seen))
        assert seen == [], "which is known before others have run for hours"
    run(places, python("a"))


def test_a_file_of_an_image_is_loaded_when_its_turn_comes(places, tmp_path):
    events = []

    class Loading(PlainConfinement):
        def prepare(self, algorithm):
            events.append(algorithm.name)

    def ask(algorithm, *given, **more):
        events.append(f"{algorithm.name} asked")
        return asking([])(python(algorithm.name), *given, **more)

    (tmp_path / "b.tar").touch()
    run(places, python("a"), Algorithm("b", image=str(tmp_path / "b.tar")), confinement=Loading(), ask=ask)
    assert events == ["a", "a asked", "b", "b asked"]


def test_a_gpu_that_is_not_there_is_missed(places, monkeypatch):
    monkeypatch.setattr("podium.algorithms.machine._gpus", tuple)
    said = []
    run(places, allowance=Allowance(gpu=True), say=said.append)
    assert said == ["A GPU is asked for, but nvidia-smi shows none here."]


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

"""timing.json and timing.csv: what they tell of repeats, frames, busy and unlike machines, and what cannot be read."""

import json
from datetime import UTC, datetime

import pytest

from podium.algorithms.machine import Hardware
from podium.algorithms.specs import Ending, Outcome, Spans
from podium.algorithms.timings import (
    CaseTiming,
    FrameTimes,
    Repeat,
    Surroundings,
    TeamTiming,
    comparability,
    read_timings,
)
from podium.io import read_timing
from podium.model import InputError, Role

HERE = Hardware(processor="EPYC", processors=4)
QUIET = (Surroundings(hardware=HERE),)


def repeat(run, ending=Ending.ANSWERED, reason="", load=0.0, others=None):
    return Repeat(ending=ending, reason=reason, run=run, load=load, others=others)


def timing(team="team", cases=None, machines=QUIET, protocol="case", **given):
    return TeamTiming(
        podium="1",
        challenge="landmarks",
        team=team,
        algorithm={"protocol": protocol},
        allowance={},
        machines=machines,
        cases=cases or {"001": CaseTiming(repeats=(repeat(1.0),))},
        started=datetime(2026, 1, 1, tzinfo=UTC),
        **given,
    )


def test_the_median_of_answers_counts_and_the_first_decides():
    case = CaseTiming(repeats=(repeat(1.0), repeat(5.0), repeat(2.0), repeat(0.1, Ending.CRASHED)))
    assert case.seconds == 2.0
    assert case.ending is Ending.ANSWERED
    assert case.reason == ""
    assert CaseTiming(repeats=(repeat(1.0), repeat(3.0))).spread == 1.0
    failed = CaseTiming(repeats=(repeat(3.0, Ending.TOO_SLOW, "more than 3 s"), repeat(1.0)))
    assert failed.seconds == 1.0
    assert failed.reason == "too slow: more than 3 s"
    assert CaseTiming(repeats=(repeat(3.0, Ending.TOO_SLOW, "too slow, said"),)).reason == "too slow, said"


def test_frames_are_summarised():
    frames = FrameTimes.of([0.1] * 19 + [1.1])
    assert (frames.mean, frames.worst) == (pytest.approx(0.15), 1.1)
    assert frames.percentile_95 == pytest.approx(0.15)  # between the 19th and the 20th of 20
    spans = Spans(start=0.5, load=2.0, run=3.0, stop=0.25, frames=(1.0, 2.0))
    made = Repeat.of(Outcome("001", Ending.ANSWERED, spans=spans, processor_seconds=4.0, peak_bytes=5), others=0.5)
    assert made.frames.worst == 2.0
    assert (made.start, made.load, made.run, made.stop) == (0.5, 2.0, 3.0, 0.25)
    assert (made.frame_seconds, made.processor_seconds, made.peak_bytes) == ((1.0, 2.0), 4.0, 5)


def test_what_is_written_is_read_again(tmp_path):
    cases = {
        "b": CaseTiming(frames=7, repeats=(repeat(2.0, load=3.0), repeat(2.5, load=5.0))),
        "a": CaseTiming(repeats=(repeat(0.5, Ending.CRASHED, "exit code 3"),), prediction=""),
    }
    one = timing(cases=cases, role=Role.BASELINE)
    one.write(tmp_path / "team.json")
    assert read_timings(tmp_path) == {"team": one}
    document = json.loads((tmp_path / "team.json").read_text())
    assert list(document["cases"]) == ["a", "b"]
    assert document["loading"] == one.loading == 4.0
    assert document["cases"]["b"]["seconds"] == 2.25
    one.write_table(tmp_path / "timing.csv")
    assert (tmp_path / "timing.csv").read_text() == "case,seconds,frames\na,0.500000,1\nb,2.250000,7\n"
    assert read_timing(tmp_path / "timing.csv") == {"a": (0.5, 1), "b": (2.25, 7)}
    assert list(one.failures) == ["a"]
    assert one.seconds_a_case == 1.375


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this timing is damaged"),
        ("[]", "this timing is damaged"),
        ('{"schema": 9}', "this has schema 9. Use a newer Podium"),
        ('{"schema": 1, "loading": null, "cases": {}}', r"this timing is damaged \(podium: Field required\)"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read_timings(tmp_path)


def test_busy_machines_are_named():
    busy = (Surroundings(hardware=HERE, others=1.0),)
    doubts = timing(machines=busy).doubts()
    assert doubts == [
        "the machine was busy before team ran: others used 1.0 of its 4 processors, so that times may be too long"
    ]
    cases = {"001": CaseTiming(repeats=(repeat(1.0, others=0.1), repeat(1.0, others=3.0)))}
    assert "busy while team ran: others used 3.0 of its 4" in timing(cases=cases).doubts()[0]
    cases = {"001": CaseTiming(repeats=(repeat(1.0, others=0.7),))}
    assert timing(cases=cases, machines=(Surroundings(hardware=HERE, others=0.8),)).doubts() == []


def test_figures_from_unlike_machines_or_taken_otherwise_are_not_to_be_compared():
    other = Surroundings(hardware=Hardware(processor="Xeon", processors=4))
    assert comparability([timing("a"), timing("b")]) == []
    assert comparability([timing("b", machines=(other,)), timing("a")]) == [
        "times of a and b were taken on unlike machines (processor: Xeon and EPYC)"
    ]
    assert comparability([timing("a", machines=(Surroundings(hardware=HERE), other))])
    assert comparability([timing("a"), timing("b", protocol="many", repeat=3)]) == [
        "times of a and b were taken with other protocol, repeats"
    ]


def test_whatever_decides_how_it_is_run_makes_it_another():
    assert timing().other(timing()) == ""
    assert timing(repeat=2, isolated=True).other(timing()) == "repeat and isolated"
    assert timing(protocol="many").other(timing()) == "algorithm"

"""The protocols with commands behind bubblewrap's walls, or kept together without."""

import pytest
from asked import Trial
from asked_programs import DOUBLES, FRAMES, FUNCTION, MANY

from podium.algorithms.commands import Bubblewrapped, Unconfined
from podium.algorithms.specs import Allowance, Ending
from podium.algorithms.walls import why_no_walls

pytestmark = pytest.mark.slow
walled = pytest.mark.skipif(bool(why_no_walls()), reason=why_no_walls() or "there are walls")


@pytest.fixture(params=[pytest.param(Bubblewrapped, marks=walled), Unconfined])
def confinement(request):
    return request.param()


@pytest.fixture
def trial(tmp_path, confinement):
    return Trial(tmp_path, confinement)


@pytest.mark.parametrize(
    ("protocol", "script"), [("case", DOUBLES), ("many", MANY), ("frames", FRAMES), ("function", FUNCTION)]
)
def test_every_protocol(trial, protocol, script):
    results = trial.asked(script, {"a": 3, "b": 2}, protocol=protocol, warm_up=True)
    assert [outcome.reason for outcome, _ in results] == ["", ""]
    (one, first), (two, _) = results
    match protocol:
        case "case" | "many":
            assert first == "6"
        case "frames":
            assert first[:, 0, 0].tolist() == [7, 8, 9]
        case "function":
            assert first["double"].tolist() == [[6, 6]] * 3
    for outcome in (one, two):
        assert outcome.processor_seconds > 0 or outcome is two  # which may be too quick for the kernel's clock
        assert outcome.peak_bytes > 0


STUCK = "import subprocess, time; subprocess.Popen(['sleep', '1000']); time.sleep(1000)\n"
SCRIPTS = {
    "case": DOUBLES.replace("    (outputs", f"    if '2' == (inputs / 'number.txt').read_text(): {STUCK}    (outputs"),
    "many": MANY.replace("        Path(outputs", f"        if Path(inputs).name == 'b': {STUCK}        Path(outputs"),
    "frames": "    asked = []\n"
    + FRAMES.replace("        return", f"        asked.append(1)\n        if len(asked) == 2: {STUCK}        return"),
    "function": FUNCTION.replace("        return", f"        if number == 2: {STUCK}        return"),
}


@pytest.mark.parametrize("protocol", SCRIPTS)
def test_what_breaks_a_limit_is_ended_and_nothing_is_left(trial, protocol):
    """The second case never ends, and has started others that do not end either."""
    numbers = {"a": 200, "b": 2, "c": 300}  # as many frames, so that others have time
    allowance = Allowance(case_seconds=0, frame_seconds=0.5, load_seconds=0 if protocol == "case" else 60)
    results = trial.asked(SCRIPTS[protocol], numbers, protocol=protocol, allowance=allowance)
    assert [outcome.ending for outcome, _ in results] == [Ending.ANSWERED, Ending.TOO_SLOW, Ending.ANSWERED]


LOOK = """
    def seen():
        from pathlib import Path
        return [str(path) for place in ("/input", "/output", "/tmp") for path in Path(place).rglob("number.txt")]
"""


@walled
def test_only_the_inputs_of_a_case_are_seen(tmp_path):
    trial = Trial(tmp_path, Bubblewrapped(hidden=[tmp_path / "images", tmp_path / "scratch"]))
    script = LOOK + MANY.replace(
        "        Path(outputs",
        "        assert sorted(seen()) == [inputs + '/more/number.txt', inputs + '/number.txt'], seen()\n"
        "        assert (inputs, outputs) == ('/input/' + Path(inputs).name, '/output/' + Path(inputs).name)\n"
        "        Path(outputs",
    )
    results = trial.asked(script, {"a": 3, "b": 2}, protocol="many")
    assert [outcome.reason for outcome, _ in results] == ["", ""]


@walled
def test_who_is_fed_frame_by_frame_finds_no_file(tmp_path):
    trial = Trial(tmp_path, Bubblewrapped(hidden=[tmp_path / "images", tmp_path / "scratch"]))
    script = LOOK + FRAMES.replace("        return", "        assert seen() == [], seen()\n        return")
    results = trial.asked(script, {"a": 3, "b": 2}, protocol="frames")
    assert [outcome.reason for outcome, _ in results] == ["", ""]

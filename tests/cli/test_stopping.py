"""Ctrl-C: a real signal to a real process, which says how to go on; and the same command does."""

import os
import signal
import subprocess
import sys
import time

import pytest
from plugin import installed, write_landmarks
from shared_data import PROJECT

WAITING = """
import time
from pathlib import Path
from podium_landmarks import Landmarks

class Waiting(Landmarks):
    name = "waiting"

    def load(self, case):
        here = Path(__file__).parent
        while case.name == "003" and not (here / "go").exists():
            (here / "waits").touch()
            time.sleep(0.02)
        return super().load(case)
"""


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Install a challenge that waits in its third case for a file that is not there."""
    site = tmp_path / "site"
    site.mkdir()
    with installed(site):
        (site / "waiting.py").write_text(WAITING)
        (site / "podium_landmarks-1.0.dist-info" / "entry_points.txt").write_text(
            "[podium.challenges]\nwaiting = waiting:Waiting\n"
        )
        write_landmarks(tmp_path, {"team": {}, "other": {}})
        monkeypatch.chdir(tmp_path)
        yield tmp_path
        sys.modules.pop("waiting", None)


ARGUMENTS = "evaluate", "waiting", "--truth", "truth", "--submissions", "teams", "--out", "out", "--jobs", "1"


def started(places):
    path = os.pathsep.join([str(places / "site"), str(PROJECT / "src")])
    words = [sys.executable, "-m", "podium", *ARGUMENTS]
    environment = {**os.environ, "PYTHONPATH": path}
    process = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not (places / "site" / "waits").exists() or len(list((places / "out" / "parts").glob("00*"))) < 2:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    return process


@pytest.mark.slow
def test_ctrl_c_stops_after_the_case_in_hand_and_says_how_to_go_on(run, places):
    process = started(places)
    process.send_signal(signal.SIGINT)
    line = process.stderr.readline()
    assert line == "Stopping, once what is in hand is done. Ctrl-C again stops at once.\n"
    (places / "site" / "go").touch()
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert said == "Stopped; what is done is in out. The same with --resume goes on.\n"
    assert not (places / "out" / "run.json").exists()
    result = run(*ARGUMENTS, "--resume")
    assert result.exit_code == 0, result.output
    assert "Resumed: 4 predictions were known." in result.stderr


@pytest.mark.slow
def test_a_second_ctrl_c_stops_at_once_and_loses_only_the_case_in_hand(run, places):
    process = started(places)
    process.send_signal(signal.SIGINT)
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    (places / "site" / "go").touch()
    result = run(*ARGUMENTS, "--resume")
    assert result.exit_code == 0, result.output
    assert "Resumed: 4 predictions were known." in result.stderr


def test_what_cannot_be_resumed_just_stops(run, monkeypatch, tmp_path):
    def interrupted(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

    monkeypatch.setattr("podium.compare", interrupted, raising=False)
    before = signal.getsignal(signal.SIGINT)
    result = run("compare", tmp_path / "a.nii", tmp_path / "b.nii")
    assert result.exit_code == 130
    assert result.stderr.endswith("\nStopped.\n")
    assert signal.getsignal(signal.SIGINT) is before


def test_what_made_it_anew_is_not_said_to_go_on(places, run, monkeypatch):
    def interrupted(*_, **__):
        (places / "out" / "parts").mkdir(parents=True)
        (places / "out" / "parts" / "unfinished").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("podium.evaluate", interrupted, raising=False)
    result = run(*ARGUMENTS, "--restart")
    assert result.exit_code == 130
    assert result.stderr == "Stopped; what is done is in out. The same with --resume in place of --restart goes on.\n"

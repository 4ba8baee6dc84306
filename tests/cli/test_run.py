"""`podium run`: real commands, exit codes, what is said, being stopped and being killed; nothing is left running."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from shared_data import PROJECT

SUPPORT = PROJECT / "tests" / "support"
POINTS = {"001": "0 0 0", "002": "3 4 0", "003": "0 0 2", "004": "1 0 0"}
COPY = """
import pathlib, sys
images, output = map(pathlib.Path, sys.argv[1:3])
text = (images / "image.txt").read_text()
if "crash" in sys.argv and text[0] == "3":
    sys.exit(3)
(output / "point.txt").write_text(text)
"""
WAIT = f"""{COPY}
import time
while text[-1] == "2" and not pathlib.Path(__file__).with_name("go").exists():
    time.sleep(0.05)
"""
"""On 003, which is not the first of the shuffled order, nor the last."""


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Write images, truth and an algorithm in a folder of its own, and install the challenge."""
    for folder in ("images", "truth", "algorithm", "site/asked-1.0.dist-info"):
        (tmp_path / folder).mkdir(parents=True)
    for name, point in POINTS.items():
        (tmp_path / "images" / f"{name}.image").write_text(point)
        (tmp_path / "truth" / f"{name}.txt").write_text("0 0 0")
    (tmp_path / "algorithm" / "copy.py").write_text(COPY)
    (tmp_path / "algorithm" / "wait.py").write_text(WAIT)
    facts = tmp_path / "site" / "asked-1.0.dist-info"
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: asked\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[podium.challenges]\nasked = asked_landmarks:AskedLandmarks\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arguments(*more, script="copy.py", team="mine=", out="out"):
    command = f"{team}{sys.executable} algorithm/{script} {{input}} {{output}}"
    return ["asked-landmarks", "--inputs", "images", "--out", out, "--unconfined", "--command", command, *more]


def test_a_command_is_run_timed_measured_and_ranked(run, places):
    crashing = f"other={sys.executable} algorithm/copy.py {{input}} {{output}} crash"
    result = run("run", *arguments("--truth", "truth", "--command", crashing))
    assert result.exit_code == 3, result.output
    assert "nothing keeps the algorithm from the network" in result.stderr
    assert "1 case failed: see out/failures.csv, and out/logs for all that they said." in result.stderr
    assert "  other, 002: crashed: exit code 3" in result.stderr
    assert "Everything is in out." in result.stderr
    assert "The run is in out/run, for podium rank and podium report." in result.stderr
    assert "mine" in result.stdout
    assert "Distance" in result.stdout
    lines = list(csv.DictReader((places / "out" / "run" / "failures.csv").read_text().splitlines()))
    (line,) = (line for line in lines if line["status"] != "warning")
    assert (line["submission"], line["case"], line["status"]) == ("other", "002", "missing")
    assert line["reason"].startswith("crashed: exit code 3")
    assert sorted(path.name for path in (places / "out" / "submissions" / "mine").iterdir()) == ["timing.csv"]
    assert not (places / "out" / ".scratch").exists()


def test_without_a_truth_predictions_are_kept_and_all_answered_is_0(run, places):
    result = run("run", *arguments(team=""))
    assert result.exit_code == 0, result.output
    names = sorted(path.name for path in (places / "out" / "submissions" / "copy").iterdir())
    assert names == [*(f"{name}.txt" for name in POINTS), "timing.csv"], "a team is called after its script"
    again = run("run", *arguments())
    assert again.exit_code == 1
    assert "algorithms were run here already. Add --resume" in again.stderr
    assert run("run", *arguments("--resume", team="")).exit_code == 0
    assert "The same with --truth and --resume measures the predictions that are there." in result.stderr
    measured = run("run", *arguments("--truth", "truth", "--resume", team=""))
    assert measured.exit_code == 0
    assert "Distance" in measured.stdout


def test_what_cannot_be_used_is_said_with_its_reason_and_frames_only_where_there_are_some(run, places):
    (places / "images" / "002.image").write_text("three four zero")
    result = run("run", *arguments("--truth", "truth"))
    assert result.exit_code == 3, result.output
    assert "1 prediction cannot be used: see out/run/failures.csv.\n  mine, 002: " in result.stderr
    assert "this is no point: three numbers are expected" in result.stderr
    assert "s a frame" in result.stdout
    for name in POINTS:
        (places / "images" / f"{name}.image").write_text("x")  # its size is its number of frames
    result = run("run", *arguments("--truth", "truth", "--restart"))
    assert "4 predictions cannot be used: see out/run/failures.csv.\n  mine, 001: " in result.stderr
    assert "s a case" in result.stdout
    assert "s a frame" not in result.stdout


def test_the_truth_may_hold_the_images(run, places):
    for name, point in POINTS.items():
        (places / "truth" / f"{name}.image").write_text(point)
    command = f"mine={sys.executable} algorithm/copy.py {{input}} {{output}}"
    places_ = ["--truth", "truth", "--out", "out", "--unconfined", "--command", command]
    assert run("run", "asked-landmarks", *places_).exit_code == 0


def test_limits_are_what_was_given(run, places):
    given = ["--time-limit", 50, "--frame-limit", 2, "--load-limit", 7, "--memory", 2, "--cpus", 1.5]
    given += ["--processes", 64, "--output-limit", 0.5]
    assert run("run", *arguments(*given)).exit_code == 0
    allowance = json.loads((places / "out" / "timing" / "mine.json").read_text())["allowance"]
    assert allowance == {
        "case_seconds": 50,
        "frame_seconds": 2,
        "load_seconds": 7,
        "memory_bytes": 2 * 2**30,
        "processors": 1.5,
        "processes": 64,
        "output_bytes": 2**29,
        "gpu": False,
    }


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--protocol", "talk"], "there is no protocol 'talk'. Say case, many or frames"),
        (["--command", "python algorithm/copy.py"], "does not say where inputs and output go"),
        (["--command", "python 'algorithm"], "this command cannot be understood"),
        (["--command", "mine=python {input}"], "two algorithms are called mine"),
        (["--command", "nowhere=no-such-program {input}"], "there is no program 'no-such-program'"),
        (["--function", "algorithm/nothing.py:f"], "algorithm/nothing.py:f is no function. Say FILE:NAME"),
        (["--command", "no=python algorithm/cpy.py {input}"], "algorithm/cpy.py: there is no such script"),
        (["--protocol", "many"], "with --protocol many a program is asked through its standard input"),
        (["--engine", "podmann"], "there is no engine 'podmann'. Say podman, docker, apptainer"),
        (["--env", "WEIGHTS"], "--env WEIGHTS is not of the form NAME=VALUE"),
        (["--env", "A B=1"], "a variable cannot be called 'A B'. Say --env NAME=VALUE"),
        (["--truth", "nowhere"], "nowhere: there is no such folder. Give the folder that holds the truth"),
        (["--truth", "algorithm/copy.py"], "algorithm/copy.py: this is not a folder"),
        (["--inputs", "algorithm"], "there are no images here"),
        (
            ["--option", "baseline_seconds=2", "--baseline-command", "b=python algorithm/copy.py {input} {output}"],
            "the baseline is to be timed, and its time is given as the option baseline_seconds. Give one of the two",
        ),
    ],
)
def test_bad_calls_get_one_line(run, places, more, message):
    result = run("run", *arguments(*more))
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert result.stderr.strip().splitlines()[-1].startswith("error: ")


def test_where_nothing_is_to_be_run_it_is_said(run, places):
    result = run("run", "asked-landmarks", "--inputs", "images", "--out", "out")
    assert result.exit_code == 1
    assert "there is no algorithm to run. Give a --command, an --image or a --function" in result.stderr
    result = run("run", "asked-landmarks", "--out", "out", "--command", "python x.py {input}")
    assert "there are no inputs. Give --inputs, or --truth" in result.stderr


def test_json_is_for_programs_and_the_rest_for_people(run, places):
    crashing = f"other={sys.executable} algorithm/copy.py {{input}} {{output}} crash"
    result = run("run", *arguments("--truth", "truth", "--command", crashing, "--json"))
    assert result.exit_code == 3, result.output
    document = json.loads(result.stdout)
    assert (document["out"], document["run"]) == ("out", "out/run")
    mine, other = document["teams"]["mine"], document["teams"]["other"]
    assert (mine["role"], mine["protocol"], mine["cases"], mine["failures"]) == ("competitor", "case", 4, {})
    assert 0 < mine["seconds_a_frame"] <= mine["seconds_a_case"]
    assert list(other["failures"]) == ["002"]
    assert other["failures"]["002"].startswith("crashed: exit code 3")
    assert "1 case failed" in result.stderr


def test_variables_are_handed_over_and_noted_and_others_are_not(run, places, monkeypatch):
    monkeypatch.setenv("SECRET", "ours")
    script = places / "algorithm" / "told.py"
    script.write_text(COPY + "import os; print(os.environ['WEIGHTS'], os.environ.get('SECRET'))")
    assert run("run", *arguments("--env", "WEIGHTS=a=b c", script="told.py")).exit_code == 0
    assert (places / "out" / "logs" / "mine" / "001.log").read_text() == "a=b c None\n"
    timing = json.loads((places / "out" / "timing" / "mine.json").read_text())
    assert timing["algorithm"]["environment"] == {"WEIGHTS": "a=b c"}


def test_another_program_of_the_same_name_is_another_algorithm(run, places, monkeypatch):
    """As when an environment was activated meanwhile, because a package was missing."""
    for name in ("first", "second"):
        program = places / name / "interpret"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        program.chmod(0o755)
    words = ["asked-landmarks", "--inputs", "images", "--out", "out", "--unconfined"]
    words += ["--command", "mine=interpret algorithm/copy.py {input} {output} crash"]
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{places}/first:{path}")
    assert run("run", *words).exit_code == 3
    same = run("run", *words, "--resume")
    assert "run anew" not in same.stderr
    assert "What has failed is not asked again; --restart runs everything anew." in same.stderr
    monkeypatch.setenv("PATH", f"{places}/second:{path}")
    assert "mine is run anew, as this is not what it was: program." in run("run", *words, "--resume").stderr


# Stopped, and killed.


def started(places, *more, script="wait.py"):
    """Start podium in a process of its own, and wait until it waits for the case that takes too long."""
    paths = [str(places / "site"), str(SUPPORT), str(PROJECT / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "100"}
    words = [sys.executable, "-m", "podium", "run", *map(str, arguments(*more, script=script))]
    process = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 120
    try:
        while not _waiting(places):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)
    except BaseException:
        with process:
            process.kill()
        raise
    return process


def _waiting(places):
    """Return the processes of the algorithm that wait, having written their answer."""
    folders = os.walk(places / "out" / ".scratch")  # which does not mind that some of them go meanwhile
    answered = any("point.txt" in files and folder.endswith("/outputs/003") for folder, _, files in folders)
    return algorithms(places) if answered else []


def algorithms(places):
    """Return the processes that run the algorithm."""
    processes = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if f"{places}/algorithm/wait.py".encode() in words and b"podium" not in words:
            processes.append(int(path.parent.name))
    return processes


def known(places):
    return set(json.loads((places / "out" / "timing" / "mine.json").read_text())["cases"])


def wait_until_gone(places):
    deadline = time.monotonic() + 60
    while algorithms(places) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert algorithms(places) == []


def resumed(run, places):
    """Let the algorithm answer at once, and go on: only what is left is run."""
    before = known(places)
    assert 0 < len(before) < 4
    stamps = {name: (places / "out" / "logs" / "mine" / f"{name}.log").stat().st_mtime_ns for name in before}
    (places / "algorithm" / "go").touch()
    result = run("run", *arguments("--truth", "truth", "--resume", script="wait.py"))
    assert result.exit_code == 0, result.output
    assert known(places) == set(POINTS)
    after = {name: (places / "out" / "logs" / "mine" / f"{name}.log").stat().st_mtime_ns for name in before}
    assert stamps == after
    assert not (places / "out" / ".scratch").exists()
    wait_until_gone(places)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGINT, 2)])
def test_a_signal_stops_cleanly_and_says_how_to_go_on(run, places, number, jobs):
    process = started(places, "--truth", "truth", "--jobs", jobs)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Stopped; nothing is left running, and what is done is in out. The same with --resume goes on." in said
    assert "Traceback" not in said
    wait_until_gone(places)
    assert not (places / "out" / ".scratch").exists()
    resumed(run, places)


@pytest.mark.slow
def test_what_is_killed_half_way_is_resumed(run, places):
    process = started(places, "--truth", "truth")
    process.kill()
    process.communicate(timeout=60)
    wait_until_gone(places)
    resumed(run, places)

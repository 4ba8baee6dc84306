"""Files that are all holes, and checks of what nobody could read to the end: refused at once, and told shortly."""

import csv
import json
import os
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks
from typer.testing import CliRunner

import podium
from podium.challenges import challenges, get_challenge
from podium.cli import app
from podium.io.arrays import read_npy
from podium.model import InputError
from podium.run import Limits, check_submission
from podium.run.parts import TOO_LARGE, digests

HOLES = 20 * 2**30
OTHERS = sorted({*challenges()} - {"csv2026"})
MEASURED = """
import re, sys
from podium.cli import app
try:
    app(sys.argv[1:])
finally:  # what getrusage tells counts the process that this one was started by
    print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def stretched(team, size=HOLES):
    """Let every file of a team begin as it does, and go on with holes."""
    files = [path for path in team.rglob("*") if path.is_file()]
    for path in files:
        os.truncate(path, size)
    return files


@pytest.fixture
def of_holes(demos, tmp_path):
    """Return a function that gives a folder with a team of a challenge's demo that did not fail, twice: with holes."""

    def make(name):
        demo = demos / name
        with (demo / "run" / "failures.csv").open(newline="") as file:
            failed = {line["submission"] for line in csv.DictReader(file)}
        good = next(team for team in sorted((demo / "submissions").iterdir()) if team.name not in failed)
        shutil.copytree(demo / "truth", tmp_path / "truth")
        for team in ("honest", "hostile"):
            shutil.copytree(good, tmp_path / "teams" / team)
        stretched(tmp_path / "teams" / "hostile")
        return tmp_path

    return make


@pytest.mark.slow
@pytest.mark.parametrize("name", ["csv2026", *(pytest.param(n, marks=pytest.mark.heavy) for n in OTHERS)])
def test_files_of_holes_are_neither_read_nor_hashed(of_holes, name):
    """A file of 20 GB took minutes to hash, after it was refused."""
    folder = of_holes(name)
    inputs = ["--truth", folder / "truth", "--submissions", folder / "teams", "--out", folder / "run"]
    command = [sys.executable, "-c", MEASURED, "evaluate", name, *map(str, inputs), "--jobs", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 3, result.stderr
    assert int(result.stdout.splitlines()[-1]) * 1024 < 2**30
    with (folder / "run" / "failures.csv").open(newline="") as file:
        failures = [line for line in csv.DictReader(file) if line["submission"] == "hostile"]
    invalid = [line["reason"] for line in failures if line["status"] == "invalid"]
    assert invalid
    assert all("bytes, more than the limit of 17,179,869,184" in reason for reason in invalid)
    record = json.loads((folder / "run" / "run.json").read_text())
    assert set(record["submissions"]["hostile"]["sha256"].values()) == {TOO_LARGE}
    assert TOO_LARGE not in record["submissions"]["honest"]["sha256"].values()
    verified = CliRunner().invoke(app, ["verify", str(folder / "run"), "--sample", "1"])
    assert verified.exit_code == 0, verified.output
    checked = check_submission(get_challenge(name), folder / "teams" / "hostile")
    assert any("more than the limit" in problem.what and not problem.warning for problem in checked)


def test_the_limit_is_the_organisers_and_holds_for_all_files_of_a_prediction(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"large": {"002": "8 0 0" + " " * 3000}, "near": {}})
    options = {"truth": truth, "submissions": teams, "jobs": 1}
    run = podium.evaluate(Landmarks(), out=tmp_path / "run", limits=Limits(prediction_bytes=1000), **options)
    ((name, case, status, reason),) = run.failures.rows()
    assert (name, case, status) == ("large", "002", "invalid")
    assert reason.startswith("the prediction has 3,005 bytes, more than the limit of 1,000")
    again = podium.evaluate(
        Landmarks(), out=tmp_path / "run", resume=True, limits=Limits(prediction_bytes=1000), **options
    )
    assert not again.why
    (teams / "large" / "002.txt").write_text("8 0 0")
    mended = podium.evaluate(
        Landmarks(), out=tmp_path / "run", resume=True, limits=Limits(prediction_bytes=1000), **options
    )
    assert mended.why == {"changed": {"large": 1}}
    assert not len(mended.failures)


def test_a_small_header_beside_large_voxels_is_hashed_alone(tmp_path):
    (tmp_path / "case.mhd").write_text("header")
    (tmp_path / "case.raw").write_bytes(bytes(100))
    files = {tmp_path / "case.mhd", tmp_path / "case.raw", tmp_path / "gone"}
    small = digests(tmp_path, files, most_bytes=50)
    assert small == digests(tmp_path, files) | {"case.raw": TOO_LARGE}
    assert list(small) == ["case.mhd", "case.raw", "gone"]
    assert small["gone"] == ""


def test_numbers_followed_by_holes_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 4)))
    assert read_npy(tmp_path / "a.npy").shape == (3, 4)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    os.truncate(tmp_path / "a.npy", HOLES)
    with pytest.raises(InputError, match="promises 96 bytes, the file holds 21,474,836,352"):
        read_npy(tmp_path / "a.npy")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**14


@pytest.mark.parametrize("manner", ["timing", "strangers", "links", "long"])
def test_a_check_tells_of_many_problems_in_few_lines(tmp_path, manner):
    """A timing.csv of 9 MB made 37 MB of warnings; a tenth of it is enough to tell."""
    truth, teams = write_landmarks(tmp_path, {"team": {}})
    team = teams / "team"
    match manner:
        case "timing":
            lines = (f"no-case-{number:07},1" for number in range(30_000))
            (team / "timing.csv").write_text("\n".join(["case,seconds", *lines]))
        case "strangers":
            for number in range(3000):
                (team / f"{number}.bin").write_text("")
        case "links":
            for number in range(3000):
                (team / f"{number}.txt").symlink_to(truth)
        case "long":
            (team / "timing.csv").write_text("case,seconds\n" + "x" * 10**6 + ",1\n")
    for given in (None, truth):
        problems = check_submission(Landmarks(), team, truth=given)
        assert len(problems) < 1200
        assert all(len(problem.what) <= 600 for problem in problems)
    if manner == "timing":
        assert any(problem.what == "… and 29,954 more" and problem.warning for problem in problems)


def test_what_is_refused_is_told_before_warnings_and_never_left_out(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"team": {}})
    for number in range(3000):
        (teams / "team" / f"{number}.bin").write_text("")
    (teams / "team" / "002.txt").write_text("no point")
    problems = check_submission(Landmarks(), teams / "team", truth=truth)
    assert [problem.file for problem in problems if not problem.warning] == ["002.txt"]

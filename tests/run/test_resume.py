"""Runs that are killed, resumed, run twice at once, or run out of disk: nothing is lost, nothing is half written."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from podium.challenges import get_challenge
from podium.cli import app
from podium.io import write_atomically
from podium.run import Parts, find_submissions, measure_all, sole_writer

pytestmark = pytest.mark.slow

RESULTS = ("measurements.parquet", "failures.csv", "leaderboard.csv", "leaderboard.json", "leaderboard.md")


def results(folder: Path) -> dict[str, bytes]:
    """Return the bytes of everything that a run found out."""
    paths = [folder / name for name in RESULTS] + sorted((folder / "metrics").glob("*.json"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def demo(kits21_demo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume") / "demo"
    shutil.copytree(kits21_demo, folder)
    shutil.make_archive(str(folder / "submissions" / "packed"), "zip", folder / "submissions" / "generous")
    return folder


def command(demo, out, *more):
    places = ["--truth", demo / "truth", "--submissions", demo / "submissions", "--out", out, "--baseline", "baseline"]
    return ["evaluate", "kits21", *map(str, places), *more]


@pytest.fixture(scope="module")
def undisturbed(demo, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    assert CliRunner().invoke(app, command(demo, out)).exit_code == 3
    return results(out)


def measured_again(monkeypatch):
    """Return a list that names the predictions measured from now on."""
    challenge = type(get_challenge("kits21"))
    seen = []
    measure = challenge.measure

    def noted(self, case, truth, prediction):
        seen.append((prediction.parent.name, case.name))
        return measure(self, case, truth, prediction)

    monkeypatch.setattr(challenge, "measure", noted)
    return seen


def test_resuming_what_is_complete_measures_nothing(demo, undisturbed, tmp_path, monkeypatch):
    out = tmp_path / "run"
    CliRunner().invoke(app, command(demo, out))
    seen = measured_again(monkeypatch)
    result = CliRunner().invoke(app, command(demo, out, "--resume"))
    assert result.exit_code == 3
    assert seen == []
    assert "Resumed: 56 predictions were known." in result.stderr
    assert results(out) == undisturbed


def test_only_what_changed_is_measured_and_it_is_said_why(demo, tmp_path, monkeypatch):
    own = tmp_path / "own"
    shutil.copytree(demo / "submissions", own / "submissions")
    shutil.copytree(demo / "truth", own / "truth")
    out = tmp_path / "run"
    CliRunner().invoke(app, command(own, out))
    teams = own / "submissions"
    shutil.copy(teams / "noisy" / "case_00001.nii.gz", teams / "careful" / "case_00001.nii.gz")
    shutil.copytree(teams / "careful", teams / "newcomer")
    shutil.rmtree(teams / "generous")
    (teams / "noisy" / "case_00002.nii.gz").unlink()
    seen = measured_again(monkeypatch)
    result = CliRunner().invoke(app, command(own, out, "--resume"))
    cases = [f"case_{number:05}" for number in range(8)]
    assert sorted(seen) == sorted([("careful", "case_00001"), *(("newcomer", case) for case in cases)])
    assert "2 were measured (changed): careful 1, noisy 1." in result.stderr
    assert "8 were measured (new): newcomer 8." in result.stderr
    fresh = tmp_path / "fresh"
    CliRunner().invoke(app, command(own, fresh))
    assert results(out) == results(fresh)
    assert "noisy,case_00002,missing" in (out / "failures.csv").read_text()
    assert "generous" not in (out / "leaderboard.csv").read_text()


def test_a_changed_truth_another_option_or_a_damaged_part_is_measured_again(demo, tmp_path, monkeypatch):
    own = tmp_path / "own"
    shutil.copytree(demo, own)
    out = tmp_path / "run"
    CliRunner().invoke(app, command(own, out))
    truths = sorted((own / "truth").rglob("aggregated_MAJ_seg.nii.gz"))
    shutil.copy(truths[-1], truths[0])
    Parts(out).path("case_00001").write_bytes(b"PAR1 but not really")
    seen = measured_again(monkeypatch)
    result = CliRunner().invoke(app, command(own, out, "--resume"))
    assert {case for _, case in seen} == {"case_00000", "case_00001"}
    assert "(the truth changed)" in result.stderr
    assert "(not measured yet)" in result.stderr
    result = CliRunner().invoke(app, command(own, out, "--resume", "--geometry", "shape"))
    assert "(other options)" in result.stderr
    seen.clear()
    result = CliRunner().invoke(
        app, command(own, out, "--resume", "--geometry", "shape", "--option", "tolerance_scale=2")
    )
    assert seen == [], "what only scoring uses needs no measuring"


def test_an_unfinished_run_is_not_thrown_away_by_mistake(demo, undisturbed, tmp_path):
    out = tmp_path / "run"
    parts = Parts(out)
    challenge = get_challenge("kits21")
    measure_all(challenge, truth=demo / "truth", submissions=find_submissions(demo / "submissions"), parts=parts)
    assert parts.unfinished
    result = CliRunner().invoke(app, command(demo, out))
    assert result.exit_code == 1
    assert "an unfinished run is here, with 8 cases measured. Add --resume" in result.stderr
    assert CliRunner().invoke(app, command(demo, out, "--restart")).exit_code == 3
    assert not parts.unfinished
    assert results(out) == undisturbed


def test_two_runs_do_not_write_to_one_folder(demo, tmp_path):
    out = tmp_path / "run"
    with sole_writer(out):
        result = CliRunner().invoke(app, command(demo, out))
        assert result.exit_code == 1
        (line,) = result.stderr.strip().splitlines()
        assert f"another run is writing to this folder (process {os.getpid()} on " in line
    assert CliRunner().invoke(app, command(demo, out)).exit_code == 3


def test_a_file_appears_complete_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, lambda partial: partial.write_text("first"))

    def fails(partial):
        partial.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_atomically(path, fails)
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


DYING = """
import os, runpy, signal
synchronized, fsync = [], os.fsync
def counted(handle):
    synchronized.append(handle)
    if len(synchronized) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(handle)
os.fsync = counted
runpy.run_module("podium", run_name="__main__", alter_sys=True)
"""
"""Podium, but killed when it has written one more case, and the next as far as to its place: twice for every case it
waits for the disk."""


@pytest.mark.heavy
def test_killed_at_thirty_moments_and_resumed_the_results_are_the_same_bytes(demo, undisturbed, tmp_path):
    """Kill -9, going on each time where the last one stopped, until thirty kills have hit.

    The first six hit while a case is written, on any machine; the others at random, wherever that is on this one.
    """
    chance = random.Random(7)
    kills, rounds, midway = 0, 0, 0
    while kills < 30:
        out = tmp_path / f"run{rounds}"
        rounds += 1
        flags = []
        while True:
            dying = rounds == 1 and len(flags) < 6
            how = ["-c", DYING] if dying else ["-m", "podium"]
            process = subprocess.Popen(
                [sys.executable, *how, *command(demo, out, *flags[:1], "--jobs", "1")],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            lock, parts = out / ".lock", Parts(out)
            if dying:
                said = process.communicate()[1].decode()
                assert process.returncode == -signal.SIGKILL, said
                assert len(parts) == len(flags) + 1
                assert len(list((out / "parts").glob(".*.part"))) == 1
                kills += 1
                midway += 1
                flags.append("--resume")
                continue
            _wait_for(
                lambda lock=lock, own=f"process {process.pid} ": lock.exists() and own in lock.read_text(), process
            )
            wanted = chance.randint(len(parts), 8)  # sometimes before the first case, sometimes after the last
            _wait_for(lambda parts=parts, wanted=wanted: len(parts) >= wanted, process)
            time.sleep(chance.uniform(0.0, 0.03))
            if process.poll() is None and kills < 30 and len(flags) < 6:
                process.send_signal(signal.SIGKILL)
                process.wait()
                process.stderr.close()
                kills += 1
                midway += 0 < len(parts) < 8
                flags.append("--resume")
                continue
            said = process.communicate()[1].decode()
            assert process.returncode == 3, said
            break
        assert results(out) == undisturbed, f"after kill {kills}"
        assert not (out / "parts" / "unpacked").exists()
    assert midway > 3, "some kills must have hit between two cases"


def _wait_for(condition, process) -> None:
    """Wait until something is true or the process has ended."""
    while process.poll() is None and not condition():
        time.sleep(0.001)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk can be mounted by root only")
def test_a_full_disk_stops_a_run_with_one_line_and_a_larger_one_resumes_it(demo, undisturbed, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this machine does not let a small disk be mounted")
    try:
        filler = disk / "filler"
        with filler.open("wb") as file:  # leaves room for the archive and some cases, not for all
            file.write(b"\0" * (20 * 2**20 - 80 * 2**10))
        result = CliRunner().invoke(app, command(demo, disk / "run", "--jobs", "1"))
        assert result.exit_code == 1
        (line,) = result.stderr.strip().splitlines()
        assert "No space left on device" in line
        assert len(Parts(disk / "run")) < 8
        assert not (disk / "run" / "run.json").exists()
        subprocess.run(["mount", "-o", "remount,size=40m", disk], check=True)
        result = CliRunner().invoke(app, command(demo, disk / "run", "--resume"))
        assert result.exit_code == 3, result.output
        assert results(disk / "run") == undisturbed
        assert json.loads((disk / "run" / "run.json").read_text())["challenge"] == "kits21"
    finally:
        subprocess.run(["umount", disk], check=True)

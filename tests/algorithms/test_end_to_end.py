"""Baselines of the challenges, from algorithm to leaderboard, behind whatever walls there are."""

import gzip
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from asked_landmarks import AskedLandmarks, write_images

import podium
from podium.challenges import get_challenge
from podium.challenges.baselines import baseline_algorithms

pytestmark = pytest.mark.slow


def baseline(name, team="team", protocol="case"):
    """Return the last of a challenge's baselines."""
    return replace(baseline_algorithms(get_challenge(name), protocol=protocol)[-1], name=team)


@pytest.fixture
def demo(tmp_path):
    """Return a function that writes a small truth with its images."""

    def written(name, cases=None):
        get_challenge(name).write_demo(tmp_path / "demo")
        truth = tmp_path / "demo" / "truth"
        if cases:
            for folder in sorted(path for path in truth.iterdir() if path.is_dir())[cases:]:
                shutil.rmtree(folder)
        return truth

    return written


def same_as_evaluated(ran, truth, folder, **options):
    """Compare a run with an evaluation of the predictions that it kept."""
    evaluated = podium.evaluate(
        ran.run.challenge, truth=truth, submissions=ran.out / "submissions", out=folder, **options
    )
    measured = ran.run.measurements.filter(pl.col("metric") != "loading")
    assert measured.equals(evaluated.measurements)


@pytest.mark.parametrize("protocol", ["case", "frames"])
def test_tracking(demo, tmp_path, protocol):
    truth = demo("trackrad2025", 2)
    ran = podium.run_algorithm(
        "trackrad2025",
        out=tmp_path / "out",
        truth=truth,
        algorithms=[baseline("trackrad2025", protocol=protocol)],
        keep=True,
    )
    assert ran.failed == 0, ran.timings["team"].failures
    assert ran.timings["team"].allowance["frame_seconds"] == 1
    entry = next(entry for entry in ran.run.leaderboard.entries if entry.submission == "team")
    assert entry.values["dice"] > 0.5
    same_as_evaluated(ran, truth, tmp_path / "evaluated", baselines=())
    if protocol == "frames":
        loading = ran.timings["team"].loading
        assert entry.values["loading_time"] == pytest.approx(loading)
        case = json.loads((tmp_path / "out" / "timing" / "team.json").read_text())["cases"]["A_001"]
        assert len(case["repeats"][0]["frame_seconds"]) == case["frames"]
        assert case["repeats"][0]["frames"]["worst"] >= case["repeats"][0]["frames"]["percentile_95"]
    else:
        assert ran.timings["team"].loading is None


@pytest.mark.heavy
def test_one_sheet_of_all_hearts(demo, tmp_path):
    truth = demo("lvquan18")
    ran = podium.run_algorithm(
        "lvquan18", out=tmp_path / "out", truth=truth, algorithms=[baseline("lvquan18")], keep=True, jobs=2
    )
    assert ran.failed == 0, ran.timings["team"].failures
    same_as_evaluated(ran, truth, tmp_path / "evaluated")
    assert [path.name for path in (tmp_path / "out" / "submissions" / "team").iterdir()] == ["LVQUAN_team.csv"]


@pytest.mark.heavy
def test_the_time_of_a_baseline_on_this_machine(demo, tmp_path):
    truth = demo("csv2026")
    (truth / "challenge.toml").unlink(missing_ok=True)
    ran = podium.run_algorithm(
        "csv2026",
        out=tmp_path / "out",
        truth=truth,
        algorithms=[baseline("csv2026")],
        baseline_command=baseline("csv2026", "baseline"),
        keep=True,
    )
    assert ran.failed == 0, ran.timings
    assert ran.run.record.options["baseline_seconds"] == pytest.approx(ran.timings["baseline"].seconds_a_case)
    (entry,) = (entry for entry in ran.run.leaderboard.entries if entry.place)
    assert entry.submission == "team"
    assert entry.values["time"] is not None
    same_as_evaluated(ran, truth, tmp_path / "evaluated", baselines=["baseline"])


def test_a_function_whose_arrays_are_never_written(demo, tmp_path):
    truth = demo("tusrec")
    home = tmp_path / "home"
    home.mkdir()
    (home / "still.py").write_text(
        "import numpy\n"
        "def predict_ddfs(frames, landmark, data_path_calib, device):\n"
        "    pixels = numpy.zeros((len(frames) - 1, 3, frames[0].size), 'f4')\n"
        "    marks = numpy.zeros((3, len(landmark)), 'f4')\n"
        "    return pixels, marks, pixels, marks\n"
    )
    ran = podium.run_algorithm(
        "tusrec", out=tmp_path / "out", truth=truth, functions={"still": f"{home}/still.py:predict_ddfs"}
    )
    assert ran.failed == 0, ran.timings["still"].failures
    values = {entry.submission: entry.values["score"] for entry in ran.run.leaderboard.entries}
    assert set(values.values()) == {0.0}, "nothing moved, which is what 0 stands for"
    assert [path.name for path in (tmp_path / "out" / "submissions" / "still").iterdir()] == ["timing.csv"]
    assert ran.timings["still"].loading > 0


@pytest.mark.heavy
def test_many_cases_at_once_where_time_does_not_count(demo, tmp_path):
    truth = demo("kits21", 3)
    ran = podium.run_algorithm(
        "kits21",
        out=tmp_path / "out",
        truth=truth,
        algorithms=[baseline("kits21", protocol="many")],
        jobs=2,
        keep=True,
    )
    assert ran.failed == 0, ran.timings["team"].failures
    same_as_evaluated(ran, truth, tmp_path / "evaluated")


@pytest.fixture
def uploaded(tmp_path):
    """Return an image as a team would send it: it copies its input, and crashes on a point that begins with 3."""
    busybox, podman = shutil.which("busybox"), shutil.which("podman")
    if not (busybox and podman) or b".interp" in Path(busybox).read_bytes():
        pytest.skip("needs podman and a static busybox (Debian: podman runc busybox-static)")
    name, root = f"localhost/podium-running-{os.getpid()}:1", tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy(busybox, root / "bin" / "busybox")
    (root / "bin" / "sh").symlink_to("busybox")
    script = "busybox grep -q ^3 /input/image.txt && exit 3; busybox cp /input/image.txt /output/point.txt"
    entry = f"ENTRYPOINT {json.dumps(['/bin/sh', '-c', script])}"
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as packed:
        subprocess.run(
            [podman, "import", "--change", entry, "-", name], stdin=packed.stdout, check=True, capture_output=True
        )
    try:
        subprocess.run([podman, "save", "--output", tmp_path / "image.tar", name], check=True, capture_output=True)
    finally:
        subprocess.run([podman, "rmi", "--force", name], check=True, capture_output=True)
    file = tmp_path / "uploads" / "team-a.tar.gz"
    file.parent.mkdir()
    file.write_bytes(gzip.compress((tmp_path / "image.tar").read_bytes(), 1))
    yield file
    left = subprocess.run([podman, "images", "--format", "{{.Repository}}"], capture_output=True, text=True, check=True)
    assert name.partition(":")[0] not in left.stdout.split()


@pytest.mark.heavy
def test_an_image_of_a_name_is_known_by_its_digest(uploaded, tmp_path):
    podman = shutil.which("podman")
    loaded = subprocess.run(
        [podman, "load", "--input", tmp_path / "image.tar"], capture_output=True, text=True, check=True
    ).stdout
    name = loaded.rpartition("Loaded image")[2].partition(":")[2].strip()
    try:
        images = write_images(tmp_path, {"001": "0 0 0"})
        ran = podium.run_algorithm(AskedLandmarks(), inputs=images, out=tmp_path / "out", images={"a": name})
        identity = subprocess.run(
            [podman, "image", "inspect", "--format", "{{.Id}}", name], capture_output=True, text=True, check=True
        )
        assert ran.timings["a"].algorithm["sha256"] == {name: identity.stdout.strip()}
    finally:
        subprocess.run([podman, "rmi", "--force", name], check=True, capture_output=True)


@pytest.mark.heavy
def test_an_image_as_it_was_uploaded(uploaded, tmp_path):
    points = {"001": "0 0 0", "002": "3 4 0", "003": "0 0 2"}
    images, truth = write_images(tmp_path, points), tmp_path / "truth"
    truth.mkdir()
    for name in points:
        (truth / f"{name}.txt").write_text("0 0 0")
    ran = podium.run_algorithm(AskedLandmarks(), inputs=images, truth=truth, out=tmp_path / "out", images=str(uploaded))
    assert list(ran.timings) == ["team-a"]
    assert list(ran.timings["team-a"].failures) == ["002"]
    assert ran.timings["team-a"].isolated
    assert str(uploaded) in ran.timings["team-a"].algorithm["sha256"]
    ((team, case, status, reason),) = ran.run.failures.rows()
    assert (team, case, status) == ("team-a", "002", "missing")
    assert reason.startswith("crashed: exit code 3")
    assert ran.run.leaderboard.entries[0].values["distance"] == pytest.approx(102 / 3)

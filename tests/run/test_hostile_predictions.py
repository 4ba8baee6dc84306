"""Predictions made to take all memory, all time, or all room in a report: the real commands fail them, and go on."""

import builtins
import csv
import errno
import shutil
import subprocess
import sys

import nibabel
import numpy as np
import polars as pl
import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks
from typer.testing import CliRunner

import podium
from podium.cli import app
from podium.metrics import surface
from podium.model import InputError, Status, Value
from podium.model.errors import LONGEST_REASON

pytestmark = pytest.mark.slow


def evaluate(folder, out, challenge="kits21"):
    """Return what the command says, and the failures that it has written."""
    arguments = ["evaluate", challenge, "--truth", folder / "truth", "--submissions", folder / "submissions"]
    result = CliRunner().invoke(app, [str(argument) for argument in (*arguments, "--out", out, "--jobs", "1")])
    with (out / "failures.csv").open(newline="") as file:
        return result, [row for row in csv.DictReader(file) if row["submission"] == "hostile"]


@pytest.fixture
def hostile(kits21_demo, tmp_path):
    """Return a folder with one honest and one hostile team, alike so far."""
    shutil.copytree(kits21_demo / "truth", tmp_path / "truth")
    for team in ("careful", "hostile"):
        shutil.copytree(kits21_demo / "submissions" / "careful", tmp_path / "submissions" / team)
    return tmp_path


def first_prediction(folder):
    return sorted((folder / "submissions" / "hostile").glob("*.nii.gz"))[0]


def test_a_chequered_mask_fails_its_case_and_no_other(hostile, tmp_path, monkeypatch):
    path = first_prediction(hostile)
    image = nibabel.load(path)
    pattern = np.indices(image.shape).sum(axis=0) % 2
    nibabel.save(nibabel.Nifti1Image(pattern.astype(np.uint8), image.affine), path)
    monkeypatch.setattr(surface, "MOST_ELEMENTS", pattern.size // 2)
    result, failures = evaluate(hostile, tmp_path / "run")
    assert result.exit_code == 3, result.output
    assert len(failures) == 1
    assert "more than the limit" in failures[0]["reason"]
    assert failures[0]["case"] == path.name.removesuffix(".nii.gz")


CHEQUERED = """
import re
import numpy as np
from podium.metrics import surface_distances
from podium.model import InputError
z = np.arange(300) % 2
prediction = np.asfortranarray((np.add.outer(np.add.outer(np.arange(512), np.arange(512)), z) % 2).astype(np.uint8))
reference = np.zeros_like(prediction)
reference[200:260, 200:260, 100:140] = 1
def peak():  # what getrusage tells counts the process that this one was started by
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = peak()
try:
    surface_distances(reference, prediction, regions={"all": (1,)})
except InputError as error:
    print(error)
print(peak() - before)
"""


@pytest.mark.heavy
def test_a_chequered_mask_of_full_size_takes_no_memory_to_speak_of():
    """It took 10.9 GB, and minutes."""
    result = subprocess.run([sys.executable, "-c", CHEQUERED], capture_output=True, text=True, check=True)
    said, kilobytes = result.stdout.splitlines()
    assert "more than the limit of 16,777,216 elements" in said
    assert int(kilobytes) < 2 * 2**20


class Talkative(Landmarks):
    """Says more than anybody reads."""

    manner: str = "refuses"
    """How it says it."""

    def measure(self, case, truth, prediction):
        """Measure, and talk."""
        match self.manner if prediction.read_text().startswith("8") else "silent":
            case "refuses":
                raise InputError("x" * 3_000_000, path=prediction, advice="Do better")
            case "raises":
                raise ZeroDivisionError("x" * 3_000_000)
            case "warns":
                return [Value(case.name, "distance", 1.0, reason="x" * 3_000_000)]
            case "fails":
                return [Value(case.name, "distance", None, status=Status.INVALID, reason="x" * 3_000_000)]
            case "breaks":
                return [Value(case.name, "distance", 1.0, unit=["x" * 3_000_000])]
        return super().measure(case, truth, prediction)


class WordlessError(Exception):
    """Cannot even say what it is."""

    def __str__(self):
        raise ValueError


class NumericError(Exception):
    """Says a number."""

    def __str__(self):
        return 5


def exceptions():
    """Return one of every exception that Python itself has, but for what a person raises, and odd ones."""
    kinds = [kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, BaseException)]
    made = [
        WordlessError(),
        NumericError(),
        ValueError("\udcff\x1b[2J\n"),
        KeyError("x" * 10**6),
        OSError(errno.EIO, "worn out"),
    ]
    for kind in kinds:
        if issubclass(kind, UnicodeDecodeError):
            made.append(kind("utf-8", b"x", 0, 1, "odd"))
        elif issubclass(kind, UnicodeTranslateError):
            made.append(kind("x", 0, 1, "odd"))
        elif issubclass(kind, UnicodeEncodeError):
            made.append(kind("utf-8", "x", 0, 1, "odd"))
        elif issubclass(kind, BaseExceptionGroup):
            made.append(kind("several", [ValueError("odd")]))
        elif kind not in (BaseException, KeyboardInterrupt):
            made.append(kind("odd"))
    return made


class Explosive(Landmarks):
    """Raises whatever the prediction names by its number; says what cannot be written where that is negative."""

    def measure(self, case, truth, prediction):
        """Measure, or explode."""
        words = prediction.read_text().split()
        if words[0] == "explode":
            raise exceptions()[int(words[1])]
        if words[0] == "talk":
            return [Value(case.name, "distance", 1.0, reason="\udcff\x1b[2J\nodd")]
        if words[0] == "name":
            return [Value(case.name, "distance", 1.0), Value(case.name, "distance", 1.0, unit="\udcff\x1b[2J")]
        return super().measure(case, truth, prediction)


def test_whatever_a_prediction_raises_fails_that_prediction_alone(tmp_path):
    """One whose words could not be written ended the run of all."""
    count = len(exceptions())
    assert count > 60
    texts = {f"{number + 1:03d}": f"explode {number}" for number in range(count)}
    texts |= {f"{count + 1:03d}": "talk", f"{count + 2:03d}": "name"}
    truth, teams = write_landmarks(tmp_path, {"hostile": texts, "near": {}}, cases=count + 3)
    run = podium.evaluate(Explosive(), truth=truth, submissions=teams, out=tmp_path / "run", jobs=1)
    assert not run.withheld
    assert set(run.failures["submission"]) == {"hostile"}
    assert run.failures.filter(pl.col("status") == "invalid").height == count + 1
    (warning,) = run.failures.filter(pl.col("status") == "warning")["reason"]
    assert warning == r"\udcff\x1b[2J odd"
    assert all(reason.isprintable() and len(reason) <= LONGEST_REASON for reason in run.failures["reason"])
    measured = run.measurements.filter((pl.col("submission") == "hostile") & (pl.col("status") == "ok"))
    assert measured["case"].n_unique() == 2  # what talked, and what was never touched


def longest(table):
    """Return how long the longest text in a table is."""
    return max(table[name].str.len_chars().max() for name in table.columns if table[name].dtype == pl.String)


@pytest.mark.parametrize("manner", ["refuses", "raises", "warns", "fails", "breaks"])
def test_a_reason_is_short_wherever_it_comes_from(manner, tmp_path):
    truth, teams = write_landmarks(tmp_path, {"hostile": {"002": "8 0 0"}, "near": {}})
    options = {"truth": truth, "submissions": teams, "jobs": 1}
    run = podium.evaluate(Talkative(manner=manner), out=tmp_path / "run", **options)
    (reason,) = run.failures.filter(pl.col("case") == "002")["reason"]
    assert 30 < len(reason) <= LONGEST_REASON
    assert max(longest(run.measurements), longest(run.failures)) <= LONGEST_REASON
    (teams / "near" / "002.txt").write_text("8 1 0")  # and where the challenge is to blame
    run = podium.evaluate(Talkative(manner=manner), out=tmp_path / "all", **options)
    assert all(len(what) <= LONGEST_REASON for *_, what in run.record.faults)
    again = podium.evaluate(Talkative(manner=manner), out=tmp_path / "run", resume=True, **options)
    assert again.kept == 7


def test_a_reason_keeps_its_beginning_and_its_end(tmp_path):
    error = InputError("begins " + "x" * 10**6, path="file.mha", advice="Pack it again")
    assert str(error).startswith("file.mha: begins x")
    assert str(error).endswith("x. Pack it again")
    assert len(str(error)) < LONGEST_REASON + 40


@pytest.mark.parametrize("name", ["no-case-{:07}", "x" * 3000 + "{}"])
def test_a_timing_of_endless_strangers_makes_few_and_short_warnings(hostile, tmp_path, name):
    lines = [f"{name.format(number)},1" for number in range(300_000 if len(name) < 100 else 3000)]
    (hostile / "submissions" / "hostile" / "timing.csv").write_text("\n".join(["case,seconds", *lines]))
    _, failures = evaluate(hostile, tmp_path / "run")
    assert len(failures) < 60
    assert any("more names are no cases" in failure["reason"] for failure in failures)
    assert all(len(failure["reason"]) <= LONGEST_REASON for failure in failures)
    assert sum(path.stat().st_size for path in (tmp_path / "run").iterdir() if path.is_file()) < 200_000

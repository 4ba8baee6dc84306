"""Predictions made to take all memory, all time, or all room in a report: the real commands fail them, and go on."""

import csv
import shutil
import subprocess
import sys

import nibabel
import numpy as np
import pytest
from typer.testing import CliRunner

from podium.cli import app
from podium.metrics import surface

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
import numpy as np, resource, sys
from podium.metrics import surface_distances
from podium.model import InputError
z = np.arange(300) % 2
prediction = np.asfortranarray((np.add.outer(np.add.outer(np.arange(512), np.arange(512)), z) % 2).astype(np.uint8))
reference = np.zeros_like(prediction)
reference[200:260, 200:260, 100:140] = 1
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    surface_distances(reference, prediction, regions={"all": (1,)})
except InputError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.heavy
def test_a_chequered_mask_of_full_size_takes_no_memory_to_speak_of():
    """It took 10.9 GB, and minutes."""
    result = subprocess.run([sys.executable, "-c", CHEQUERED], capture_output=True, text=True, check=True)
    said, kilobytes = result.stdout.splitlines()
    assert "more than the limit of 16,777,216 elements" in said
    assert int(kilobytes) < 2 * 2**20

"""The Dockerfile: built without a registry from a root file system of our own, and run as a platform runs it."""

import json
import os
import shutil
import subprocess

import pytest
from root_file_system import PACKAGES, make_root
from shared_data import PROJECT

from podium.io import read_label_map, write_label_map

PODMAN = shutil.which("podman")
BASE, IMAGE = (f"localhost/podium-test-{what}-{os.getpid()}" for what in ("base", "evaluation"))

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(PODMAN is None or os.geteuid() != 0, reason="needs podman and root"),
]


def podman(*words, **options):
    done = subprocess.run([PODMAN, *map(str, words)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done


@pytest.fixture
def base(tmp_path):
    """Import a base image that needs no network: what pip would download is there."""
    pytest.importorskip("hatchling")
    root = tmp_path / "root"
    root.mkdir()
    make_root(root, ["podium", "hatchling", "pip"])
    variables = ("PATH=/usr/local/bin:/bin", f"PYTHONPATH=/{PACKAGES}", "PIP_NO_INDEX=1", "PIP_NO_BUILD_ISOLATION=0")
    changes = [word for variable in variables for word in ("--change", f"ENV {variable}")]
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as packed:
        podman("import", *changes, "-", BASE, stdin=packed.stdout)
    shutil.rmtree(root)
    yield BASE
    subprocess.run([PODMAN, "rmi", "--force", IMAGE, BASE], capture_output=True, check=False)


def test_the_image_is_built_and_evaluates_a_team(base, kits21_demo, tmp_path):
    context = tmp_path / "context"
    context.mkdir()
    for name in ("pyproject.toml", "constraints.txt", "hatch_build.py", "README.md", "LICENSE", "Dockerfile"):
        shutil.copy(PROJECT / name, context / name)
    shutil.copytree(PROJECT / "src", context / "src", ignore=shutil.ignore_patterns("__pycache__"))
    cases = sorted(path for path in (kits21_demo / "truth").iterdir() if path.is_dir())
    shutil.copytree(kits21_demo / "truth", context / "ground-truth")
    arguments = ("--build-arg", f"BASE={base}", "--build-arg", "CHALLENGE=kits21", "--pull=never", "--network=none")
    podman("build", "--layers=false", "--tag", IMAGE, *arguments, context)

    (tmp_path / "output").mkdir()
    (tmp_path / "output").chmod(0o777)
    jobs = []
    for number, case in enumerate(cases):
        place = tmp_path / "input" / f"job-{number}" / "output" / "images" / "kidney-tumor-and-cyst" / "any.mha"
        place.parent.mkdir(parents=True)
        write_label_map(place, read_label_map(case / "aggregated_MAJ_seg.nii.gz"))
        sockets = {name: {"slug": name, "relative_path": f"images/{name}"} for name in ("ct", "kidney-tumor-and-cyst")}
        jobs.append(
            {
                "pk": f"job-{number}",
                "inputs": [{"image": {"name": f"{case.name}.mha"}, "interface": sockets["ct"]}],
                "outputs": [{"image": {"name": "any.mha"}, "interface": sockets["kidney-tumor-and-cyst"]}],
            }
        )
    (tmp_path / "input" / "predictions.json").write_text(json.dumps(jobs))
    volumes = ("--volume", f"{tmp_path / 'input'}:/input:ro", "--volume", f"{tmp_path / 'output'}:/output")
    ran = podman(
        "run", "--rm", "--network=none", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024", *volumes, IMAGE
    )
    assert "Compiling" not in ran.stderr, "that was done while the image was built"
    metrics = json.loads((tmp_path / "output" / "metrics.json").read_text())
    assert {entry["case"] for entry in metrics["results"]} == {case.name for case in cases}
    assert set(metrics["aggregates"]["scores"].values()) == {1.0}

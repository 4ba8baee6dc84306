"""`--device cuda`: the CPU's numbers through the very same run, and one line where there is no GPU."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from label_files import nifti, write
from typer.testing import CliRunner

import podium
from podium.cli import app
from podium.metrics import devices, surface
from podium.model import InputError, measured_on, placement_now

NO_GPU = "No GPU can be used here (torch is not installed): measuring on the CPU."


def kidneys(shift: int = 0) -> np.ndarray:
    """Return a kidney with a mass and a cyst."""
    array = np.zeros((12, 6, 3), np.uint8)
    array[1 + shift : 9 + shift, 1:5, :2] = 1
    array[3 + shift, 2:4, 0], array[6 + shift, 3, 1] = 2, 3
    return array


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a truth of two small cases, and two teams."""
    for place, shift in (("truth", 0), ("teams/one", 1), ("teams/two", 2)):
        (tmp_path / place).mkdir(parents=True)
        for case in ("case_00000", "case_00001"):
            scan = nifti(kidneys(shift and shift + (case == "case_00001") - 1), spacing=(0.9, 1.1, 3.0))
            write(tmp_path / place / f"{case}.nii.gz", scan)
    return tmp_path


def evaluated(folder, out, **more):
    return podium.evaluate("kits21", truth=folder / "truth", submissions=folder / "teams", out=folder / out, **more)


class GpuInTheProcessor:
    """Something that takes pairs as the GPU does, and sums in another order."""

    def measure_pair(self, pair, table, regions, boundary):
        """Measure by the processor."""
        placement_now().used.add("Nobody's GPU")
        with measured_on("cpu"):
            measured = surface._measure(pair, table, regions, boundary)
        return [
            replace(
                distances,
                from_reference=replace(distances.from_reference, sizes=distances.from_reference.sizes * (1 - 1e-10)),
                from_prediction=replace(distances.from_prediction, sizes=distances.from_prediction.sizes * (1 + 1e-10)),
            )
            for distances in measured
        ]


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(devices, "_lacking_gpu", lambda: "")
    chosen = lambda: GpuInTheProcessor() if placement_now().device == "cuda" else None  # noqa: E731
    monkeypatch.setattr(surface, "gpu_for_arrays", chosen)


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(devices, "_lacking_gpu", lambda: "torch is not installed")


def close(one, two):
    assert one.drop("value", "measured").equals(two.drop("value", "measured"))
    np.testing.assert_allclose(one["value"], two["value"], rtol=1e-9)


@pytest.mark.usefixtures("gpu")
def test_a_run_says_on_what_it_was_measured(folder):
    on_cpu, on_gpu = evaluated(folder, "cpu"), evaluated(folder, "gpu", device="cuda", jobs=2)
    close(on_gpu.measurements, on_cpu.measurements)
    assert on_gpu.record.devices == ["Nobody's GPU"]
    assert podium.load(folder / "gpu").record == on_gpu.record
    assert {"torch", "triton"} < set(on_gpu.record.packages)
    assert on_cpu.record.devices == []
    assert "devices" not in (folder / "cpu" / "run.json").read_text()


@pytest.mark.heavy
@pytest.mark.usefixtures("gpu")
def test_the_page_says_on_what_it_was_measured(folder):
    for device, wanted in (("cuda", True), ("cpu", False)):
        evaluated(folder, device, device=device).report(formats=())
        page = (folder / device / "report.html").read_text()
        assert ("; distances measured on Nobody&#39;s GPU" in page) is wanted


@pytest.mark.usefixtures("gpu")
def test_it_is_verified_and_resumed_on_another_device(folder):
    run = evaluated(folder, "run", device="cuda")
    assert not run.measurements.equals(evaluated(folder, "cpu").measurements)
    assert podium.load(folder / "run").verify().nothing_differs
    again = evaluated(folder, "run", resume=True)
    assert again.kept == 4
    assert again.record.devices == ["Nobody's GPU"]
    (folder / "teams" / "two" / "case_00001.nii.gz").unlink()
    assert evaluated(folder, "run", resume=True).record.devices == ["Nobody's GPU"]
    assert evaluated(folder, "run", restart=True).record.devices == []


@pytest.mark.usefixtures("gpu")
def test_runs_of_two_devices_are_gathered(folder):
    (folder / "one").mkdir()
    (folder / "two").mkdir()
    for name, device in (("one", "cpu"), ("two", "cuda")):
        (folder / "teams" / name).rename(folder / name / name)
        podium.evaluate(
            "kits21", truth=folder / "truth", submissions=folder / name, out=folder / f"of-{name}", device=device
        )
    assert podium.gather([folder / "of-one", folder / "of-two"], out=folder / "all").record.devices == ["Nobody's GPU"]


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_one_line_is_said(folder):
    places = ["--truth", folder / "truth", "--submissions", folder / "teams", "--out", folder / "run"]
    result = CliRunner().invoke(app, ["evaluate", "kits21", *map(str, places), "--device", "cuda"])
    assert result.exit_code == 0, result.output
    assert result.stderr.count(NO_GPU) == 1
    assert podium.load(folder / "run").record.devices == []
    pair = [str(folder / "truth"), str(folder / "teams" / "one")]
    measured = CliRunner().invoke(app, ["measure", *pair, "--device", "cuda", "--json"])
    assert measured.exit_code == 0, measured.output
    assert measured.stderr.count(NO_GPU) == 1
    assert measured.stdout == CliRunner().invoke(app, ["measure", *pair, "--json"]).stdout


def test_other_devices_are_refused(folder):
    with pytest.raises(InputError, match=r"no device called 'tpu'\. Say cpu or cuda"):
        evaluated(folder, "run", device="tpu")
    with pytest.raises(InputError, match="no device called 'cuda:1'"):
        podium.measure(kidneys(), kidneys(1), device="cuda:1")


@pytest.mark.usefixtures("gpu")
def test_arrays_are_measured_on_the_device_too():
    one, two = (podium.measure(kidneys(), kidneys(2), device=device).cases for device in ("cpu", "cuda"))
    assert not one.equals(two)
    np.testing.assert_allclose(one["surface_dice"], two["surface_dice"], rtol=1e-9)


def test_workers_elsewhere_have_their_own_gpus():
    assert devices.usable_device("cuda", elsewhere=True) == "cuda"


def test_what_is_lacking_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "podium.metrics._gpu.moving", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    devices._lacking_gpu.cache_clear()
    said = []
    assert devices.usable_device("cuda", said.append) == "cpu"
    assert said == [NO_GPU]
    with measured_on("cuda"):
        assert devices.gpu_for_arrays() is None
    devices._lacking_gpu.cache_clear()


def test_a_choice_ends_with_its_block():
    with measured_on("cuda") as placement:
        assert placement_now() is placement
    assert placement_now().device == "cpu"


@pytest.fixture
def interpreted(monkeypatch):
    pytest.importorskip("torch")
    if not pytest.importorskip("triton").knobs.runtime.interpret:
        pytest.skip("there is a GPU: its kernels are tested in tests/gpu")
    monkeypatch.setattr(devices, "PRETEND", True)


@pytest.mark.heavy
@pytest.mark.usefixtures("interpreted")
def test_a_run_by_the_kernels_is_that_of_the_cpu(folder):
    on_cpu, on_gpu = evaluated(folder, "cpu"), evaluated(folder, "gpu", device="cuda")
    close(on_gpu.measurements, on_cpu.measurements)
    assert on_gpu.record.devices == ["Triton's interpreter"]
    assert podium.load(folder / "gpu").verify(sample=1).nothing_differs


@pytest.mark.usefixtures("interpreted")
def test_what_fails_on_the_gpu_is_measured_by_the_cpu(monkeypatch):
    from podium.metrics._gpu import moving

    def fails(*_):
        raise RuntimeError("out of memory")

    expected = surface.surface_distances(kidneys(), kidneys(1), regions={"all": (1, 2, 3)})["all"]
    moving._say_once.cache_clear()
    for name, broken in (("measure", fails), ("is_too_large", lambda *_, **__: True)):
        monkeypatch.setattr(moving, name, broken)
        told = pytest.warns(RuntimeWarning, match=r"The GPU failed \(out of memory\)")
        with told if name == "measure" else nullcontext(), measured_on("cuda") as placement:
            measured = surface.surface_distances(kidneys(), kidneys(1), regions={"all": (1, 2, 3)})["all"]
        assert not placement.used
        np.testing.assert_array_equal(measured.from_reference.sizes, expected.from_reference.sizes)
    assert moving.fault() == "PyTorch sees none"


@pytest.mark.heavy
@pytest.mark.usefixtures("interpreted")
def test_pairs_of_any_kind(monkeypatch):
    rng = np.random.default_rng(0)
    large = (rng.random((5, 7)) < 0.4) * 70_000
    wide = (rng.random((5, 7)) < 0.4) * 300
    regions = {"first": 300, "second": (70_000, 300), "nowhere": 5}
    for one, two in ((large, wide), (wide.astype(np.uint16), wide.T.copy().T.astype(np.uint16)), (wide, large * 0)):
        expected = surface.surface_distances(one, two, regions=regions, spacing_mm=(0.7, 1.3))
        with measured_on("cuda") as placement:
            measured = surface.surface_distances(one, two, regions=regions, spacing_mm=(0.7, 1.3))
        assert placement.used
        for name in regions:
            for mine, theirs in zip(measured[name].directed, expected[name].directed, strict=True):
                np.testing.assert_allclose(mine.distances, theirs.distances, rtol=1e-12)
                np.testing.assert_allclose(mine.sizes, theirs.sizes, rtol=1e-12)
    monkeypatch.setattr(surface, "MOST_ELEMENTS", 10)
    monkeypatch.setattr(surface, "_TIMES_REFERENCE", 0)
    for device in ("cpu", "cuda"):
        with measured_on(device), pytest.raises(InputError, match="limit of 10 elements"):
            surface.SurfaceDistances.between(large, wide)

"""`podium evaluate --device cuda` on a real GPU: the numbers of the CPU, whatever the number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from ct_material import ct_cases, variants
from label_files import nifti, write
from shared_data import KITS21_REGIONS

from podium.metrics import SurfaceDistances, centres, devices, surface_distances
from podium.model import InputError, measured_on

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)


def test_the_gpu_is_usable():
    assert devices.lacking_gpu() == ""
    assert devices.usable_device("cuda") == "cuda"


@pytest.mark.parametrize("boundary", ["surfel", "voxel"])
def test_label_maps_of_the_main_memory(boundary):
    for maps, spacing in list(ct_cases().values())[:2]:
        for one, two in variants(maps).values():
            options = {"regions": KITS21_REGIONS, "spacing_mm": spacing, "boundary": boundary}
            expected = surface_distances(one, two, **options)
            with measured_on("cuda") as placement:
                measured = surface_distances(one, two, **options)
            assert placement.used == {torch.cuda.get_device_name()}
            for name, distances in measured.items():
                assert type(distances) is SurfaceDistances
                for mine, theirs in zip(distances.directed, expected[name].directed, strict=True):
                    assert mine.counts.sum() == theirs.counts.sum()
                    np.testing.assert_allclose(mine.sizes.sum(), theirs.sizes.sum(), rtol=1e-9)
                    np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-9)


def test_a_run_of_many_threads(tmp_path):
    pytest.importorskip("polars")
    import podium

    cases = list(ct_cases().values())
    if not cases:
        pytest.skip("there are no CT cases here")
    for place in ("truth", "teams/one", "teams/two"):
        (tmp_path / place).mkdir(parents=True)
    for number in range(12):
        maps, spacing = cases[number % len(cases)]
        maps, spacing = maps[:, ::3], (3 * spacing[0] * (1 + number / 100), *spacing[1:])
        kind = ("near", "shifted by 12", "one kidney missed", "all missed")[number % 4]
        drawn = {"truth": maps[0], "teams/one": variants(maps)[kind][1], "teams/two": maps[2]}
        for place, array in drawn.items():
            write(tmp_path / place / f"case_{number:05}.nii.gz", nifti(array, spacing=spacing))
    given = {"truth": tmp_path / "truth", "submissions": tmp_path / "teams"}
    runs = [podium.evaluate("kits21", **given, out=tmp_path / name, device=name) for name in ("cpu", "cuda")]
    np.testing.assert_allclose(runs[0].measurements["value"], runs[1].measurements["value"], rtol=1e-9)
    assert runs[1].record.devices == [torch.cuda.get_device_name()]
    assert podium.load(tmp_path / "cuda").verify(sample=2).nothing_differs
    again = podium.evaluate("kits21", **given, out=tmp_path / "again", device="cuda", jobs=1)
    assert again.measurements.equals(runs[1].measurements)


def test_what_other_metrics_want_of_a_tensor():
    mask = torch.ones((2, 3, 4), dtype=torch.uint8, device="cuda")
    with pytest.raises(InputError, match=r"tensor.detach\(\).cpu\(\)"):
        centres(mask, mask, regions={"one": 1})


@pytest.mark.parametrize(("one", "two", "most"), [("uint8", "int16", 6), ("uint8", "int64", 12), ("int16", "int32", 8)])
def test_memory_of_two_types(one, two, most):
    labels = torch.zeros((128, 512, 512), dtype=torch.uint8, device="cuda")
    labels[20:60, 20:100, 20:100] = 1
    pair = labels.to(getattr(torch, one)), labels.roll(3, -1).to(getattr(torch, two))
    surface_distances(*pair, regions={"one": 1})
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    measured = surface_distances(*pair, regions={"one": 1})
    assert measured["one"].empty is None
    assert (torch.cuda.max_memory_allocated() - before) / labels.numel() <= most

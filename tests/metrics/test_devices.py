"""What is said where arrays lie on a GPU that nothing here can use."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from podium.metrics import Overlap, SurfaceDistances
from podium.metrics.devices import on_gpu
from podium.model import InputError


class Elsewhere:
    """An array of a library that says where its memory is, as DLPack numbers it."""

    def __init__(self, kind):
        self.kind = kind

    def __dlpack_device__(self):
        return self.kind, 0


def test_arrays_of_numpy_are_not_on_a_gpu():
    assert not on_gpu(np.zeros(3), [1, 2])
    assert on_gpu(np.zeros(3), Elsewhere(2))


@pytest.mark.parametrize("measure", [Overlap.between, SurfaceDistances.between])
def test_other_devices_are_refused(measure):
    with pytest.raises(InputError, match="nothing can be measured"):
        measure(Elsewhere(8), Elsewhere(8))


def test_without_triton_a_clear_line(monkeypatch):
    monkeypatch.delitem(sys.modules, "podium.metrics._gpu.readings", raising=False)
    monkeypatch.setitem(sys.modules, "podium.metrics._gpu.pipeline", None)
    with pytest.raises(InputError, match="PyTorch and Triton") as refused:
        Overlap.between(Elsewhere(2), Elsewhere(2))
    assert "podium[gpu]" in str(refused.value)


def test_without_numba_metrics_are_there_but_not_for_the_cpu():
    code = (
        "import sys; sys.modules.update(numba=None)\n"
        "import numpy, podium.metrics\n"
        "from podium import InputError\n"
        "try:\n    podium.metrics.Overlap.between(numpy.ones((2, 2)), numpy.ones((2, 2)))\n"
        "except InputError as error:\n    print(error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Numba is not installed" in result.stdout

"""The machine: what it is, and how busy others kept it."""

import os

import pytest

from podium.algorithms import machine
from podium.algorithms.machine import Hardware, Workload, others_between, others_now


def test_this_machine_is_known():
    here = Hardware.here()
    assert here.processors == len(os.sched_getaffinity(0))
    assert here.processor
    assert here.memory_bytes > 2**28
    assert here == Hardware.here()
    assert here.unlike(here) == ""


def test_what_matters_to_times_tells_machines_apart():
    one = Hardware(system="A", processor="EPYC", processors=2, governor="powersave", memory_bytes=1, gpus=())
    assert one.unlike(one.model_copy(update={"system": "B", "memory_bytes": 2})) == ""
    other = one.model_copy(update={"processors": 4, "governor": "", "gpus": ("H200", "H200")})
    assert one.unlike(other) == "processors: 2 and 4; governor: powersave and unknown; gpus: none and H200, H200"


def test_others_are_all_but_us_and_the_algorithm():
    start, end = Workload(10.0, 100.0, 5.0), Workload(14.0, 107.0, 6.0)
    assert others_between(start, end, algorithm_seconds=2.0) == pytest.approx((7 - 1 - 2) / 4)
    assert others_between(start, end, algorithm_seconds=20.0) == 0
    assert others_between(start, end, algorithm_seconds=None) is None
    assert others_between(Workload(10.0, None, 5.0), end, algorithm_seconds=2.0) is None


def test_where_the_system_tells_nothing_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_PROC", tmp_path)
    monkeypatch.setattr(machine, "_GOVERNOR", tmp_path / "governor")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert others_now(0.001) is None
    here = Hardware.here()
    assert (here.memory_bytes, here.governor, here.gpus) == (0, "", ())
    (tmp_path / "stat").write_text("cpu  100 20 30 4000 500 6 7 8 999 999\n")
    assert Workload.now().everybody == pytest.approx((100 + 20 + 30 + 6 + 7 + 8) / os.sysconf("SC_CLK_TCK"))
    (tmp_path / "stat").write_text("cpu  damaged\n")
    assert Workload.now().everybody is None
    (tmp_path / "governor").write_text("performance\n")
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'NVIDIA H200, 550.1'\n")
    program.chmod(0o755)
    assert Hardware.here().governor == "performance"
    assert Hardware.here().gpus == ("NVIDIA H200, 550.1",)
    program.write_text("#!/bin/sh\nexit 9\n")
    assert Hardware.here().gpus == ()


def test_a_machine_at_work_is_seen():
    assert others_now(0.05) >= 0

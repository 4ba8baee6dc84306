"""Groups of processes that the kernel keeps within limits: real ones where we may make them, and files of version 2."""

import subprocess
import time

import pytest

from podium.algorithms import cgroups
from podium.algorithms.cgroups import ControlGroup
from podium.algorithms.specs import Allowance

SMALL = Allowance(memory_bytes=2**26, processes=20)


@pytest.fixture
def group():
    group = ControlGroup.made(SMALL)
    if group is None:
        pytest.skip("no group of processes can be made here")
    yield group
    group.kill()
    group.remove()
    assert not any(folder.exists() for folder in group.folders.values())


def enter(group, code):
    words = ["sh", "-c", 'for door; do echo 0 >"$door"; done;' + code, "sh", *map(str, group.doors)]
    return subprocess.Popen(words, start_new_session=True)


def test_processes_are_counted_and_ended(group):
    with enter(group, "sleep 300 & (setsid sleep 300 &); wait") as process:
        while len(group.processes()) < 3:
            time.sleep(0.01)
        assert process.pid in group.processes()
        group.kill()
        assert group.processes() == []
    assert process.returncode == -9


def test_what_it_takes(group):
    with enter(group, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"):
        pass
    assert group.processor_seconds() > 0
    assert (group.killed_for_memory(), group.refused_forks()) == (0, 0)


def test_limits_are_kept_by_the_kernel(group):
    with enter(group, "i=0; while [ $i -lt 40 ]; do i=$((i+1)); sleep 300 & done") as process:
        pass
    assert process.returncode != 0
    assert group.refused_forks() > 0
    group.kill()


def test_the_group_of_a_process_is_known(group):
    with enter(group, "sleep 300") as process:
        while process.pid not in group.processes():
            time.sleep(0.01)
        other = ControlGroup.of(process.pid)
        group.kill()
    assert (other.folders, other.second) == (group.folders, group.second)


def test_what_a_killed_podium_left_is_removed(group):
    with subprocess.Popen(["true"]) as ended:
        pass
    left = [folder.with_name(f"podium-{ended.pid}-0") for folder in dict.fromkeys(group.folders.values())]
    for folder in left:
        folder.mkdir()
    another = ControlGroup.made(SMALL)
    another.remove()
    assert not any(folder.exists() for folder in left)
    assert all(folder.exists() for folder in group.folders.values())  # ours is in use


def test_where_no_group_can_be_made(monkeypatch):
    monkeypatch.setattr(cgroups, "_groups_of", lambda _: None)
    cgroups._place.cache_clear()
    try:
        assert ControlGroup.made(SMALL) is None
    finally:
        cgroups._place.cache_clear()


def test_files_of_version_2(tmp_path):
    group = ControlGroup(dict.fromkeys(("memory", "pids", "cpu"), tmp_path), second=True)
    group.limit(SMALL)
    limits = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert limits == {
        "memory.max": str(2**26),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": "23",
    }
    for name, content in {
        "memory.events": "low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\noom_group_kill 1\n",
        "memory.stat": "anon 1000\nfile 5000\nshmem 30\nfile_mapped 7\n",
        "pids.events": "max 4\n",
        "cpu.stat": "usage_usec 2500000\nuser_usec 1\n",
        "cgroup.procs": "",
    }.items():
        (tmp_path / name).write_text(content)
    assert group.doors == [tmp_path / "cgroup.procs"]
    assert (group.killed_for_memory(), group.refused_forks(), group.resident_bytes()) == (1, 4, 1030)
    assert group.processor_seconds() == 2.5
    assert group.processes() == []


@pytest.mark.parametrize(
    ("mounts", "groups", "folder", "second"),
    [
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0", "0::/user.slice/a.scope", "/sys/fs/cgroup/user.slice/a.scope", True),
        (
            "cgroup /c/memory cgroup rw,memory 0 0\ncgroup /c/pids cgroup rw,pids 0 0\ncgroup2 /c/both cgroup2 rw 0 0",
            "2:memory:/job\n1:pids:/\n0::/",
            "/c/memory/job",
            False,
        ),
        ("proc /proc proc rw 0 0", "0::/", None, None),
    ],
)
def test_both_versions_are_told_apart(monkeypatch, mounts, groups, folder, second):
    texts = {"/proc/self/mounts": mounts, "/proc/self/cgroup": groups}
    monkeypatch.setattr(cgroups, "_text", lambda path: texts[str(path)])
    group = cgroups._groups_of("self")
    if folder is None:
        assert group is None
    else:
        assert (str(group.folders["memory"]), group.second) == (folder, second)

"""Groups of processes that the kernel keeps within limits (cgroups, both versions), where we may make them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from podium.algorithms.specs import Allowance

__all__ = ["ControlGroup"]

_NEEDED = ("memory", "pids")
_OWN_PROCESSES = 3  # those that keep a program within its walls: bubblewrap and its init, or what ends the rest
_numbers = itertools.count()


class ControlGroup:
    """A group of processes: one folder in each hierarchy of version 1, a single one in version 2.

    Parameters
    ----------
    folders
        By controller; all of them are the same in version 2.
    second
        Whether it is of version 2.
    """

    def __init__(self, folders: dict[str, Path], *, second: bool) -> None:
        self.folders = folders
        self.second = second

    @classmethod
    def made(cls, allowance: Allowance) -> ControlGroup | None:
        """Make a group with limits, where that is possible."""
        place = _place()
        if place is None:
            return None
        group = place.child()
        try:
            group.limit(allowance)
        except OSError:
            group.remove()
            return None
        return group

    @classmethod
    def of(cls, process: int) -> ControlGroup | None:
        """Return the group of a process that another program has put there, if it can be read."""
        group = _groups_of(str(process))
        return group if group and all(name in group.folders for name in _NEEDED) else None

    @property
    def doors(self) -> list[Path]:
        """The files through which a process enters by writing 0."""
        return [folder / "cgroup.procs" for folder in self._distinct()]

    def processes(self) -> list[int]:
        """Return all processes that are in it."""
        return [int(line) for line in _text(self.folders["pids"] / "cgroup.procs").split()]

    def killed_for_memory(self) -> int:
        """Return how many processes were ended because the group took too much memory."""
        return self._number("memory", "memory.events" if self.second else "memory.oom_control", "oom_kill")

    def refused_forks(self) -> int:
        """Return how often no further process could be started."""
        return self._number("pids", "pids.events", "max")

    def resident_bytes(self) -> int:
        """Return the memory that it holds, without what is only kept of files."""
        names = ("anon", "shmem") if self.second else ("rss", "shmem")
        return sum(self._number("memory", "memory.stat", name) for name in names)

    def processor_seconds(self) -> float | None:
        """Return how long processors worked for it."""
        if self.second:
            return self._number("cpu", "cpu.stat", "usage_usec") / 1e6
        text = _text(self.folders["cpuacct"] / "cpuacct.usage") if "cpuacct" in self.folders else ""
        return int(text) / 1e9 if text else None

    def kill(self) -> None:
        """End all processes in it, and wait until they are gone."""
        _write(self.folders["pids"] / "pids.max", "0")  # nothing is started any more
        while processes := [process for process in self.processes() if process > 0]:
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.001)

    def remove(self) -> None:
        """Remove it, which waits until the last process has left it."""
        for folder in self._distinct():
            for _ in range(2000):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.005)
                else:
                    break

    def _distinct(self) -> list[Path]:
        return list(dict.fromkeys(self.folders.values()))

    def child(self) -> ControlGroup:
        """Make a group inside this one, and remove those whose Podium was killed."""
        for folder in self._distinct():
            for left in folder.glob("podium-*-*"):
                owner = left.name.split("-")[1]
                if owner.isdigit() and not Path("/proc", owner).exists():
                    with contextlib.suppress(OSError):
                        left.rmdir()
        name = f"podium-{os.getpid()}-{next(_numbers)}"
        folders = {controller: folder / name for controller, folder in self.folders.items()}
        for folder in dict.fromkeys(folders.values()):
            folder.mkdir()
        return ControlGroup(folders, second=self.second)

    def limit(self, allowance: Allowance) -> None:
        """Set how much it may take, its swap included."""
        memory = self.folders["memory"]
        most = str(allowance.memory_bytes)
        (memory / ("memory.max" if self.second else "memory.limit_in_bytes")).write_text(most)
        (self.folders["pids"] / "pids.max").write_text(str(allowance.processes + _OWN_PROCESSES))
        others = (
            {"memory.swap.max": "0", "memory.oom.group": "1"} if self.second else {"memory.memsw.limit_in_bytes": most}
        )
        for name, value in others.items():  # not every kernel has them
            _write(memory / name, value)

    def _number(self, controller: str, file: str, key: str) -> int:
        for line in _text(self.folders[controller] / file).splitlines():
            name, _, value = line.partition(" ")
            if name == key:
                return int(value)
        return 0

    def works(self) -> bool:
        """Whether a group can be made here that has limits and that a process can enter."""
        try:
            group = self.child()
        except OSError:
            return False
        try:
            limits = ("memory.max" if self.second else "memory.limit_in_bytes", "pids.max")
            files = zip(_NEEDED, limits, strict=True)
            return all((group.folders[name] / limit).exists() for name, limit in files) and all(
                subprocess.run(["sh", "-c", 'echo 0 >"$1"', "sh", str(door)], stderr=subprocess.DEVNULL).returncode == 0
                for door in group.doors
            )
        finally:
            group.remove()


@functools.cache
def _place() -> ControlGroup | None:
    """Return the nearest group around us in which others can be made."""
    own = _groups_of("self")
    while own is not None:
        if all(name in own.folders for name in _NEEDED) and own.works():
            return own
        own = _above(own) if own.second else None
    return None


def _above(group: ControlGroup) -> ControlGroup | None:
    """Return the group around one of version 2, where one that holds processes has no groups with limits inside."""
    parent = group.folders["memory"].parent
    if not (parent / "cgroup.controllers").exists():
        return None
    return ControlGroup(dict.fromkeys(group.folders, parent), second=True)


def _groups_of(process: str) -> ControlGroup | None:
    """Return the groups that a process is in."""
    paths: dict[str, str] = {}
    for line in _text(Path("/proc", process, "cgroup")).splitlines():
        _, names, path = line.split(":", 2)
        paths |= dict.fromkeys(names.split(","), path)
    folders: dict[str, Path] = {}
    unified = None
    for folder, kind, options in _mounts():
        if kind == "cgroup":
            for name in ("memory", "pids", "cpuacct"):
                if name in options and name in paths:
                    folders.setdefault(name, folder / paths[name].lstrip("/"))
        elif kind == "cgroup2" and "" in paths:
            unified = folder / paths[""].lstrip("/")
    if folders or unified is None:
        return ControlGroup(folders, second=False) if folders else None
    return ControlGroup(dict.fromkeys(("memory", "pids", "cpu"), unified), second=True)


def _mounts() -> Iterator[tuple[Path, str, list[str]]]:
    for line in _text(Path("/proc/self/mounts")).splitlines():
        _, folder, kind, options = line.split(" ")[:4]
        yield Path(folder), kind, options.split(",")


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _write(path: Path, value: str) -> None:
    with contextlib.suppress(OSError):
        path.write_text(value)

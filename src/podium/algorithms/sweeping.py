"""Making safe what a program wrote, before we read it: plain files in plain folders, nothing else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from podium.model.errors import printable

__all__ = ["sweep_output"]

_DEEPEST = 64
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def sweep_output(folder: Path) -> list[str]:
    """Make what a program wrote, and that has ended, safe to read, and say what was wrong with it.

    Nothing is followed. Links (hard ones too, which may be files of ours), pipes, sockets and devices are removed;
    the rest belongs to us afterwards, and we may read and remove it, whatever modes were set.
    """
    problems: list[str] = []
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    _mend(handle)
    _sweep(handle, Path(), problems)
    return sorted(problems)


def _sweep(folder: int, path: Path, problems: list[str]) -> None:
    """Sweep an open folder, and close it."""
    try:
        for name in [entry.name for entry in Path("/proc/self/fd", str(folder)).iterdir()]:
            state = os.stat(name, dir_fd=folder, follow_symlinks=False)
            inside = path / name
            kind = _what(state, name, folder)
            if kind:
                os.unlink(name, dir_fd=folder)
                problems.append(f"{printable(str(inside))} is {printable(kind)}")
                continue
            handle = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=folder)
            _mend(handle)
            if not stat.S_ISDIR(state.st_mode):
                os.close(handle)
            elif len(inside.parts) > _DEEPEST:
                os.close(handle)
                problems.append(f"{printable(str(inside))[:200]} lies in more than {_DEEPEST} folders")
            else:
                _sweep(handle, inside, problems)
    finally:
        os.close(folder)


def _what(state: os.stat_result, name: str, folder: int) -> str:
    """Say what something is, if it is not a plain file or folder."""
    if stat.S_ISLNK(state.st_mode):
        return f"a link to {os.readlink(name, dir_fd=folder)}"
    if stat.S_ISREG(state.st_mode):
        return "a file with further names (a hard link)" if state.st_nlink > 1 else ""
    return "" if stat.S_ISDIR(state.st_mode) else _KINDS.get(stat.S_IFMT(state.st_mode), "no file")


def _mend(handle: int) -> None:
    """Make what is open ours, to be read and removed by us, and without rights for who starts it."""
    path = Path("/proc/self/fd", str(handle))
    state = os.fstat(handle)
    if state.st_uid != os.geteuid():
        os.chown(path, os.geteuid(), os.getegid())
    least = 0o700 if stat.S_ISDIR(state.st_mode) else 0o600
    wanted = (state.st_mode & 0o777) | least
    if stat.S_IMODE(os.fstat(handle).st_mode) != wanted:
        path.chmod(wanted)

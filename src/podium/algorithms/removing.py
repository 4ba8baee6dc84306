"""Removing what a program wrote, which may still run and write: no link is followed, no path becomes too long."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

__all__ = ["remove"]

_ATTEMPTS = 100


def remove(path: Path, *, aside: Path) -> None:
    """Remove a file or folder, whatever was done to its modes, or nothing where it is not there.

    Parameters
    ----------
    aside
        A folder of ours in the same file system that the program does not see: folders are moved there, one by one.
    """
    doomed, attempts = _moved(path, None, aside), 0
    while doomed:
        folder = doomed.pop()
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except NotADirectoryError:  # exchanged while it was moved
            folder.unlink()
            continue
        try:
            for name in os.listdir(handle):  # noqa: PTH208  # of what was opened, whatever is there by now
                doomed += _moved(Path(name), handle, aside)
        finally:
            os.close(handle)
        try:
            folder.rmdir()
        except OSError as error:
            attempts += 1
            if error.errno != errno.ENOTEMPTY or attempts > _ATTEMPTS:
                raise
            doomed.append(folder)  # something was written into it meanwhile


def _moved(path: Path, folder: int | None, aside: Path) -> list[Path]:
    """Move a folder aside and return where it lies now; remove anything else."""
    with contextlib.suppress(FileNotFoundError):
        handle = os.open(path, os.O_PATH | os.O_NOFOLLOW, dir_fd=folder)
        try:
            if not stat.S_ISDIR(os.fstat(handle).st_mode):
                os.unlink(path, dir_fd=folder)
                return []
            Path(f"/proc/self/fd/{handle}").chmod(0o700)  # the folder itself, whatever its name stands for by now
            target = aside / f".removed-{secrets.token_hex(8)}"
            os.rename(path, target, src_dir_fd=folder)
            return [target]
        finally:
            os.close(handle)
    return []

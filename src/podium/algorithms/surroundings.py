"""What a command needs around it to run: its program, its Python environment, variables; and what it must not see."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from podium.algorithms.specs import Algorithm, Allowance
from podium.model import InputError

__all__ = [
    "SYSTEM_FOLDERS",
    "environment_folders",
    "hides",
    "limits_of_threads",
    "program_of",
    "refuse_hidden",
    "variables",
    "whole",
]

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_GPUS = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def program_of(word: str, folder: Path | None) -> Path:
    """Return the program that the first word of a command names.

    Raises
    ------
    InputError
        There is none.
    """
    path = shutil.which(str((folder or Path()) / word) if "/" in word else word)
    if path is None:
        raise InputError(
            f"there is no program '{word}'",
            path=folder,
            advice="Give the command as it is typed in the algorithm's folder, or the program's whole path",
        )
    return whole(Path(path))


def whole(path: Path) -> Path:
    """Return a path from the root, its links not followed."""
    return Path(os.path.normpath(path.absolute()))


def environment_folders(program: Path) -> list[Path]:
    """Return what a program outside the system's folders needs: itself, or the Python environment it belongs to."""
    needed: dict[Path, None] = {}
    chain = [program]
    while chain[-1].is_symlink() and len(chain) < 40:
        chain.append(Path(os.path.normpath(chain[-1].parent / chain[-1].readlink())))
    for path in (*chain, Path(os.path.realpath(program))):
        prefix = path.parent.parent
        if _of_the_system(path):  # /bin/sh has / above it
            continue
        if path.parent.name in ("bin", "shims") and _is_environment(prefix):
            needed |= dict.fromkeys((prefix, Path(os.path.realpath(prefix)), *_bases(prefix), *_editable(prefix)))
        else:
            needed[path] = None
    return [path for path in needed if not _of_the_system(path) and path.exists()]


def _is_environment(prefix: Path) -> bool:
    """Whether a folder is a virtual environment, one of Conda, an installation of Python, or pyenv's."""
    signs = ("pyvenv.cfg", "conda-meta", "lib/python3*/os.py", "libexec/pyenv")
    return any(path for sign in signs for path in prefix.glob(sign))


def _bases(prefix: Path) -> list[Path]:
    """Return the installation that a virtual environment builds upon."""
    settings = prefix / "pyvenv.cfg"
    if not settings.exists():
        return []
    lines = (line.partition("=") for line in settings.read_text().splitlines())
    return [Path(value.strip()).parent for name, _, value in lines if name.strip() == "home"]


def _editable(prefix: Path) -> list[Path]:
    """Return the folders of packages that are installed where they are written."""
    return [
        Path(line.strip())
        for file in prefix.glob("lib/python3*/site-packages/*.pth")
        for line in file.read_text(errors="replace").splitlines()
        if line.startswith("/") and Path(line.strip()).is_dir()
    ]


def refuse_hidden(algorithm: Algorithm, hidden: Sequence[Path]) -> None:
    """Raise an error where an algorithm would see what it must not, such as the truth, in a folder that it may read."""
    folders = ([algorithm.folder] if algorithm.folder else []) + list(algorithm.reads)
    for folder in folders:
        if not folder.is_dir():
            raise InputError("there is no such folder for the algorithm to read", path=folder)
        if Path(os.path.realpath(folder)) == Path("/"):
            raise InputError("an algorithm cannot be given everything to read", path=folder)
        for secret in hidden:
            if hides(folder, secret) or hides(secret, folder):
                raise InputError(
                    f"the algorithm may read this folder, and must not see {secret}",
                    path=folder,
                    advice="Put the algorithm into a folder of its own, apart from truth, submissions and runs",
                )


def hides(folder: Path, path: Path) -> bool:
    """Whether a path is a folder or lies in it, links followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _of_the_system(path: Path) -> bool:
    return path == Path("/") or any(path.is_relative_to(folder) for folder in SYSTEM_FOLDERS)


def limits_of_threads(allowance: Allowance) -> dict[str, str]:
    """Return the variables by which libraries are told how many processors there are."""
    return dict.fromkeys(_THREADS, str(math.ceil(allowance.processors))) if allowance.processors else {}


def variables(algorithm: Algorithm, program: Path, *, home: str, allowance: Allowance) -> dict[str, str]:
    """Return all variables that a command sees."""
    path = _PATH if _of_the_system(program) else f"{program.parent}:{_PATH}"
    values = {"PATH": path, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "USER": "podium", "LOGNAME": "podium"}
    values |= limits_of_threads(allowance)
    if allowance.gpu:
        values |= {name: os.environ[name] for name in _GPUS if name in os.environ}
    else:
        values |= dict.fromkeys(_GPUS, "")
    return values | dict(algorithm.environment)

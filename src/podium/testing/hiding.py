"""The law that what an algorithm is given holds nothing of the truth."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from podium.io.images import read_image
from podium.io.tables import read_mat
from podium.model import Interface

__all__ = ["assert_truth_is_hidden"]

_SHORTEST = 16
"""Fewer bytes than this may be anywhere by chance."""

_LONG_AGO = 1_000_000_000


def assert_truth_is_hidden(
    interface: Interface,
    folders: Sequence[Path],
    *,
    scratch: Path,
    secrets: Iterable[npt.NDArray[Any]] = (),
) -> None:
    """Assert that the inputs of every case are the same whatever the truth beside the images, and hold none of it.

    Parameters
    ----------
    interface
        Of a challenge.
    folders
        Several with the same images, each with another truth beside them; one may have none. Whatever differs between
        them is taken for truth. Their files are made to look old.
    scratch
        An empty folder to lay inputs out in.
    secrets
        Arrays of the truth, none of which may be met with in the inputs: not as an array, and not as bytes.
    """
    assert len(folders) > 1, "with one truth alone, nobody can tell what depends on it"
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        os.utime(path, (_LONG_AGO, _LONG_AGO))
    known = list(secrets)
    truth = _differing(folders)
    first: dict[str, dict[str, bytes]] = {}
    for number, folder in enumerate(folders):
        started = time.time_ns() - 10**10  # clocks of file systems are coarse
        questions = interface.questions(folder)
        assert questions, f"there are no cases in {folder}"
        assert [question.name for question in questions] == sorted(question.name for question in questions)
        inputs = {}
        for question in questions:
            place = scratch / str(number) / question.name
            place.mkdir(parents=True)
            interface.lay_out(question, place)
            inputs[f"{question.name}, {question.frames} frames"] = _content(place, truth, known, started=started)
        first = first or inputs
        assert inputs.keys() == first.keys(), "which cases there are depends on the truth"
        for name, files in inputs.items():
            assert files.keys() == first[name].keys(), f"{name}: names of inputs depend on the truth"
            changed = [path for path, content in files.items() if content != first[name][path]]
            assert not changed, f"{name}: {changed[0]} depends on the truth"


def _differing(folders: Sequence[Path]) -> set[bytes]:
    """Return the digests of all files that are not the same in all folders."""
    digests: list[set[bytes]] = [
        {hashlib.sha256(path.read_bytes()).digest() for path in folder.rglob("*") if path.is_file()}
        for folder in folders
    ]
    return digests[0].union(*digests) - digests[0].intersection(*digests)


def _content(folder: Path, truth: set[bytes], secrets: Sequence[npt.NDArray[Any]], *, started: int) -> dict[str, bytes]:
    """Return all files of a folder, in none of which any of the truth may be."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        assert not path.is_symlink(), f"{name} is a link"
        if path.is_dir():
            continue
        facts = path.stat()
        assert facts.st_nlink == 1, f"{name} is a file of somebody else's"
        assert facts.st_mtime_ns >= started, f"{name} has the time stamp of what it was made of"
        files[name] = content = path.read_bytes()
        assert hashlib.sha256(content).digest() not in truth, f"{name} is a file of the truth"
        for secret in secrets:
            for pattern in (secret.tobytes("C"), secret.tobytes("F")):
                assert len(pattern) < _SHORTEST or pattern not in content, f"{name} has bytes of the truth"
        for array in _arrays(path):
            assert not any(_same(array, secret) for secret in secrets), f"{name} has an array of the truth"
    return files


def _same(array: npt.NDArray[Any], secret: npt.NDArray[Any]) -> bool:
    """Return whether an array is that of the truth, whatever its type and the order of its axes."""
    if secret.size < 2:
        return False
    plain = array.squeeze()
    return any(np.array_equal(plain, other) for other in (secret.squeeze(), secret.squeeze().T))


def _arrays(path: Path) -> Iterator[npt.NDArray[Any]]:
    """Return the arrays in a file of any format that is known here, and their parts along every axis."""
    name = path.name.lower()
    arrays: list[npt.NDArray[Any]] = []
    if name.endswith((".mha", ".nii", ".nii.gz")):
        arrays.append(read_image(path).array)
    elif name.endswith((".h5", ".hdf5")):
        with h5py.File(path) as file:
            file.visititems(lambda _, held: arrays.append(held[()]) if isinstance(held, h5py.Dataset) else None)
    elif name.endswith(".mat"):
        from scipy.io import whosmat

        arrays.extend(read_mat(path, [variable for variable, _, _ in whosmat(path)]).values())
    elif name.endswith((".npy", ".npz")):
        opened = np.load(path)
        arrays.extend([opened] if isinstance(opened, np.ndarray) else opened.values())
    for array in arrays:
        yield array
        for axis in range(array.ndim):
            yield from np.moveaxis(array, axis, 0)

"""The one way kernels are compiled: once per machine, cached on disk, and running without the interpreter lock."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any, TypeAlias, cast

from podium.model import InputError

try:
    import numba
except ModuleNotFoundError:  # on a machine that measures with its GPU alone
    numba = None  # type: ignore[assignment]

Kernel: TypeAlias = Callable[..., Any]

_UNWRITABLE = "neither the installation nor the home folder can be written to"
_lasting = "kept for the next time"


def kernel(function: Kernel) -> Kernel:
    """Compile a function on its first call, keep the machine code on disk, and run it without the GIL.

    Numba keeps the cache beside the source file, or in the user's cache folder where that is read-only; where both are,
    it is kept in a temporary folder of the user's own, or in memory. Numba notices a changed source file but not a
    changed file that it imports, so kernels that call each other live in one file.
    """
    return _compiled(function)


def summing_kernel(function: Kernel) -> Kernel:
    """Compile as `kernel` does, but let the terms of a sum be added in any order, so that it becomes a vector loop."""
    return _compiled(function, fastmath={"reassoc", "contract"})


def _compiled(function: Kernel, **options: Any) -> Kernel:
    if numba is None:
        return _missing
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        return cast(Kernel, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # numba has no place to keep it
        return cast(Kernel, numba.njit(cache=_temporary_cache(), **options)(function))


def _missing(*_: Any) -> Any:
    raise InputError("Numba is not installed, and without it only what is on a GPU can be measured")


@cache
def _temporary_cache() -> bool:
    """Let kernels be kept in a temporary folder, and return whether there is one that nobody else can write to."""
    global _lasting
    _lasting = f"each time anew, as {_UNWRITABLE}"
    try:
        folder = Path(gettempdir()) / f"podium-kernels-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
        return False  # what lies there is run, so it must be our own
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    _lasting = f"kept in {folder}, as {_UNWRITABLE}"
    return True


def lasting() -> str:
    """Return for how long kernels are compiled, in words; known once a module with kernels is imported."""
    return _lasting


@contextmanager
def announced_compilation(announce: Callable[[], None]) -> Iterator[None]:
    """Call `announce` once, when the first kernel is compiled rather than loaded from the cache."""
    from numba.core import event

    class Listener(event.Listener):
        announced = False

        def on_start(self, _: object) -> None:
            if not self.announced:
                self.announced = True
                announce()

        def on_end(self, _: object) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield

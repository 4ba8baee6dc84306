"""The one way kernels are compiled: once per machine, cached on disk, and running without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

import numba

Kernel: TypeAlias = Callable[..., Any]


def kernel(function: Kernel) -> Kernel:
    """Compile a function on its first call, keep the machine code on disk, and run it without the GIL.

    Numba keeps the cache beside the source file, or in the user's cache folder where that is read-only. It notices a
    changed source file but not a changed file that it imports, so kernels that call each other live in one file.
    """
    return cast(Kernel, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def summing_kernel(function: Kernel) -> Kernel:
    """Compile as `kernel` does, but let the terms of a sum be added in any order, so that it becomes a vector loop."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
    return cast(Kernel, compiled(function))


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

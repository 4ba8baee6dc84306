"""Where arrays of the main memory are measured: by the processor, or on a GPU that whoever began the work chose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

__all__ = ["Placement", "measured_on", "placement_now"]


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """What was chosen, and what came of it.

    Attributes
    ----------
    device
        `cpu`, or `cuda` for what can be measured on a GPU.
    used
        Names of the GPUs on which something was measured.
    """

    device: str = "cpu"
    used: set[str] = field(default_factory=set)


_current: ContextVar[Placement | None] = ContextVar("placement", default=None)


@contextmanager
def measured_on(device: str) -> Iterator[Placement]:
    """Choose the device for what this thread measures meanwhile."""
    placement = Placement(device)
    token = _current.set(placement)
    try:
        yield placement
    finally:
        _current.reset(token)


def placement_now() -> Placement:
    """Return what was chosen last; the processor, where nothing was."""
    return _current.get() or Placement()

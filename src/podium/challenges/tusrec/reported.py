"""What the organisers' container writes instead of predictions: metrics.h5, the errors of every scan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from podium.io.arrays import dataset, open_hdf5
from podium.model import Floats, InputError

__all__ = ["METRICS", "SECONDS_IN", "read_keys", "read_metrics"]

METRICS = "metrics.h5"
SECONDS_IN = {"seconds": 1.0, "minutes": 60.0}
"""Units of `time_elapsed`: minutes in 2024, seconds in 2025."""

_ERRORS = ("GPE", "GLE", "LPE", "LLE")
_TIME = "time_elapsed"
_MOST_SCANS = 2**20
_LONGEST_SECONDS = 1e7


def read_keys(path: Path) -> list[str]:
    """Return the scans that dataset_keys.h5 names, in the order in which the container goes through them.

    That is the file's own: by name, or as they were written where it keeps track of that.
    """
    with open_hdf5(path) as file:
        return list(map(str, file))


def read_metrics(path: Path, scans: Sequence[str], scan: str, *, unit: str) -> dict[str, float]:
    """Return gpe, gle, lpe and lle of a scan in mm, and its seconds where they are there and can be used.

    Parameters
    ----------
    path
        metrics.h5 with GPE, GLE, LPE, LLE and time_elapsed, each with one number a scan.
    scans
        Which scan each number belongs to.
    scan
        Which of them is asked for; what is wrong with the others costs them alone.
    unit
        Of the times: seconds or minutes.
    """
    place = scans.index(scan)
    metrics: dict[str, float] = {}
    with open_hdf5(path) as file:
        for name in _ERRORS:
            error = float(_numbers(file, name, path, len(scans))[place])
            if not 0 <= error < np.inf:
                raise InputError(f"'{name}' of {scan} is {error:g}, not a distance in mm", path=path)
            metrics[name.lower()] = error
        if _TIME in set(map(str, file)):
            seconds = float(_numbers(file, _TIME, path, len(scans))[place]) * SECONDS_IN[unit]
            if 0 <= seconds <= _LONGEST_SECONDS:
                metrics["seconds"] = seconds
    return metrics


def _numbers(file: Any, name: str, path: Path, count: int) -> Floats:
    stored = dataset(file, name, path=path)
    size = stored.size or 0
    if stored.shape is None or stored.dtype.kind not in "fiu" or size > _MOST_SCANS:
        raise InputError(f"'{name}' holds {stored.dtype}, not one number a scan", path=path)
    if stored.shape != (count,):
        raise InputError(
            f"'{name}' holds {size} number{'s' * (size != 1)}, dataset_keys.h5 names {count} scans",
            path=path,
            advice="The container was run on other data",
        )
    return np.asarray(stored[()], np.float64)

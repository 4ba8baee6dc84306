"""Made-up truth and teams for any declared challenge, so that it can be tried before there are data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
from scipy import ndimage

from podium.challenges.kinds.declared import DeclaredChallenge
from podium.challenges.kinds.patterns import Pattern
from podium.io import csv_text, write_bytes, write_label_map, write_text
from podium.model import InputError, LabelMap

__all__ = ["PHANTOMS", "TEAMS", "write_phantoms"]

TEAMS: Mapping[str, float] = {"careful": 0.4, "steady": 0.7, "hasty": 1.5, "unlucky": 0.4}
"""Teams, and by how much they err. The unlucky one lacks a prediction, and another cannot be used."""

_SHAPE = (36, 32, 20)
_SPACING = (1.0, 1.0, 2.0)
_FRAMES = 25
Parts = dict[str, str]
Generator = np.random.Generator


def write_phantoms(challenge: DeclaredChallenge, folder: Path, *, cases: int = 12, seed: int = 0) -> None:
    """Write synthetic data in a challenge's own layout: `truth/`, and one folder for each of `TEAMS` in `submissions/`.

    Parameters
    ----------
    challenge
        Of any kind; its patterns, labels and names decide what is written.
    folder
        Where to.
    cases
        How many; where cases are of clusters, two each.
    seed
        The same number gives the same data.
    """
    if challenge.kind not in PHANTOMS:
        raise InputError(f"there are no phantoms of {challenge.kind} yet")
    PHANTOMS[challenge.kind](challenge, folder, cases, seed)


def _drawn(seed: int, *place: int) -> Generator:
    return np.random.default_rng((16, seed, *place))


def _parts(challenge: DeclaredChallenge, pattern: Pattern, cases: int) -> Iterator[Parts]:
    """Name the parts of each case: parts of the cluster change with every second, others with every one."""
    joint = set(challenge.files.cluster.parts) if challenge.files.cluster is not None else set()
    alone = [part for part in pattern.parts if part not in joint]
    for number in range(cases):
        of_cluster = number // 2 if alone else number
        own = {part: f"{of_cluster + 1:03d}" for part in pattern.parts if part in joint}
        first = f"{number % 2 + 1}" if joint else f"{number + 1:03d}"
        yield own | {part: first if part == alone[0] else "1" for part in alone}


def _each_file(
    challenge: DeclaredChallenge,
    folder: Path,
    cases: int,
    seed: int,
    write: Callable[[Path, Generator, float | None], None],
) -> None:
    """Call what writes the truth of a case, or with an error what a team predicts of it; let one team be unlucky."""
    files = challenge.files
    for number, parts in enumerate(_parts(challenge, files.truth, cases)):
        path = folder / "truth" / files.truth.fill(parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, _drawn(seed, number), None)
        for team, error in TEAMS.items():
            path = folder / "submissions" / team / files.prediction[0].fill(parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            if team == "unlucky" and number == 0:
                path.unlink(missing_ok=True)
            elif team == "unlucky" and number == 1:
                write_bytes(path, b"damaged\n")
            else:
                # The anatomy is the truth's; what is drawn after it differs from team to team.
                write(path, _drawn(seed, number), error * (1 + 0.2 * len(team)) / 2)


def _segmentation(challenge: Any, folder: Path, cases: int, seed: int) -> None:
    pictures = any(str(own).endswith(".png") for own in (challenge.files.truth, *challenge.files.prediction))
    shape = _SHAPE[: 2 if pictures else challenge.images.dimensions or 3]
    spacing = 1.0 if pictures else _SPACING[: len(shape)]
    numbers = sorted(challenge.labels.values())

    def write(path: Path, generator: Generator, error: float | None) -> None:
        images = {name: _anatomy(generator, shape, numbers, error) for name in challenge.images.arrays or [""]}
        if not challenge.images.arrays:
            write_label_map(path, LabelMap.from_array(images[""], spacing=spacing))
            return
        with h5py.File(path, "w") as file:
            for name, array in images.items():
                file[challenge.images.arrays[name]] = array

    _each_file(challenge, folder, cases, seed, write)


def _anatomy(
    generator: Generator, shape: Sequence[int], numbers: Sequence[int], error: float | None
) -> npt.NDArray[np.uint16]:
    """Return one or two round bodies for each label, later ones over earlier ones; an error makes them rough."""
    labels = np.zeros(shape, np.uint16)
    grid = np.indices(shape).astype(float)
    drawn = [
        (number, generator.uniform(0.3, 0.7, len(shape)) * shape, generator.uniform(3.0, 5.5))
        for number in numbers
        for _ in range(int(generator.integers(1, 3)))
    ]
    for number, centre, radius in drawn:
        depth = radius - np.sqrt(sum((axis - place) ** 2 for axis, place in zip(grid, centre, strict=True)))
        if error is not None:
            rough = ndimage.gaussian_filter(np.random.default_rng(int(1e6 * (error + radius))).normal(size=shape), 1.5)
            depth = depth + 1.2 * error * rough / rough.std()
        labels[depth > 0] = number
    return labels


def _landmarks(challenge: Any, folder: Path, cases: int, seed: int) -> None:
    points = challenge.points

    def write(path: Path, generator: Generator, error: float | None) -> None:
        places = generator.uniform(20, 180, (len(points.names), len(points.axes)))
        if error is not None:
            places = places + _other(error, generator).normal(0, 3 * error, places.shape)
        rows = [(name, *_rounded(place)) for name, place in zip(points.names, places, strict=True)]
        write_text(path, csv_text(("landmark", *points.axes), rows))

    _each_file(challenge, folder, cases, seed, write)


def _tracking(challenge: Any, folder: Path, cases: int, seed: int) -> None:
    tracks = challenge.tracks
    columns = [f"{name}_{axis}" for name in tracks.objects for axis in tracks.axes]

    def write(path: Path, generator: Generator, error: float | None) -> None:
        places = 256 + np.cumsum(generator.normal(0, 6, (_FRAMES, len(columns))), axis=0)
        if error is not None:
            places = places + _other(error, generator).normal(0, 4 * error, places.shape)
        write_text(path, csv_text(("frame", *columns), [(n + 1, *_rounded(p)) for n, p in enumerate(places)]))

    _each_file(challenge, folder, cases, seed, write)


def _detection(challenge: Any, folder: Path, cases: int, seed: int) -> None:
    asked = challenge.candidates
    boxes = asked.shape == "boxes"
    own_radius = not boxes and asked.radius_mm is None
    reach = 8.0 if boxes or own_radius else asked.radius_mm

    def write(path: Path, generator: Generator, error: float | None) -> None:
        places = generator.uniform(20, 180, (int(generator.integers(0, 5)), len(asked.axes)))
        last: tuple[str, ...] = ("radius",) if own_radius else ()
        numbers = np.full((len(places), len(last)), reach)
        if error is not None:
            other = _other(error, generator)
            near = places + other.normal(0, 0.4 * error * reach / len(asked.axes), places.shape)
            false = other.uniform(20, 180, (other.poisson(2 * error), len(asked.axes)))
            scores = [other.uniform(0.4, 1, len(near)), other.uniform(0, 0.5 + error / 4, len(false))]
            places, last, numbers = np.vstack([near, false]), ("score",), np.concatenate(scores)[:, None]
        ends = np.hstack([places - reach, places + reach]) if boxes else places
        rows = [(f"n{n + 1}", *_rounded(row)) for n, row in enumerate(np.hstack([ends, numbers]))]
        write_text(path, csv_text(("name", *asked.columns, *last), rows))

    _each_file(challenge, folder, cases, seed, write)


def _other(error: float, generator: Generator) -> Generator:
    """Return what draws a team's errors, so that these are not the same for all."""
    return np.random.default_rng((int(1e6 * error), int(generator.integers(2**31))))


def _rounded(numbers: npt.NDArray[np.float64]) -> list[float]:
    return [round(float(number), 3) for number in numbers]


def _one_table(
    challenge: Any, folder: Path, cases: int, truth: npt.NDArray[np.float64], guess: Callable[[float, int], Any]
) -> None:
    """Write the table of the truth, and one for each team, of which the unlucky one lacks a line and a number."""
    files, columns = challenge.files, challenge.targets
    names = [files.case_name.fill(parts) for parts in _parts(challenge, files.case_name, cases)]
    _write(folder / "truth" / files.truth.text, _table(names, columns, truth))
    for place, (team, error) in enumerate(TEAMS.items()):
        lines = _table(names, columns, guess(error, place)).splitlines(keepends=True)
        if team == "unlucky":
            lines = [lines[0], lines[1].split(",")[0] + "," * len(columns) + "\n", *lines[3:]]
        _write(folder / "submissions" / team / files.prediction[0].text, "".join(lines))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def _table(names: Sequence[str], columns: Sequence[str], numbers: npt.NDArray[np.float64]) -> str:
    rows = [[f"{number:g}" for number in _rounded(row)] for row in numbers]
    return csv_text(("case", *columns), [(name, *row) for name, row in zip(names, rows, strict=True)])


def _regression(challenge: Any, folder: Path, cases: int, seed: int) -> None:
    shape = 5 * cases, len(challenge.targets)
    truth = _drawn(seed).uniform(20, 200, shape)
    _one_table(
        challenge, folder, shape[0], truth, lambda error, team: truth + _drawn(seed, team).normal(0, 12 * error, shape)
    )


def _classification(challenge: Any, folder: Path, cases: int, seed: int) -> None:
    shape = 5 * cases, len(challenge.targets)
    truth = np.asarray(_drawn(seed).permuted(np.arange(shape[0])[:, None] % 3 == np.zeros(shape), axis=0), float)

    if challenge.classes.exclusive:
        truth = np.eye(shape[1])[_drawn(seed).permuted(np.arange(shape[0]) % shape[1])]

    def guess(error: float, team: int) -> npt.NDArray[np.float64]:
        strengths = 4 * truth - 2 + _drawn(seed, team).normal(0, 3 * error, shape)
        if not challenge.classes.exclusive:
            return np.asarray(1 / (1 + np.exp(-strengths)))
        shares = np.round(np.exp(strengths) / np.exp(strengths).sum(axis=1, keepdims=True), 3)
        highest = np.arange(shape[0]), np.argmax(shares, axis=1)
        shares[highest] += 1 - shares.sum(axis=1)  # as rounded, they add up to 1
        return np.asarray(shares)

    _one_table(challenge, folder, shape[0], truth, guess)


PHANTOMS: Mapping[str, Callable[[Any, Path, int, int], None]] = {
    "segmentation": _segmentation,
    "detection": _detection,
    "landmarks": _landmarks,
    "tracking": _tracking,
    "regression": _regression,
    "classification": _classification,
}
"""What writes them, by kind."""

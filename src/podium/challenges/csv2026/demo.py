"""Carotid arteries with plaque in two ultrasound views, segmented and judged by teams of different skill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

__all__ = ["write"]

_SIDE = 512
_CASES = 16
_BASELINE_SECONDS = 0.9
Labels = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class _Artery:
    """An artery: its size and place in pixels, and how thick the plaque on its lower wall is (0: there is none)."""

    centre: float
    radius: float
    slope: float
    plaque_place: float
    plaque_length: float
    plaque_height: float
    wobble: float = 0.0


@dataclass(frozen=True, slots=True)
class _PlaqueTeam:
    """How a team errs.

    `error` and `wobble` are pixels by which contours are wrong, at random and smoothly; `bias` pixels by which they
    are too wide; `mistakes` the share of wrong classes; `seconds` the mean time per case, None if not reported.
    """

    error: float
    wobble: float
    bias: float
    mistakes: float
    seconds: float | None


_TEAMS = {
    "careful": _PlaqueTeam(error=1.0, wobble=0.8, bias=0.0, mistakes=0.08, seconds=0.7),
    "patient": _PlaqueTeam(error=0.6, wobble=0.6, bias=0.0, mistakes=0.05, seconds=2.6),
    "generous": _PlaqueTeam(error=1.0, wobble=0.8, bias=4.0, mistakes=0.3, seconds=0.25),
    "noisy": _PlaqueTeam(error=3.0, wobble=3.5, bias=0.0, mistakes=0.3, seconds=None),
    "unlucky": _PlaqueTeam(error=1.0, wobble=0.8, bias=0.0, mistakes=0.08, seconds=0.4),
    "baseline": _PlaqueTeam(error=2.0, wobble=1.5, bias=0.5, mistakes=0.2, seconds=_BASELINE_SECONDS),
}


def write(folder: Path, *, seed: int = 0) -> None:
    """Write sixteen cases with their images, the organisers' time, and the predictions of five teams and a baseline."""
    generator, probe = np.random.default_rng((2026, seed)), np.random.default_rng((2026, seed, 1))
    labels, submissions = folder / "truth" / "labels", folder / "submissions"
    labels.mkdir(parents=True, exist_ok=True)
    comment = "# The organisers' own time per case, which time scores are relative to."
    (folder / "truth" / "challenge.toml").write_text(f"{comment}\nbaseline_seconds = {_BASELINE_SECONDS}\n")
    times: dict[str, list[str]] = {name: ["case,seconds"] for name in _TEAMS}
    for number in range(_CASES):
        case = f"{number:03d}"
        arteries = {view: _artery(generator, plaque=number % 6 != 3) for view in ("long", "trans")}
        risk = int(number % 2)
        truth = {view: _drawn(view, artery, generator) for view, artery in arteries.items()}
        _save(labels / f"{case}_label.h5", truth, risk)
        images = {f"{view}_img": _insonified(mask, risk, probe) for view, mask in truth.items()}
        _write_h5(folder / "truth" / "images" / f"{case}.h5", images)
        for name, team in _TEAMS.items():
            masks = {
                view: _drawn(view, _misjudged(artery, team, generator), generator) for view, artery in arteries.items()
            }
            guess = 1 - risk if generator.random() < team.mistakes else risk
            _save(submissions / name / "preds" / f"{case}_pred.h5", masks, guess)
            if team.seconds:
                times[name].append(f"{case},{team.seconds * generator.lognormal(0, 0.1):.3f}")
    for name, lines in times.items():
        if len(lines) > 1:
            (submissions / name / "timing.csv").write_text("\n".join(lines) + "\n")
    _spoil(submissions / "unlucky" / "preds")


def _insonified(mask: Labels, risk: int, generator: np.random.Generator) -> Labels:
    """Return an ultrasound image: blood is dark, tissue bright, and a plaque at high risk darker than one at low."""
    brightness = np.select([mask == 255, mask == 128], [20.0, 75.0 if risk else 105.0], 170.0)
    coarse = generator.gamma(12.0, 1 / 12, (_SIDE // 4, _SIDE // 4))  # speckle, coarse so that its file is small
    speckle = np.kron(coarse, np.ones((4, 4)))
    return np.asarray(np.clip(np.round(brightness * speckle / 8) * 8, 0, 255), np.uint8)


def _artery(generator: np.random.Generator, *, plaque: bool) -> _Artery:
    return _Artery(
        centre=generator.uniform(215, 300),
        radius=generator.uniform(48, 80),
        slope=generator.uniform(-0.1, 0.1),
        plaque_place=generator.uniform(190, 320),
        plaque_length=generator.uniform(45, 90),
        plaque_height=generator.uniform(14, 30) if plaque else 0.0,
    )


def _misjudged(artery: _Artery, team: _PlaqueTeam, generator: np.random.Generator) -> _Artery:
    """Return what a team takes an artery for."""
    shift = generator.normal(0, team.error, 4)
    return replace(
        artery,
        centre=artery.centre + shift[0],
        radius=artery.radius + team.bias + shift[1] / 2,
        plaque_place=artery.plaque_place + 2 * shift[2],
        plaque_height=max(artery.plaque_height + team.bias + shift[3], 0.0) if artery.plaque_height else 0.0,
        wobble=team.wobble,
    )


def _drawn(view: str, artery: _Artery, generator: np.random.Generator) -> Labels:
    """Draw an artery along its axis (long) or across it (trans): 128 plaque, 255 vessel."""
    across = np.arange(_SIDE)[:, None]
    along = np.arange(_SIDE)[None, :]
    upper, lower, surface = artery.wobble * _waves(generator)
    if view == "long":
        axis = artery.centre + artery.slope * (along - _SIDE / 2)
        inside = (across > axis - artery.radius + upper) & (across < axis + artery.radius + lower)
        bump = np.exp(-(((along - artery.plaque_place) / artery.plaque_length) ** 4))
        plaque = across > axis + artery.radius - artery.plaque_height * bump + np.where(bump > 0.05, surface, 0) + 0.5
    else:
        angle = np.arctan2(across - artery.centre, along - _SIDE / 2)
        turn = ((angle / (2 * np.pi) + 0.5) * (_SIDE - 1)).astype(int)
        distance = np.hypot(across - artery.centre, along - _SIDE / 2)
        inside = distance < artery.radius + upper[turn]
        facing = angle - (artery.plaque_place - _SIDE / 2) / 100
        bump = np.exp(-((np.abs(np.angle(np.exp(1j * facing))) / 0.9) ** 4))
        plaque = distance > artery.radius - artery.plaque_height * bump + np.where(bump > 0.05, surface[turn], 0)
        plaque &= bump > 0.05
    image = np.where(inside, 255, 0)
    if artery.plaque_height:
        image[inside & plaque] = 128
    return image.astype(np.uint8)


def _waves(generator: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return three smooth random curves of unit size across the image."""
    phases, sizes = generator.uniform(0, 2 * np.pi, (3, 8, 1)), generator.normal(size=(3, 8, 1))
    places = np.linspace(0, 2 * np.pi, _SIDE)
    return np.asarray((sizes * np.sin(np.arange(1, 9)[:, None] * places + phases)).sum(axis=1) / 2)


def _spoil(folder: Path) -> None:
    """Break a submission in the ways that submissions break."""
    (folder / "001_pred.h5").unlink()
    damaged = folder / "004_pred.h5"
    damaged.write_bytes(damaged.read_bytes()[:1500])
    _change(folder / "006_pred.h5", long_mask=np.zeros((256, 256), np.uint8))
    _change(folder / "008_pred.h5", trans_mask=np.full((_SIDE, _SIDE), np.nan, np.float32))
    _change(folder / "011_pred.h5", cls=np.float32(0.73))


def _change(path: Path, **contents: Any) -> None:
    with h5py.File(path, "a") as file:
        for name, content in contents.items():
            del file[name]
            file.create_dataset(name, data=content, compression="gzip" if np.ndim(content) else None)


def _save(path: Path, masks: dict[str, Labels], risk: int) -> None:
    _write_h5(path, {**{f"{view}_mask": labels for view, labels in masks.items()}, "cls": np.uint8(risk)})


def _write_h5(path: Path, contents: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for name, content in contents.items():
            file.create_dataset(name, data=content, compression="gzip" if np.ndim(content) else None)

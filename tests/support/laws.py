"""Laws that every metric must obey, whatever it measures; each raises AssertionError where a metric breaks it.

A family of metrics says what its data are and how they may be changed without changing the value. A law is then the
same for all families.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any

import numpy as np

from podium.metrics import BoundaryBands, CentreLines, Centres, Overlap, SurfaceDistances, Topology
from podium.model import Metric


@dataclass(frozen=True)
class Family:
    """How to make data for a family of metrics.

    `measure` calls a metric; `pairs` yields references and predictions; `equivalents` yields pairs that must give the
    same value; `nothing` makes the pair of each empty case; `scaled` measures with all lengths multiplied.
    """

    measure: Callable[..., float]
    pairs: Callable[[], Iterator[tuple[Any, Any]]]
    equivalents: Callable[[Any, Any], Iterator[tuple[Any, ...]]] = lambda *_: iter(())
    nothing: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    scaled: Callable[..., float] | None = None


SPACING = (0.7, 1.3, 2.9)


def _mask_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(0)
    for shape in ((6, 7), (5, 4, 6), (1, 5, 6)):
        for densities in ((0.3, 0.3), (0.05, 0.6), (1.0, 0.2)):
            masks = [generator.random(shape) < density for density in densities]
            masks[0].flat[0] = masks[1].flat[-1] = True  # neither is empty
            yield masks[0], masks[1]


def _turned(reference: np.ndarray, prediction: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Yield the pair flipped and with its axes permuted, and the spacing that goes with it."""
    dimensions = reference.ndim
    for order, flips in product(permutations(range(dimensions)), product((1, -1), repeat=dimensions)):
        index = tuple(slice(None, None, flip) for flip in flips)
        yield *(mask.transpose(order)[index] for mask in (reference, prediction)), tuple(SPACING[k] for k in order)


_EMPTY, _SOME = np.zeros((4, 5, 3), bool), np.ones((4, 5, 3), bool)


def _segmentation(kind: Any, **options: Any) -> Family:
    def measure(metric, reference, prediction, spacing=None, **arguments):
        spacing = spacing or SPACING[: reference.ndim]
        return metric(kind.between(reference, prediction, spacing_mm=spacing, **options), **arguments)

    def scaled(metric, reference, prediction, factor, **arguments):
        return measure(metric, reference, prediction, tuple(factor * s for s in SPACING[: reference.ndim]), **arguments)

    return Family(
        measure=measure,
        pairs=_mask_pairs,
        equivalents=_turned,
        nothing={"both": (_EMPTY, _EMPTY), "reference": (_EMPTY, _SOME), "prediction": (_SOME, _EMPTY)},
        scaled=scaled,
    )


def _without_lengths(kind: Any, **options: Any) -> Family:
    """Return a family of metrics of two masks that no spacing changes."""
    masks = _segmentation(kind)

    def measure(metric, reference, prediction, _=None, **arguments):
        return metric(kind.between(reference, prediction, **options), **arguments)

    # Thinning goes side by side, so that skeletons depend on which side is first.
    turned = _turned if kind is not CentreLines else lambda *_: iter(())
    return Family(measure=measure, pairs=_mask_pairs, equivalents=turned, nothing=masks.nothing)


def _number_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(1)
    for size in (2, 3, 50):
        yield generator.normal(3, 2, size), generator.normal(2, 3, size)


def _class_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(2)
    for size in (1, 7, 50):
        yield generator.integers(0, 4, size), generator.integers(0, 3, size)


def _shuffled(reference: np.ndarray, prediction: np.ndarray) -> Iterator[tuple[Any, ...]]:
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(reference))
        yield reference[order], prediction[order]


def _landmark_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(3)
    for size in (1, 20):
        yield generator.normal(0, 9, (size, 3)), generator.normal(0, 9, (size, 3))


def _transform_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(4)
    for frames in (1, 3):
        poses = np.broadcast_to(np.eye(4), (2, frames, 4, 4)).copy()
        poses[..., :3, :] += generator.normal(0, 0.1, (2, frames, 3, 4))
        yield poses[0], poses[1]


def _reconstruct(metric: Metric, reference: np.ndarray, prediction: np.ndarray, scale: float = 1.0) -> float:
    """Measure transforms of a 4 × 5 image, as transforms or as the displacements that they make."""
    scaling = np.diag([0.5, 0.4, 1.0, 1.0])
    if scale != 1:
        scaling = np.diag([scale, scale, scale, 1.0]) @ scaling
        reference, prediction = reference.copy(), prediction.copy()
        reference[:, :3, 3] *= scale
        prediction[:, :3, 3] *= scale
    if "predicted" in inspect.signature(metric.function).parameters:
        return metric(reference, prediction, scaling=scaling, shape=(4, 5))
    y, x = np.mgrid[1:5, 1:6].reshape(2, -1)
    pixels = scaling @ np.stack([x, y, 0 * x, np.ones(x.size)])
    fields = [((transform - np.eye(4)) @ pixels)[:3] for transform in prediction]
    return metric(reference, iter(fields), scaling=scaling, width=5)


def _call(metric: Metric, reference: Any, prediction: Any, **arguments: Any) -> float:
    return float(metric(reference, prediction, **arguments))


FAMILIES: dict[str, list[Family]] = {
    "overlap": [_segmentation(Overlap)],
    "surface": [_segmentation(SurfaceDistances, boundary="surfel"), _segmentation(SurfaceDistances, boundary="voxel")],
    "centres": [_segmentation(Centres)],
    "boundary": [_segmentation(BoundaryBands)],
    "centreline": [_without_lengths(CentreLines)],
    "topology": [_without_lengths(Topology, touch="corner"), _without_lengths(Topology, touch="face")],
    "regression": [
        Family(_call, _number_pairs, _shuffled, {"no samples": ([], []), "constant": ([1, 1, 1], [1, 2, 3])})
    ],
    "classification": [Family(_call, _class_pairs, _shuffled, {"no samples": ([], [])})],
    "landmarks": [
        Family(
            _call,
            _landmark_pairs,
            _shuffled,
            {"no landmarks": (np.zeros((0, 3)), np.zeros((0, 3)))},
            lambda metric, a, b, factor: metric(a * factor, b * factor),
        )
    ],
    "reconstruction": [
        Family(
            _reconstruct,
            _transform_pairs,
            lambda *_: iter(()),
            {"no frames": (np.zeros((0, 4, 4)), np.zeros((0, 4, 4)))},
            _reconstruct,
        )
    ],
}


def _same(one: float, two: float) -> bool:
    return (math.isnan(one) and math.isnan(two)) or math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-12)


def _cases(metric: Metric) -> Iterator[tuple[Family, Any, Any]]:
    for family in FAMILIES[metric.family]:
        for reference, prediction in family.pairs():
            yield family, reference, prediction


def stays_in_range(metric: Metric) -> None:
    for family, reference, prediction in _cases(metric):
        value = family.measure(metric, reference, prediction)
        assert metric.minimum <= value <= metric.maximum, f"{value} is outside [{metric.minimum}, {metric.maximum}]"


def knows_the_perfect(metric: Metric) -> None:
    if metric.perfect is None:
        return
    for family, reference, _ in _cases(metric):
        value = family.measure(metric, reference, reference)
        assert _same(value, metric.perfect), f"{value} for a perfect prediction, {metric.perfect} is declared"


def is_symmetric_where_declared(metric: Metric) -> None:
    same = [
        _same(family.measure(metric, reference, prediction), family.measure(metric, prediction, reference))
        for family, reference, prediction in _cases(metric)
    ]
    assert all(same) == metric.symmetric, f"symmetric: {all(same)}, declared: {metric.symmetric}"


def does_not_depend_on_orientation_or_order(metric: Metric) -> None:
    for family, reference, prediction in _cases(metric):
        value = family.measure(metric, reference, prediction)
        for equivalent in family.equivalents(reference, prediction):
            assert _same(family.measure(metric, *equivalent), value), f"{value} changes with the order of the data"


def follows_its_unit(metric: Metric) -> None:
    power = {"": 0, "mm": 1, "mm³": None}[metric.unit]
    for family, reference, prediction in _cases(metric):
        if family.scaled is None:
            continue
        exponent = reference.ndim if power is None else power
        options = {"tolerance_mm": 2.0} if _has_tolerance(metric) else {}
        bare = {"tolerance_mm": 1.0} if _has_tolerance(metric) else {}
        value = family.measure(metric, reference, prediction, **bare)
        twice = family.scaled(metric, reference, prediction, 2.0, **options)
        assert _same(twice, value * 2**exponent), f"{value} becomes {twice} when lengths double"


def gives_what_it_declares_for_nothing(metric: Metric) -> None:
    for family in FAMILIES[metric.family]:
        assert set(metric.empty) <= set(family.nothing), "an empty case is declared that cannot occur"
        for case, declared in metric.empty.items():
            value = family.measure(metric, *family.nothing[case])
            assert _same(value, declared), f"{value} for {case!r}, {declared} is declared"
            assert math.isnan(declared) or metric.minimum <= declared <= metric.maximum


def only_rises_with_tolerance(metric: Metric) -> None:
    if not _has_tolerance(metric):
        return
    for family, reference, prediction in _cases(metric):
        values = [family.measure(metric, reference, prediction, tolerance_mm=t) for t in (0, 0.5, 1, 2, 4, 8, 16)]
        assert values == sorted(values), f"{values} falls as the tolerance grows"


def _has_tolerance(metric: Metric) -> bool:
    return "tolerance_mm" in inspect.signature(metric.function).parameters


LAWS = (
    stays_in_range,
    knows_the_perfect,
    is_symmetric_where_declared,
    does_not_depend_on_orientation_or_order,
    follows_its_unit,
    gives_what_it_declares_for_nothing,
    only_rises_with_tolerance,
)

"""Data for each family of metrics, and how they may be changed without changing the value; what laws are tried on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any

import numpy as np

from podium.metrics import (
    BinaryCounts,
    BoundaryBands,
    BoxSet,
    CentreLines,
    Centres,
    Detections,
    ImageDetections,
    InstanceCounts,
    InstanceOverlaps,
    LesionComparison,
    Overlap,
    SurfaceDistances,
    Topology,
    point_hits,
)
from podium.model import Metric


@dataclass(frozen=True)
class Family:
    """How to make data for a family of metrics.

    `measure` calls a metric; `pairs` yields references and predictions; `equivalents` yields pairs that must give the
    same value; `nothing` makes the pair of each empty case; `scaled` measures with all lengths multiplied;
    `exchangeable` says whether a prediction may stand in the place of a reference; `weighted`, whether rows (first
    axis) take weights; `values`, whether both sides are arrays that the metric itself is given; `masks`, whether it
    takes two masks.
    """

    measure: Callable[..., float]
    pairs: Callable[[], Iterator[tuple[Any, Any]]]
    equivalents: Callable[[Any, Any], Iterator[tuple[Any, ...]]] = lambda *_: iter(())
    nothing: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    scaled: Callable[..., float] | None = None
    exchangeable: bool = True
    weighted: bool = False
    values: bool = False
    masks: bool = False


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
        masks=True,
    )


def _without_lengths(kind: Any, **options: Any) -> Family:
    """Return a family of metrics of two masks that no spacing changes."""
    masks = _segmentation(kind)

    def measure(metric, reference, prediction, _=None, **arguments):
        return metric(kind.between(reference, prediction, **options), **arguments)

    # Thinning goes side by side, so that skeletons depend on which side is first.
    turned = _turned if kind is not CentreLines else lambda *_: iter(())
    return Family(measure=measure, pairs=_mask_pairs, equivalents=turned, nothing=masks.nothing, masks=True)


def _number_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(1)
    for size in (2, 3, 50):
        yield generator.normal(3, 2, size), generator.normal(2, 3, size)


def _class_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(2)
    for size in (1, 7, 50):
        yield generator.integers(0, 4, size), generator.integers(0, 3, size)


def _rating_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for reference, prediction in _class_pairs():
        yield np.append(reference, [0, 1]), np.append(prediction, [0, 2])  # neither side gives one class only


def _decision_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(5)
    for size in (1, 7, 50):
        reference, prediction = generator.integers(0, 2, (2, size))
        yield np.append(reference, [0, 0, 1, 1]), np.append(prediction, [0, 1, 0, 1])


def _score_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(6)
    for size in (1, 7, 50):
        yield np.append(generator.integers(0, 2, size), [0, 1]), generator.random(size + 2).round(1)


def _class_score_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(7)
    for size in (1, 7, 50):
        yield np.append(generator.integers(0, 3, size), [0, 1, 2]), generator.dirichlet([1, 1, 1], size + 3)


def _of_decisions(metric: Metric, reference: Any, prediction: Any, **arguments: Any) -> Any:
    weights = arguments.pop("weights", None)
    return metric(BinaryCounts.between(reference, prediction, weights=weights), **arguments)


def _of_class_scores(metric: Metric, reference: Any, prediction: Any, **arguments: Any) -> Any:
    if isinstance(prediction, np.ndarray) and prediction.ndim == 1:
        prediction = np.eye(3)[prediction]
    return metric(reference, prediction, **arguments)


def _field_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(9)
    for shape in ((2, 5, 6), (3, 4, 5, 3)):
        yield generator.normal(0, 1, shape), generator.normal(0, 1, shape)


def _image_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(10)
    for shape in ((12, 15), (11, 12, 13)):
        yield generator.random(shape), generator.random(shape)


def _mirrored(reference: np.ndarray, prediction: np.ndarray) -> Iterator[tuple[Any, ...]]:
    for axis in range(reference.ndim):
        yield np.flip(reference, axis), np.flip(prediction, axis)
    yield reference.T, prediction.T


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


def _reconstruct(
    metric: Metric, reference: np.ndarray, prediction: np.ndarray, scale: float = 1.0, **options: Any
) -> float:
    """Measure transforms of a 4 × 5 image, as transforms or as the displacements that they make."""
    scaling = np.diag([0.5, 0.4, 1.0, 1.0])
    if scale != 1:
        scaling = np.diag([scale, scale, scale, 1.0]) @ scaling
        reference, prediction = reference.copy(), prediction.copy()
        reference[:, :3, 3] *= scale
        prediction[:, :3, 3] *= scale
    if "predicted" in inspect.signature(metric.function).parameters:
        return metric(reference, prediction, **({"scaling": scaling, "shape": (4, 5)} | options))
    y, x = np.mgrid[1:5, 1:6].reshape(2, -1)
    pixels = scaling @ np.stack([x, y, 0 * x, np.ones(x.size)])
    fields = [((transform - np.eye(4)) @ pixels)[:3] for transform in prediction]
    return metric(reference, iter(fields), **({"scaling": scaling, "width": 5} | options))


def _instance_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield maps of blocks of many sizes, a cell of 5 voxels for each; some missed or false (or none), some cut."""
    generator = np.random.default_rng(5)
    for cells, least in (((4, 5), 0), ((3, 2, 3), 0), ((3, 3), 2)):
        maps = np.zeros((2, *(5 * n for n in cells)), np.int64)
        for number, cell in enumerate(np.ndindex(cells), start=1):
            sides = generator.integers(1, 5, len(cells))
            block = tuple(slice(5 * k, 5 * k + side) for k, side in zip(cell, sides, strict=True))
            kind = generator.integers(least, 5) if number > 1 else 4
            if kind != 0:
                maps[(0, *block)] = number
            if kind != 1:
                maps[(1, *block)] = number + 100
            if kind == 2:
                maps[(1, *block)][2:] = number + 200
                maps[(1, *block)][1:2] = 0
        yield maps[0], maps[1]


def _by_instances(metric: Metric, reference: np.ndarray, prediction: np.ndarray, *_: Any) -> float:
    overlaps = InstanceOverlaps.between(reference, prediction)
    return float(np.squeeze(metric(InstanceCounts.at_thresholds(overlaps, thresholds=(0.5,), inclusive=False))))


def _by_lesions(
    metric: Metric, reference: np.ndarray, prediction: np.ndarray, spacing: Any = None, **options: Any
) -> float:
    spacing = spacing or SPACING[: reference.ndim]
    return metric(LesionComparison.by_contact(reference, prediction, spacing_mm=spacing), **options)


def _lesions_scaled(
    metric: Metric, reference: np.ndarray, prediction: np.ndarray, factor: float, **options: Any
) -> float:
    spacing = tuple(factor * s for s in SPACING[: reference.ndim])
    return _by_lesions(metric, reference, prediction, spacing, **options)


def _by_hits(metric: Metric, reference: np.ndarray, prediction: np.ndarray, **options: Any) -> float:
    """Measure points, each as sure as its first coordinate is large."""
    hits = point_hits(prediction, reference, radius_mm=6.0)
    return float(metric(Detections.of([ImageDetections.by_hits(prediction[:, 0], hits)]), **options))


def _box_pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(6)
    for axes in (2, 3):
        lower = generator.normal(0, 30, (2, 12, axes))
        lower[1, :9] = lower[0, :9] + generator.normal(0, 0.5, (9, axes))
        yield tuple(np.concatenate([lower, lower + generator.uniform(4, 6, lower.shape)], axis=2))


def _by_boxes(metric: Metric, reference: np.ndarray, prediction: np.ndarray, **options: Any) -> float:
    return float(metric([BoxSet(reference)], [BoxSet(prediction, scores=prediction[:, 0])], **options))


_NOTHING = {"both": (_EMPTY, _EMPTY), "reference": (_EMPTY, _SOME), "prediction": (_SOME, _EMPTY)}


def _call(metric: Metric, reference: Any, prediction: Any, **arguments: Any) -> Any:
    return metric(reference, prediction, **arguments)


FAMILIES: dict[str, list[Family]] = {
    "overlap": [_segmentation(Overlap)],
    "surface": [_segmentation(SurfaceDistances, boundary="surfel"), _segmentation(SurfaceDistances, boundary="voxel")],
    "centres": [_segmentation(Centres)],
    "boundary": [_segmentation(BoundaryBands)],
    "centreline": [_without_lengths(CentreLines)],
    "topology": [_without_lengths(Topology, touch="corner"), _without_lengths(Topology, touch="face")],
    "regression": [
        Family(
            _call,
            _number_pairs,
            _shuffled,
            {"no samples": ([], []), "constant": ([1, 1, 1], [1, 2, 3])},
            weighted=True,
            values=True,
        )
    ],
    "classification": [Family(_call, _class_pairs, _shuffled, {"no samples": ([], [])}, weighted=True, values=True)],
    "class agreement": [
        Family(
            _call,
            _rating_pairs,
            _shuffled,
            {"no samples": ([], []), "one class": ([1, 1], [1, 1])},
            weighted=True,
            values=True,
        )
    ],
    "decisions": [
        Family(
            _of_decisions,
            _decision_pairs,
            _shuffled,
            {
                "no samples": ([], []),
                "no positives": ([0, 0], [0, 1]),
                "no negatives": ([1, 1], [0, 1]),
                "none called positive": ([0, 1], [0, 0]),
                "none called negative": ([0, 1], [1, 1]),
                "nothing positive on either side": ([0, 0], [0, 0]),
            },
            weighted=True,
            values=True,
        )
    ],
    "probabilities": [
        Family(
            _call,
            _score_pairs,
            _shuffled,
            {
                "no samples": ([], []),
                "no positives": ([0, 0], [0.2, 0.7]),
                "no negatives": ([1, 1], [0.2, 0.7]),
            },
            exchangeable=False,
            weighted=True,
            values=True,
        )
    ],
    "class probabilities": [
        Family(
            _of_class_scores,
            _class_score_pairs,
            _shuffled,
            {"no samples": (np.zeros(0, int), np.zeros((0, 3)))},
            exchangeable=False,
            weighted=True,
            values=True,
        )
    ],
    "deformations": [
        Family(
            lambda metric, _, prediction, **options: metric(prediction, **options),
            _field_pairs,
            nothing={"no voxels": (np.zeros((2, 0, 3)), np.zeros((2, 0, 3)))},
            scaled=lambda metric, _, prediction, factor: metric(
                prediction * factor, spacing_mm=[factor] * len(prediction)
            ),
        )
    ],
    "images": [
        Family(
            lambda metric, a, b, **options: metric(a, b, **({"data_range": 1.0} | options)),
            _image_pairs,
            _mirrored,
            {"no voxels": (np.zeros((0, 3)), np.zeros((0, 3)))},
            values=True,
        )
    ],
    "instances": [Family(_by_instances, _instance_pairs, _turned, _NOTHING, masks=True)],
    "lesions": [Family(_by_lesions, _instance_pairs, _turned, _NOTHING, _lesions_scaled, masks=True)],
    "detections": [
        Family(_by_hits, _landmark_pairs, _shuffled, {"no references": (np.zeros((0, 3)), np.ones((4, 3)))})
    ],
    "boxes": [Family(_by_boxes, _box_pairs, _shuffled, {"no references": (np.zeros((0, 6)), np.ones((4, 6)))})],
    "landmarks": [
        Family(
            _call,
            _landmark_pairs,
            _shuffled,
            {"no landmarks": (np.zeros((0, 3)), np.zeros((0, 3)))},
            lambda metric, a, b, factor: metric(a * factor, b * factor),
            weighted=True,
            values=True,
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

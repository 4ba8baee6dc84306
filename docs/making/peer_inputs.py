"""The inputs on which Podium and its peers are compared, in words and in numbers, for every family of metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import metrics as m
from podium.model import Metric

__all__ = ["Input", "inputs_of"]

Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Input:
    """Data that a metric is given, and what they are, in words.

    Attributes
    ----------
    words
        For a reader who knows the metric.
    data
        Reference and prediction; for masks, the spacing in mm too.
    """

    words: str
    data: tuple[Any, ...]


def inputs_of(metric: Metric[..., Any]) -> list[Input]:
    """Return what a metric is tried on.

    Scores outside 0 to 1 are no probabilities: only metrics of their order are asked about them.
    """
    known = list(_INPUTS[metric.family]())
    if metric.family == "probabilities" and metric.name not in ("area_under_roc", "area_under_precision_recall"):
        known = [each for each in known if "scores 40" not in each.words]
    return known


def _disc(shape: tuple[int, ...], centre: tuple[float, ...], radii: tuple[float, ...]) -> Bools:
    grid = np.indices(shape)
    inside: Bools = sum(((g - c) / r) ** 2 for g, c, r in zip(grid, centre, radii, strict=True)) <= 1
    return inside


def _masks() -> Iterator[Input]:
    flat = _disc((20, 26), (9, 11), (6, 8)), _disc((20, 26), (11, 14), (6, 7))
    yield Input("two overlapping blobs, pixels of 0.7 × 1.3 mm", (*flat, (0.7, 1.3)))
    solid = _disc((12, 14, 9), (5, 6, 4), (4, 5, 3)), _disc((12, 14, 9), (6, 7, 4), (4, 4, 3))
    yield Input("two overlapping blobs, voxels of 0.7 × 1.3 × 2.9 mm", (*solid, (0.7, 1.3, 2.9)))
    cube = np.zeros((9, 9, 9), bool)
    cube[1:8, 1:8, 1:8] = True
    hollow = cube.copy()
    hollow[4, 4, 4] = False
    ones = (1.0, 1.0, 1.0)
    yield Input("a cube of 7 voxels, moved by one", (cube, np.roll(cube, 1, axis=0), ones))
    yield Input("a cube of 7 voxels, with a hole of one predicted", (cube, hollow, ones))
    one, two = np.zeros((2, 5, 12), bool)
    one[2, 1] = two[2, 9] = True
    yield Input("two pixels 8 apart, in 5 × 12", (one, two, (1.0, 1.0)))
    side, more = np.zeros((2, 10, 10), bool)
    side[:, :3] = more[:, :5] = True
    yield Input("3 columns at the border of an image of 10 × 10, 5 predicted", (side, more, (1.0, 1.0)))
    ring = flat[0] & ~_disc((20, 26), (9, 11), (3, 4))
    yield Input("a ring, its hole filled in the prediction", (ring, flat[0], (1.0, 1.0)))
    yield Input("equal masks", (flat[0], flat[0].copy(), (0.7, 1.3)))
    yield from _nothing(flat[0], (0.7, 1.3))


def _nothing(mask: npt.NDArray[Any], spacing: tuple[float, ...]) -> Iterator[Input]:
    none = np.zeros_like(mask)
    yield Input("reference empty, prediction not", (none, mask, spacing))
    yield Input("prediction empty, reference not", (mask, none, spacing))
    yield Input("both empty", (none, none.copy(), spacing))


def _instances() -> Iterator[Input]:
    """Yield instance maps in which no two instances touch, so that their parts are the same instances."""
    reference, prediction = np.zeros((2, 24, 30), np.int64)
    reference[2:8, 2:8], prediction[3:8, 2:9] = 1, 1
    reference[2:8, 12:24], prediction[2:8, 12:17], prediction[2:8, 18:24] = 2, 2, 3
    reference[12:16, 3:7] = 3
    prediction[18:22, 14:20] = 4
    reference[14:20, 22:28], prediction[14:19, 22:28] = 4, 5
    ones = (1.0, 1.0)
    yield Input("four instances: two found, one cut in two, one missed; one false", (reference, prediction, ones))
    one, two = np.zeros((2, 8, 12), np.int64)
    one[2:6, 2:8], two[2:6, 4:10] = 1, 1
    yield Input("one instance of each, IoU exactly one half", (one, two, ones))
    one, two = np.zeros((2, 12, 16), np.int64)
    one[1:4, 1:4], one[1:4, 7:10], one[7:10, 1:4], two[3:6, 3:6] = 1, 2, 3, 1
    yield Input("three instances, one prediction that meets one of them in a pixel", (one, two, ones))
    yield Input("equal maps", (reference, reference.copy(), ones))
    yield from _nothing(reference, ones)


def _lesions() -> Iterator[Input]:
    for each in _instances():
        *maps, spacing = each.data
        yield Input(each.words, (*(own > 0 for own in maps), spacing))


def _decisions() -> Iterator[Input]:
    truth, call = np.random.default_rng(0).integers(0, 2, (2, 40))
    yield Input("40 samples", (truth, call))
    yield Input("all right", (truth, truth.copy()))
    yield Input("all wrong", (truth, 1 - truth))
    yield Input("no positives: 0, 0, 0 called 0, 1, 0", (np.array([0, 0, 0]), np.array([0, 1, 0])))
    yield Input("no negatives: 1, 1, 1 called 1, 0, 1", (np.array([1, 1, 1]), np.array([1, 0, 1])))
    yield Input("none called positive: 0, 1, 0 called 0, 0, 0", (np.array([0, 1, 0]), np.array([0, 0, 0])))
    yield Input("none called negative: 0, 1, 0 called 1, 1, 1", (np.array([0, 1, 0]), np.array([1, 1, 1])))
    yield Input("no negative called positive: 1, 1, 0 called 1, 0, 0", (np.array([1, 1, 0]), np.array([1, 0, 0])))
    yield Input("nothing positive on either side", (np.array([0, 0]), np.array([0, 0])))
    yield Input("no samples", (np.zeros(0, np.int64), np.zeros(0, np.int64)))


def _probabilities() -> Iterator[Input]:
    generator = np.random.default_rng(0)
    truth, chances = generator.integers(0, 2, 80), generator.uniform(0.01, 0.99, 80).round(2)
    yield Input("80 samples, probabilities of two digits, some equal", (truth, chances))
    yield Input("0.5 for everybody", (truth, np.full(80, 0.5)))
    yield Input("certain and right", (truth, truth.astype(float)))
    yield Input("certain and wrong: 1, 1, 0 with 0, 1, 0", (np.array([1, 1, 0]), np.array([0.0, 1.0, 0.0])))
    yield Input("0.95 for a 1, 1.0 for a 0", (np.array([1, 0]), np.array([0.95, 1.0])))
    yield Input("at the edge of a bin: 0.15 for a 1, 0.2 for a 0", (np.array([1, 0]), np.array([0.15, 0.2])))
    yield Input("only positives: 0.2, 0.3", (np.array([1, 1]), np.array([0.2, 0.3])))
    yield Input("only negatives: 0.2, 0.3", (np.array([0, 0]), np.array([0.2, 0.3])))
    scores = np.array([40.0, 60.0, 50.0, 70.0])
    yield Input("scores 40, 60, 50, 70 for 0, 1, 0, 1", (np.array([0, 1, 0, 1]), scores))
    yield Input("no samples", (np.zeros(0, np.int64), np.zeros(0)))


def _class_probabilities() -> Iterator[Input]:
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 4, 60)
    truth[:4] = range(4)
    chances = generator.dirichlet([1, 1, 1, 1], 60)
    yield Input("60 samples of four classes", (truth, chances))
    yield Input("equal probabilities for all: 0, 0, 1, 2, 0", (np.array([0, 0, 1, 2, 0]), np.full((5, 3), 1 / 3)))
    yield Input("certain and right", (truth, np.eye(4)[truth]))
    yield Input("certain and wrong", (np.array([0, 1, 2]), np.eye(3)[[1, 2, 0]]))
    few = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.3, 0.4, 0.3], [0.5, 0.2, 0.3]])
    yield Input("a third class that no sample has", (np.array([0, 1, 1, 0]), few))
    yield Input("no samples", (np.zeros(0, np.int64), np.zeros((0, 3))))


def _classes() -> Iterator[Input]:
    truth, call = np.random.default_rng(0).integers(0, 4, (2, 60))
    truth[:4] = call[:4] = range(4)
    yield Input("60 samples of four classes", (truth, call))
    yield Input("all right", (truth, truth.copy()))
    yield Input("a class never called: 0, 1, 2, 2 called 0, 1, 1, 0", (np.array([0, 1, 2, 2]), np.array([0, 1, 1, 0])))
    yield Input("a class only called: 0, 1, 1, 0 called 0, 2, 1, 0", (np.array([0, 1, 1, 0]), np.array([0, 2, 1, 0])))
    yield Input("all of class 1, rightly called", (np.array([1, 1]), np.array([1, 1])))
    yield Input("all of class 1, one called 0", (np.array([1, 1, 1]), np.array([1, 0, 1])))
    yield Input("everything called 1: 0, 1, 1 called 1, 1, 1", (np.array([0, 1, 1]), np.array([1, 1, 1])))
    yield Input("no samples", (np.zeros(0, np.int64), np.zeros(0, np.int64)))


def _regression() -> Iterator[Input]:
    truth, noise = np.random.default_rng(0).normal(3, 2, (2, 31))
    yield Input("31 values", (truth, truth + noise))
    few = np.array([1.0, 2.0, 3.0])
    yield Input("1, 2, 3 beside 2, 3, 4", (few, few + 1))
    yield Input("the same, 10⁸ larger", (few + 1e8, few + 1 + 1e8))
    yield Input("equal values", (few, few.copy()))
    yield Input("constant reference: 1, 1, 1 beside 1, 2, 3", (np.ones(3), few))
    yield Input("constant prediction: 1, 2, 3 beside 5, 5, 5", (few, np.full(3, 5.0)))
    yield Input("both constant and equal", (np.ones(3), np.ones(3)))
    yield Input("one sample: 1 beside 2", (np.ones(1), np.full(1, 2.0)))
    yield Input("no samples", (np.zeros(0), np.zeros(0)))


def _landmarks() -> Iterator[Input]:
    one, two = np.random.default_rng(0).normal(0, 9, (2, 17, 3))
    yield Input("17 points", (one, two))
    yield Input("one point, 3-4-5", (np.zeros((1, 2)), np.array([[3.0, 4.0]])))
    yield Input("equal points", (one, one.copy()))
    yield Input("no points", (np.zeros((0, 3)), np.zeros((0, 3))))


def _images() -> Iterator[Input]:
    generator = np.random.default_rng(0)
    one, two = generator.random((2, 24, 28))
    yield Input("two random images of 24 × 28", (one, two))
    yield Input("an image with weak noise", (one, np.clip(one + generator.normal(0, 0.05, one.shape), 0, 1)))
    solid = generator.random((2, 13, 14, 15))
    yield Input("two random volumes of 13 × 14 × 15", (solid[0], solid[1]))
    yield Input("equal images", (one, one.copy()))
    yield Input("all 0 beside all 1", (np.zeros((16, 16)), np.ones((16, 16))))
    yield Input("8 × 8 pixels, smaller than a Gaussian window", (one[:8, :8], two[:8, :8]))


def _detections() -> Iterator[Input]:
    generator = np.random.default_rng(0)
    drawn = [(generator.random(9), generator.random(9) < 0.5) for _ in range(4)]
    own = [m.ImageDetections(scores, true, int(true.sum()) + 1) for scores, true in drawn]
    yield Input("four images with 36 detections, a reference missed in each", (own,))
    yield Input("two references found, nothing wrong", ([_detected([0.9, 0.5], [1, 1], 2)],))
    yield Input("7 of 10 references found, nothing wrong", ([_detected(np.linspace(0.9, 0.3, 7), [1] * 7, 10)],))
    yield Input("equal scores, one right and one wrong, of two", ([_detected([0.5, 0.5], [1, 0], 2)],))
    yield Input("all wrong", ([_detected([0.9, 0.5], [0, 0], 2)],))
    yield Input("nothing detected", ([_detected([], [], 2)],))
    yield Input("nothing to find", ([_detected([0.9], [0], 0)],))


def _detected(scores: npt.ArrayLike, true: list[int], references: int) -> m.ImageDetections:
    return m.ImageDetections(np.asarray(scores, float), np.array(true, bool), references)


def _boxes() -> Iterator[Input]:
    generator = np.random.default_rng(0)
    truth, claim = [], []
    for _ in range(4):
        lower = generator.uniform(0, 80, (8, 2))
        boxes = np.concatenate([lower, lower + generator.uniform(8, 20, lower.shape)], axis=1)
        moved = boxes + generator.normal(0, 1, boxes.shape)
        truth.append(m.BoxSet(boxes, classes=np.arange(8) % 2))
        claim.append(m.BoxSet(moved, scores=generator.random(8), classes=(np.arange(8) + (np.arange(8) == 5)) % 2))
    yield Input("four images with 32 boxes of two classes, four of the wrong class", (truth, claim))
    boxes = np.array([[20.0 * k, 0, 20.0 * k + 10, 10] for k in range(10)])
    yield Input("7 of 10 boxes found, nothing wrong", _one_image(boxes, boxes[:7], np.linspace(0.9, 0.3, 7)))
    apart = boxes[[0, 9]]
    yield Input("equal scores, one right and one wrong", _one_image(boxes[:1], apart[::-1], np.full(2, 0.5)))
    yield Input("a box over half of its reference", _one_image(boxes[:1], boxes[:1] / [1, 1, 1, 2], np.ones(1)))
    (known,), (found,) = _one_image(boxes[:2], boxes[[0, 1, 9]], np.array([0.9, 0.8, 0.7]))
    second = m.BoxSet(found.boxes, scores=found.scores, classes=np.array([0, 0, 1]))
    yield Input("all found, and a box of a class that no reference has", ([known], [second]))
    yield Input("nothing detected", _one_image(boxes[:2], boxes[:0], np.zeros(0)))
    yield Input("nothing to find", _one_image(boxes[:0], boxes[:2], np.array([0.9, 0.5])))


def _one_image(truth: Floats, claim: Floats, scores: Floats) -> tuple[list[m.BoxSet], list[m.BoxSet]]:
    known, claimed = np.zeros(len(truth), np.int64), np.zeros(len(claim), np.int64)
    return [m.BoxSet(truth, classes=known)], [m.BoxSet(claim, scores=scores, classes=claimed)]


def _deformations() -> Iterator[Input]:
    generator = np.random.default_rng(0)
    yield Input("random displacements of 8 × 9 × 10 voxels", (generator.normal(0, 0.4, (3, 8, 9, 10)),))
    x, y = np.mgrid[:12, :12].astype(float)
    yield Input("a wave in an image of 12 × 12", (np.stack([1.6 * np.sin(x), 0 * y]),))
    yield Input("no displacement", (np.zeros((2, 6, 6)),))
    yield Input("mirrored along one axis", (np.stack([-2.0 * x, 0 * y]),))


def _reconstruction() -> Iterator[Input]:
    generator = np.random.default_rng(0)
    poses = np.broadcast_to(np.eye(4), (2, 3, 4, 4)).copy()
    poses[..., :3, :] += generator.normal(0, 0.1, (2, 3, 3, 4))
    yield Input("three frames of 4 × 5 pixels", (poses[0], poses[1]))
    moved = poses[0].copy()
    moved[:, 0, 3] += 2
    yield Input("the same, 2 mm too far along x", (poses[0], moved))
    yield Input("equal transforms", (poses[0], poses[0].copy()))


_INPUTS = {
    **dict.fromkeys(("overlap", "surface", "centres", "boundary", "centreline", "topology"), _masks),
    "instances": _instances,
    "lesions": _lesions,
    "detections": _detections,
    "boxes": _boxes,
    "probabilities": _probabilities,
    "class probabilities": _class_probabilities,
    "decisions": _decisions,
    "classification": _classes,
    "class agreement": _classes,
    "regression": _regression,
    "landmarks": _landmarks,
    "images": _images,
    "deformations": _deformations,
    "reconstruction": _reconstruction,
}

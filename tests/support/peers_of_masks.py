"""For metrics of two masks: what each peer that is declared to give the same number gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import peers
from scipy.ndimage import center_of_mass, gaussian_filter

from podium import metrics as m
from podium.metrics import betti_numbers

SPACING = (0.7, 1.3, 2.9)


def pairs():
    generator = np.random.default_rng(0)
    for shape in ((19, 23), (9, 12, 10)):
        blobs = [gaussian_filter(generator.normal(size=shape), 1.5) > 0 for _ in range(2)]
        yield blobs[0], blobs[1]
        yield tuple(generator.random((2, *shape)) < 0.3)


def counted(metric, one, two):
    return metric(m.Overlap.between(one, two))


def measured(metric, one, two, boundary, **options):
    spacing = SPACING[: one.ndim]
    return metric(m.SurfaceDistances.between(one, two, spacing_mm=spacing, boundary=boundary), **options)


def medpy_overlap(name):
    return lambda metric, one, two: [(counted(metric, one, two), getattr(peers.medpy(), name)(two, one))]


def deepmind_hausdorff(percentile):
    def check(metric, one, two):
        theirs = peers.deepmind_hausdorff(peers.deepmind(one, two, SPACING[: one.ndim]), percentile)
        return [(measured(metric, one, two, "surfel"), theirs)]

    return check


def monai_distance(key, percentile=None):
    def check(metric, one, two):
        theirs = peers.monai(one, two, SPACING[: one.ndim], percentile=percentile)[key]
        return [(measured(metric, one, two, "voxel"), theirs)]

    return check


def medpy_distances(one, two):
    distances = getattr(peers.medpy(), "__surface_distances")
    return np.concatenate([distances(*pair, SPACING[: one.ndim]) for pair in ((one, two), (two, one))])


def deepmind_surface_dice(metric, one, two):
    theirs = peers.deepmind(one, two, SPACING[: one.ndim])
    for tolerance in (0.5, 1.0, 3.1):
        ours = measured(metric, one, two, "surfel", tolerance_mm=tolerance)
        yield ours, peers.deepmind_surface_dice(theirs, tolerance)


def monai_surface_dice(metric, one, two):
    for tolerance in (0.5, 1.0, 3.1):
        ours = measured(metric, one, two, "voxel", tolerance_mm=tolerance)
        yield ours, peers.monai_surface_dice(one, two, SPACING[: one.ndim], tolerance)


def medpy_hausdorff(metric, one, two):
    spacing = SPACING[: one.ndim]
    yield measured(metric, one, two, "voxel"), peers.medpy().hd(one, two, spacing)
    yield measured(metric, one, two, "voxel", percentile=95, pooled=True), peers.medpy().hd95(one, two, spacing)


def medpy_directed(metric, one, two):
    asd, spacing = peers.medpy().asd, SPACING[: one.ndim]
    yield measured(metric, one, two, "voxel"), (asd(one, two, spacing) + asd(two, one, spacing)) / 2


def deepmind_directed(metric, one, two):
    theirs = peers.deepmind_average(peers.deepmind(one, two, SPACING[: one.ndim]))
    yield measured(metric, one, two, "surfel"), np.mean(theirs)


def thinned(metric, one, two):
    skeletonize = peers.skimage_module("morphology").skeletonize
    lines = [skeletonize(mask, method="lee") for mask in (one, two)]
    if any(betti_numbers(line) != betti_numbers(mask) for line, mask in zip(lines, (one, two), strict=True)):
        return  # there, it is no peer
    sensitivity, precision = two[lines[0]].mean(), one[lines[1]].mean()
    theirs = {
        "centreline_sensitivity": sensitivity,
        "centreline_precision": precision,
        "centreline_dice": 2 * precision * sensitivity / (precision + sensitivity),
    }
    yield metric(m.CentreLines.between(one, two)), theirs[metric.name]


def betti(metric, one, two):
    measure = peers.skimage_module("measure")
    for touch, reach in (("corner", one.ndim), ("face", 1)):
        numbers = []
        for mask in (one, two):
            parts = measure.label(mask, connectivity=reach).max()
            outside = measure.label(np.pad(~mask, 1, constant_values=True), connectivity=one.ndim + 1 - reach)
            cavities = outside.max() - 1 if one.ndim == 3 else 0
            numbers.append((parts, parts + cavities - measure.euler_number(mask, connectivity=reach), cavities))
        errors = np.abs(np.subtract(*numbers))
        names = ["betti_0_error", "betti_1_error", "betti_2_error"]
        theirs = errors.sum() if metric.name == "betti_error" else errors[names.index(metric.name)]
        yield metric(m.Topology.between(one, two, touch=touch)), theirs


def scipy_centres(metric, one, two):
    spacing = np.array(SPACING[: one.ndim])
    theirs = np.linalg.norm((np.array(center_of_mass(one)) - center_of_mass(two)) * spacing)
    yield metric(m.Centres.between(one, two, spacing_mm=spacing)), theirs


def simpleitk(get):
    return lambda metric, one, two: [(counted(metric, one, two), get(peers.simpleitk_overlap(one, two)))]


CHECKS: dict[tuple[str, str], Any] = {
    ("dice", "MedPy"): medpy_overlap("dc"),
    ("dice", "MONAI"): lambda metric, one, two: [(counted(metric, one, two), peers.monai_dice(one, two))],
    ("dice", "DeepMind surface-distance"): lambda metric, one, two: [
        (counted(metric, one, two), peers.deepmind_dice(one, two))
    ],
    ("dice", "SimpleITK"): simpleitk(lambda theirs: theirs.GetDiceCoefficient()),
    ("intersection_over_union", "MedPy"): medpy_overlap("jc"),
    ("intersection_over_union", "SimpleITK"): simpleitk(lambda theirs: theirs.GetJaccardCoefficient()),
    ("sensitivity", "MedPy"): medpy_overlap("recall"),
    ("precision", "MedPy"): medpy_overlap("precision"),
    ("relative_volume_difference", "MedPy"): medpy_overlap("ravd"),
    ("volume_similarity", "SimpleITK"): simpleitk(lambda theirs: 1 - abs(theirs.GetVolumeSimilarity()) / 2),
    ("centre_distance", "SciPy"): scipy_centres,
    ("surface_dice", "DeepMind surface-distance"): deepmind_surface_dice,
    ("surface_dice", "MONAI"): monai_surface_dice,
    ("hausdorff_distance", "DeepMind surface-distance"): deepmind_hausdorff(100),
    ("hausdorff_distance", "MONAI"): monai_distance("hausdorff"),
    ("hausdorff_distance", "MedPy"): medpy_hausdorff,
    ("hausdorff_distance_95", "DeepMind surface-distance"): deepmind_hausdorff(95),
    ("hausdorff_distance_95", "MONAI"): monai_distance("hausdorff", 95),
    ("mean_average_surface_distance", "DeepMind surface-distance"): deepmind_directed,
    ("mean_average_surface_distance", "MedPy"): medpy_directed,
    ("average_symmetric_surface_distance", "MONAI"): monai_distance("symmetric"),
    ("average_symmetric_surface_distance", "MedPy"): lambda metric, one, two: [
        (measured(metric, one, two, "voxel"), peers.medpy().assd(one, two, SPACING[: one.ndim]))
    ],
    ("median_surface_distance", "MedPy"): lambda metric, one, two: [
        (measured(metric, one, two, "voxel"), np.median(medpy_distances(one, two)))
    ],
    ("surface_distance_deviation", "MedPy"): lambda metric, one, two: [
        (measured(metric, one, two, "voxel"), np.std(medpy_distances(one, two)))
    ],
    ("centreline_sensitivity", "scikit-image"): thinned,
    ("centreline_precision", "scikit-image"): thinned,
    ("centreline_dice", "scikit-image"): thinned,
    ("betti_0_error", "scikit-image"): betti,
    ("betti_1_error", "scikit-image"): betti,
    ("betti_2_error", "scikit-image"): betti,
    ("betti_error", "scikit-image"): betti,
}


def compared(name: str, peer: str) -> Iterator[tuple[float, float]]:
    """Yield what Podium and the peer say of some pairs of masks."""
    for masks in pairs():
        yield from CHECKS[name, peer](m.get_metric(name), *masks)

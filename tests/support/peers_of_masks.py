"""For metrics of two masks: what each peer that is declared to give the same number gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import peers
from peers_asked import Answer, measured
from scipy.ndimage import center_of_mass, gaussian_filter

from podium import metrics as m
from podium.metrics import betti_numbers

SPACING = (0.7, 1.3, 2.9)
VOXEL = {"boundary": "voxel"}
BETTI_NUMBERS = ("betti_0_error", "betti_1_error", "betti_2_error")


def pairs():
    generator = np.random.default_rng(0)
    for shape in ((19, 23), (9, 12, 10)):
        blobs = [gaussian_filter(generator.normal(size=shape), 1.5) > 0 for _ in range(2)]
        yield blobs[0], blobs[1]
        yield tuple(generator.random((2, *shape)) < 0.3)


def of_voxels(theirs: Callable[..., Any]) -> Answer:
    """Return the answer of a peer that asks for no spacing."""
    return Answer(lambda one, two, _: theirs(one, two))


def medpy_overlap(name):
    return of_voxels(lambda one, two: getattr(peers.medpy(), name)(two, one))


def simpleitk(get):
    return of_voxels(lambda one, two: get(peers.simpleitk_overlap(one, two)))


def deepmind_hausdorff(percentile):
    return Answer(lambda *data: peers.deepmind_hausdorff(peers.deepmind(*data), percentile))


def monai_distance(key, percentile=None):
    return Answer(lambda *data: peers.monai(*data, percentile=percentile)[key], VOXEL)


def medpy_distance(name, **options):
    return Answer(lambda *data: getattr(peers.medpy(), name)(*data), VOXEL | options)


def medpy_distances(summary):
    """Return a summary of the distances of MedPy in both directions."""

    def theirs(one, two, spacing):
        distances = getattr(peers.medpy(), "__surface_distances")
        return summary(np.concatenate([distances(*pair, spacing) for pair in ((one, two), (two, one))]))

    return Answer(theirs, VOXEL)


def medpy_directed(one, two, spacing):
    asd = peers.medpy().asd
    return (asd(one, two, spacing) + asd(two, one, spacing)) / 2


def surface_dices(theirs, **options):
    """Return the answers at several tolerances, Podium's default of 1 mm first."""
    others = [
        Answer(lambda *data, tolerance=tolerance: theirs(*data, tolerance), options | {"tolerance_mm": tolerance})
        for tolerance in (0.5, 3.1)
    ]
    return (Answer(lambda *data: theirs(*data, 1.0), options), *others)


def deepmind_surface_dice(one, two, spacing, tolerance):
    return peers.deepmind_surface_dice(peers.deepmind(one, two, spacing), tolerance)


def thinned(mask):
    return peers.skimage_module("morphology").skeletonize(mask, method="lee")


def topology_is_kept(one, two, _):
    return all(betti_numbers(thinned(mask)) == betti_numbers(mask) for mask in (one, two))


def centrelines(name):
    def theirs(one, two, _):
        sensitivity, precision = two[thinned(one)].mean(), one[thinned(two)].mean()
        both = {"centreline_sensitivity": sensitivity, "centreline_precision": precision}
        return both.get(name, 2 * precision * sensitivity / ((precision + sensitivity) or 1))

    return (Answer(theirs, where=topology_is_kept),)


def betti(name):
    def errors(one, two, reach):
        measure = peers.skimage_module("measure")
        numbers = []
        for mask in (one, two):
            parts = measure.label(mask, connectivity=reach).max()
            outside = measure.label(np.pad(~mask, 1, constant_values=True), connectivity=one.ndim + 1 - reach)
            cavities = outside.max() - 1 if one.ndim == 3 else 0
            numbers.append((parts, parts + cavities - measure.euler_number(mask, connectivity=reach), cavities))
        differing = np.abs(np.subtract(*numbers))
        return differing.sum() if name == "betti_error" else differing[BETTI_NUMBERS.index(name)]

    return (
        Answer(lambda one, two, _: errors(one, two, one.ndim)),
        Answer(lambda one, two, _: errors(one, two, 1), {"touch": "face"}),
    )


def scipy_centres(one, two, spacing):
    return np.linalg.norm((np.array(center_of_mass(one)) - center_of_mass(two)) * np.array(spacing))


CHECKS: dict[tuple[str, str], tuple[Answer, ...]] = {
    ("dice", "MedPy"): (medpy_overlap("dc"),),
    ("dice", "MONAI"): (of_voxels(peers.monai_dice),),
    ("dice", "DeepMind surface-distance"): (of_voxels(peers.deepmind_dice),),
    ("dice", "SimpleITK"): (simpleitk(lambda theirs: theirs.GetDiceCoefficient()),),
    ("intersection_over_union", "MedPy"): (medpy_overlap("jc"),),
    ("intersection_over_union", "SimpleITK"): (simpleitk(lambda theirs: theirs.GetJaccardCoefficient()),),
    ("sensitivity", "MedPy"): (medpy_overlap("recall"),),
    ("precision", "MedPy"): (medpy_overlap("precision"),),
    ("relative_volume_difference", "MedPy"): (medpy_overlap("ravd"),),
    ("volume_similarity", "SimpleITK"): (simpleitk(lambda theirs: 1 - abs(theirs.GetVolumeSimilarity()) / 2),),
    ("centre_distance", "SciPy"): (Answer(scipy_centres),),
    ("surface_dice", "DeepMind surface-distance"): surface_dices(deepmind_surface_dice),
    ("surface_dice", "MONAI"): surface_dices(peers.monai_surface_dice, **VOXEL),
    ("hausdorff_distance", "DeepMind surface-distance"): (deepmind_hausdorff(100),),
    ("hausdorff_distance", "MONAI"): (monai_distance("hausdorff"),),
    ("hausdorff_distance", "MedPy"): (medpy_distance("hd"), medpy_distance("hd95", percentile=95, pooled=True)),
    ("hausdorff_distance_95", "DeepMind surface-distance"): (deepmind_hausdorff(95),),
    ("hausdorff_distance_95", "MONAI"): (monai_distance("hausdorff", 95),),
    ("mean_average_surface_distance", "DeepMind surface-distance"): (
        Answer(lambda *data: np.mean(peers.deepmind_average(peers.deepmind(*data)))),
    ),
    ("mean_average_surface_distance", "MedPy"): (Answer(medpy_directed, VOXEL),),
    ("average_symmetric_surface_distance", "MONAI"): (monai_distance("symmetric"),),
    ("average_symmetric_surface_distance", "MedPy"): (medpy_distance("assd"),),
    ("median_surface_distance", "MedPy"): (medpy_distances(np.median),),
    ("surface_distance_deviation", "MedPy"): (medpy_distances(np.std),),
    ("centreline_sensitivity", "scikit-image"): centrelines("centreline_sensitivity"),
    ("centreline_precision", "scikit-image"): centrelines("centreline_precision"),
    ("centreline_dice", "scikit-image"): centrelines("centreline_dice"),
    ("betti_0_error", "scikit-image"): betti("betti_0_error"),
    ("betti_1_error", "scikit-image"): betti("betti_1_error"),
    ("betti_2_error", "scikit-image"): betti("betti_2_error"),
    ("betti_error", "scikit-image"): betti("betti_error"),
}


def compared(name: str, peer: str) -> Iterator[tuple[float, float]]:
    """Yield what Podium and the peer say of some pairs of masks."""
    for one, two in pairs():
        data = one, two, SPACING[: one.ndim]
        for answer in CHECKS[name, peer]:
            if answer.where(*data):
                yield measured(m.get_metric(name), *data, **answer.options), answer.theirs(*data)

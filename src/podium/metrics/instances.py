"""Instances (lesions, cells, nodules): finding them, how much they overlap, and which belongs to which.

The overlaps of all pairs come from one pass over both maps, and only pairs that meet are kept. Everything that tells of
instances (`podium.metrics.panoptic`, `lesions`, `detection`) is made of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.metrics._arguments import as_length, as_threshold
from podium.metrics._kernels.counting import only_label
from podium.metrics._kernels.meetings import COUNT, LOWER, SUMS, UPPER, meet
from podium.metrics._pairs import Labels, Spacing, read_only, same_grid
from podium.metrics.matching import Matching, Method, match_pairs
from podium.model import InputError, LabelMap, as_labels

__all__ = ["InstanceOverlaps", "Similarity", "components"]

Similarity: TypeAlias = Literal["iou", "dice", "centre_distance"]
Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

_CONNECTIVITIES = {2: (4, 8), 3: (6, 18, 26)}
_LARGEST_TABLE = 2**22

AS_LABELLED = 0
"""The connectivity of instances that are not to be searched for: every label is one."""


def components(mask: Labels, *, connectivity: int | None = None) -> npt.NDArray[np.uint32]:
    """Return the connected components of what is not zero, numbered from 1, as cc3d finds them.

    Parameters
    ----------
    mask
        A 2-D or 3-D mask, or a label map whose labels count as one.
    connectivity
        6 (faces), 18 (and edges) or 26 (and corners) in 3-D; 4 or 8 in 2-D. By default 26 and 8. SciPy's `label` and
        scikit-image's with `connectivity=1` take faces alone, so that they count more components.

    Examples
    --------
    >>> components(np.eye(3, dtype=bool)).max(), components(np.eye(3, dtype=bool), connectivity=4).max()
    (np.uint32(1), np.uint32(3))
    """
    import cc3d

    inside = np.atleast_1d(mask.array if isinstance(mask, LabelMap) else as_labels(mask))
    known = _CONNECTIVITIES.get(inside.ndim)
    if known is None:
        raise InputError(f"components are found in 2-D or 3-D masks, not in {inside.ndim}-D")
    if connectivity is None:
        connectivity = known[-1]
    if connectivity not in known:
        raise InputError(
            f"in {inside.ndim}-D a connectivity is {', '.join(map(str, known[:-1]))} or {known[-1]}, not {connectivity}"
        )
    if not inside.size:
        return np.zeros(inside.shape, np.uint32)
    find: Any = cc3d.connected_components
    # Not as a boolean image: of one with an odd number of pixels, cc3d 4.1.1 labels some that are zero, or fails.
    one_label = np.ascontiguousarray(inside != 0).view(np.uint8)
    return np.asarray(find(one_label, connectivity=connectivity, out_dtype=np.uint32))


@dataclass(frozen=True, slots=True, eq=False)
class InstanceOverlaps:
    """All instances of a reference and a prediction, and every pair of them that meets.

    Instances are in ascending order of their labels; "instance k" below is the k-th of them, from 0.

    Attributes
    ----------
    reference_labels, prediction_labels
        Labels of the instances.
    reference_voxels, prediction_voxels
        How many voxels each has.
    reference_centres_mm, prediction_centres_mm
        Their centres of mass in mm, shape (instances, axes); voxel 0 lies at 0.
    reference_boxes, prediction_boxes
        The boxes around them in voxels, shape (instances, 2, axes): lower, and upper, which is not inside.
    rows, columns, common
        The pairs that meet: instance of the reference, instance of the prediction, voxels in common; sorted.
    spacing_mm
        Millimetres per axis.
    """

    reference_labels: Integers
    prediction_labels: Integers
    reference_voxels: Integers
    prediction_voxels: Integers
    reference_centres_mm: Floats
    prediction_centres_mm: Floats
    reference_boxes: Integers
    prediction_boxes: Integers
    rows: Integers
    columns: Integers
    common: Integers
    spacing_mm: tuple[float, ...]

    @classmethod
    def between(
        cls,
        reference: Labels,
        prediction: Labels,
        *,
        connectivity: int | None = None,
        spacing_mm: Spacing | None = None,
    ) -> InstanceOverlaps:
        """Describe the instances of two maps of the same 2-D or 3-D shape.

        Parameters
        ----------
        reference, prediction
            Each by itself: a boolean mask, whose connected components are its instances, or an instance map, an array
            of whole numbers in which every label from 1 is an instance, in one piece or not. An array with one value
            besides 0, in several parts, may be either, as may a label map: it is refused unless `connectivity` says
            which.
        connectivity
            6, 18 or 26 (4 or 8 in 2-D; see `components`): instances are the connected components of what is not zero.
            0: every label is an instance.
        spacing_mm
            Millimetres per axis; by default the reference's, or 1 for arrays.
        """
        one, two, spacing = instance_maps(reference, prediction, connectivity=connectivity, spacing_mm=spacing_mm)
        dtype = np.promote_types(one.dtype, two.dtype)
        (first, labels, about), (second, other_labels, other_about) = (_prepared(array, dtype) for array in (one, two))
        keys, counts = meet(first, second, about, other_about)
        keys, counts = keys[counts > 0], counts[counts > 0]
        order = np.argsort(keys)
        rows, columns = np.divmod(keys[order], len(other_about))
        present, other_present = np.flatnonzero(about[:, COUNT]), np.flatnonzero(other_about[:, COUNT])
        mine, others = about[present], other_about[other_present]
        axes = len(spacing)
        return cls(
            reference_labels=present if labels is None else labels[present],
            prediction_labels=other_present if other_labels is None else other_labels[other_present],
            reference_voxels=mine[:, COUNT],
            prediction_voxels=others[:, COUNT],
            reference_centres_mm=mine[:, SUMS][:, -axes:] / mine[:, [COUNT]] * spacing,
            prediction_centres_mm=others[:, SUMS][:, -axes:] / others[:, [COUNT]] * spacing,
            reference_boxes=np.stack([mine[:, LOWER][:, -axes:], mine[:, UPPER][:, -axes:]], axis=1),
            prediction_boxes=np.stack([others[:, LOWER][:, -axes:], others[:, UPPER][:, -axes:]], axis=1),
            rows=np.searchsorted(present, np.asarray(rows)),
            columns=np.searchsorted(other_present, np.asarray(columns)),
            common=counts[order],
            spacing_mm=spacing,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Return how many instances the reference has, and how many the prediction."""
        return self.reference_labels.size, self.prediction_labels.size

    @property
    def voxel_volume_mm3(self) -> float:
        """Return the volume of a voxel in mm³; in 2-D, the area of a pixel in mm²."""
        return float(np.prod(self.spacing_mm))

    def values(self, by: Similarity) -> Floats:
        """Return IoU, Dice or the distance of the centres in mm for each pair that meets."""
        sizes = self.reference_voxels[self.rows] + self.prediction_voxels[self.columns]
        if by == "iou":
            return np.asarray(self.common / (sizes - self.common))
        if by == "dice":
            return np.asarray(2 * self.common / sizes)
        if by == "centre_distance":
            between = self.reference_centres_mm[self.rows] - self.prediction_centres_mm[self.columns]
            return np.asarray(np.linalg.norm(between, axis=1))
        raise InputError(f"instances are not matched by {by!r}", advice="It is 'iou', 'dice' or 'centre_distance'")

    def matrix(self, by: Similarity) -> Floats:
        """Return IoU, Dice or the distance of the centres for all pairs, shape (references, predictions)."""
        if by == "centre_distance":
            between = self.reference_centres_mm[:, None] - self.prediction_centres_mm
            return np.asarray(np.linalg.norm(between, axis=-1))
        result = np.zeros(self.shape)
        result[self.rows, self.columns] = self.values(by)
        return result

    def match(
        self,
        *,
        by: Similarity = "iou",
        threshold: float = 0.5,
        inclusive: bool = True,
        method: Method = "optimal",
        many_to_one: bool = False,
    ) -> Matching:
        """Say which instance of the prediction belongs to which of the reference; see `match` for the words.

        By IoU or Dice, only instances that have a voxel in common are ever matched, whatever the threshold.
        """
        lower_is_better = by == "centre_distance"
        if lower_is_better:
            threshold = as_length(threshold, "a threshold of distances is a length from 0, in mm")
            rows, columns, values = self._near(threshold)
        else:
            rows, columns, values = self.rows, self.columns, self.values(by)
            threshold = as_threshold(threshold)
        return match_pairs(
            rows,
            columns,
            values,
            shape=self.shape,
            threshold=threshold,
            inclusive=inclusive,
            lower_is_better=lower_is_better,
            method=method,
            many_to_one=many_to_one,
        )

    def common_voxels(self, rows: Integers, columns: Integers) -> Integers:
        """Return how many voxels some pairs have in common."""
        width = max(self.shape[1], 1)
        keys, wanted = self.rows * width + self.columns, np.asarray(rows) * width + columns
        places = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
        if not keys.size:
            return np.zeros(wanted.size, np.int64)
        return np.where(keys[places] == wanted, self.common[places], 0)

    def _near(self, radius: float) -> tuple[Integers, Integers, Floats]:
        """Return the pairs whose centres are at most that far apart, without a table of all pairs."""
        from scipy.spatial import cKDTree

        if not min(self.shape) or not radius >= 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        # The tree rounds in its own way: ask a little wider, and let the matching compare.
        near: Any = cKDTree(self.reference_centres_mm).query_ball_point(
            self.prediction_centres_mm, radius * (1 + 1e-9), return_sorted=True
        )
        columns = np.repeat(np.arange(self.shape[1]), [len(rows) for rows in near])
        rows = np.concatenate([np.asarray(rows, np.int64) for rows in near])
        between = self.reference_centres_mm[rows] - self.prediction_centres_mm[columns]
        return rows, columns, np.asarray(np.linalg.norm(between, axis=1))


def instance_maps(
    reference: Labels, prediction: Labels, *, connectivity: int | None, spacing_mm: Spacing | None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], tuple[float, ...]]:
    """Return two instance maps on one grid, and its spacing; see `InstanceOverlaps.between`."""
    one, two, spacing = same_grid(reference, prediction, spacing_mm=spacing_mm)
    one = instance_map(reference, connectivity=connectivity, side="reference", labels=one)
    two = instance_map(prediction, connectivity=connectivity, side="prediction", labels=two)
    return one, two, spacing


def instance_map(
    given: Labels, *, connectivity: int | None, side: str, labels: npt.NDArray[Any] | None = None
) -> npt.NDArray[Any]:
    """Return an instance map of what was given, whose labels may be known; see `InstanceOverlaps.between`."""
    if labels is None:
        labels = given.array if isinstance(given, LabelMap) else as_labels(given)
    if connectivity == AS_LABELLED and connectivity is not False:
        return labels
    if connectivity is not None or is_mask(given):
        return components(labels, connectivity=connectivity)
    if isinstance(given, LabelMap):
        raise InputError(
            f"the {side} is a label map, whose labels may be classes or instances",
            advice=f"Write {side}.array == label for the parts of a class; connectivity={AS_LABELLED} where every label"
            f" is an instance, {_CONNECTIVITIES[labels.ndim][-1]} for the parts of all labels together",
        )
    if (label := single_label(labels)) and (parts := int(components(labels).max())) > 1:
        raise InputError(
            f"the {side} holds {label} alone, in {parts} parts: it may be a mask, or one instance in pieces",
            advice=f"Write {side} > 0, or components({side}), for a mask whose parts are instances; "
            f"connectivity={AS_LABELLED} where every label is one instance",
        )
    return labels


def single_label(labels: npt.NDArray[Any]) -> int:
    """Return the one label that occurs besides 0; 0 if there is none, or a second."""
    return int(only_label(read_only(labels.ravel(order="K"))))


def is_mask(given: Labels) -> bool:
    """Return whether something is a boolean mask."""
    return not isinstance(given, LabelMap) and np.asarray(given).dtype == np.bool_


def _prepared(
    array: npt.NDArray[Any], dtype: np.dtype[Any]
) -> tuple[npt.NDArray[Any], Integers | None, npt.NDArray[np.int64]]:
    """Return a map as the kernel wants it, the labels that its values stand for if not themselves, and a table."""
    volume = np.ascontiguousarray(array[None] if array.ndim == 2 else array, dtype)
    highest, labels = int(volume.max(initial=0)), None
    if highest > _LARGEST_TABLE:
        values, places = np.unique(np.append(volume, dtype.type(0)), return_inverse=True)
        volume, labels = places[:-1].reshape(volume.shape).astype(dtype), values.astype(np.int64)
        highest = labels.size - 1
    return read_only(volume), labels, np.zeros((highest + 1, 10), np.int64)

"""Plausible complete segmentations out of several annotations of every instance.

Annotators differ from instance to instance, so that nobody annotated a whole case. A sample takes one annotation of
each instance. Two samples can be compared if they share none, or the disagreement would be underestimated: samples
therefore come in groups in which no annotation is used twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.io import read_label_map
from podium.metrics import Structure, structures
from podium.model import Box, InputError, LabelMap
from podium.raters.fusion import fuse

__all__ = ["Annotations", "Instance", "Sample", "draw_groups", "read_annotations"]

Key: TypeAlias = tuple[str, int, int]
"""Kind, instance and annotation."""


@dataclass(frozen=True, slots=True)
class Instance:
    """Something that several people annotated: the second kidney, the first tumour.

    Attributes
    ----------
    kind
        What it is one of.
    number
        Which of its kind.
    annotations
        The numbers of its annotations, ascending.
    """

    kind: str
    number: int
    annotations: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.annotations:
            raise InputError(f"{self.kind} instance {self.number} has no annotation")


@dataclass(frozen=True, slots=True)
class Sample:
    """A plausible complete segmentation: one annotation of every instance."""

    choices: tuple[Key, ...]

    def shares_annotations_with(self, other: Sample) -> bool:
        """Return whether any annotation is part of both; comparing them would then underestimate disagreement."""
        return not set(self.choices).isdisjoint(other.choices)

    def of(self, kind: str) -> tuple[Key, ...]:
        """Return the annotations of one kind."""
        return tuple(choice for choice in self.choices if choice[0] == kind)


def draw_groups(instances: Sequence[Instance], *, groups: int, seed: int) -> tuple[tuple[Sample, ...], ...]:
    """Draw groups of samples that share no annotation within a group.

    In each group every instance gets a random offset, and sample k takes its annotation (offset + k) modulo their
    number. There are as many samples as the instance with the fewest annotations has.

    Parameters
    ----------
    instances
        In the order in which offsets are drawn.
    groups
        How many groups.
    seed
        Of NumPy's legacy generator, whose draws never change.

    Examples
    --------
    >>> group, = draw_groups([Instance("kidney", 1, (1, 2, 3)), Instance("kidney", 2, (1, 2))], groups=1, seed=0)
    >>> [sample.choices for sample in group]
    [(('kidney', 1, 1), ('kidney', 2, 2)), (('kidney', 1, 2), ('kidney', 2, 1))]
    """
    if not instances:
        raise InputError("there is no instance to draw samples of")
    generator = np.random.RandomState(seed)  # the organisers' samples are those of this generator
    size = min(len(instance.annotations) for instance in instances)
    drawn = []
    for _ in range(groups):
        offsets = [int(generator.randint(0, len(instance.annotations))) for instance in instances]
        drawn.append(
            tuple(
                Sample(
                    tuple(
                        (instance.kind, instance.number, instance.annotations[(offset + k) % len(instance.annotations)])
                        for instance, offset in zip(instances, offsets, strict=True)
                    )
                )
                for k in range(size)
            )
        )
    return tuple(drawn)


@dataclass(frozen=True, slots=True, eq=False)
class Annotations:
    """All annotations of a case, each read once and cut to its own box.

    Attributes
    ----------
    masks
        The annotations, each with the box that it lies in; None where it is empty.
    painting
        Label of each kind, in the order in which kinds are painted over one another.
    grid
        The geometry of the image; a label map without labels.
    box
        Around all annotations; None if all are empty.
    """

    masks: Mapping[Key, tuple[npt.NDArray[np.bool_], Box] | None]
    painting: Mapping[str, int]
    grid: LabelMap
    box: Box | None

    def paint(self, sample: Sample) -> npt.NDArray[np.uint8]:
        """Return the labels of a sample inside the common box, in Fortran order."""
        chosen = [(label, choice) for kind, label in self.painting.items() for choice in sample.of(kind)]
        return self._painted((label, self.masks[choice]) for label, choice in chosen)

    def whole(self, labels: npt.NDArray[np.uint8]) -> LabelMap:
        """Return labels of the common box as a label map of the whole image."""
        image = np.zeros(self.grid.shape, np.uint8, order="F")
        cut = LabelMap.from_array(labels)  # counting in the box alone, since an image is mostly background
        box = None
        if self.box is not None:
            image[self.box.slices] = labels
            if cut.box is not None:
                lower, upper = (np.add(end, self.box.lower).tolist() for end in (cut.box.lower, cut.box.upper))
                box = Box(tuple(lower), tuple(upper))
        counts = {label: count for label, count in cut.labels.items() if label}
        background = image.size - sum(counts.values())
        counts = ({0: background} if background else {}) | counts
        geometry = self.grid.spacing, self.grid.origin, self.grid.direction
        return LabelMap(image, *geometry, box=box, labels=MappingProxyType(counts))

    def fused(self, instances: Sequence[Instance], *, method: str) -> npt.NDArray[np.uint8]:
        """Make one segmentation of all annotations, instance by instance, and paint it inside the common box."""
        voxels = int(np.prod(self.grid.shape))
        parts: list[tuple[int, tuple[npt.NDArray[np.bool_], Box] | None]] = []
        for kind, label in self.painting.items():
            for instance in instances:
                if instance.kind != kind:
                    continue
                given = [self.masks[kind, instance.number, number] for number in instance.annotations]
                box = _common_box(given)
                if box is not None:
                    one = fuse([_within(annotation, box) for annotation in given], method=method, voxels=voxels)
                    parts.append((label, (one, box)))
        return self._painted(parts)

    def structures(
        self, samples: Sequence[Sample], *, regions: Mapping[str, Collection[int]]
    ) -> dict[str, tuple[Structure, ...]]:
        """Prepare every region of every sample, those that are made of the same annotations once.

        A region does not change with annotations that are painted before the first of its own.
        """
        known: dict[tuple[tuple[Key, bool], ...], Structure] = {}
        deciding = {region: self._deciding(labels) for region, labels in regions.items()}
        result: dict[str, list[Structure]] = {region: [] for region in regions}
        for sample in samples:
            keys = {
                region: tuple(
                    (choice, self.painting[kind] in regions[region]) for kind in kinds for choice in sample.of(kind)
                )
                for region, kinds in deciding.items()
            }
            if new := {region: regions[region] for region, key in keys.items() if key not in known}:
                for region, structure in structures(
                    self.paint(sample), regions=new, grid=self.grid.shape, lower=self._lower
                ).items():
                    known[keys[region]] = structure
            for region, key in keys.items():
                result[region].append(known[key])
        return {region: tuple(prepared) for region, prepared in result.items()}

    def _deciding(self, labels: Collection[int]) -> list[str]:
        """Return the kinds that a region depends on: the first painted with one of its labels, and all after it."""
        kinds = list(self.painting)
        own = [place for place, kind in enumerate(kinds) if self.painting[kind] in labels]
        return kinds[own[0] :] if own else []

    @property
    def _lower(self) -> tuple[int, ...]:
        return self.box.lower if self.box is not None else (0,) * len(self.grid.shape)

    def _painted(self, parts: Any) -> npt.NDArray[np.uint8]:
        sizes = tuple(np.subtract(self.box.upper, self.box.lower).tolist()) if self.box else (1,) * len(self.grid.shape)
        canvas = np.zeros(sizes, np.uint8, order="F")
        for label, part in parts:
            if part is not None:
                mask, box = part
                place = tuple(
                    slice(low - own, high - own)
                    for low, high, own in zip(box.lower, box.upper, self._lower, strict=True)
                )
                np.copyto(canvas[place], np.uint8(label), where=mask)
        return canvas


def read_annotations(files: Mapping[Key, Path], *, painting: Mapping[str, int]) -> Annotations:
    """Read the annotation files of a case, each a mask of 0 and 1 on the same grid.

    Parameters
    ----------
    files
        Where each annotation is stored.
    painting
        Label of each kind, in the order in which kinds are painted over one another.
    """
    if not files:
        raise InputError("there are no annotations")
    masks: dict[Key, tuple[npt.NDArray[np.bool_], Box] | None] = {}
    grid: LabelMap | None = None
    for key, path in files.items():
        label_map = read_label_map(path, dimensions=3)
        if strange := set(label_map.labels) - {0, 1}:
            raise InputError(f"label {min(strange)} in an annotation, which is a mask of 0 and 1", path=path)
        if grid is None:
            grid, first = _without_labels(label_map), path
        elif label_map.shape != grid.shape:
            actual, wanted = (" × ".join(map(str, shape)) for shape in (label_map.shape, grid.shape))
            raise InputError(f"wrong shape: {actual} voxels, {first.name} has {wanted}", path=path)
        elif differences := grid.geometry_differences(label_map):
            raise InputError(f"wrong geometry: {first.name} and this have {'; '.join(differences)}", path=path)
        masks[key] = None
        if label_map.box is not None:
            # A copy, so that the whole image is let go.
            masks[key] = np.array(label_map.array[label_map.box.slices], np.uint8, order="F").view(bool), label_map.box
    assert grid is not None
    return Annotations(MappingProxyType(masks), MappingProxyType(dict(painting)), grid, _common_box(masks.values()))


def _common_box(parts: Any) -> Box | None:
    box: Box | None = None
    for part in parts:
        if part is not None:
            box = part[1].union(box)
    return box


def _within(part: tuple[npt.NDArray[np.bool_], Box] | None, box: Box) -> npt.NDArray[np.bool_]:
    """Return a mask in a box that holds its own."""
    result = np.zeros(tuple(np.subtract(box.upper, box.lower).tolist()), bool, order="F")
    if part is not None:
        mask, own = part
        result[tuple(slice(a - c, b - c) for a, b, c in zip(own.lower, own.upper, box.lower, strict=True))] = mask
    return result


def _without_labels(label_map: LabelMap) -> LabelMap:
    """Return the geometry of a label map, which takes no memory however large the image is."""
    nothing = np.broadcast_to(np.uint8(0), label_map.shape)
    voxels = int(np.prod(label_map.shape))
    return LabelMap(
        nothing, label_map.spacing, label_map.origin, label_map.direction, None, MappingProxyType({0: voxels})
    )

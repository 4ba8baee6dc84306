"""The separate annotations of KiTS21: their files, the samples drawn of them, and how they are painted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from podium.io import read_label_map
from podium.model import Box, Case, InputError, LabelMap
from podium.raters import Annotations, Instance, RaterPanel, Sample, StructurePanel, draw_groups, read_annotations

__all__ = [
    "GROUPS",
    "PAINTING",
    "Sampled",
    "annotation_files",
    "draw_samples",
    "lacking_annotations",
    "read_fused",
    "read_samples",
]

PAINTING = {"kidney": 1, "cyst": 3, "tumor": 2}
"""Label of each kind, in the order in which they are painted over one another and named."""
GROUPS = 5
"""Of samples, for each case."""

_DRAWN = ("kidney", "tumor", "cyst")  # offsets are drawn in this order
_NAME = re.compile(r"(kidney|tumor|cyst)_instance-(\d+)_annotation-(\d+)\.nii\.gz")


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """The plausible segmentations of a case.

    Attributes
    ----------
    annotations
        What they are composed of.
    samples
        The distinct ones.
    panel
        Their names, and which groups they are in.
    structures
        Their regions, prepared to be measured.
    remarks
        What a reader should know about this case.
    """

    annotations: Annotations
    samples: tuple[Sample, ...]
    panel: RaterPanel
    structures: StructurePanel
    remarks: tuple[str, ...]

    @property
    def grid(self) -> LabelMap:
        """Return the geometry that all share."""
        return self.annotations.grid

    def files(self, case: str) -> Iterator[tuple[PurePosixPath, LabelMap]]:
        """Compose every sample of every group, with its place in the organisers' layout."""
        for number, group in enumerate(self.panel.groups):
            for member in group:
                place = PurePosixPath(case, "segmentation_samples", f"group_{number}", self.panel.members[member])
                yield place, self.annotations.whole(self.annotations.paint(self.samples[member]))


def annotation_files(folder: Path) -> dict[tuple[str, int, int], Path]:
    """Return the annotations in case_00000/segmentations, by kind, instance and annotation, in numeric order."""
    annotations: dict[tuple[str, int, int], Path] = {}
    for path in sorted((folder / "segmentations").glob("*.nii.gz")):
        match = _NAME.fullmatch(path.name)
        if match is None:
            if path.name.startswith(tuple(PAINTING)):
                raise InputError(
                    "this is not the name of an annotation",
                    path=path,
                    advice="Name it like kidney_instance-1_annotation-1.nii.gz, or remove it",
                )
            continue  # other structures, such as ureters, take no part
        key = match[1], int(match[2]), int(match[3])
        if key in annotations:
            raise InputError(f"this and {annotations[key].name} are the same annotation", path=path)
        annotations[key] = path
    return dict(sorted(annotations.items()))


def draw_samples(files: Collection[tuple[str, int, int]], *, case: str) -> tuple[tuple[tuple[str, Sample], ...], ...]:
    """Draw the groups of samples of a case, each with its name, in the order in which the organisers read them."""
    groups = draw_groups(_instances(files), groups=GROUPS, seed=_number(case))
    return tuple(tuple(sorted((_sample_name(sample), sample) for sample in group)) for group in groups)


def lacking_annotations(folder: Path, *, reference: str) -> str:
    """Say what aggregated_MAJ_seg.nii.gz (or AND, OR) shows and no annotation of a case does; nothing if all is there.

    Files are read until all is seen, and one at a time.
    """
    files = annotation_files(folder)

    def masks(kind: str) -> Iterator[tuple[Any, Box] | None]:
        for path in (path for key, path in files.items() if key[0] == kind):
            label_map = read_label_map(path, dimensions=3)
            box = label_map.box
            yield None if box is None else (label_map.array[box.slices] != 0, box)

    return _lacking(_aggregated(folder, reference), {kind: masks(kind) for kind in PAINTING})


def _aggregated(folder: Path, reference: str) -> LabelMap | None:
    path = folder / f"aggregated_{reference}_seg.nii.gz"
    return read_label_map(path, dimensions=3) if path.is_file() else None


def _lacking(aggregated: LabelMap | None, masks: Mapping[str, Iterable[tuple[Any, Box] | None]]) -> str:
    """Compare what was aggregated with the annotations of each kind, each a mask in its box or None."""
    if aggregated is None or aggregated.box is None:
        return ""
    lacking = []
    for kind, label in PAINTING.items():
        if label not in aggregated.labels:
            continue
        wanted = np.zeros(aggregated.shape, bool, order="F")
        wanted[aggregated.box.slices] = aggregated.array[aggregated.box.slices] == label
        for part in masks[kind]:
            if part is not None:
                mask, box = part
                if any(high > size for high, size in zip(box.upper, wanted.shape, strict=True)):
                    raise InputError("the aggregated segmentation and the annotations differ in shape")
                wanted[box.slices] &= ~mask
                if not wanted[aggregated.box.slices].any():
                    break
        if count := int(np.count_nonzero(wanted)):
            lacking.append(f"{count:,} voxels of {kind}")
    return f"annotations are incomplete: none shows {' and '.join(lacking)} that were aggregated" if lacking else ""


def _read(case: Case, reference: str) -> tuple[dict[tuple[str, int, int], Path], Annotations]:
    """Read the annotations of a case; refuse them where they do not show all that was aggregated of them."""
    files = _files(case)
    annotations = read_annotations(files, painting=PAINTING)
    masks = {kind: [mask for key, mask in annotations.masks.items() if key[0] == kind] for kind in PAINTING}
    if lacking := _lacking(_aggregated(case.files[0].parent.parent, reference), masks):
        raise InputError(lacking)
    return files, annotations


def read_samples(case: Case, *, regions: Mapping[str, Collection[int]], reference: str) -> Sampled:
    """Read the annotations of a case, each file once, and prepare every region of its samples.

    Raises
    ------
    InputError
        Also where the segmentation that `reference` names (MAJ, AND, OR) shows what no annotation does.
    """
    files, annotations = _read(case, reference)
    groups = draw_samples(files, case=case.name)
    distinct = {name: sample for group in groups for name, sample in group}
    places = {name: place for place, name in enumerate(distinct)}
    panel = RaterPanel(tuple(distinct), tuple(tuple(places[name] for name, _ in group) for group in groups))
    samples = tuple(distinct.values())
    structures = StructurePanel(panel, annotations.structures(samples, regions=regions))
    return Sampled(annotations, samples, panel, structures, _remarks(_instances(files)))


def read_fused(case: Case, *, method: str, reference: str) -> LabelMap:
    """Make one segmentation of all annotations of a case, instance by instance; errors are those of `read_samples`."""
    files, annotations = _read(case, reference)
    return annotations.whole(annotations.fused(_instances(files), method=method))


def _files(case: Case) -> dict[tuple[str, int, int], Path]:
    files = annotation_files(case.files[0].parent.parent) if case.files else {}
    if not files:
        raise InputError(
            f"{case.name} has no annotations",
            advice="They are expected as segmentations/kidney_instance-1_annotation-1.nii.gz and so on",
        )
    return files


def _instances(keys: Collection[tuple[str, int, int]]) -> list[Instance]:
    """Return the instances in the order in which offsets are drawn."""
    return [
        Instance(kind, number, tuple(sorted(a for k, n, a in keys if (k, n) == (kind, number))))
        for kind in _DRAWN
        for number in sorted({n for k, n, _ in keys if k == kind})
    ]


def _number(case: str) -> int:
    """Return the number of a case, which is the seed of its samples."""
    digits = case.rpartition("_")[2]
    if not digits.isdecimal():
        raise InputError(f"{case} has no number to draw samples with", advice="Name cases like case_00000")
    return int(digits)


def _sample_name(sample: Sample) -> str:
    """Return the organisers' file name: every kind is named, also one without an instance."""
    parts = ["_".join([kind, *(f"i{number}a{chosen}" for _, number, chosen in sample.of(kind))]) for kind in PAINTING]
    return f"{'_'.join(parts)}.nii.gz"


def _remarks(instances: list[Instance]) -> tuple[str, ...]:
    """Say which instances have fewer annotations than others, since they limit how many samples a group has."""
    most = max(len(instance.annotations) for instance in instances)
    fewer = [
        f"{instance.kind} instance {instance.number} has {len(instance.annotations)} annotations, others have {most}"
        for instance in instances
        if len(instance.annotations) < most
    ]
    return tuple(fewer)

"""Segmentation: label maps against label maps, region by region."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from podium.challenges.kinds.declarations import Images, Misdeclared, Quantity, WholeNumber
from podium.challenges.kinds.declared import DeclaredChallenge
from podium.challenges.kinds.grids import check_grid
from podium.io import SUFFIXES, read_label_map
from podium.io.arrays import content, dataset, open_hdf5
from podium.metrics.families import option_types, preparation_of
from podium.metrics.mixups import image_doubts, volume_doubts
from podium.model import (
    Case,
    Direction,
    Film,
    InputError,
    LabelMap,
    Measure,
    Metric,
    Panel,
    Scene,
    Slices,
    Status,
    Value,
    View,
    Volume,
)
from podium.model.errors import nearest
from podium.model.labelmap import LARGEST_LABEL
from podium.model.measure import Cost
from podium.model.planes import disputed_plane, window

__all__ = ["LabelMaps", "SegmentationChallenge"]

LabelMaps = Mapping[str, LabelMap]
"""The label maps of a file by name; a file that is one has it as ""."""


def _diagonal_mm(truth: LabelMaps, _: str, target: str) -> float:
    grid = truth[target.rpartition("/")[0]]
    return math.hypot(*(size * step for size, step in zip(grid.shape, grid.spacing, strict=True)))


class SegmentationChallenge(DeclaredChallenge):
    """Regions of label maps, by any metric of segmentation.

    Examples
    --------
    >>> challenge = SegmentationChallenge(
    ...     name="brain-lesions",
    ...     files={"truth": "{subject}_{visit}_seg.nii.gz", "prediction": "{subject}_{visit}.nii.gz"},
    ...     labels={"edema": 1, "core": 2},
    ...     regions={"whole": ["edema", "core"]},
    ...     quantities=[
    ...         {"metric": "dice", "of": ["whole", "core"], "failed": 0},
    ...         {"metric": "hausdorff_distance", "percentile": 95.0, "of": ["whole"], "failed": "image diagonal"},
    ...     ],
    ... )
    >>> challenge.terms
    ('dice_whole', 'dice_core', 'hausdorff_distance_whole')

    `podium.evaluate(challenge, truth=…, submissions=…, out=…)` measures folders, and `podium.load` knows the challenge
    again from the run alone. A reference and a prediction that are at hand, as label maps, are measured by
    `compared`; those in files by `measure`, whatever they are called:

    >>> import numpy as np
    >>> labels = LabelMap.from_array(np.array([[0, 1, 1], [2, 1, 1]]))
    >>> [(v.metric, v.target, v.value) for v in challenge.compared("one", labels, labels)][:2]
    [('dice', 'whole', 1.0), ('dice', 'core', 1.0)]
    """

    kind: ClassVar[str] = "segmentation"
    costs: ClassVar[Mapping[str, Cost]] = {"image diagonal": _diagonal_mm}

    labels: Mapping[str, WholeNumber] = Field(min_length=1)
    """The number of each label; 0 is background."""
    regions: Mapping[str, tuple[str | WholeNumber, ...]] = Field(default_factory=dict)
    """Regions of several labels, by their names or numbers."""
    images: Images = Images()
    """What label maps must be like."""

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: Mapping[str, int]) -> Mapping[str, int]:
        names: dict[int, str] = {}
        for name, number in labels.items():
            if not 0 < number <= LARGEST_LABEL:
                problem = f"label {name!r} is {number}, and labels are whole numbers from 1 to {LARGEST_LABEL}"
                raise Misdeclared(problem, name)
            if number in names:
                problem = f"{names[number]!r} and {name!r} are both {number}"
                raise Misdeclared(problem, name, advice="Give each its own number")
            names[number] = name
        return labels

    def model_post_init(self, context: Any, /) -> None:
        """Refuse regions of labels that do not exist, too, and files that no reader is there for."""
        if type(self).read is SegmentationChallenge.read and not self.images.arrays:
            for key, patterns in (("truth", (self.files.truth,)), ("prediction", self.files.prediction)):
                if strange := next((own.text for own in patterns if not own.text.endswith(SUFFIXES)), None):
                    problem = f"{strange} does not end like a label map"
                    raise Misdeclared(problem, "files", key, advice=f"Label maps end in {', '.join(SUFFIXES)}")
        for table, names in (("labels", self.labels), ("regions", self.regions)):
            if divided := next((name for name in names if "/" in name), None):
                raise Misdeclared(f"{divided!r} has a /, which parts images and regions", table, divided)
        for place, encoding in enumerate(self.images.encodings):
            for name in encoding:
                if name not in self.labels:
                    advice = nearest(name, self.labels)
                    raise Misdeclared(f"there is no label {name!r}", "images", "encodings", place, name, advice=advice)
        known = {*self.labels, *self.labels.values()}
        for region, members in self.regions.items():
            if region in self.labels:
                raise Misdeclared(
                    f"{region!r} is a label already", "regions", region, advice="Call the region otherwise"
                )
            if not members:
                raise Misdeclared(f"the region {region!r} holds no label", "regions", region)
            for member in members:
                if member not in known:
                    advice = nearest(str(member), self.labels)
                    raise Misdeclared(f"there is no label {member!r}", "regions", region, advice=advice)
        super().model_post_init(context)

    @property
    def numbers(self) -> dict[str, tuple[int, ...]]:
        """The labels of everything that can be measured in a label map: every region and every label."""
        of_regions = {
            name: tuple(sorted({self.labels[member] if isinstance(member, str) else member for member in members}))
            for name, members in self.regions.items()
        }
        return {**of_regions, **{name: (number,) for name, number in self.labels.items()}}

    @property
    def targets(self) -> tuple[str, ...]:
        """Every region and label; where a file has several label maps, of each of them."""
        names = tuple(self.numbers)
        return tuple(f"{image}/{name}" for image in self.images.arrays for name in names) or names

    def targets_of(self, quantity: Quantity) -> tuple[str, ...]:
        """Return what a quantity names; by default all regions, or all labels where there are none."""
        if quantity.of:
            return quantity.of
        chosen = tuple(self.regions or self.labels)
        return tuple(f"{image}/{name}" for image in self.images.arrays for name in chosen) or chosen

    def perfect_value(self, metric: Metric[..., Any], options: Mapping[str, Any]) -> float | None:
        """Try a small body that is predicted as it is; options that a metric checks by itself need no trial."""
        of_metric, _ = option_types(metric)
        checked = {"boundary", *(of_metric if metric.check is not None else ())}
        if options.keys() <= checked:
            return None
        own = {key: value for key, value in options.items() if key in of_metric}
        shared = {key: value for key, value in options.items() if key not in of_metric}
        problems = []
        for axes in (3, 2) if self.images.dimensions is None else (self.images.dimensions,):
            body = LabelMap.from_array(np.pad(np.ones((2,) * axes, np.uint8), 2))
            try:
                return float(
                    metric(_prepared(preparation_of(metric), body, body, regions={"": (1,)}, **shared)[""], **own)
                )
            except InputError as error:
                problems.append(error)
        raise problems[0]

    @classmethod
    def takes(cls, metric: Metric[..., Any]) -> bool:
        """Whether it is a metric of label maps."""
        return preparation_of(metric) is not None

    @property
    def besides(self) -> tuple[Quantity, ...]:
        """What a subclass measures besides, to see what depends on it; it judges nothing and is on no leaderboard."""
        return ()

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Every quantity, and what is measured besides."""
        return (*super().measures, *(self.measure_of(own, direction=Direction.NONE) for own in self.besides))

    # Files.

    @property
    def contents(self) -> tuple[str, ...]:
        """Labels and regions, and what a label map must be like."""
        images = self.images
        axes = f" of {images.dimensions} axes" if images.dimensions else ""
        datasets = ", ".join(images.arrays.values())
        where = f"Datasets {datasets}, label maps{axes} each" if datasets else f"A label map{axes}"
        numbers = ", ".join(f"{number} {name}" for name, number in self.labels.items())
        other = "; ".join(", ".join(f"{n} {name}" for name, n in own.items()) for own in images.encodings)
        strange = "Another label makes it invalid" if images.unknown_labels == "refuse" else "Others are background"
        lines = [
            f"{where}: 0 background, {numbers}{f' (or {other})' if other else ''}, in any integer type. {strange}."
        ]
        lines += [f"{region} is {' and '.join(map(str, own))} together." for region, own in self.regions.items()]
        grid = "Shape, spacing, origin and direction" if images.geometry == "full" else "The shape"
        return (*lines, f"{grid} must be the truth's.")

    def read(self, path: Path, image: str = "") -> LabelMap:
        """Read the label map of a file, or that of a dataset which is declared as one of several images."""
        if not image:
            return self._known_labels(read_label_map(path, dimensions=self.images.dimensions), path)
        name, short = self.images.arrays[image], Path(path.name)
        with open_hdf5(path) as file:
            numbers = content(dataset(file, name, path=short), name, path=short)
        try:
            if numbers.ndim not in ((2, 3) if self.images.dimensions is None else (self.images.dimensions,)):
                raise InputError(f"it has {numbers.ndim} axes")
            return self._known_labels(LabelMap.from_array(numbers), short)
        except InputError as error:
            raise InputError(f"'{name}': {error.problem}", path=short, advice=error.advice) from None

    @property
    def _images(self) -> tuple[str, ...]:
        return tuple(self.images.arrays) or ("",)

    def _known_labels(self, labels: LabelMap, path: Path) -> LabelMap:
        """Translate other encodings, and refuse labels that are not declared, or take them for background."""
        own = set(labels.labels) - {0}
        if own <= set(self.labels.values()):
            return labels
        for encoding in self.images.encodings:
            if own <= set(encoding.values()):
                return _renumbered(labels, {number: self.labels[name] for name, number in encoding.items()})
        if self.images.unknown_labels == "background":
            return labels
        strange, declared = min(own - set(self.labels.values())), ", ".join(map(str, sorted(self.labels.values())))
        raise InputError(f"label {strange} is none of 0, {declared}", path=path)

    def load(self, case: Case) -> LabelMaps:
        """Read the truth."""
        return {image: self.read(case.files[0], image) for image in self._images}

    def measure(self, case: Case, truth: LabelMaps, prediction: Path) -> list[Value]:
        """Measure every quantity of every target; of several label maps, each fails alone."""
        values, problems = [], []
        for image in truth:
            try:
                guess = self.read(prediction, image)
                warning = self.check_grid(truth[image], guess, prediction)
            except InputError as error:
                problems.append(error)
                values += self._unusable(case.name, image, str(error))
            else:
                try:
                    values += self._values(case.name, truth, guess, image=image, warning=warning)
                except InputError as error:  # of options, such as a connectivity for images of other axes
                    raise Misdeclared(error.problem) from None
        if len(problems) == len(truth):
            raise problems[0]
        return values

    def compared(self, name: str, reference: LabelMap, prediction: LabelMap) -> list[Value]:
        """Measure a label map that is at hand against another; `name` is that of the row."""
        return self._values(name, {"": reference}, prediction)

    def check_grid(self, truth: LabelMap, guess: LabelMap, path: Path) -> str:
        """Refuse a prediction on another grid; return a warning where one is accepted."""
        other = 'geometry "shape"'
        return check_grid(truth, guess, path, geometry=self.images.geometry, otherwise=other)

    def _unusable(self, row: str, image: str, reason: str) -> list[Value]:
        """Return what cannot be measured of one of several label maps."""
        keys = [(measure.name, target) for measure in self.measures for target in measure.targets]
        own = [(name, target) for name, target in keys if target.startswith(f"{image}/")]
        return [Value(row, name, None, target, status=Status.INVALID, reason=reason) for name, target in own]

    def _values(
        self, row: str, truth: LabelMaps, prediction: LabelMap, *, image: str = "", warning: str = ""
    ) -> list[Value]:
        """Measure one label map of a row; surfaces and the like are computed once for all that ask for the same."""
        reference = truth[image]
        prefix = f"{image}/" if image else ""
        wanted: dict[tuple[Any, ...], dict[str, tuple[int, ...]]] = {}
        plan = []
        for quantity in (*self.quantities, *self.besides):
            metric = self.metric_of(quantity)
            of_metric, _ = option_types(metric)
            for target in (target for target in self.targets_of(quantity) if target.startswith(prefix)):
                options = self.options_of(quantity, target)
                shared = {key: value for key, value in options.items() if key not in of_metric}
                key = preparation_of(metric), tuple(sorted((k, repr(v)) for k, v in shared.items()))
                wanted.setdefault(key, {})[target] = self.numbers[target.removeprefix(prefix)]
                plan.append((quantity, target, key, shared, {k: v for k, v in options.items() if k in of_metric}))
        known: dict[tuple[Any, ...], Mapping[str, Any]] = {}
        values = []
        for quantity, target, key, shared, options in plan:
            if key not in known:
                known[key] = _prepared(key[0], reference, prediction, regions=wanted[key], **shared)
            number = float(self.metric_of(quantity)(known[key][target], **options))
            absent = not any(label in reference.labels for label in wanted[key][target])
            values.append(self._value(row, quantity, target, number, truth, warning, absent=absent))
        return values

    def _value(
        self, row: str, quantity: Quantity, target: str, number: float, truth: LabelMaps, warning: str, *, absent: bool
    ) -> Value:
        """Return a value, or what stands for it where the metric has none."""
        if absent and quantity.absent == "leave out":
            return Value(row, quantity.called, None, target, status=Status.UNDEFINED, reason="the truth has none of it")
        price = self._price(quantity)
        if math.isfinite(number) or (math.isinf(number) and price is not None and price.ranked):
            return Value(row, quantity.called, number, target, reason=warning)
        why = "it has no value: the truth, or the prediction, is empty"
        if price is None or not price.ranked:
            status = Status.UNDEFINED if price is None else Status.INVALID
            return Value(row, quantity.called, None, target, status=status, reason=why)
        return Value(row, quantity.called, price.of(truth, row, target), target, reason=f"{why}, and counts as failed")

    # Checking and showing.

    def check(self, case: Case | None, prediction: Path) -> list[str]:  # noqa: ARG002  # what every challenge is given
        """Say which label map cannot be read, and which labels do not exist."""
        problems = []
        for image in self._images:
            try:
                self.read(prediction, image)
            except InputError as error:
                problems.append(error.with_advice)
        return list(dict.fromkeys(problems))

    def doubts(self, case: Case | None, truth: LabelMaps | None, prediction: Path) -> list[str]:  # noqa: ARG002  # what every challenge is given
        """Say whether everything is background, labels are swapped, or voxels or a header are turned around."""
        doubts = []
        for image in self._images:
            guess, reference = self.read(prediction, image), None if truth is None else truth[image]
            if len(guess.shape) == 2:
                own = image_doubts(guess.array, None if reference is None else reference.array)
            else:
                own = volume_doubts(guess, reference)
            doubts += [f"{image}: {doubt}" if image else doubt for doubt in own]
        return doubts

    def views(self, case: Case, truth: LabelMaps, prediction: Path, *, images: Path | None = None) -> list[View]:  # noqa: ARG002  # what every challenge is given
        """Show the slice that is disputed most."""
        names, panels, remarks = {number: name for name, number in self.labels.items()}, [], []
        for image in truth:
            try:
                guess = self.read(prediction, image)
                self.check_grid(truth[image], guess, prediction)
            except InputError as error:
                remarks.append(error.problem)
            else:
                panels += _panels(image, truth[image], guess)
        return [Slices(f"{case.name}: where it is disputed most", tuple(panels), names, tuple(remarks))]

    def scenes(self, case: Case, truth: LabelMaps, prediction: Path, *, images: Path | None = None) -> list[Scene]:  # noqa: ARG002  # what every challenge is given
        """Show every label map that can be used: a volume to scroll through, or a picture."""
        names, problems, scenes = {number: name for name, number in self.labels.items()}, [], []
        for image, reference in truth.items():
            try:
                guess = self.read(prediction, image)
                self.check_grid(reference, guess, prediction)
            except InputError as error:
                problems.append(error)
            else:
                scenes.append(_scene(image, reference, guess, names))
        if problems and not scenes:
            raise problems[0]
        return scenes


def _prepared(preparation: Any, reference: LabelMap, prediction: LabelMap, **options: Any) -> Mapping[str, Any]:
    result: Mapping[str, Any] = preparation(reference, prediction, **options)
    return result


def _renumbered(labels: LabelMap, numbers: Mapping[int, int]) -> LabelMap:
    table = np.arange(max(labels.labels) + 1)
    for number, label in numbers.items():
        if number < table.size:
            table[number] = label
    made = LabelMap.from_array(table[labels.array], spacing=labels.spacing)
    return replace(made, origin=labels.origin, direction=labels.direction)


def _scene(image: str, reference: LabelMap, prediction: LabelMap, names: dict[int, str]) -> Scene:
    if len(reference.shape) == 3:
        return Volume(image, reference, prediction, names)
    truth, guess = (labels.array[None] for labels in (reference, prediction))
    return Film(image, truth, guess, names)


def _panels(image: str, reference: LabelMap, prediction: LabelMap) -> list[Panel]:
    if len(reference.shape) == 2:
        truth, guess = (labels.array.astype(np.uint8) for labels in (reference, prediction))
        part = window(truth, guess)
        return [Panel(image or "image", truth[part], guess[part])]
    plane = disputed_plane(reference, prediction)
    if plane is None:
        return []
    truth, guess = (plane.cut(labels.array).astype(np.uint8) for labels in (reference, prediction))
    part = window(truth, guess)
    title = f"{image} {plane.name} slice {plane.index + 1} of {reference.shape[plane.axis]}".strip()
    return [Panel(title, truth[part], guess[part], pixel_mm=plane.pixel_mm(reference.spacing))]

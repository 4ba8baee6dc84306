"""Segmentation metrics for training: tensors in, tensors out, and classes that gather cases over batches and ranks.

Masks stay where they are: on a GPU everything is measured there, from the masks to the numbers, without waiting for
the device (`measure_batch`); on the CPU the same numbers come from the same engine that NumPy arrays get.

    from podium.metrics.torch import SegmentationMetrics

    metrics = SegmentationMetrics(regions={"organ": (1, 2), "tumor": 2}, tolerance_mm=1.0)
    for image, labels in validation:
        metrics.update(model(image).argmax(1), labels, spacing_mm=(3.0, 0.8, 0.8))
    metrics.compute()  # {"dice": tensor([0.96, 0.81]), "surface_dice": …, "hausdorff_distance_95": …, …}
    metrics.reset()

Label maps are (batch, [z,] y, x) with `regions`; without regions, masks are one-hot channels as MONAI has them,
(batch, channel, [z,] y, x), each channel a region. Empty cases have the value that the metric declares: a structure
that was missed is infinitely far away, and is not left out of a mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import torch

from podium.metrics._pairs import Regions, Spacing, as_regions
from podium.metrics._rows import check_percentile
from podium.metrics.devices import gpu_engine, on_gpu
from podium.metrics.distances import (
    ROUNDING,
    average_symmetric_surface_distance,
    check_tolerance,
    hausdorff_distance,
    mean_average_surface_distance,
    surface_dice,
)
from podium.metrics.overlaps import Overlap, dice, overlap
from podium.metrics.surface import Boundary, SurfaceDistances, surface_distances
from podium.model import InputError

__all__ = [
    "AverageSurfaceDistanceMetric",
    "BatchMeasurement",
    "DiceMetric",
    "HausdorffDistanceMetric",
    "SegmentationMetrics",
    "SurfaceDiceMetric",
    "measure_batch",
]


_MOST_SHORTCUTS = 256
_shortcuts: dict[Hashable | None, Any] = {}


@dataclass(frozen=True, slots=True, eq=False)
class BatchMeasurement:
    """What was measured of a batch: tensors of (item, region), of 64 bits, on the device of the masks.

    Attributes
    ----------
    dice
        Dice; None unless it was asked for.
    table
        All else together, (item, region, number): percentile, hausdorff, average, mean_average, two directed means, and
        surface Dice at each tolerance.
    """

    dice: torch.Tensor | None
    table: torch.Tensor

    @property
    def percentile(self) -> torch.Tensor:
        """Return the larger of the two directed percentiles of distance, in mm: HD95 unless another is asked for."""
        return self.table[..., 0]

    @property
    def hausdorff(self) -> torch.Tensor:
        """Return the largest distance, in mm."""
        return self.table[..., 1]

    @property
    def average(self) -> torch.Tensor:
        """Return the average symmetric surface distance (ASSD), in mm."""
        return self.table[..., 2]

    @property
    def mean_average(self) -> torch.Tensor:
        """Return the mean average surface distance (MASD), in mm."""
        return self.table[..., 3]

    @property
    def surface_dice(self) -> torch.Tensor:
        """Return surface Dice at each tolerance, (item, region, tolerance)."""
        return self.table[..., 6:]


def measure_batch(
    reference: Any,
    prediction: Any,
    *,
    regions: Regions | None = None,
    spacing_mm: Spacing | None = None,
    boundary: Boundary = "surfel",
    percentile: float = 95.0,
    tolerances_mm: Sequence[float] = (1.0,),
    with_dice: bool = True,
    wait: bool = True,
) -> BatchMeasurement:
    """Measure every region of every pair of a batch.

    Parameters
    ----------
    reference, prediction
        Tensors (or other arrays on a GPU, by DLPack): label maps of (batch, [z,] y, x) where `regions` are given, else
        masks of (batch, channel, [z,] y, x), in which what is not zero is inside.
    regions
        Name and labels of each region.
    spacing_mm
        Millimetres per axis, of all pairs; 1 by default.
    boundary
        `surfel` or `voxel` (MONAI's); see `podium.metrics.surface`.
    percentile
        Of the distances; see `podium.metrics.hausdorff_distance`.
    tolerances_mm
        Of surface Dice.
    with_dice
        Whether Dice is wanted too.
    wait
        Whether to wait for the GPU, and see that all went well. Without it results are NaN where labels are wrong, or
        where far distances are more than one to 64 voxels, as of noise; a call that waits then refuses or measures
        again. Without waiting, it can be captured as a CUDA graph, after one call with the same shapes.
    """
    key = _key(reference, prediction, regions, spacing_mm, boundary, percentile, tuple(tolerances_mm), with_dice, wait)
    if key in _shortcuts:
        engine = gpu_engine()
        measured, counted = _shortcuts[key](reference, prediction)
        if not wait or engine.in_order(measured):
            return BatchMeasurement(None if counted is None else engine.dice_scores(counted), measured.results)
    check_percentile(percentile)
    for tolerance in tolerances_mm:
        check_tolerance(tolerance_mm=tolerance)
    if boundary not in ("surfel", "voxel"):
        raise InputError(f"there is no boundary called {boundary!r}", advice="It is 'surfel' or 'voxel'")
    labels = None if regions is None else list(as_regions(regions).values())
    if not on_gpu(reference, prediction):
        return _on_cpu(reference, prediction, labels, spacing_mm, boundary, percentile, tolerances_mm)
    engine = gpu_engine()
    question = engine.BoundaryQuestion(
        surfel=boundary == "surfel",
        percentile=float(percentile),
        linear=boundary == "voxel",
        reaches=tuple(tolerance * (1 + ROUNDING) for tolerance in tolerances_mm),
    )
    numbers, counts = [], []
    for stack in _stacks(engine, reference, prediction, labels, spacing_mm):
        measured = engine.measure(stack, question)
        if wait:
            measured = engine.settled(stack, question, measured)
        numbers.append(measured.results)
        del measured  # and with it its memory, before the next regions need theirs
        if with_dice:
            counts.append(engine.count(stack).counts)
    table = numbers[0] if len(numbers) == 1 else torch.cat(numbers, 1)
    if key is not None and len(numbers) == 1:
        if len(_shortcuts) >= _MOST_SHORTCUTS:
            _shortcuts.clear()
        _shortcuts[key] = engine.Shortcut(stack, question, with_counts=with_dice)
    scores = engine.dice_scores(counts[0] if len(counts) == 1 else torch.cat(counts, 1)) if with_dice else None
    return BatchMeasurement(scores, table)


def _key(reference: Any, prediction: Any, regions: Regions | None, *options: Any) -> Hashable | None:
    """Return what makes a call the same as another but for the masks themselves; None where that cannot be told."""
    if type(reference) is not torch.Tensor or type(prediction) is not torch.Tensor or not reference.is_cuda:
        return None
    images = tuple(
        (image.shape, image.stride(), image.dtype, image.device, image.data_ptr() % 16 == 0)
        for image in (reference, prediction)
    )
    if images[0][2:4] != images[1][2:4] or not isinstance(regions, Mapping | None):
        return None
    key = images, None if regions is None else tuple(regions.items()), options
    try:
        hash(key)
    except TypeError:  # a list among the options
        return None
    return key


def _stacks(
    engine: ModuleType, reference: Any, prediction: Any, labels: Sequence[Sequence[int]] | None, spacing_mm: Any
) -> Iterator[Any]:
    """Yield the batch with as many regions as are measured together."""
    if len(reference.shape) not in ((4, 5) if labels is None else (3, 4)):
        said = "masks are (batch, channel, [z,] y, x)" if labels is None else "label maps are (batch, [z,] y, x)"
        raise InputError(f"{said}, and these have {len(reference.shape)} axes")
    for start in range(0, reference.shape[1] if labels is None else len(labels), engine.AT_ONCE):
        chosen = slice(start, start + engine.AT_ONCE)
        if labels is None:
            pair, part = (reference[:, chosen], prediction[:, chosen]), None
        else:
            pair, part = (reference, prediction), labels[chosen]
        yield engine.stack_up(*pair, labels=part, spacing_mm=spacing_mm, batch=True)


def _dice_alone(reference: Any, prediction: Any, labels: Sequence[Sequence[int]] | None) -> torch.Tensor:
    """Return the Dice of every region of every pair, without a look at boundaries."""
    if on_gpu(reference, prediction):
        engine = gpu_engine()
        counted = [engine.count(stack) for stack in _stacks(engine, reference, prediction, labels, None)]
        if any(part.wrong.any() for part in counted):
            raise engine.wrong_labels()
        return torch.cat([engine.dice_scores(part.counts) for part in counted], 1)
    pairs = zip(np.asarray(reference), np.asarray(prediction), strict=True)
    return torch.tensor([[dice(o) for o in _overlaps(one, two, labels)] for one, two in pairs], dtype=torch.float64)


def _overlaps(one: Any, two: Any, labels: Sequence[Sequence[int]] | None) -> list[Overlap]:
    if labels is None:
        return [Overlap.between(r, p) for r, p in zip(one, two, strict=True)]
    return list(overlap(one, two, regions={str(place): members for place, members in enumerate(labels)}).values())


def _on_cpu(
    reference: Any,
    prediction: Any,
    labels: Sequence[Sequence[int]] | None,
    spacing_mm: Spacing | None,
    boundary: Boundary,
    percentile: float,
    tolerances_mm: Sequence[float],
) -> BatchMeasurement:
    """Measure pair by pair, and region by region where they are channels."""
    rows = []
    for one, two in zip(np.asarray(reference), np.asarray(prediction), strict=True):
        if labels is None:
            distances = [
                SurfaceDistances.between(r, p, spacing_mm=spacing_mm, boundary=boundary)
                for r, p in zip(one, two, strict=True)
            ]
        else:
            named = {str(place): members for place, members in enumerate(labels)}
            measured = surface_distances(one, two, regions=named, spacing_mm=spacing_mm, boundary=boundary)
            distances = list(measured.values())
        rows.append(
            [
                (
                    dice(counted),
                    hausdorff_distance(apart, percentile=percentile),
                    hausdorff_distance(apart),
                    average_symmetric_surface_distance(apart),
                    mean_average_surface_distance(apart),
                    apart.from_reference.mean,
                    apart.from_prediction.mean,
                    *(surface_dice(apart, tolerance_mm=tolerance) for tolerance in tolerances_mm),
                )
                for apart, counted in zip(distances, _overlaps(one, two, labels), strict=True)
            ]
        )
    table = torch.tensor(rows, dtype=torch.float64)
    return BatchMeasurement(table[..., 0], table[..., 1:])


class SegmentationMetrics:
    """Dice, surface Dice, HD95 and average surface distances of every case, measured together.

    Call it, or `update`, with every batch; `compute` returns means over all cases of all ranks of torch.distributed,
    and `reset` forgets them. The arguments of calls have MONAI's names too: `metrics(y_pred=…, y=…, spacing=…)`.

    Parameters
    ----------
    regions
        Name and labels of each region; None for one-hot channels.
    include_background
        Whether the first of several channels is a region too; for one-hot channels only.
    spacing_mm
        Millimetres per axis, where an update brings none.
    boundary
        `surfel`, or `voxel` for MONAI's numbers.
    percentile
        Of the distances.
    tolerance_mm
        Of surface Dice.
    """

    _names: tuple[str, ...] = (
        "dice",
        "surface_dice",
        "hausdorff_distance_percentile",
        "average_symmetric_surface_distance",
        "mean_average_surface_distance",
    )

    def __init__(
        self,
        *,
        regions: Regions | None = None,
        include_background: bool = True,
        spacing_mm: Spacing | None = None,
        boundary: Boundary = "surfel",
        percentile: float = 95.0,
        tolerance_mm: float = 1.0,
    ) -> None:
        self.regions = None if regions is None else as_regions(regions)
        self._background, self._spacing, self._boundary = include_background, spacing_mm, boundary
        self._percentile, self._tolerance = percentile, tolerance_mm
        self._cases: list[torch.Tensor] = []

    def update(self, prediction: Any, reference: Any, *, spacing_mm: Spacing | None = None) -> torch.Tensor:
        """Measure a batch; return and keep its numbers, (item, region, metric)."""
        reference, prediction = self._chosen(reference), self._chosen(prediction)
        measured = measure_batch(
            reference,
            prediction,
            regions=self.regions,
            spacing_mm=self._spacing if spacing_mm is None else spacing_mm,
            boundary=self._boundary,
            percentile=self._percentile,
            tolerances_mm=(self._tolerance,),
            with_dice="dice" in self._names,
        )
        columns = {
            "dice": measured.dice,
            "surface_dice": measured.surface_dice[..., 0],
            "hausdorff_distance_percentile": measured.percentile,
            "average_symmetric_surface_distance": measured.average,
            "mean_average_surface_distance": measured.mean_average,
        }
        case = torch.stack([columns[name] for name in self._names], -1)
        self._cases.append(case)
        return case

    def _chosen(self, masks: Any) -> Any:
        """Return the channels that are regions."""
        return masks if self.regions is not None or self._background or masks.shape[1] == 1 else masks[:, 1:]

    def __call__(self, y_pred: Any, y: Any, *, spacing: Spacing | None = None) -> torch.Tensor:
        """Update with what MONAI calls `y_pred`, `y` and `spacing`."""
        return self.update(y_pred, y, spacing_mm=spacing)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the metrics, as `compute` has them."""
        percentile = f"hausdorff_distance_{self._percentile:g}" if self._percentile != 100 else "hausdorff_distance"
        return tuple(percentile if name == "hausdorff_distance_percentile" else name for name in self._names)

    @property
    def values(self) -> torch.Tensor:
        """Return the numbers of all cases of all ranks, (case, region, metric)."""
        if not self._cases and not _ranks():
            raise InputError("there is nothing to compute: no batch was given yet", advice="Call update first")
        own = torch.cat(self._cases) if self._cases else torch.zeros((0, 0, 0), dtype=torch.float64)
        gathered = _gathered(own)
        if not gathered:
            raise InputError("there is nothing to compute: no rank was given a batch", advice="Call update first")
        return torch.cat(gathered)

    def compute(self) -> Any:
        """Return the mean over all cases, of every region, by the name of the metric."""
        means = self.values.mean(0)
        return {name: means[:, column] for column, name in enumerate(self.names)}

    def aggregate(self) -> Any:
        """Return what `compute` does, by the name that it has in MONAI."""
        return self.compute()

    def reset(self) -> None:
        """Forget all cases."""
        self._cases = []


def _ranks() -> int:
    """Return how many processes there are in the group; 0 without one."""
    distributed = torch.distributed
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 0


def _gathered(own: torch.Tensor) -> list[torch.Tensor]:
    """Return the cases of every rank that has some, in the order of ranks."""
    ranks = _ranks()
    if not ranks:
        return [own]
    everyone: list[Any] = [None] * ranks
    torch.distributed.all_gather_object(everyone, own.cpu())
    return [cases.to(own.device) for cases in everyone if cases.numel()]


class _OneMetric(SegmentationMetrics):
    """One of the metrics: its mean over all cases and regions is one number."""

    def compute(self) -> Any:
        """Return the mean over all cases and regions."""
        return self.values.mean()


class DiceMetric(_OneMetric):
    """Mean Dice; 1 where both are empty."""

    _names = ("dice",)

    def __init__(self, *, regions: Regions | None = None, include_background: bool = True) -> None:
        super().__init__(regions=regions, include_background=include_background)

    def update(self, prediction: Any, reference: Any, *, spacing_mm: Spacing | None = None) -> torch.Tensor:
        """Count a batch; return and keep its Dice, (item, region, 1); the spacing does not matter."""
        del spacing_mm
        labels = None if self.regions is None else list(self.regions.values())
        case = _dice_alone(self._chosen(reference), self._chosen(prediction), labels)[..., None]
        self._cases.append(case)
        return case


class SurfaceDiceMetric(_OneMetric):
    """Mean surface Dice at a tolerance, also known as normalised surface distance."""

    _names = ("surface_dice",)


class HausdorffDistanceMetric(_OneMetric):
    """Mean Hausdorff distance, or its 95th or another percentile, in mm: `HausdorffDistanceMetric(percentile=95)`."""

    _names = ("hausdorff_distance_percentile",)

    def __init__(
        self,
        *,
        regions: Regions | None = None,
        include_background: bool = True,
        spacing_mm: Spacing | None = None,
        boundary: Boundary = "surfel",
        percentile: float = 100.0,
    ) -> None:
        super().__init__(
            regions=regions,
            include_background=include_background,
            spacing_mm=spacing_mm,
            boundary=boundary,
            percentile=percentile,
        )


class AverageSurfaceDistanceMetric(_OneMetric):
    """Mean of the average symmetric surface distance (ASSD), in mm; MONAI's with `symmetric=True`."""

    _names = ("average_symmetric_surface_distance",)

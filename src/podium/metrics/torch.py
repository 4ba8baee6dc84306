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
(batch, channel, [z,] y, x), each channel a region; or lists of such items, of any shapes. Empty cases have the value
that the metric declares: a structure that was missed is infinitely far away, and is not left out of a mean.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch

from podium.metrics._batches import as_batches, as_reduction, refuse_options
from podium.metrics._gpu.batching import BatchMeasurement, dice_alone, measure_batch
from podium.metrics._pairs import Regions, Spacing, as_regions
from podium.metrics.surface import Boundary
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


class SegmentationMetrics:
    """Dice, surface Dice, HD95 and average surface distances of every case, measured together.

    Call it, or `update`, with every batch; `compute` returns means over all cases of all ranks of torch.distributed,
    and `reset` forgets them. The arguments of calls have MONAI's names too: `metrics(y_pred=…, y=…, spacing=…)`.

    A call waits for the device, since it refuses wrong labels and measures again what needs more room. With
    `wait=False` it does not, and `compute` says of which batches there are no numbers.

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
        Of surface Dice; one for all, or one for each region.
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
        tolerance_mm: float | Sequence[float] = 1.0,
    ) -> None:
        self.regions = None if regions is None else {name: tuple(part) for name, part in as_regions(regions).items()}
        self._background, self._spacing, self._boundary = include_background, spacing_mm, boundary
        self._percentile = percentile
        self._tolerances = tuple(tolerance_mm) if isinstance(tolerance_mm, Collection) else (tolerance_mm,)
        self._one_tolerance = not isinstance(tolerance_mm, Collection)
        self._cases: list[torch.Tensor] = []

    def update(self, prediction: Any, reference: Any, *, spacing_mm: Any = None, wait: bool = True) -> torch.Tensor:
        """Measure a batch; return and keep its numbers, (item, region, metric).

        Parameters
        ----------
        prediction, reference
            Batches as `measure_batch` takes them, or lists of their items, which may be of different shapes.
        spacing_mm
            Millimetres per axis; or a list with that of every item.
        wait
            Whether to wait for the GPU. Without it numbers may be NaN, see `measure_batch`, and `compute` refuses them.
        """
        batches = as_batches(prediction, reference, self._spacing if spacing_mm is None else spacing_mm)
        parts = [
            self._measured(self._chosen(one), self._chosen(two), spacing, wait=wait) for two, one, spacing in batches
        ]
        counts = sorted({part.shape[1] for part in (*self._cases[:1], *parts)})
        if len(counts) > 1:
            raise InputError(f"there are {counts[0]} regions in some masks and {counts[-1]} in others")
        cases = parts[0] if len(parts) == 1 else torch.cat(parts)
        self._cases.append(cases)
        return cases

    def _measured(self, reference: Any, prediction: Any, spacing_mm: Any, *, wait: bool) -> torch.Tensor:
        """Return the numbers of a batch, (item, region, metric)."""
        tolerances = tuple(dict.fromkeys(self._tolerances))
        measured = measure_batch(
            reference,
            prediction,
            regions=self.regions,
            spacing_mm=spacing_mm,
            boundary=self._boundary,
            percentile=self._percentile,
            tolerances_mm=tolerances,
            with_dice="dice" in self._names,
            wait=wait,
        )
        columns = {
            "dice": measured.dice,
            "surface_dice": self._at_own_tolerance(measured.surface_dice, tolerances),
            "hausdorff_distance_percentile": measured.percentile,
            "average_symmetric_surface_distance": measured.average,
            "mean_average_surface_distance": measured.mean_average,
        }
        return torch.stack([columns[name] for name in self._names], -1)

    def _at_own_tolerance(self, shares: torch.Tensor, tolerances: Sequence[float]) -> torch.Tensor:
        """Return surface Dice of every region at its tolerance."""
        if self._one_tolerance:
            return shares[..., 0]
        if len(self._tolerances) != shares.shape[1]:
            raise InputError(f"{len(self._tolerances)} tolerances are given for {shares.shape[1]} regions")
        places = enumerate(map(tolerances.index, self._tolerances))
        return torch.stack([shares[:, region, place] for region, place in places], -1)

    def _chosen(self, masks: Any) -> Any:
        """Return the channels that are regions."""
        whole = self.regions is not None or self._background or len(masks.shape) < 2 or masks.shape[1] == 1
        return masks if whole else masks[:, 1:]

    def __call__(self, y_pred: Any, y: Any, *, spacing: Any = None, wait: bool = True) -> torch.Tensor:
        """Update with what MONAI calls `y_pred`, `y` and `spacing`."""
        return self.update(y_pred, y, spacing_mm=spacing, wait=wait)

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
        values = torch.cat(gathered)
        if values.isnan().any():  # on every rank, so that none waits for another
            lacking = [str(place) for place, cases in enumerate(self._cases) if cases.isnan().any()]
            where = f"updates number {', '.join(lacking)}, from 0" if lacking else "updates of another rank"
            raise InputError(
                f"there are no numbers of {where}: labels are wrong, or far distances had no room",
                advice="update(…, wait=True) measures them, or says what is wrong",
            )
        return values

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
    """One of the metrics, with MONAI's options; its mean over all cases and regions is one number."""

    def __init__(self, reduction: Any, unsupported: Mapping[str, Any], **options: Any) -> None:
        refuse_options(**unsupported)
        self._reduction = as_reduction(reduction)
        super().__init__(**options)

    def __call__(self, y_pred: Any, y: Any, *, spacing: Any = None, wait: bool = True) -> torch.Tensor:
        """Update with what MONAI calls `y_pred`, `y` and `spacing`; return the numbers, (item, region)."""
        return super().__call__(y_pred, y, spacing=spacing, wait=wait)[..., 0]

    def compute(self) -> Any:
        """Return the mean over all cases and regions, or what the reduction is."""
        return self.aggregate()

    def aggregate(self, reduction: Any = None) -> Any:
        """Return the mean over cases and regions, over cases (mean_batch), over regions (mean_channel), or all (none).

        What MONAI calls channels are regions, (case, region); nothing is left out of a mean.
        """
        mode = self._reduction if reduction is None else as_reduction(reduction)
        values = self.values[..., 0]
        if mode == "none":
            return values
        return values.mean() if mode == "mean" else values.mean(0 if mode == "mean_batch" else 1)


class DiceMetric(_OneMetric):
    """Mean Dice; 1 where both are empty. MONAI's with `ignore_empty=False`."""

    _names = ("dice",)

    def __init__(
        self,
        include_background: bool = True,  # noqa: FBT001, FBT002  # as in MONAI
        reduction: Any = "mean",
        *,
        regions: Regions | None = None,
        **unsupported: Any,
    ) -> None:
        super().__init__(reduction, unsupported, regions=regions, include_background=include_background)

    def _measured(self, reference: Any, prediction: Any, spacing_mm: Any, *, wait: bool) -> torch.Tensor:
        """Count a batch; the spacing does not matter."""
        del spacing_mm
        labels = None if self.regions is None else list(self.regions.values())
        return dice_alone(reference, prediction, labels, wait=wait)[..., None]


class SurfaceDiceMetric(_OneMetric):
    """Mean surface Dice, also known as normalised surface distance, at one tolerance, or at one for each region.

    `class_thresholds` are MONAI's name for tolerances, in mm, one for each region that is measured.
    """

    _names = ("surface_dice",)

    def __init__(
        self,
        class_thresholds: Sequence[float] | None = None,
        include_background: bool = False,  # noqa: FBT001, FBT002  # as in MONAI
        distance_metric: str = "euclidean",
        reduction: Any = "mean",
        *,
        regions: Regions | None = None,
        spacing_mm: Spacing | None = None,
        boundary: Boundary | None = None,
        tolerance_mm: float | Sequence[float] | None = None,
        use_subvoxels: bool | None = None,
        **unsupported: Any,
    ) -> None:
        if class_thresholds is not None and tolerance_mm is not None:
            raise InputError("class_thresholds and tolerance_mm are the same thing", advice="Give one of them")
        named: Boundary = "voxel" if use_subvoxels is False else "surfel"
        if use_subvoxels is not None and boundary not in (None, named):
            raise InputError(f"use_subvoxels={use_subvoxels} is boundary={named!r}, not {boundary!r}")
        given = tolerance_mm if class_thresholds is None else tuple(class_thresholds)
        super().__init__(
            reduction,
            {"distance_metric": distance_metric, **unsupported},
            regions=regions,
            include_background=include_background,
            spacing_mm=spacing_mm,
            boundary=boundary or named,
            tolerance_mm=1.0 if given is None else given,
        )


class HausdorffDistanceMetric(_OneMetric):
    """Mean Hausdorff distance, or its 95th or another percentile, in mm: `HausdorffDistanceMetric(percentile=95)`."""

    _names = ("hausdorff_distance_percentile",)

    def __init__(
        self,
        include_background: bool = False,  # noqa: FBT001, FBT002  # as in MONAI
        distance_metric: str = "euclidean",
        percentile: float | None = None,
        directed: bool = False,  # noqa: FBT001, FBT002
        reduction: Any = "mean",
        *,
        regions: Regions | None = None,
        spacing_mm: Spacing | None = None,
        boundary: Boundary = "surfel",
        **unsupported: Any,
    ) -> None:
        super().__init__(
            reduction,
            {"distance_metric": distance_metric, "directed": directed, **unsupported},
            regions=regions,
            include_background=include_background,
            spacing_mm=spacing_mm,
            boundary=boundary,
            percentile=100.0 if percentile is None else percentile,
        )


class AverageSurfaceDistanceMetric(_OneMetric):
    """Mean of the average symmetric surface distance (ASSD), in mm; MONAI's SurfaceDistanceMetric(symmetric=True)."""

    _names = ("average_symmetric_surface_distance",)

    def __init__(
        self,
        include_background: bool = False,  # noqa: FBT001, FBT002  # as in MONAI
        symmetric: bool = True,  # noqa: FBT001, FBT002
        distance_metric: str = "euclidean",
        reduction: Any = "mean",
        *,
        regions: Regions | None = None,
        spacing_mm: Spacing | None = None,
        boundary: Boundary = "surfel",
        **unsupported: Any,
    ) -> None:
        super().__init__(
            reduction,
            {"symmetric": symmetric, "distance_metric": distance_metric, **unsupported},
            regions=regions,
            include_background=include_background,
            spacing_mm=spacing_mm,
            boundary=boundary,
        )

"""A batch of pairs to tensors of numbers: on a GPU without a look at them, on the CPU pair by pair."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from types import ModuleType
from typing import Any

import torch

from podium.metrics import devices
from podium.metrics._batches import Members, as_array, check_batch, measured_rows, overlaps_of
from podium.metrics._pairs import Regions, Spacing, as_regions
from podium.metrics._rows import check_percentile
from podium.metrics.devices import gpu_engine, on_gpu
from podium.metrics.distances import ROUNDING, check_tolerance
from podium.metrics.overlaps import dice
from podium.metrics.surface import Boundary
from podium.model import InputError

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
    _kept: Any = field(default=None, repr=False)  # what a CUDA graph reads when it is replayed

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
    reference, prediction = _plain(reference), _plain(prediction)
    key = _key(reference, prediction, regions, spacing_mm, percentile, tolerances_mm, boundary, with_dice, wait)
    if key in _shortcuts:
        engine, shortcut = gpu_engine(), _shortcuts[key]
        measured, counts = shortcut(reference, prediction)
        if not wait or engine.in_order(measured):
            scores = None if counts is None else _scores(engine, counts, None if wait else measured.wrong)
            return BatchMeasurement(scores, measured.results, (shortcut, _lasting((reference, prediction), wait=wait)))
    check_percentile(percentile)
    for tolerance in tolerances_mm:
        check_tolerance(tolerance_mm=tolerance)
    if boundary not in ("surfel", "voxel"):
        raise InputError(f"there is no boundary called {boundary!r}", advice="It is 'surfel' or 'voxel'")
    labels = None if regions is None else list(as_regions(regions).values())
    options: dict[str, Any] = {"percentile": percentile, "boundary": boundary, "tolerances_mm": tolerances_mm}
    if not on_gpu(reference, prediction):
        rows = [
            measured_rows(one, two, labels, spacing_mm=spacing_mm, **options)
            for one, two in _on_cpu(reference, prediction, labels)
        ]
        table = torch.tensor(rows, dtype=torch.float64)
        return BatchMeasurement(table[..., 0] if with_dice else None, table[..., 1:])
    engine = gpu_engine()
    question = engine.BoundaryQuestion(
        surfel=boundary == "surfel",
        percentile=float(percentile),
        linear=boundary == "voxel",
        reaches=tuple(tolerance * (1 + ROUNDING) for tolerance in tolerances_mm),
    )
    numbers, dices, kept = [], [], []
    for stack in _stacks(engine, reference, prediction, labels, spacing_mm):
        measured = engine.measure(stack, question)
        if wait:
            measured = engine.settled(stack, question, measured)
        numbers.append(measured.results)
        wrong = None if wait else measured.wrong.clone()
        del measured  # and with it its memory, before the next regions need theirs
        if with_dice:
            dices.append(_scores(engine, engine.count(stack).counts, wrong))
        shortcut = engine.Shortcut(stack, question, with_counts=with_dice)
        kept.append((shortcut, _lasting((reference, prediction), stack, wait=wait)))
    if key is not None and len(numbers) == 1:
        if len(_shortcuts) >= _MOST_SHORTCUTS:
            _shortcuts.clear()
        _shortcuts[key] = shortcut
    return BatchMeasurement(_joined(dices) if with_dice else None, _joined(numbers), kept)


def _plain(masks: Any) -> Any:
    """Return a tensor without its history, and without what a subclass of tensors adds; other arrays as they are."""
    if not isinstance(masks, torch.Tensor):
        return masks
    if masks.layout is not torch.strided:
        raise InputError("masks must be dense tensors, not sparse ones", advice="Give mask.to_dense()")
    if type(masks) is not torch.Tensor:
        return masks.detach().as_subclass(torch.Tensor)
    return masks.detach() if masks.requires_grad else masks


def _key(
    reference: Any, prediction: Any, regions: Any, spacing_mm: Any, percentile: Any, tolerances_mm: Any, *options: Any
) -> Hashable | None:
    """Return what makes a call the same as another but for the masks themselves; None where that cannot be told."""
    if type(reference) is not torch.Tensor or type(prediction) is not torch.Tensor:
        return None
    if not (reference.is_cuda or devices.PRETEND) or not isinstance(regions, Mapping | None):
        return None
    images = tuple(
        (image.shape, image.stride(), image.dtype, image.device, image.data_ptr() % 16 == 0)
        for image in (reference, prediction)
    )
    if images[0][2:4] != images[1][2:4]:
        return None
    try:
        named = regions and tuple((name, tuple(m) if isinstance(m, Collection) else m) for name, m in regions.items())
        spacing = spacing_mm if isinstance(spacing_mm, Real | None) else tuple(map(float, spacing_mm))
        key = images, named, spacing, float(percentile), tuple(map(float, tolerances_mm)), options
        hash(key)
    except (TypeError, ValueError):  # something wrong, which is told by who checks it
        return None
    return key


def _scores(engine: ModuleType, counts: torch.Tensor, wrong: torch.Tensor | None) -> torch.Tensor:
    """Return Dice; no number where nobody has looked yet whether labels are wrong, and they are."""
    scores: torch.Tensor = engine.dice_scores(counts)
    return scores if wrong is None else scores.masked_fill(wrong[:, None] != 0, torch.nan)


def _lasting(masks: tuple[Any, Any], stack: Any = None, *, wait: bool) -> Any:
    """Return what must live as long as a result: masks that a graph reads again, or that another library lent."""
    if wait:
        return None
    lent = any(type(image) is not torch.Tensor for image in masks)
    return (masks, stack) if lent or (masks[0].is_cuda and torch.cuda.is_current_stream_capturing()) else None


def _joined(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the regions of all parts."""
    return parts[0] if len(parts) == 1 else torch.cat([*parts], 1)


def _stacks(
    engine: ModuleType, reference: Any, prediction: Any, labels: Members | None, spacing_mm: Any
) -> Iterator[Any]:
    """Yield the batch with as many regions as are measured together."""
    check_batch(reference, prediction, labels)
    for start in range(0, reference.shape[1] if labels is None else len(labels), engine.AT_ONCE):
        chosen = slice(start, start + engine.AT_ONCE)
        if labels is None:
            pair, part = (reference[:, chosen], prediction[:, chosen]), None
        else:
            pair, part = (reference, prediction), labels[chosen]
        yield engine.stack_up(*pair, labels=part, spacing_mm=spacing_mm, batch=True)


def _on_cpu(reference: Any, prediction: Any, labels: Members | None) -> Iterator[tuple[Any, Any]]:
    """Yield every pair as arrays of NumPy."""
    arrays = as_array(reference), as_array(prediction)
    check_batch(*arrays, labels)
    yield from zip(*arrays, strict=True)


def dice_alone(reference: Any, prediction: Any, labels: Members | None, *, wait: bool) -> torch.Tensor:
    """Return the Dice of every region of every pair, without a look at boundaries."""
    reference, prediction = _plain(reference), _plain(prediction)
    if not on_gpu(reference, prediction):
        pairs = _on_cpu(reference, prediction, labels)
        return torch.tensor([[*map(dice, overlaps_of(*pair, labels))] for pair in pairs], dtype=torch.float64)
    engine = gpu_engine()
    counted = [engine.count(stack) for stack in _stacks(engine, reference, prediction, labels, None)]
    if wait and torch.cat([part.wrong for part in counted]).any():
        raise engine.wrong_labels()
    return _joined([_scores(engine, part.counts, part.wrong) for part in counted])

"""Every segmentation metric for every region of two label maps, each read once."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from podium.metrics._arguments import as_length
from podium.metrics._pairs import Labels, Regions, Spacing, as_regions
from podium.metrics.bands import boundary_bands
from podium.metrics.families import lesion_comparisons, matched_counts, threshold_counts
from podium.metrics.overlaps import Overlap, overlap
from podium.metrics.points import Centres, centres
from podium.metrics.registry import metrics
from podium.metrics.skeletons import centre_lines
from podium.metrics.surface import Boundary, SurfaceDistances, surface_distances
from podium.metrics.topology import topologies
from podium.model import InputError, LabelMap, Metric

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Also", "Comparison", "LabelMapComparison", "Measured", "compare", "compare_label_maps"]

Also: TypeAlias = Literal["shape", "instances"]


@dataclass(frozen=True)
class Measured:
    """One value of one metric: `value = metric(…, **options)`."""

    metric: Metric[..., Any]
    options: Mapping[str, float]
    value: float

    @cached_property
    def name(self) -> str:
        """Return a name unique within a region, such as dice or surface_dice@1mm."""
        return self.metric.name + "".join(f"@{_short(value)}mm" for value in self.options.values())

    @cached_property
    def title(self) -> str:
        """Return the name for people."""
        return self.metric.title + "".join(f" at {_short(value)} mm" for value in self.options.values())


@dataclass(frozen=True)
class Comparison:
    """What was measured of one region."""

    overlap: Overlap
    surface: SurfaceDistances
    centres: Centres
    values: tuple[Measured, ...]


def compare(
    reference: Labels,
    prediction: Labels,
    *,
    regions: Regions,
    spacing_mm: Spacing | None = None,
    boundary: Boundary = "surfel",
    tolerances_mm: float | Sequence[float] = (1.0,),
    also: Also | Sequence[Also] = (),
) -> dict[str, Comparison]:
    """Measure every region, a set of labels, of two label maps by overlap, surface distances and centres, and more.

    Parameters
    ----------
    reference, prediction
        Label maps, or arrays of whole numbers, of the same 2-D or 3-D shape.
    regions
        Name and labels of each region.
    spacing_mm
        Millimetres per axis; by default the reference's, or 1 for arrays.
    boundary
        Which boundary the surface distances are between; see `podium.metrics.surface`.
    tolerances_mm
        Tolerances of the surface Dice.
    also
        `shape`: boundary IoU, centrelines and topology. `instances`: the connected components of every region, as
        instances (matched where the IoU is more than 0.5) and as lesions (matched by contact). Both take their time.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[0, 1, 1], [2, 1, 1]])
    >>> both = compare(labels, labels, regions={"everything": (1, 2)})
    >>> {measured.name: measured.value for measured in both["everything"].values}["dice"]
    1.0
    """
    tolerances = _numbers(tolerances_mm)
    overlaps = overlap(reference, prediction, regions=regions, spacing_mm=spacing_mm)
    surfaces = surface_distances(reference, prediction, regions=regions, spacing_mm=spacing_mm, boundary=boundary)
    middles = centres(reference, prediction, regions=regions, spacing_mm=spacing_mm)
    more = _more(reference, prediction, regions, spacing_mm, boundary, also)
    result = {}
    for name in regions:
        measured = {"overlap": overlaps[name], "surface": surfaces[name], "centres": middles[name]} | more[name]
        values = [
            Measured(metric, options, float(metric(measured.get(metric.name, measured[family]), **options)))
            for family in measured
            for metric in metrics()
            if metric.family == family
            for options in _options(metric, tolerances)
        ]
        result[name] = Comparison(overlaps[name], surfaces[name], middles[name], tuple(values))
    return result


def _more(
    reference: Labels,
    prediction: Labels,
    regions: Regions,
    spacing_mm: Spacing | None,
    boundary: Boundary,
    also: Also | Sequence[Also],
) -> dict[str, dict[str, Any]]:
    """Return, for each region, what its shape and its instances are measured by, where asked for."""
    if isinstance(also, str) or not isinstance(also, Iterable):
        also = (also,)
    for unknown in (name for name in also if name not in ("shape", "instances")):
        raise InputError(f"there is nothing called {unknown!r} to measure", advice="It is 'shape' or 'instances'")
    result: dict[str, dict[str, Any]] = {name: {} for name in regions}
    if "shape" in also:
        bands = boundary_bands(reference, prediction, regions=regions, spacing_mm=spacing_mm)
        lines = centre_lines(reference, prediction, regions=regions)
        shapes = topologies(reference, prediction, regions=regions)
        for name, own in result.items():
            own |= {"boundary": bands[name], "centreline": lines[name], "topology": shapes[name]}
    if "instances" in also:
        given: dict[str, Any] = {"regions": regions, "spacing_mm": spacing_mm}
        counts = matched_counts(reference, prediction, **given)
        at_thresholds = threshold_counts(reference, prediction, **given)
        lesions = lesion_comparisons(reference, prediction, boundary=boundary, **given)
        for name, own in result.items():
            own |= {
                "instances": counts[name],
                "segmentation_average_precision": at_thresholds[name],
                "lesions": lesions[name],
            }
    return result


@dataclass(frozen=True, eq=False)
class LabelMapComparison(Mapping[str, Comparison]):
    """Two label maps compared, region by region.

    Attributes
    ----------
    reference, prediction
        The label maps.
    regions
        Labels of each region by name.
    boundary
        Which boundary surface distances are between.
    comparisons
        What was measured of each region.
    """

    reference: LabelMap
    prediction: LabelMap
    regions: Mapping[str, tuple[int, ...]]
    boundary: Boundary
    comparisons: Mapping[str, Comparison]

    def __getitem__(self, region: str) -> Comparison:
        return self.comparisons[region]

    def __iter__(self) -> Iterator[str]:
        return iter(self.comparisons)

    def __len__(self) -> int:
        return len(self.comparisons)

    @property
    def warnings(self) -> tuple[str, ...]:
        """In what the geometry of the two differs, with what to do; the reference's is used."""
        return tuple(
            f"{difference}: voxels were compared in their order, with the reference's geometry; "
            "resample the prediction onto the reference's grid"
            for difference in self.reference.geometry_differences(self.prediction, names=("reference", "prediction"))
        )

    @property
    def distances(self) -> list[float]:
        """Every distance that occurs, in mm, from 0 to a little beyond the last: where surface Dice changes."""
        directed = [distances for comparison in self.values() for distances in comparison.surface.directed]
        occurring = {float(d) for distances in directed for d in distances.distances if d < float("inf")}
        tolerances = sorted({0.0, *occurring})
        return [*tolerances, 1.05 * (tolerances[-1] or 1.0)]

    def unit(self, metric: Metric[..., Any]) -> str:
        """Return the unit of a metric; that of a volume is an area in an image."""
        return metric.unit.replace("³", "²") if len(self.reference.shape) == 2 else metric.unit

    def to_frame(self) -> pl.DataFrame:
        """Return one line for each region and metric: region, metric, value, unit, and which way is better."""
        import polars as pl

        lines = [
            (region, measured.name, measured.value, self.unit(measured.metric), measured.metric.direction.value)
            for region, comparison in self.items()
            for measured in comparison.values
        ]
        return pl.DataFrame(lines, schema=["region", "metric", "value", "unit", "better"], orient="row")

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()


def compare_label_maps(
    reference: LabelMap,
    prediction: LabelMap,
    *,
    regions: Regions | None = None,
    tolerances_mm: float | Sequence[float] = (1.0,),
    boundary: Boundary = "surfel",
    also: Also | Sequence[Also] = (),
) -> LabelMapComparison:
    """Compare two label maps as `compare` does; by default, each label that either has is a region."""
    labels = sorted({*reference.labels, *prediction.labels} - {0})
    chosen = {str(label): (label,) for label in labels} if regions is None else regions
    named = {name: tuple(members) for name, members in as_regions(chosen).items()}
    comparisons = compare(
        reference, prediction, regions=named, tolerances_mm=tolerances_mm, boundary=boundary, also=also
    )
    return LabelMapComparison(reference, prediction, named, boundary, comparisons)


def _numbers(tolerances_mm: float | Sequence[float]) -> list[float]:
    """Return tolerances, also where a single one was given as it is."""
    several = isinstance(tolerances_mm, Iterable) and not isinstance(tolerances_mm, str)
    given: Any = tolerances_mm if several else (tolerances_mm,)
    return [as_length(tolerance, "a tolerance is a length from 0") for tolerance in given]


def _short(value: float) -> str:
    """Return a number as short as it can be written without becoming another."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value))


def _options(metric: Metric[..., Any], tolerances_mm: Sequence[float]) -> list[dict[str, float]]:
    if "tolerance_mm" in inspect.signature(metric.function).parameters:
        return [{"tolerance_mm": tolerance} for tolerance in tolerances_mm]
    return [{}]

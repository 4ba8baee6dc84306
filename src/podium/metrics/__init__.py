"""Exact measurements between a reference and a prediction: pure functions on arrays.

Every metric is declared once with unit, range, direction and its value for every empty case; `metrics()` lists them.
"""

from podium.metrics.classification import (
    ClassCounts,
    balanced_accuracy,
    confusion_matrix,
    error_rate,
    f1_scores,
    macro_f1,
    mean_over_defined,
)
from podium.metrics.comparison import Comparison, LabelMapComparison, Measured, compare, compare_label_maps
from podium.metrics.distances import (
    average_symmetric_surface_distance,
    hausdorff_distance,
    hausdorff_distance_95,
    mean_average_surface_distance,
    median_surface_distance,
    surface_dice,
    surface_distance_deviation,
)
from podium.metrics.dose import (
    average_shifted_dose,
    cumulative_dose_volume_histogram,
    dose_at_volume,
    expand,
    gaussian_dose,
    volume_at_dose,
)
from podium.metrics.overlaps import (
    Overlap,
    dice,
    intersection_over_union,
    overlap,
    precision,
    prediction_volume,
    reference_volume,
    relative_volume_difference,
    sensitivity,
    volume_difference,
    volume_similarity,
)
from podium.metrics.points import Centres, centre_distance, centres, landmark_error
from podium.metrics.prepared import Structure, StructurePair, structures
from podium.metrics.reconstruction import (
    displacement_error,
    landmark_displacements,
    relative_transforms,
    transform_error,
)
from podium.metrics.registry import declare, get_metric, metrics
from podium.metrics.regression import (
    BlandAltman,
    bias,
    bland_altman,
    mean_absolute_error,
    pearson_correlation,
    root_mean_square_error,
)
from podium.metrics.surface import DirectedDistances, SurfaceDistances, surface_distances

__all__ = [
    "BlandAltman",
    "Centres",
    "ClassCounts",
    "Comparison",
    "DirectedDistances",
    "LabelMapComparison",
    "Measured",
    "Overlap",
    "Structure",
    "StructurePair",
    "SurfaceDistances",
    "average_shifted_dose",
    "average_symmetric_surface_distance",
    "balanced_accuracy",
    "bias",
    "bland_altman",
    "centre_distance",
    "centres",
    "compare",
    "compare_label_maps",
    "confusion_matrix",
    "cumulative_dose_volume_histogram",
    "declare",
    "dice",
    "displacement_error",
    "dose_at_volume",
    "error_rate",
    "expand",
    "f1_scores",
    "gaussian_dose",
    "get_metric",
    "hausdorff_distance",
    "hausdorff_distance_95",
    "intersection_over_union",
    "landmark_displacements",
    "landmark_error",
    "macro_f1",
    "mean_absolute_error",
    "mean_average_surface_distance",
    "mean_over_defined",
    "median_surface_distance",
    "metrics",
    "overlap",
    "pearson_correlation",
    "precision",
    "prediction_volume",
    "reference_volume",
    "relative_transforms",
    "relative_volume_difference",
    "root_mean_square_error",
    "sensitivity",
    "structures",
    "surface_dice",
    "surface_distance_deviation",
    "surface_distances",
    "transform_error",
    "volume_at_dose",
    "volume_difference",
    "volume_similarity",
]

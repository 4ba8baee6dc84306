"""One function per figure: tables in, a Matplotlib figure out. `FIGURES` draws them all from a run."""

from podium.report.figures.against_people import Band, band_of, people_band
from podium.report.figures.by_criterion import (
    consensus,
    criteria_compared,
    dendrogram,
    places_by_criterion,
    places_by_submission,
)
from podium.report.figures.cases import dots_and_boxes, podium_plot
from podium.report.figures.files import FORMATS, THEMED, as_bytes, check_name, inline_svg, save, slug
from podium.report.figures.gallery import FIGURES, Drawing, FigureKind, draw, save_all
from podium.report.figures.heatmaps import case_heatmap, metric_correlation, ranking_heatmap
from podium.report.figures.label_maps import comparison
from podium.report.figures.of_run import Nothing
from podium.report.figures.ranks import blob_plot, lines_over_schemes, significance_map, tau_violin
from podium.report.figures.values import accuracy_runtime, forest_plot

__all__ = [
    "FIGURES",
    "FORMATS",
    "THEMED",
    "Band",
    "Drawing",
    "FigureKind",
    "Nothing",
    "accuracy_runtime",
    "as_bytes",
    "band_of",
    "blob_plot",
    "case_heatmap",
    "check_name",
    "comparison",
    "consensus",
    "criteria_compared",
    "dendrogram",
    "dots_and_boxes",
    "draw",
    "forest_plot",
    "inline_svg",
    "lines_over_schemes",
    "metric_correlation",
    "people_band",
    "places_by_criterion",
    "places_by_submission",
    "podium_plot",
    "ranking_heatmap",
    "save",
    "save_all",
    "significance_map",
    "slug",
    "tau_violin",
]

"""Several annotators: plausible truths, how far people agree, and the tolerances that follow from it."""

from podium.raters.compositions import Annotations, Instance, Sample, draw_groups, read_annotations
from podium.raters.fusion import FUSIONS, Performance, fuse, staple
from podium.raters.intervals import Interval, interval_of
from podium.raters.panels import Agreement, Measure, PairValues, Panel, StructurePanel, agreement_of, tolerance_mm
from podium.raters.people import Verdict, compared_with_people, people_csv
from podium.raters.rated import PEOPLE, RatedChallenge, agreed_values, undefined
from podium.raters.summary import Line, Summary, summarise, survey_document, write_survey
from podium.raters.survey import PERCENTILES, TOLERANCE_PERCENTILE, Survey, survey

__all__ = [
    "FUSIONS",
    "PEOPLE",
    "PERCENTILES",
    "TOLERANCE_PERCENTILE",
    "Agreement",
    "Annotations",
    "Instance",
    "Interval",
    "Line",
    "Measure",
    "PairValues",
    "Panel",
    "Performance",
    "RatedChallenge",
    "Sample",
    "StructurePanel",
    "Summary",
    "Survey",
    "Verdict",
    "agreed_values",
    "agreement_of",
    "compared_with_people",
    "draw_groups",
    "fuse",
    "interval_of",
    "people_csv",
    "read_annotations",
    "staple",
    "summarise",
    "survey",
    "survey_document",
    "tolerance_mm",
    "undefined",
    "write_survey",
]

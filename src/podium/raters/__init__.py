"""Several annotators: plausible truths, how far people agree, and the tolerances that follow from it."""

from podium.ranking.inference.variability import Interval, interval_of
from podium.raters.compositions import Annotations, Instance, Sample, draw_groups, read_annotations
from podium.raters.fusion import FUSIONS, Performance, fuse, staple
from podium.raters.panels import (
    PairValues,
    RaterAgreement,
    RaterPanel,
    StructurePanel,
    agreement_of,
    rater_measures,
    tolerance_mm,
)
from podium.raters.people import PeopleVerdict, people_csv, people_verdicts
from podium.raters.rated import PEOPLE, RatedChallenge, agreed_values, undefined
from podium.raters.summary import Summary, SummaryLine, summarise, survey_document
from podium.raters.survey import PERCENTILES, TOLERANCE_PERCENTILE, Survey, survey_raters

__all__ = [
    "FUSIONS",
    "PEOPLE",
    "PERCENTILES",
    "TOLERANCE_PERCENTILE",
    "Annotations",
    "Instance",
    "Interval",
    "PairValues",
    "PeopleVerdict",
    "Performance",
    "RatedChallenge",
    "RaterAgreement",
    "RaterPanel",
    "Sample",
    "StructurePanel",
    "Summary",
    "SummaryLine",
    "Survey",
    "agreed_values",
    "agreement_of",
    "draw_groups",
    "fuse",
    "interval_of",
    "people_csv",
    "people_verdicts",
    "rater_measures",
    "read_annotations",
    "staple",
    "summarise",
    "survey_document",
    "survey_raters",
    "tolerance_mm",
    "undefined",
]

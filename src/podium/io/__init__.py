"""Reading and writing files. Knows formats, not challenges."""

from podium.io.documents import csv_text, json_text, write_atomically, write_parquet, write_text
from podium.io.labelmaps import MAX_VOXELS, SUFFIXES, read_label_map, write_label_map
from podium.io.scores import SCORE_COLUMNS, read_scores
from podium.io.tables import read_timing

__all__ = [
    "MAX_VOXELS",
    "SCORE_COLUMNS",
    "SUFFIXES",
    "csv_text",
    "json_text",
    "read_label_map",
    "read_scores",
    "read_timing",
    "write_atomically",
    "write_label_map",
    "write_parquet",
    "write_text",
]

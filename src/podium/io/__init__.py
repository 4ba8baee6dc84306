"""Reading and writing files. Knows formats, not challenges."""

from podium.io._layouts import usual_direction
from podium.io.documents import (
    Content,
    csv_text,
    encoded,
    json_text,
    parquet_bytes,
    parsed_json,
    unquoted,
    write_atomically,
    write_bytes,
    write_text,
)
from podium.io.groups import read_groups
from podium.io.inputs import digest, noting_files, read_text
from podium.io.labelmaps import MAX_VOXELS, SUFFIXES, read_label_map, write_label_map
from podium.io.scores import LAYOUTS, SCORE_COLUMNS, TABLE_SUFFIXES, parquet_can_be_read, read_scores, scores_of_frame
from podium.io.tables import read_timing

__all__ = [
    "LAYOUTS",
    "MAX_VOXELS",
    "SCORE_COLUMNS",
    "SUFFIXES",
    "TABLE_SUFFIXES",
    "Content",
    "csv_text",
    "digest",
    "encoded",
    "json_text",
    "noting_files",
    "parquet_bytes",
    "parquet_can_be_read",
    "parsed_json",
    "read_groups",
    "read_label_map",
    "read_scores",
    "read_text",
    "read_timing",
    "scores_of_frame",
    "unquoted",
    "usual_direction",
    "write_atomically",
    "write_bytes",
    "write_label_map",
    "write_text",
]

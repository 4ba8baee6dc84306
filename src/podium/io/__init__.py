"""Reading and writing files. Knows formats, not challenges."""

from podium.io.labelmaps import MAX_VOXELS, SUFFIXES, read_label_map, write_label_map
from podium.io.tables import read_timing

__all__ = ["MAX_VOXELS", "SUFFIXES", "read_label_map", "read_timing", "write_label_map"]

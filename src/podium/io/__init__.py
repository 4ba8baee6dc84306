"""Reading and writing files. Knows formats, not challenges."""

from podium.io.labelmaps import MAX_VOXELS, SUFFIXES, read_label_map, write_label_map

__all__ = ["MAX_VOXELS", "SUFFIXES", "read_label_map", "write_label_map"]

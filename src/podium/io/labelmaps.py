"""Label maps from and to files: NIfTI, MetaImage, NRRD, and PNG of two axes."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from podium.model import InputError, LabelMap

__all__ = ["MAX_VOXELS", "SUFFIXES", "read_label_map", "write_label_map"]

MAX_VOXELS = 2**29
"""More voxels than this are refused unless asked for: 512 × 512 × 2048.

A voxel takes one byte of memory; six for a moment, where a label is larger than 65535.
"""

SUFFIXES = (".nii.gz", ".nii", ".mha", ".mhd", ".nrrd", ".nhdr", ".png")
"""What a label map's file name may end with."""


def read_label_map(
    path: str | PathLike[str], *, dimensions: int | None = None, max_voxels: int = MAX_VOXELS
) -> LabelMap:
    """Read a label map, whatever type its voxels are stored in.

    NIfTI is streamed: decompressed in small pieces and narrowed while they are in cache, so that memory is one byte
    per voxel (two or four where labels need them), and less where whole regions are background.

    Parameters
    ----------
    path
        A .nii, .nii.gz, .mha, .mhd, .nrrd, .nhdr or .png file. The content decides how a NIfTI file is compressed.
    dimensions
        2 or 3 to demand that many; by default either is accepted. Trailing axes of length one are dropped.
    max_voxels
        Refuse a file whose header promises more than this, before any memory is taken.

    Returns
    -------
    LabelMap
        Axes in the order of the file header; of a PNG rows and columns, with pixels of 1 mm since it knows no size.

    Raises
    ------
    InputError
        The file cannot be used; the message names it, says what was found, and what to do.
    FileNotFoundError, PermissionError
        As from `open`.
    """
    path = Path(path)
    reader: Callable[..., LabelMap]
    match _suffix(path):
        case ".nii" | ".nii.gz":
            from podium.io._nifti import read_nifti as reader
        case ".mha" | ".mhd":
            from podium.io._metaimage import read_metaimage as reader
        case ".png":
            from podium.io._png import read_png as reader
        case _:
            from podium.io._nrrd import read_nrrd as reader
    if path.is_dir():
        raise InputError("this is a folder, a label map is one file", path=path)
    if path.exists() and not path.is_file():  # reading a pipe would wait for ever
        raise InputError("this is not a plain file", path=path)
    return reader(path, dimensions=dimensions, max_voxels=max_voxels)


def write_label_map(path: str | PathLike[str], label_map: LabelMap) -> None:
    """Write a label map with its geometry; the format follows from the name."""
    path = Path(path)
    writer: Callable[[Path, LabelMap], None]
    match _suffix(path):
        case ".nii" | ".nii.gz":
            from podium.io._nifti import write_nifti as writer
        case ".mha" | ".mhd":
            from podium.io._metaimage import write_metaimage as writer
        case ".png":
            from podium.io._png import write_png as writer
        case _:
            from podium.io._nrrd import write_nrrd as writer
    writer(path, label_map)


def _suffix(path: Path) -> str:
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise InputError(
        "the name says nothing about the format", path=path, advice=f"A label map ends with {', '.join(SUFFIXES)}"
    )

"""What an algorithm of CSV 2026 is given and where it answers, as the organisers' `inference.py --val-dir DIR` has it.

DIR/images/001.h5       long_img and trans_img, the two views
DIR/preds/001_pred.h5   the answer: long_mask, trans_mask and cls
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import h5py

from podium.challenges.csv2026.files import VIEWS
from podium.io.answers import only_answer
from podium.io.arrays import dataset, open_hdf5
from podium.model import Interface, Question

__all__ = ["INTERFACE"]

_NO_IMAGES = ("_label", "_pred")
"""How files of masks end, which may lie in the same folder."""


class TwoViewInterface(Interface):
    """Two ultrasound views of a carotid artery."""

    answers_inside: ClassVar[str] = "preds"

    def questions(self, images: Path) -> list[Question]:
        """Find images/001.h5, or 001.h5 in a folder of images alone."""
        folder = images / "images" if (images / "images").is_dir() else images
        paths = [path for path in sorted(folder.glob("*.h5")) if not path.name.startswith(".")]
        return [Question(path.stem, (path,)) for path in paths if not path.stem.endswith(_NO_IMAGES)]

    def lay_out(self, question: Question, folder: Path) -> None:
        """Write the two views, and nothing else that their file may hold."""
        (path,) = question.files
        (folder / "images").mkdir()
        with open_hdf5(path) as source, h5py.File(folder / "images" / f"{question.name}.h5", "w") as target:
            for view in VIEWS:
                name = f"{view}_img"
                target.create_dataset(name, data=dataset(source, name, path=path)[()])

    def answer(self, question: Question, folder: Path) -> Path:
        """Return 001_pred.h5: in DIR/preds, or in a folder preds of the output where DIR is not written to."""
        name = f"{question.name}_pred.h5"
        return only_answer(folder, (name, f"preds/{name}"))

    def file_name(self, question: Question, answer: Path) -> str:  # noqa: ARG002
        """Return 001_pred.h5."""
        return f"{question.name}_pred.h5"


INTERFACE = TwoViewInterface()

"""What an algorithm of KiTS21 is given and where it answers: the interface of its containers on grand-challenge.

    /input/images/ct/case_00000.mha                      the CT
    /output/images/kidney-tumor-and-cyst/case_00000.mha  the answer, on the grid of the CT

Images come as .nii.gz and are handed over as .mha, since that is what the platform gives to containers.
"""

from __future__ import annotations

from pathlib import Path

from podium.challenges.kits21.views import LABELS
from podium.io.answers import only_answer
from podium.io.images import copy_image
from podium.model import InputError, Interface, Question

__all__ = ["ANSWER", "CT", "INTERFACE"]

CT = "images/ct"
ANSWER = "images/kidney-tumor-and-cyst"


class CTInterface(Interface):
    """A CT, in Hounsfield units."""

    def questions(self, images: Path) -> list[Question]:
        """Find case_00000/imaging.nii.gz, or case_00000.nii.gz in a folder of images alone."""
        nested = {path.parent.name: path for path in images.glob("case_*/imaging.nii.gz")}
        flat = {path.name.removesuffix(".nii.gz"): path for path in images.glob("case_*.nii.gz")}
        return [Question(name, (path,)) for name, path in sorted((nested or flat).items())]

    def lay_out(self, question: Question, folder: Path) -> None:
        """Write the CT as .mha; refuse a label map, since a truth may be called case_00000.nii.gz as well."""
        (path,) = question.files
        target = folder / CT / f"{question.name}.mha"
        target.parent.mkdir(parents=True)
        low, high = copy_image(path, target)
        if low >= 0 and high <= max(LABELS):
            target.unlink()
            raise InputError(
                f"all values are from {low:g} to {high:g}: this is a label map, not a CT, and is not shown",
                path=path,
                advice="Give the folder with case_00000/imaging.nii.gz as images",
            )

    def answer(self, question: Question, folder: Path) -> Path:
        """Return the segmentation: where containers leave it, or in the output folder itself."""
        flat = (f"{question.name}{suffix}" for suffix in (".mha", ".nii.gz"))
        return only_answer(folder, (f"{ANSWER}/*.mha", *flat))

    def file_name(self, question: Question, answer: Path) -> str:
        """Return case_00000.mha or case_00000.nii.gz, whatever else the algorithm called it."""
        return f"{question.name}{'.nii.gz' if answer.name.endswith('.nii.gz') else '.mha'}"


INTERFACE = CTInterface()

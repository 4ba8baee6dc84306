"""How algorithms of a declared challenge are asked: with whole files, as `inputs` in [files] names them."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.challenges.kinds.file_names import FileNames
from podium.challenges.kinds.patterns import Pattern
from podium.io import csv_text, read_text, write_text
from podium.io.answers import only_answer
from podium.model import InputError, Interface, Question
from podium.model.errors import shortened

__all__ = ["FileInterface", "LineInterface"]


@dataclass(frozen=True)
class FileInterface(Interface):
    """Files of a case, as they are; the answer is a file that is called like a prediction."""

    names: FileNames

    def questions(self, images: Path) -> list[Question]:
        """Find the cases of which all files are there; what is called like a truth is none of them."""
        cases: dict[str, list[Path]] = {}
        for pattern in self.names.inputs:
            for parts, path in pattern.files(images, unlike=self.names.truth):
                cases.setdefault(self.names.case_name.fill(parts), []).append(path)
        if lacking := [name for name, files in sorted(cases.items()) if len(files) < len(self.names.inputs)]:
            parts = self.names.case_name.match(lacking[0]) or {}
            expected = [pattern.fill(parts) for pattern in self.names.inputs]
            absent = next((name for name in expected if not (images / name).is_file()), expected[-1])
            raise InputError(f"there is no {absent} of {lacking[0]}", path=images, advice="Add it")
        return [Question(name, tuple(files)) for name, files in sorted(cases.items())]

    def lay_out(self, question: Question, folder: Path) -> None:
        """Copy the files under their names."""
        for path, name in zip(question.files, self._filled(question, self.names.inputs), strict=True):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name)

    def answer(self, question: Question, folder: Path) -> Path:
        """Return the one file that is called like a prediction of this case."""
        return only_answer(folder, self._filled(question, self.names.answers))

    def file_name(self, question: Question, answer: Path) -> str:  # noqa: ARG002  # what every challenge is given
        """Return the name that the algorithm gave it, which is that of a prediction."""
        return answer.name

    def _filled(self, question: Question, patterns: Sequence[Pattern]) -> tuple[str, ...]:
        parts = self.names.case_name.match(question.name)
        assert parts is not None
        return tuple(pattern.fill(parts) for pattern in patterns)


@dataclass(frozen=True)
class LineInterface(FileInterface):
    """Files of a case; the answer is a table with its line alone, and the lines of all cases are one table."""

    def answer(self, question: Question, folder: Path) -> Path:
        """Return the one table, if it has a heading and a line about this case, and no other."""
        path = super().answer(question, folder)
        _, *lines = _lines(path)
        if len(lines) != 1 or lines[0][0] != question.name:
            names = shortened([line[0] for line in lines], most=3) or "nothing"
            raise InputError(f"a heading and a line for {question.name} are expected, the table is about {names}")
        return path

    def file_name(self, question: Question, answer: Path) -> str:
        """Return a name for the line of one case."""
        return f"{question.name}{answer.suffix}"

    def join(self, predictions: Sequence[Path], folder: Path) -> None:
        """Write the lines of all cases under one heading, the first that there is; columns go by their names."""
        heading, lines = list[str](), list[list[str]]()
        for path in sorted(predictions):
            own, line = _lines(path)
            heading = heading or own
            known = dict(zip(own[1:], line[1:], strict=False))
            lines.append([line[0], *(known.get(column, "") for column in heading[1:])])
        write_text(folder / self.names.answers[0].text, csv_text(heading, lines))


def _lines(path: Path) -> list[list[str]]:
    """Return what a table holds, cell by cell; its heading at least."""
    return [line for line in csv.reader(read_text(path).splitlines()) if line] or [[]]

"""The files that a run was made of: whether they are still there, and still the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from podium.io import digest
from podium.model import Case, InputError
from podium.report.anonymity import renamed_text
from podium.run import Run
from podium.run.parts import TOO_LARGE

if TYPE_CHECKING:
    from podium.report.data import ReportData
    from podium.run.submissions import Files

__all__ = ["Originals", "anonymous", "plain"]


@dataclass(frozen=True, slots=True, eq=False)
class Originals:
    """What a run was made of, as far as it is still there."""

    run: Run
    truth: Path | None
    cases: Mapping[str, Case]
    problem: str = ""

    @classmethod
    def of(cls, run: Run) -> Originals:
        """Find the truth of a run; if it is gone, say so."""
        truth = run.record.truth.find(run.folder)
        problem, cases = "", []
        if truth is None or not truth.is_dir():
            problem = f"No cases are drawn: the truth is no longer at {run.record.truth.path or 'a known place'}."
        else:
            try:
                cases = run.challenge.cases(truth)
            except (InputError, OSError) as error:
                problem = f"No cases are drawn, as the truth cannot be read any more: {plain(error, truth)}"
        return cls(run, truth, {case.name: case for case in cases}, problem)

    def check_truth(self, case: Case) -> None:
        """Refuse a truth that is not the one that was measured against."""
        assert self.truth is not None
        _check(self.run.record.truth.sha256, case.files, self.truth)

    def check_prediction(self, submission: str, files: Files, prediction: Path) -> None:
        """Refuse a prediction that is not the one that was measured; the submission by its real name."""
        _check(self.run.record.submissions[submission].sha256, _files_in(prediction), files.root, prediction)


def anonymous(data: ReportData, text: str) -> str:
    """Return a sentence in which teams are called as they are shown."""
    return renamed_text(text, {real: shown for shown, real in data.names.items() if real != shown})


def plain(error: Exception, *roots: Path | None) -> str:
    """Return what is wrong, without where the files lie on this machine."""
    text = str(error) if isinstance(error, InputError) else (getattr(error, "strerror", None) or str(error))
    for root in roots:
        text = text.replace(f"{root}/", "").replace(str(root), root.name) if root else text
    return text if text.endswith(".") else f"{text}."


def _files_in(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def _check(recorded: Mapping[str, str], files: Sequence[Path], root: Path, prediction: Path | None = None) -> None:
    """Refuse files that are gone, new, or not what they were when the run was made."""
    present = {str(path.relative_to(root)): path for path in files}
    whole = str(prediction.relative_to(root)) if prediction is not None else ""
    known = {name for name in recorded if name in present or (whole and name.startswith(f"{whole}/"))}
    for name in sorted(known | set(present)):
        if name not in known:
            raise InputError(f"{name} was not there when the run was made")
        if name not in present or not present[name].is_file():
            raise InputError(f"{name} is gone")
        if recorded[name] == TOO_LARGE:
            raise InputError(f"{name} is {TOO_LARGE}")
        if digest(present[name]) != recorded[name]:
            raise InputError(f"{name} has changed since the run was made")

"""The law that a check and an evaluation agree, tried on damaged copies of a submission."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

from podium.model import Challenge, InputError
from podium.run import Problem, Submission, check_submission, measure_all

__all__ = ["DAMAGES", "assert_check_agrees"]

Damage = Callable[[Path, list[Path], random.Random], None]
"""Changes a submission: its folder, its predictions' files, and what decides by chance."""


def assert_check_agrees(
    challenge: Challenge,
    *,
    truth: Path,
    submission: Path,
    scratch: Path,
    seed: int = 0,
    damages: Collection[str] | None = None,
) -> None:
    """Given the truth, check accepts exactly what evaluate accepts; without it, refuses nothing that evaluate accepts.

    Parameters
    ----------
    challenge
        Whose rules.
    truth
        The folder with the truth.
    submission
        A folder with predictions, all of them accepted.
    scratch
        An empty folder for damaged copies of it.
    seed
        Decides which files are damaged, and how.
    damages
        Names of `DAMAGES`; by default all.
    """
    for name in DAMAGES if damages is None else damages:
        copy = scratch / name / submission.name
        shutil.copytree(submission, copy)
        files = [path for path in sorted(copy.rglob("*")) if path.is_file() and path.name != "timing.csv"]
        DAMAGES[name](copy, files, random.Random(f"{seed} {name}"))
        _assert_agrees(challenge, truth, copy, name)


def _assert_agrees(challenge: Challenge, truth: Path, submission: Path, what: str) -> None:
    refused = _refused_by_evaluation(challenge, truth, submission)
    said = _refused_by_check(challenge, submission, truth)
    assert bool(said) == bool(refused), f"{what}: with the truth, evaluate says {refused}, check {said}"
    alone = _refused_by_check(challenge, submission, None)
    assert refused or not alone, f"{what}: evaluate accepts it, and check without the truth says {alone}"


def _refused_by_evaluation(challenge: Challenge, truth: Path, submission: Path) -> list[str]:
    try:
        evaluation = measure_all(challenge, truth=truth, submissions=[Submission(submission.name, submission)])
    except InputError as error:
        return [str(error)]
    assert not evaluation.faults, evaluation.faults
    return [reason for name, _, status, reason in evaluation.failures if (name, status) != (submission.name, "warning")]


def _refused_by_check(challenge: Challenge, submission: Path, truth: Path | None) -> list[Problem | str]:
    try:
        problems = check_submission(challenge, submission, truth=truth)
    except InputError as error:
        return [str(error)]
    return [problem for problem in problems if not problem.warning]


def _changed(change: Callable[[bytes, random.Random], bytes]) -> Damage:
    """Return the damage that changes what is in one prediction."""

    def damage(_: Path, files: list[Path], generator: random.Random) -> None:
        path = generator.choice(files)
        path.write_bytes(change(path.read_bytes(), generator))

    return damage


def _flipped(content: bytes, generator: random.Random) -> bytes:
    changed = bytearray(content)
    for place in generator.choices(range(len(changed)), k=3):
        changed[place] ^= 1 << generator.randrange(8)
    return bytes(changed)


def _removed(_: Path, files: list[Path], generator: random.Random) -> None:
    generator.choice(files).unlink()


def _emptied(_: Path, files: list[Path], __: random.Random) -> None:
    for path in files:
        path.unlink()


def _renamed(_: Path, files: list[Path], __: random.Random) -> None:
    for path in files:
        path.rename(path.with_name(f"my-{path.name}.bak"))


def _linked(folder: Path, files: list[Path], generator: random.Random) -> None:
    path = generator.choice(files)
    path.symlink_to(path.rename(folder.parent / path.name))


def _strangers(folder: Path, _: list[Path], generator: random.Random) -> None:
    (folder / "notes.md").write_text("Our best model so far.\n")
    (folder / "logs").mkdir()
    (folder / "logs" / "weights.bin").write_bytes(generator.randbytes(100))
    for name in ("dataset.json", "plans.json", "predict_from_raw_data_args.json"):  # nnU-Net's
        (folder / name).write_text("{}")


def _untimed(folder: Path, _: list[Path], __: random.Random) -> None:
    (folder / "timing.csv").write_text("case,seconds\nnobody,soon\n")


def _nested(folder: Path, _: list[Path], __: random.Random) -> None:
    moved = folder.rename(folder.with_name("moved"))
    shutil.copytree(moved, folder / "output" / "predictions")


def _several(folder: Path, _: list[Path], __: random.Random) -> None:
    moved = folder.rename(folder.with_name("moved"))
    for team in ("one", "two"):
        shutil.copytree(moved, folder / team)


DAMAGES: dict[str, Damage] = {
    "nothing": lambda *_: None,
    "missing": _removed,
    "all missing": _emptied,
    "cut": _changed(lambda content, _: content[: len(content) // 3]),
    "empty": _changed(lambda *_: b""),
    "noise": _changed(lambda content, generator: generator.randbytes(len(content))),
    "flipped bits": _changed(_flipped),
    "other names": _renamed,
    "a link": _linked,
    "files that nobody asked for": _strangers,
    "times that are none": _untimed,
    "a folder in a folder": _nested,
    "several teams": _several,
}
"""What may happen to a submission, by name."""

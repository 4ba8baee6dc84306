"""Would this submission be accepted? Every problem at once, not the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.io import read_timing
from podium.model import Case, Challenge, InputError, Status
from podium.model.errors import printable
from podium.run.engine import found_cases
from podium.run.measuring import CaseJob, Prediction, measure_case
from podium.run.submissions import TIMING, Files, Limits, Submission, keep_apart, opened
from podium.run.unpacking import ARCHIVES

__all__ = ["Problem", "check_submission"]


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """Something that a participant should mend: in which file, and what."""

    file: str
    what: str


def check_submission(
    challenge: Challenge, predictions: Path, *, truth: Path | None = None, limits: Limits | None = None
) -> list[Problem]:
    """Return everything that is wrong with a submission: a folder, an archive, or the one file that is all of it.

    Without the truth, names, formats and values are checked, as far as the challenge can; with it, also what is missing
    and whether it fits. The truth must not be the submission, lie in it, or hold it.
    """
    if not predictions.exists():
        raise InputError("there is nothing here", path=predictions)
    remarks: tuple[str, ...] = ()
    if predictions.is_file() and not (challenge.single_files or predictions.name.lower().endswith(ARCHIVES)):
        raise InputError(
            "this is a single file", path=predictions, advice="Give the folder, .zip or .tar.gz of all predictions"
        )
    if truth is not None:
        remarks = keep_apart(truth, [predictions])
        challenge, cases = found_cases(challenge, truth)
    else:
        cases = []
    with opened(Submission(predictions.name, predictions, remarks=remarks), cases, limits=limits) as files:
        timing = files.timing
        problems = _against(challenge, cases, truth, files) if truth is not None else _alone(challenge, files)
        if timing is not None:
            problems += _problems_of(lambda: _timing_problems(timing, {c.name for c in cases}), files.root, timing)
    return sorted(set(problems))


def _against(challenge: Challenge, cases: Sequence[Case], truth: Path, files: Files) -> list[Problem]:
    """Check every case as an evaluation would measure it; what the challenge sees by itself is said in its words."""
    problems = []
    for case in cases:
        prediction = Prediction.among("", files, case)
        path = prediction.path
        if path is None:
            missing = prediction.status is Status.MISSING
            problems.append(Problem(case.expected[0], "missing" if missing else prediction.reason))
            continue
        seen = _problems_of(lambda case=case, path=path: challenge.check(case, path), files.root, path)  # type: ignore[misc]
        problems += seen or _measured(CaseJob(challenge, case, truth, (prediction,), {}), files, path)
    for remark in files.unexpected(cases):
        name, _, what = remark.partition(": ")
        problems.append(Problem(name, what))
    return problems


def _measured(job: CaseJob, files: Files, path: Path) -> list[Problem]:
    """Return what an evaluation would say of a prediction."""
    part = measure_case(job).part
    if part.faults:
        raise InputError(f"{job.challenge.title} itself is at fault ({job.case.name}: {part.faults[0][1]})")
    files.use(name for names in part.hashes.values() for name in names)
    return _problems_of(lambda: list(dict.fromkeys(reason for *_, reason in part.failures)), files.root, path)


def _alone(challenge: Challenge, files: Files) -> list[Problem]:
    strange = files.strange()
    problems = [Problem(printable(name), what) for name, what in strange.items()]
    if not files.top and not strange:
        problems.append(Problem("", "there is nothing in this submission"))
    for name in files.top:
        if name not in (TIMING, *strange):
            entry = files.root / name
            problems += _problems_of(lambda entry=entry: challenge.check(None, entry), files.root, entry)  # type: ignore[misc]
    return problems


def _timing_problems(path: Path, cases: set[str]) -> list[str]:
    """Say which cases have no time, and which times have no case; with one case that holds many rows, nothing."""
    times = set(read_timing(path))
    if not times:
        return ["no case has a time"]
    if len(cases) < 2:
        return []
    problems = [f"there is no case called {name}" for name in sorted(times - cases)]
    return problems + [f"{name} has no time: without it no time counts" for name in sorted(cases - times)]


def _problems_of(check: Callable[[], list[str]], root: Path, path: Path) -> list[Problem]:
    name = printable(path.relative_to(root).as_posix())
    try:
        lines = check()
    except (InputError, OSError) as error:
        lines = [str(error)]
    return [Problem(name, _plain(what, root, path)) for what in lines]


def _plain(what: str, root: Path, path: Path) -> str:
    """Return a problem without where the file lies on this machine."""
    for place in (f"{printable(str(path))}: ", f"{printable(path.relative_to(root).as_posix())}: ", f"{root}/"):
        what = what.replace(place, "")
    return what

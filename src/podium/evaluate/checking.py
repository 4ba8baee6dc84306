"""Would this submission be accepted? Every problem at once, not the first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from podium.evaluate.submissions import TIMING, Limits, Submission, keep_apart, opened
from podium.io import read_timing
from podium.model import Challenge, InputError, Status
from podium.model.errors import printable

__all__ = ["Problem", "check_submission"]


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """Something that a participant should mend: in which file, and what."""

    file: str
    what: str


def check_submission(
    challenge: Challenge, predictions: Path, *, truth: Path | None = None, limits: Limits | None = None
) -> list[Problem]:
    """Return everything that is wrong with a submission, a folder or an archive.

    Without the truth, names, formats and values are checked; with it, also what is missing and whether it fits. The
    truth must not be the submission, lie in it, or hold it.
    """
    if not predictions.exists():
        raise InputError("there is nothing here", path=predictions)
    if truth is not None:
        keep_apart(truth, [predictions])
    problems: list[Problem] = []
    cases = challenge.cases(truth) if truth is not None else []
    wanted = [challenge.expected(case) for case in cases]
    with opened(Submission(predictions.name, predictions), wanted, limits=limits) as files:
        timing = files.timing
        for case in cases:
            expected = challenge.expected(case)
            try:
                path = files.find(expected)
            except InputError as error:
                problems.append(Problem(expected.names[0], str(error)))
                continue
            if path is None:
                problems.append(Problem(expected.names[0], "missing"))
                continue
            found = _problems_of(lambda case=case, path=path: challenge.check(case, path), files.root, path)
            if not found:
                loaded = challenge.load(case)
                found = _problems_of(
                    lambda case=case, loaded=loaded, path=path: [
                        value.reason
                        for value in challenge.measure(case, loaded, path)
                        if value.reason and value.status is not Status.UNDEFINED
                    ],
                    files.root,
                    path,
                )
            problems += found
        if truth is not None:
            for remark in files.unexpected(wanted):
                name, _, what = remark.partition(": ")
                problems.append(Problem(name, what))
        else:
            strange = files.strange()
            problems += [Problem(printable(name), what) for name, what in strange.items()]
            if not files.top and not strange:
                problems.append(Problem("", "there is nothing in this submission"))
            for name in files.top:
                if name not in (TIMING, *strange):
                    entry = files.root / name
                    problems += _problems_of(lambda entry=entry: challenge.check(None, entry), files.root, entry)
        if timing is not None:
            problems += _problems_of(lambda: _timing_problems(timing, {c.name for c in cases}), files.root, timing)
    return sorted(set(problems))


def _timing_problems(path: Path, cases: set[str]) -> list[str]:
    """Say which cases have no time, and which times have no case; with one case that holds many rows, nothing."""
    times = set(read_timing(path))
    if not times:
        return ["no case has a time"]
    if len(cases) < 2:
        return []
    problems = [f"there is no case called {name}" for name in sorted(times - cases)]
    return problems + [f"{name} has no time: without it no time counts" for name in sorted(cases - times)]


def _problems_of(check: object, root: Path, path: Path) -> list[Problem]:
    name = printable(path.relative_to(root).as_posix())
    try:
        return [Problem(name, what) for what in check()]  # type: ignore[operator]
    except (InputError, OSError) as error:
        return [Problem(name, str(error).replace(f"{printable(str(path))}: ", "").replace(f"{root}/", ""))]

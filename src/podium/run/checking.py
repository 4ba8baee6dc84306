"""Would this submission be accepted? Every problem at once, not the first, and what looks like a mistake besides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from podium.io import noting_files, read_timing
from podium.model import Case, Challenge, InputError, Status
from podium.model.errors import brief, printable, shortened
from podium.run.engine import found_cases
from podium.run.jobs import put_out
from podium.run.measuring import RAISED, CaseJob, Prediction, described, measure_case
from podium.run.naming import nothing_in_common, teams_within
from podium.run.submissions import COMPANIONS, JOBS, TIMING, Files, Limits, Submission, keep_apart, opened
from podium.run.team_names import team_of
from podium.run.unpacking import ARCHIVES

__all__ = ["Problem", "check_submission"]

_MOST_OF_A_FILE = 50
_MOST = 1000


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """Something that a participant should mend or look at: in which file, and what.

    A warning is what an evaluation accepts all the same.
    """

    file: str
    what: str
    warning: bool = False


def check_submission(
    challenge: Challenge, predictions: Path, *, truth: Path | None = None, limits: Limits | None = None
) -> list[Problem]:
    """Return everything that is wrong with a submission, or looks so: a folder, an archive, or the one file of it all.

    With the truth, there is a problem that is no warning exactly where an evaluation would refuse something: every case
    is measured. Without it, names, formats and values are checked as far as the challenge can, and nothing is refused
    that an evaluation would accept, so long as all that is called like a prediction, or was put out by a job of
    grand-challenge.org, belongs to a case. The truth must not be the submission, lie in it, or hold it.
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
        cases = [Case("", expected=challenge.naming)]
    with opened(Submission(predictions.name, predictions, remarks=remarks), cases, limits=limits) as files:
        timing = files.timing
        problems = _against(challenge, cases, truth, files) if truth is not None else _alone(challenge, cases, files)
        problems += _of_several(challenge, files)
        if timing is not None:
            names = {case.name for case in cases} if truth is not None else set()
            problems += _warnings(lambda: _timing_problems(timing, names), timing.parent, timing)
    return _fewer(_fewer(problems, _MOST_OF_A_FILE, lambda problem: problem.file), _MOST, lambda _: "")


def _fewer(problems: Sequence[Problem], most: int, key: Callable[[Problem], str]) -> list[Problem]:
    """Return the first problems of each key, those that are no warnings before others, and how many more there are."""
    groups: dict[str, list[Problem]] = {}
    for problem in sorted(set(problems), key=lambda problem: (problem.warning, problem)):
        groups.setdefault(key(problem), []).append(problem)
    kept = [replace(problem, what=brief(problem.what)) for group in groups.values() for problem in group[:most]]
    for name, group in groups.items():
        if more := group[most:]:
            kept.append(Problem(name, f"… and {len(more):,} more", warning=more[0].warning))
    return sorted(kept)


def _against(challenge: Challenge, cases: Sequence[Case], truth: Path, files: Files) -> list[Problem]:
    """Check every case as an evaluation would measure it."""
    predictions = [Prediction.among("", files, case) for case in cases]
    if all(prediction.status is Status.MISSING for prediction in predictions):
        if several := _several(files, cases):
            return several
        if what := nothing_in_common(cases, [files]):
            return [Problem("", what)]
    problems = []
    for case, prediction in zip(cases, predictions, strict=True):
        if prediction.path is None:
            usual = prediction.status is Status.MISSING and JOBS not in files.top
            problems.append(Problem(case.expected[0], "missing" if usual else prediction.reason))
        else:
            problems += _measured(CaseJob(challenge, case, truth, (prediction,), {}), files, prediction.path)
    return problems + _unexpected(files, cases)


def _several(files: Files, cases: Sequence[Case]) -> list[Problem]:
    teams = teams_within(files, cases)
    return [Problem("", f"this holds several teams ({teams}): check one of them at a time")] if teams else []


def _of_several(challenge: Challenge, files: Files) -> list[Problem]:
    """Say that files which are whole submissions are of several teams, though one of them could be measured."""
    teams = {team: None for name in files.top if (team := team_of(name, challenge.single_files))}
    what = f"these look like submissions of several teams ({shortened(list(teams))}): check one file at a time"
    return [Problem("", what, warning=True)] if len(teams) > 1 else []


def _measured(job: CaseJob, files: Files, path: Path) -> list[Problem]:
    """Return what an evaluation would say of a prediction; where it refuses one, in the challenge's words if it can."""
    challenge, case = job.challenge, job.case
    part = measure_case(job).part
    if part.faults:
        raise InputError(f"{challenge.title} itself is at fault ({case.name}: {part.faults[0][1]})")
    files.use(name for names in part.hashes.values() for name in names)
    reasons: dict[bool, list[str]] = {True: [], False: []}
    for *_, status, reason in part.failures:
        reasons[status == "warning"].append(reason)
    refused = reasons[False] and (
        _problems_of(lambda: challenge.check(case, path), files.root, path)
        or _problems_of(lambda: list(dict.fromkeys(reasons[False])), files.root, path)
    )
    doubts = _doubts(lambda: challenge.doubts(case, challenge.load(case), path))
    return [*refused, *_warnings(lambda: list(dict.fromkeys(reasons[True] + doubts)), files.root, path)]


def _alone(challenge: Challenge, naming: Sequence[Case], files: Files) -> list[Problem]:
    """Check what is called like a prediction, or everything where that is not known."""
    strange = files.strange()
    problems = [
        Problem(printable(name), what, warning=not _could_be(name, challenge.naming)) for name, what in strange.items()
    ]
    called = files.called(naming) if challenge.naming else files.top
    names = [name for name in called if name not in (TIMING, *COMPANIONS)]
    if JOBS in files.top:  # downloaded from grand-challenge.org, with outputs in folders beside it
        problems.append(Problem(JOBS, "only with the truth can be told which case an output is of", warning=True))
        files.use([JOBS, *(name for name in files.top if files.is_folder(name))])
        names, more = _put_out(files, names)
        problems += more
    elif not names and all(problem.warning for problem in problems):
        if several := _several(files, naming):
            return several
        problems.append(Problem("", "there is no prediction in this submission"))
    for name in names:
        if name not in strange:
            problems += _of_file(challenge, files, files.root / name)
    files.use(names)
    wanted = f": predictions are called {', '.join(challenge.naming)}"
    return problems + [replace(odd, what=odd.what + wanted) for odd in _unexpected(files, ()) if challenge.naming]


def _put_out(files: Files, names: list[str]) -> tuple[list[str], list[Problem]]:
    """Add what jobs put out to what is called like a prediction; without either, a list that cannot be read is told."""
    try:
        outputs = [path.relative_to(files.root).as_posix() for path in put_out(files.root / JOBS)]
    except InputError as error:
        return names, [] if names else [Problem(JOBS, error.problem)]
    return list(dict.fromkeys([*names, *outputs])), []


def _could_be(name: str, naming: Sequence[str]) -> bool:
    """Return whether an entry is called like a prediction, where that is known."""
    patterns = [pattern for pattern in naming if pattern.count("/") == name.count("/")]
    return not naming or any(fnmatchcase(name, pattern) for pattern in patterns)


def _of_file(challenge: Challenge, files: Files, path: Path) -> list[Problem]:
    prediction = Prediction("", files.root, path, most_bytes=files.limits.prediction_bytes)

    def check() -> list[str]:
        prediction.check_size()
        return challenge.check(None, path)

    with noting_files() as read:
        problems = _problems_of(check, files.root, path)
    files.use(other.relative_to(files.root).as_posix() for other in read if other.is_relative_to(files.root))
    return problems + _warnings(lambda: _doubts(lambda: challenge.doubts(None, None, path)), files.root, path)


def _doubts(doubts: Callable[[], list[str]]) -> list[str]:
    """Return doubts about a prediction; about one that cannot be read there are none, it is refused."""
    try:
        return doubts()
    except (InputError, OSError):
        return []
    except RAISED as error:
        return [f"it cannot be looked at closely ({described(error)})"]


def _unexpected(files: Files, cases: Sequence[Case]) -> list[Problem]:
    parts = (remark.partition(": ") for remark in files.unexpected(cases))
    return [Problem(name, what, warning=True) for name, _, what in parts]


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
    except RAISED as error:
        lines = [f"it cannot be read ({described(error)})"]
    return [Problem(name, _plain(what, root, path)) for what in lines]


def _warnings(check: Callable[[], list[str]], root: Path, path: Path) -> list[Problem]:
    return [replace(problem, warning=True) for problem in _problems_of(check, root, path)]


def _plain(what: str, root: Path, path: Path) -> str:
    """Return a problem without where the file lies on this machine."""
    for place in (f"{printable(str(path))}: ", f"{printable(path.relative_to(root).as_posix())}: ", f"{root}/"):
        what = what.replace(place, "")
    return what

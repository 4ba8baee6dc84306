"""predictions.json of grand-challenge.org: which case each job is about, what it put out, and how long it took.

The platform writes the file, but names in it come from strangers; so every place that it leads to is held to the job's
own folder, and what is odd about one job costs that job's case alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from podium.io import parsed_json, read_text
from podium.model import InputError, Measure, Status
from podium.model.errors import printable

__all__ = ["JobOutput", "PlatformJobs", "put_out", "read_jobs"]

_Job: TypeAlias = dict[str, Any]
_MOST_REMARKS = 20
_LONGEST_NAME = 255  # bytes; no file system takes more
_VOXELS = (".raw", ".zraw")  # lie beside their header, which is the output
_DURATION = re.compile(
    r"P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?", flags=re.ASCII
)


@dataclass(frozen=True, slots=True)
class _Match:
    """A job, and the cases that it is about: several where it put out files that are called after them."""

    job: _Job
    cases: tuple[str, ...]

    def called(self, name: str) -> str:
        """Return the case that an output of its name is of."""
        return _case_of(name, set(self.cases), max(map(len, self.cases)))


@dataclass(frozen=True, slots=True)
class JobOutput:
    """What became of a case: the file that was put out, or why there is none, and the seconds that it took."""

    path: Path | None = None
    status: Status = Status.OK
    reason: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PlatformJobs:
    """The output of every case, and remarks about jobs that belong to none."""

    outputs: dict[str, JobOutput]
    remarks: tuple[str, ...]


def read_jobs(
    path: Path, cases: Sequence[str], *, time: Measure, socket: str | None = None, taken: Collection[Path] = ()
) -> PlatformJobs:
    """Read predictions.json, of the newer kind (`socket`) and the older (`interface`).

    A job is about the case whose name begins the name of an input. Its output is the one file in
    <pk>/output/<relative path>/, or that file itself; where a job has inputs of several cases, as a container that
    goes through a folder, the file that is called after the case. A time runs from started_at to completed_at, or is
    exec_duration, or invoke_duration: the first of these that most cases have, and the same for all. That of a job
    about several cases is nobody's.

    Parameters
    ----------
    path
        The file; outputs lie beside it.
    cases
        The names of all cases.
    time
        Which seconds are possible.
    socket
        The slug of the output to take, where jobs have several.
    taken
        Files that an evaluation took before, which says the same.

    Raises
    ------
    InputError
        This is no list of jobs, or no case has an output: something was misunderstood, and nobody is failed for it.
    """
    document = _listed(path)
    jobs, remarks = _by_case(document, cases, path.parent, socket)
    seconds = _seconds(jobs, time)
    outputs = {name: _output(jobs.get(name, []), name, path.parent, socket, taken) for name in cases}
    outputs = {name: replace(output, seconds=seconds.get(name)) for name, output in outputs.items()}
    if not any(output.path for output in outputs.values()):
        raise _nothing(path, outputs, jobs, remarks)
    more = [f"and {len(remarks) - _MOST_REMARKS} more jobs belong to no case"] if len(remarks) > _MOST_REMARKS else []
    return PlatformJobs(outputs, (*remarks[:_MOST_REMARKS], *more))


def put_out(path: Path) -> list[Path]:
    """Return the files that jobs of predictions.json put out, whatever they are about; none of those in several places.

    Raises
    ------
    InputError
        This is no list of jobs.
    """
    files: dict[Path, None] = {}
    for job in _objects(_listed(path)):
        places = dict.fromkeys(relative for _, relative in _places(job, None))
        if len(places) == 1 and not any(map(_unusable, places)) and not _unusable(job.get("pk"), most_parts=1):
            with suppress(InputError, OSError):  # which the case that it is about is told of
                files |= dict.fromkeys(_files_at(path.parent, _parts(job, *places)))
    return list(files)


def _listed(path: Path) -> list[Any]:
    document = parsed_json(read_text(path), path=path)
    if not isinstance(document, list):
        raise InputError("this is not a list of jobs", path=path)
    return document


def _nothing(
    path: Path, outputs: dict[str, JobOutput], jobs: dict[str, list[_Match]], remarks: list[str]
) -> InputError:
    """Say what was looked for, where nothing was there."""
    if jobs:
        case = next(iter(jobs))
        what = f"no case has an output; of {case}, {outputs[case].reason}"
    else:
        what = f"no job is about a case of the truth, such as {next(iter(outputs))}"
        what += f"; {remarks[0]}" if remarks else "; the list is empty"
    return InputError(
        what,
        path=path,
        advice="Inputs are expected to be called after their case, and outputs in <pk>/output/<relative_path>",
    )


# Which case.


def _by_case(
    document: list[Any], cases: Sequence[str], folder: Path, socket: str | None
) -> tuple[dict[str, list[_Match]], list[str]]:
    """Return the jobs about each case, and what is to be said of those about none."""
    known, longest = set(cases), max(map(len, cases))
    jobs: dict[str, list[_Match]] = {}
    remarks = []
    for number, job in enumerate(document, start=1):
        if not isinstance(job, dict):
            remarks.append(f"job {number} is not an object: {_shown(job)}")
            continue
        names = list(_input_names(job))
        about = sorted({case for name in names if (case := _case_of(name, known, longest))})
        match = _Match(job, tuple(about))
        if len(about) == 1 or any(_files_of(match, case, folder, socket)[0] for case in about):
            for case in about:
                jobs.setdefault(case, []).append(match)
        elif about:
            remarks.append(f"job {number} has inputs of several cases: {', '.join(map(_shown, about[:3]))}")
        else:
            inputs = ", ".join(map(_shown, names[:3])) or "no name"
            remarks.append(f"job {number} names no known case in its inputs ({inputs})")
    return jobs, remarks


def _case_of(name: str, cases: set[str], longest: int) -> str:
    """Return the case whose name begins that of an input, the longest if several do; nothing if none does."""
    for end in range(min(len(name), longest), 0, -1):
        if name[:end] in cases and not (name[end : end + 1].isascii() and name[end : end + 1].isalnum()):
            return name[:end]
    return ""


def _input_names(job: _Job) -> Iterator[str]:
    for entry in _objects(job.get("inputs")):
        image = entry.get("image")
        name = image.get("name") if isinstance(image, dict) else entry.get("file")
        if isinstance(name, str):
            yield name.rpartition("/")[2]


# Which file.


def _output(jobs: list[_Match], case: str, folder: Path, socket: str | None, taken: Collection[Path]) -> JobOutput:
    """Return what the only job of a case put out, or why there is nothing."""
    if not jobs:
        return JobOutput(None, Status.MISSING, "no job is about this case")
    if len(jobs) > 1:
        return JobOutput(None, Status.INVALID, f"{len(jobs)} jobs are about this case")
    files, problems = _files_of(jobs[0], case, folder, socket)
    files = {path: slug for path, slug in files.items() if path in taken} or files
    if len(files) > 1:
        slugs = ", ".join(_shown(slug) for slug in list(files.values())[:3])
        reason = f"the job has several outputs ({slugs}), and --socket must say which counts"
        return JobOutput(None, Status.INVALID, reason)
    if files:
        return JobOutput(next(iter(files)))
    if problems:
        return JobOutput(None, *problems[0])
    wanted = f"output of the socket {_shown(socket)}" if socket else "image or file"
    reason = f"the job lists no {wanted} with a relative_path, under socket or interface"
    return JobOutput(None, Status.MISSING, reason)


def _files_of(
    match: _Match, case: str, folder: Path, wanted: str | None
) -> tuple[dict[Path, Any], list[tuple[Status, str]]]:
    """Return the files that a job put out of a case with their slugs, and what is wrong otherwise, the worst first."""
    pk = match.job.get("pk")
    if why := _unusable(pk, most_parts=1):
        return {}, [(Status.INVALID, f"the job's pk cannot be used, as {why}: {_shown(pk)}")]
    files: dict[Path, Any] = {}
    problems = []
    for slug, relative in _places(match.job, wanted):
        if why := _unusable(relative):
            problems.append((Status.INVALID, f"relative_path cannot be used, as {why}: {_shown(relative)}"))
            continue
        try:
            files[_file_of(match, case, folder, _parts(match.job, relative))] = slug
        except FileNotFoundError as error:
            problems.append((Status.MISSING, str(error)))
        except InputError as error:
            problems.append((Status.INVALID, str(error)))
        except OSError as error:
            problems.append((Status.INVALID, f"{_shown(relative)} cannot be read ({error.strerror})"))
    return files, sorted(problems, key=lambda problem: problem[0] is Status.MISSING)


def _places(job: _Job, wanted: str | None) -> Iterator[tuple[Any, Any]]:
    """Yield slug and relative path of every image or file that a job put out, or of the wanted slug."""
    for output in _objects(job.get("outputs")):
        place = next((value for key in ("socket", "interface") if isinstance(value := output.get(key), dict)), {})
        relative, slug = place.get("relative_path"), place.get("slug")
        if relative is not None and (output.get("image") or output.get("file")) and not (wanted and slug != wanted):
            yield slug, relative


def _parts(job: _Job, relative: str) -> tuple[str, ...]:
    return (str(job["pk"]), "output", *PurePosixPath(relative).parts)


def _unusable(text: Any, *, most_parts: int = 16) -> str:
    """Say why a path cannot be followed; nothing if it stays where it should."""
    if not isinstance(text, str):
        return "it is not text"
    if not text.isprintable():
        return "it has characters that cannot be printed"
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        return "it leads elsewhere"
    if len(path.parts) > most_parts:
        return f"it has more than {most_parts} part{'s' * (most_parts > 1)}"
    if any(len(os.fsencode(part)) > _LONGEST_NAME for part in path.parts):
        return "a name in it is too long"
    return ""


def _file_of(match: _Match, case: str, folder: Path, parts: tuple[str, ...]) -> Path:
    """Return the one plain file of a case at a place or in the folder there."""
    files, called, several = _files_at(folder, parts), _shown("/".join(parts)), len(match.cases) > 1
    if several:
        files = [path for path in files if match.called(path.name) == case]
    if len(files) > 1:
        names = ", ".join(_shown(path.name) for path in files[:3])
        raise InputError(f"{len(files)} files are in {called}: {names}")
    if not files:
        raise FileNotFoundError(f"there is no file {f'of {_shown(case)} ' * several}in {called}")
    return files[0]


def _files_at(folder: Path, parts: tuple[str, ...]) -> list[Path]:
    """Return the plain file at a place, or those in the folder there; no link is followed on the way."""
    place, called = folder, "/".join(parts)
    for part in parts:
        place = place / part
        if place.is_symlink():
            raise InputError(f"{_shown(part)} of {_shown(called)} is a link, which is not followed")
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise FileNotFoundError(f"there is nothing at {_shown(called)}")
    with os.scandir(place) as entries:
        listed = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    if links := [entry.name for entry in listed if entry.is_symlink()]:
        raise InputError(f"{_shown(links[0])} in {_shown(called)} is a link, which is not followed")
    names = [entry.name for entry in listed if entry.is_file(follow_symlinks=False)]
    if len(names) > 1:
        names = [name for name in names if not name.endswith(_VOXELS)]
    return [place / name for name in names]


# How long.


def _seconds(jobs: dict[str, list[_Match]], time: Measure) -> dict[str, float]:
    """Return the time of each case, the longest where jobs are several.

    It is of the kind that most cases have, as times of two kinds are not comparable.
    """
    kinds: tuple[Callable[[_Job], float | None], ...] = (
        _elapsed,
        lambda job: _duration(job.get("exec_duration")),
        lambda job: _duration(job.get("invoke_duration")),
    )
    times = []
    for kind in kinds:
        by_case = {name: [kind(match.job) for match in own if len(match.cases) == 1] for name, own in jobs.items()}
        times.append(
            {
                name: max(numbers)
                for name, known in by_case.items()
                if (numbers := [number for number in known if number is not None and time.allows(number)])
            }
        )
    return max(times, key=len)


def _elapsed(job: _Job) -> float | None:
    try:
        started, completed = (datetime.fromisoformat(job[key]) for key in ("started_at", "completed_at"))
        return (completed - started).total_seconds()
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _duration(text: Any) -> float | None:
    """Return the seconds of an ISO 8601 duration such as PT22M17.5S."""
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return days * 86400 + hours * 3600 + minutes * 60 + seconds


def _objects(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _shown(value: Any, most: int = 80) -> str:
    """Return a value for a reason, which stays short whatever a stranger put there."""
    if isinstance(value, list | dict):  # which may be nested too deeply to be shown
        return f"a {type(value).__name__}"
    text = value if isinstance(value, str) else repr(value)
    return printable(text if len(text) <= most else f"{text[: most - 20]}…{text[-15:]}")

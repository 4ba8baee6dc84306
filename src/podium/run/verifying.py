"""Auditing a run: inputs hashed again, a sample measured again, ranked again, and submissions that are the same."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from podium.io import digest, json_text
from podium.model import LOADING, Case, InputError, Role, Status
from podium.run.measuring import CaseJob, Prediction, measure_case
from podium.run.parts import TOO_LARGE
from podium.run.record import Input
from podium.run.results import leaderboard_document
from podium.run.submissions import Files, Submission, opened

if TYPE_CHECKING:
    from podium.run.runs import Run

__all__ = ["Twins", "Verification", "twins", "verify_run"]

_KEYS = ["submission", "case", "unit", "target", "metric"]
NEARLY = 0.9
"""From this share of equal cases on, two submissions are called nearly identical."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Verification:
    """What differs between a run and what its inputs give now.

    Attributes
    ----------
    files, cases
        How many files were hashed, and which cases were measured again.
    inputs
        Files that changed: of whom, which, and what is wrong.
    measurements
        Values that came out differently: submission, case, and what.
    ranking
        How the leaderboard that was written differs from one made now.
    twins
        Submissions that are one and the same, or nearly; that is worth a look, and no difference.
    not_kept
        Submissions of which predictions were deleted when they were measured, so that these cannot be looked at again.
    """

    files: int
    cases: tuple[str, ...]
    inputs: tuple[tuple[str, str, str], ...]
    measurements: tuple[tuple[str, str, str], ...]
    ranking: tuple[str, ...]
    twins: tuple[Twins, ...]
    not_kept: tuple[str, ...] = ()

    @property
    def nothing_differs(self) -> bool:
        """Whether the run is what it says it is."""
        return not (self.inputs or self.measurements or self.ranking)

    @property
    def document(self) -> dict[str, Any]:
        """Return it as plain lists and numbers, for JSON."""
        return {
            "files": self.files,
            "cases": self.cases,
            "inputs": [{"of": name, "file": file, "what": what} for name, file, what in self.inputs],
            "measurements": [{"submission": n, "case": case, "what": what} for n, case, what in self.measurements],
            "ranking": self.ranking,
            "twins": [asdict(pair) for pair in self.twins],
            "not_kept": self.not_kept,
        }

    def to_frame(self) -> pl.DataFrame:
        """Return what differs, one line each: part, of whom, which file or case, and what."""
        lines = [("inputs", *line) for line in self.inputs]
        lines += [("measurements", *line) for line in self.measurements]
        lines += [("ranking", "", "", line) for line in self.ranking]
        return pl.DataFrame(lines, schema=dict.fromkeys(("part", "of", "which", "what"), pl.String), orient="row")


def verify_run(run: Run, *, sample: int = 5, seed: int = 0, progress: Progress | None = None) -> Verification:
    """Hash every input of a run again, measure some cases again, rank again, and return what differs.

    Parameters
    ----------
    sample, seed
        How many cases to measure again, all if there are no more, and which.
    progress
        Is told what is being done, how much of it is done, and of how much.
    """
    if run.challenge.version != run.record.version:
        raise InputError(
            f"this run was measured by version {run.record.version} of {run.challenge.title}, "
            f"this is {run.challenge.version}",
            path=run.folder,
            advice="Evaluate it again, or verify it with the Podium that made it",
        )
    tell = (lambda what: lambda done, total: progress(what, done, total)) if progress else (lambda _: None)
    truth, all_cases, unusable = _truth(run)
    inputs = _changed_inputs(run, all_cases, tell("files hashed")) + unusable
    cases, measurements = _remeasured(run, truth, all_cases, sample, seed, tell("cases measured"))
    teams = [name for name in run.record.submissions if run.roles.get(name) is not Role.REFERENCE]
    hashes = {name: given.sha256 for name, given in run.record.submissions.items()}
    return Verification(
        files=len(run.record.truth.sha256) + sum(map(len, hashes.values())),
        cases=cases,
        inputs=tuple(inputs),
        measurements=tuple(measurements),
        ranking=tuple(_ranking_differences(run)),
        twins=tuple(twins(run.measurements, hashes, teams, time=run.challenge.time.name)),
        not_kept=tuple(name for name, given in run.record.submissions.items() if not given.kept),
    )


def _truth(run: Run) -> tuple[Path, list[Case], list[tuple[str, str, str]]]:
    """Return where the truth is and its cases; none, with the reason, if they cannot be told any more."""
    truth = run.record.truth.find(run.folder)
    if truth is None:
        return Path(run.record.truth.path), [], []  # that it is gone is said of the inputs
    try:
        return truth, run.challenge.cases(truth), []
    except (InputError, OSError) as error:
        return truth, [], [("the truth", "", f"cannot be used ({error})")]


def _changed_inputs(
    run: Run, cases: Sequence[Case], progress: Callable[[int, int], None] | None
) -> list[tuple[str, str, str]]:
    """Hash every input again and return what differs: the truth or a submission, the file, and what is wrong."""
    inputs: list[tuple[str, Input, bool]] = [("the truth", run.record.truth, False)]
    inputs += [(name, given, True) for name, given in run.record.submissions.items()]
    total, done, changed = sum(len(given.sha256) for _, given, _ in inputs), 0, []
    for name, given, packed in inputs:
        with ExitStack() as stack:
            try:
                place = _place(given, run.folder)
                root = stack.enter_context(opened(Submission(name, place), cases)).root if packed else place
            except (InputError, OSError) as error:
                if given.kept and (
                    given.sha256 or given.find(run.folder) is None
                ):  # else nothing could be read of it then either
                    changed.append((name, "", f"cannot be opened ({error})"))
                continue
            for inside, expected in given.sha256.items():
                path = next((path for path in (place / inside, root / inside) if path.is_file()), None)
                if path is None and not (expected and given.kept):
                    pass  # it was not there before either, or is not meant to be there any more
                elif path is None:
                    changed.append((name, inside, "is gone"))
                elif expected != TOO_LARGE and digest(path) != expected:
                    changed.append((name, inside, "has changed"))
                done += 1
                if progress is not None:
                    progress(done, total)
    return changed


def _place(given: Input, folder: Path | None) -> Path:
    place = given.find(folder)
    if place is None:
        raise InputError("it is gone", path=given.path)
    return place


def _remeasured(
    run: Run, truth: Path, cases: list[Case], sample: int, seed: int, progress: Callable[[int, int], None] | None
) -> tuple[tuple[str, ...], list[tuple[str, str, str]]]:
    """Measure some cases again; return which, and what came out differently: submission, case and what."""
    challenge, compared = run.challenge, _compared(run)
    chosen = sorted(random.Random(seed).sample(cases, min(sample, len(cases))), key=lambda case: case.name)
    differences: list[tuple[str, str, str]] = []
    with ExitStack() as stack:
        teams = {name: _files(name, given, run, cases, stack) for name, given in run.record.submissions.items()}
        built_in = [Prediction(name, built_in=True) for name in challenge.built_in]
        for number, case in enumerate(chosen, start=1):
            predictions = [
                Prediction(name, status=Status.INVALID, reason=files)
                if isinstance(files, str)
                else Prediction.among(name, files, case)
                for name, files in teams.items()
            ]
            again = measure_case(CaseJob(challenge, case, truth, (*predictions, *built_in), {})).part
            faults = [(name, case.name, what) for name, what in again.faults]
            differences += [fault for fault in faults if fault not in run.record.faults]
            gone = _gone(run, predictions)
            tables = (table.filter(compared, ~gone) for table in (run.measurements, again.table))
            differences += _differences(*tables, tolerance=run.record.rounding)
            if progress is not None:
                progress(number, len(chosen))
    return tuple(case.name for case in chosen), differences


def _gone(run: Run, predictions: Sequence[Prediction]) -> pl.Expr:
    """Return which rows cannot be compared: of predictions that are not there, as they were not kept."""
    names = [
        p.submission for p in predictions if p.status is not Status.OK and not run.record.submissions[p.submission].kept
    ]
    return pl.col("submission").is_in(names)


def _compared(run: Run) -> pl.Expr:
    """Return which rows are compared: no times, and below the level of the rules only where any were gathered."""
    compared = ~pl.col("metric").is_in([run.challenge.time.name, LOADING.name])
    if run.record.gathered:  # metrics files hold nothing of that level
        known = run.measurements.filter(pl.col("unit") != "")["submission"].unique().to_list()
        compared &= (pl.col("unit") == "") | pl.col("submission").is_in(known)
    return compared


def _files(name: str, given: Input, run: Run, cases: Sequence[Case], stack: ExitStack) -> Files | str:
    """Return the files of a submission; why it cannot be opened, where it cannot, which fails every case."""
    try:
        submission = Submission(name, _place(given, run.folder), taken=tuple(given.sha256))
        return stack.enter_context(opened(submission, cases))
    except (InputError, OSError) as error:
        return str(error)


def _differences(recorded: pl.DataFrame, again: pl.DataFrame, *, tolerance: float) -> list[tuple[str, str, str]]:
    """Return one line for each submission and row of which anything differs."""
    same_rows = recorded.filter(pl.col("case").is_in(again["case"].unique().to_list()))
    both = again.join(same_rows, on=_KEYS, how="full", suffix="_recorded", coalesce=True).sort(_KEYS)
    lines: dict[tuple[str, str], str] = {}
    for row in both.iter_rows(named=True):
        if row["status_recorded"] is None:
            what = "was not recorded"
        elif row["status"] is None:
            what = "was recorded, and does not come out now"
        elif row["status"] != row["status_recorded"]:
            what = f"is {row['status']}, was {row['status_recorded']}"
        elif not _equal(row["value"], row["value_recorded"], tolerance):
            what = f"is {row['value']}, was {row['value_recorded']}"
        else:
            continue
        name = f"{row['metric']} {row['target']}".rstrip()
        lines.setdefault((row["submission"], row["case"]), f"{name} {what}")
    return [(*key, what) for key, what in lines.items()]


def _equal(one: float | None, two: float | None, tolerance: float) -> bool:
    if one is None or two is None:
        return one is two
    close = math.isclose(one, two, rel_tol=tolerance, abs_tol=tolerance)
    return one == two or close or (math.isnan(one) and math.isnan(two))


def _ranking_differences(run: Run) -> list[str]:
    """Return how the leaderboard that was written differs from one made now."""
    if run.withheld:
        return []
    path = (run.folder or Path()) / "leaderboard.json"
    if not path.is_file():
        return ["there is no leaderboard.json"]
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        before = {entry["submission"]: entry for entry in written["entries"]}
    except (ValueError, KeyError, TypeError):
        return ["leaderboard.json is damaged"]
    document = json.loads(json_text(leaderboard_document(run.leaderboard, run.challenge.options)))
    now = {entry["submission"]: entry for entry in document["entries"]}
    differences = [f"{name} is not on the leaderboard" for name in sorted(now.keys() - before.keys())]
    differences += [
        f"{name} is on the leaderboard, but was not measured" for name in sorted(before.keys() - now.keys())
    ]
    for name in sorted(now.keys() & before.keys()):
        if now[name]["place"] != before[name].get("place"):
            differences.append(
                f"{name} has place {now[name]['place']}, the leaderboard says {before[name].get('place')}"
            )
        elif now[name] != before[name]:
            keys = [key for key, value in now[name]["values"].items() if value != before[name]["values"].get(key)]
            differences.append(f"{name} has other values: {', '.join(keys[:5]) or 'remark or role'}")
    return differences


@dataclass(frozen=True, slots=True)
class Twins:
    """Two submissions that are, or nearly are, one: the share of equal files, and of cases with equal measurements.

    Files are equal whatever they are called, as jobs of a platform put out the same under a name of each.
    """

    first: str
    second: str
    equal_files: float
    equal_cases: float


def twins(
    table: pl.DataFrame, hashes: Mapping[str, Mapping[str, str]], names: Sequence[str], *, time: str
) -> list[Twins]:
    """Find submissions whose files or measurements are equal in at least nine of ten cases that either did not fail.

    `time` is the measure of time, which copies need not share.
    """
    timed = pl.col("metric").is_in([time, LOADING.name])
    rows = table.filter((pl.col("unit") == "") & ~timed & pl.col("submission").is_in(names))
    measured: dict[str, dict[str, tuple[Any, ...]]] = {name: {} for name in names}
    for (name, case), own in rows.sort(_KEYS).group_by(["submission", "case"], maintain_order=True):
        if not own["status"].is_in([Status.MISSING.value, Status.INVALID.value]).all():
            measured[str(name)][str(case)] = tuple(own.select("target", "metric", "value").iter_rows())
    pairs = []
    ordered = sorted(names)
    for place, first in enumerate(ordered):
        for second in ordered[place + 1 :]:
            files = _share_of_files(hashes.get(first, {}), hashes.get(second, {}))
            cases = _share(measured[first], measured[second])
            if max(files, cases) >= NEARLY:
                pairs.append(Twins(first, second, files, cases))
    return pairs


def _share_of_files(one: Mapping[str, str], two: Mapping[str, str]) -> float:
    """Return how many files of whoever has more the other has as well, under whatever name."""
    counts = Counter(one.values()), Counter(two.values())
    most = max(len(one), len(two))
    return (counts[0] & counts[1]).total() / most if most else 0.0


def _share(one: Mapping[str, Any], two: Mapping[str, Any]) -> float:
    """Return the share of keys of either whose values are equal in both."""
    keys = {*one, *two}
    return sum(key in one and one[key] == two.get(key) for key in keys) / len(keys) if keys else 0.0

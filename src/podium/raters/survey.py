"""Going through all cases: how far people agree, case by case, in threads, to be taken up again where it stopped."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from podium import __version__
from podium.io import json_text, write_label_map, write_text
from podium.model import Case, InputError, LabelMap
from podium.raters.panels import Agreement, Measure, Panel
from podium.raters.rated import RatedChallenge

__all__ = ["PERCENTILES", "TOLERANCE_PERCENTILE", "Survey", "survey"]

TOLERANCE_PERCENTILE = 95.0
"""Of the distances between raters: the tolerance of the surface Dice (Nikolov et al. 2018, arXiv 1809.04430)."""
PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 100.0)
"""Where tolerances are reported, to see how they depend on the percentile."""

_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found out about the people behind a truth.

    Attributes
    ----------
    agreements
        Of every case that could be measured, sorted by name.
    counted_out
        The other cases, each with the reason.
    clusters
        What each measured case is drawn with when cases are resampled.
    percentiles
        At which tolerances were asked for, ascending.
    """

    agreements: tuple[Agreement, ...]
    counted_out: Mapping[str, str]
    clusters: tuple[str, ...]
    percentiles: tuple[float, ...]


def survey(
    challenge: RatedChallenge,
    *,
    truth: Path,
    percentiles: Sequence[float] = PERCENTILES,
    metrics: Sequence[str] = (),
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    keep: Path | None = None,
    resume: bool = False,
    samples: Path | None = None,
) -> Survey:
    """Measure how far people agree on every case.

    Parameters
    ----------
    challenge
        Whose annotators.
    truth
        The folder with the annotations.
    percentiles
        At which percentiles of surface distance tolerances are asked for; 95 is always among them.
    metrics
        Names of metrics besides the challenge's own.
    jobs
        Threads; by default as many as there are processors. Results do not depend on it.
    progress
        Called with the number of cases done and their total.
    keep
        A folder in which the result of every case is kept as soon as there is one.
    resume
        Take from that folder what was measured of the same files in the same way.
    samples
        A folder to write the plausible segmentations to, in the organisers' layout.
    """
    if not truth.is_dir():
        raise InputError("this is not a folder", path=truth, advice="Give the folder that holds the truth")
    if wrong := [p for p in percentiles if not 0 <= p <= 100]:
        raise InputError(f"a percentile lies between 0 and 100, not {wrong[0]:g}")
    if samples is not None and type(challenge).samples is RatedChallenge.samples:
        raise InputError(f"{challenge.title} has no samples to write: its annotators each annotated a whole case")
    own = {quantity.metric for quantity in challenge.quantities}
    for name in metrics:
        if name not in own:
            Measure.named(name)  # or say what is wrong with it before anything is read
    cases = challenge.rated_cases(truth)
    if not cases:
        raise InputError(
            f"no case of {challenge.title} was found", path=truth, advice="Is this the folder of the truth?"
        )
    levels = tuple(sorted({float(p) for p in percentiles} | {TOLERANCE_PERCENTILE}))
    work = _Work(challenge, truth, levels, tuple(metrics), keep, resume, samples)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    agreements, counted_out = [], {}
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        futures = [pool.submit(work, case) for case in cases]
        try:
            for done, (case, future) in enumerate(zip(cases, futures, strict=True), start=1):
                found = future.result()
                if isinstance(found, Agreement):
                    agreements.append(found)
                else:
                    counted_out[case.name] = found
                if progress is not None:
                    progress(done, len(cases))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    clusters = tuple(challenge.cluster(each.case) for each in agreements)
    return Survey(tuple(agreements), counted_out, clusters, levels)


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be done with each case."""

    challenge: RatedChallenge
    truth: Path
    percentiles: tuple[float, ...]
    metrics: tuple[str, ...]
    keep: Path | None
    resume: bool
    samples: Path | None

    def __call__(self, case: Case) -> Agreement | str:
        """Return how far people agree on a case, or why that cannot be said."""
        try:
            place = None if self.keep is None else self.keep / f"{case.name}.json"
            mark = "" if place is None else self._fingerprint(case)
            if self.resume and place is not None and (kept := self._kept(place, mark)) is not None:
                return kept
            panel = self.challenge.panel(case)
            found = self.challenge.agreement(case, panel, percentiles=self.percentiles, metrics=self.metrics)
            written = [] if self.samples is None else _write_samples(self.challenge.samples(case, panel), self.samples)
        except (InputError, OSError) as error:
            return str(error).replace(f"{self.truth}/", "")
        if place is not None:
            document = {"schema": _SCHEMA, "fingerprint": mark, "samples": written} | _as_document(found)
            write_text(place, json_text(document))
        return found

    def _fingerprint(self, case: Case) -> str:
        """Return what changes whenever the result could: the files, how they are measured, and by which program."""
        digest = hashlib.sha256()
        options = {key: value for key, value in asdict(self.challenge).items() if isinstance(value, str | int | float)}
        settings = [__version__, self.challenge.name, self.challenge.version, options, self.percentiles, self.metrics]
        digest.update(json.dumps(settings, sort_keys=True).encode())
        for path in case.files:
            digest.update(str(path.relative_to(self.truth)).encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()

    def _kept(self, place: Path, fingerprint: str) -> Agreement | None:
        """Return what was kept of a case, if it is the same case and nothing that was to be written is missing."""
        try:
            document = json.loads(place.read_text(encoding="utf-8"))
            if document["schema"] != _SCHEMA or document["fingerprint"] != fingerprint:
                return None
            if self.samples is not None:
                names = document["samples"]
                if not names or not all((self.samples / name).is_file() for name in names):
                    return None
            return _from_document(document)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # there is none, or it is damaged
            return None


def _write_samples(samples: Iterator[tuple[PurePosixPath, LabelMap]], folder: Path) -> list[str]:
    """Write samples, each complete or not at all; those that are in several groups are copied."""
    written: dict[str, Path] = {}
    names = []
    for name, label_map in samples:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{os.getpid()}.{path.name}")
        try:
            if path.name in written:
                shutil.copyfile(written[path.name], partial)
            else:
                write_label_map(partial, label_map)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        written.setdefault(path.name, path)
        names.append(str(name))
    return names


def _as_document(agreement: Agreement) -> dict[str, Any]:
    return {
        "case": agreement.case,
        "members": agreement.panel.members,
        "groups": agreement.panel.groups,
        "values": [[*key, [_exact(x) for x in numbers]] for key, numbers in agreement.values.items()],
        "tolerances": [[*key, [_exact(x) for x in numbers]] for key, numbers in agreement.tolerances.items()],
        "remarks": agreement.remarks,
    }


def _from_document(document: Mapping[str, Any]) -> Agreement:
    panel = Panel(tuple(document["members"]), tuple(tuple(group) for group in document["groups"]))
    values, tolerances = (
        {(first, second): tuple(float(x) for x in numbers) for first, second, numbers in document[part]}
        for part in ("values", "tolerances")
    )
    if any(len(numbers) != len(panel.pairs) for numbers in (*values.values(), *tolerances.values())):
        raise ValueError("numbers and pairs do not agree")
    return Agreement(document["case"], panel, values, tolerances, tuple(document["remarks"]))


def _exact(number: float) -> float | str:
    """Return a number as JSON can hold it, infinities and what is undefined included."""
    return number if math.isfinite(number) else str(number)

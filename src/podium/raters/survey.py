"""Going through all cases: how far people agree, case by case, to be taken up again where it stopped."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from podium.io import noting_files, write_atomically, write_label_map
from podium.model import Case, InputError, LabelMap
from podium.raters.panels import RaterAgreement, RaterPanel, rater_measures
from podium.raters.rated import RatedChallenge
from podium.raters.summary import TOLERANCE_PERCENTILE, Summary, summarise, survey_files
from podium.run import Part, Parts, RunFolder, Threads, digests, made_by, sole_writer

__all__ = ["PERCENTILES", "TOLERANCE_PERCENTILE", "Survey", "survey_raters"]

PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 100.0)
"""Where tolerances are reported, to see how they depend on the percentile."""


@dataclass(frozen=True)
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

    agreements: tuple[RaterAgreement, ...]
    counted_out: Mapping[str, str]
    clusters: tuple[str, ...]
    percentiles: tuple[float, ...]

    @cached_property
    def summary(self) -> Summary:
        """Means over cases with their intervals."""
        return summarise(self)

    def to_frame(self) -> pl.DataFrame:
        """Return variability and tolerances, one line each: target, name, percentile, mean, low, high, cases."""
        ends = ("mean", "low", "high", "cases")
        lines = [
            (line.target, line.name, line.percentile, *(getattr(line.interval, end) for end in ends))
            for line in (*self.summary.variability, *self.summary.tolerances)
        ]
        names = ["target", "name", "percentile", *ends]
        return pl.DataFrame(lines, schema=names, orient="row", infer_schema_length=None)

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()


def survey_raters(
    challenge: RatedChallenge,
    *,
    truth: Path,
    percentiles: Sequence[float] = PERCENTILES,
    metrics: Sequence[str] = (),
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    out: Path | None = None,
    resume: bool = False,
    restart: bool = False,
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
    out
        A folder for tables and raters.json, in which every case is kept as soon as it is measured.
    resume, restart
        Take from that folder what was measured of the same files in the same way; or begin it anew.
    samples
        A folder to write the plausible segmentations to, in the organisers' layout.
    """
    if not truth.is_dir():
        raise InputError("this is not a folder", path=truth, advice="Give the folder that holds the truth")
    if wrong := [p for p in percentiles if not 0 <= p <= 100]:
        raise InputError(f"a percentile lies between 0 and 100, not {wrong[0]:g}")
    if samples is not None and type(challenge).samples is RatedChallenge.samples:
        raise InputError(f"{challenge.title} has no samples to write: its annotators each annotated a whole case")
    own = {measure.name for measure in challenge.measures}
    # What is wrong with them is said before anything is read.
    rater_measures([name for name in metrics if name not in own])
    cases = challenge.rated_cases(truth)
    if not cases:
        raise InputError(
            f"no case of {challenge.title} was found", path=truth, advice="Is this the folder of the truth?"
        )
    levels = tuple(sorted({float(p) for p in percentiles} | {TOLERANCE_PERCENTILE}))
    with ExitStack() as stack:
        folder = None
        if out is not None:
            folder = RunFolder(out, mark="raters.json")
            folder.begin(resume=resume, restart=restart)
            stack.enter_context(sole_writer(out))
            folder.parts.begin(but=frozenset(case.name for case in cases) if resume else frozenset())
        work = _Work(challenge, truth, levels, tuple(metrics), folder.parts if folder else None, resume, samples)
        results = {}
        if progress is not None:
            progress(0, len(cases))
        for done, (case, result) in enumerate(Threads(jobs).done(work, cases), start=1):
            results[case] = result
            if progress is not None:
                progress(done, len(cases))
        agreements = tuple(result for _, result in sorted(results.items()) if isinstance(result, RaterAgreement))
        counted_out = {case: result for case, result in sorted(results.items()) if isinstance(result, str)}
        clusters = tuple(challenge.cluster(agreement.case) for agreement in agreements)
        survey = Survey(agreements, counted_out, clusters, levels)
        if folder is not None:
            folder.replace(survey_files(challenge, survey, truth=truth))
            folder.parts.finish()
    return survey


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be done with each case."""

    challenge: RatedChallenge
    truth: Path
    percentiles: tuple[float, ...]
    metrics: tuple[str, ...]
    parts: Parts | None
    resume: bool
    samples: Path | None

    def __call__(self, case: Case) -> tuple[str, RaterAgreement | str]:
        """Return a case's name, and how far people agree on it or why that cannot be said."""
        recipe = made_by(self.challenge) | {
            "percentiles": list(self.percentiles),
            "metrics": list(self.metrics),
            "samples": self.samples is not None,
        }
        try:
            if self.resume and self.parts is not None:
                known = self.parts.still_true(case.name, recipe, self.truth, case.files)
                if isinstance(known, Part) and (kept := self._kept(known)) is not None:
                    return case.name, kept
            with noting_files() as read:
                panel = self.challenge.panel(case)
            agreement = self.challenge.agreement(case, panel, percentiles=self.percentiles, metrics=self.metrics)
            written = [] if self.samples is None else _write_samples(self.challenge.samples(case, panel), self.samples)
        except (InputError, OSError) as error:
            return case.name, str(error).replace(f"{self.truth}/", "")
        if self.parts is not None:
            table = pl.DataFrame({"agreement": [json.dumps(_as_document(agreement) | {"samples": written})]})
            self.parts.write(Part(case.name, recipe, digests(self.truth, {*case.files, *read}), table))
        return case.name, agreement

    def _kept(self, part: Part) -> RaterAgreement | None:
        """Return what was kept of a case, if nothing that was to be written is missing."""
        document = json.loads(part.table["agreement"][0])
        if self.samples is not None and not all((self.samples / name).is_file() for name in document["samples"]):
            return None
        return _from_document(document)


def _write_samples(samples: Iterator[tuple[PurePosixPath, LabelMap]], folder: Path) -> list[str]:
    """Write samples, each complete or not at all; those that are in several groups are copied."""
    written: dict[str, Path] = {}
    names = []
    for name, label_map in samples:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if (known := written.get(path.name)) is not None:
            write_atomically(path, lambda partial, known=known: partial.write_bytes(known.read_bytes()))  # type: ignore[misc]
        else:
            write_atomically(path, lambda partial, label_map=label_map: write_label_map(partial, label_map))  # type: ignore[misc]
        written.setdefault(path.name, path)
        names.append(str(name))
    return names


def _as_document(agreement: RaterAgreement) -> dict[str, Any]:
    return {
        "case": agreement.case,
        "members": agreement.panel.members,
        "groups": agreement.panel.groups,
        "values": [[*key, [_exact(x) for x in numbers]] for key, numbers in agreement.values.items()],
        "tolerances": [[*key, [_exact(x) for x in numbers]] for key, numbers in agreement.tolerances.items()],
        "remarks": agreement.remarks,
    }


def _from_document(document: Mapping[str, Any]) -> RaterAgreement:
    panel = RaterPanel(tuple(document["members"]), tuple(tuple(group) for group in document["groups"]))
    values, tolerances = (
        {(first, second): tuple(float(x) for x in numbers) for first, second, numbers in document[part]}
        for part in ("values", "tolerances")
    )
    return RaterAgreement(document["case"], panel, values, tolerances, tuple(document["remarks"]))


def _exact(number: float) -> float | str:
    """Return a number as JSON can hold it, infinities and what is undefined included."""
    return number if math.isfinite(number) else str(number)

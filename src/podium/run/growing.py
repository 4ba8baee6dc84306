"""A run that grows: predictions are measured one by one, as they come, and need not stay.

An evaluation reads the truth of a case once and measures all its predictions. Where algorithms are run one after the
other, their answers come one by one; what is measured of a case is then added to what is known of it, and the result is
that of an evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from podium.model import Case, Challenge, Handed, Role, Status
from podium.model.errors import brief
from podium.run.engine import evaluation_of, found_cases, made_by
from podium.run.evaluating import written_run
from podium.run.folder import RunFolder
from podium.run.measuring import CaseJob, Prediction, blamed_later, measure_more
from podium.run.parts import Part, sole_writer
from podium.run.runs import Run
from podium.run.submissions import Files, Submission

__all__ = ["GrowingRun", "growing_run"]


class GrowingRun:
    """A run to which predictions are added; see `growing_run`.

    Attributes
    ----------
    challenge
        With the options that stand beside the truth.
    cases
        Those of the truth, by name.
    """

    def __init__(self, folder: RunFolder, challenge: Challenge, *, truth: Path, submissions: Path) -> None:
        self._folder, self._truth, self._submissions = folder, truth, submissions
        self._started = datetime.now(UTC)
        self.challenge, cases = found_cases(challenge, truth)
        self.cases = {case.name: case for case in cases}
        self._parts: dict[str, Part | None] = dict.fromkeys(self.cases)  # without what was measured

    def begin(self, *, resume: bool) -> None:
        """Forget what was measured before, unless it still holds."""
        parts = self._folder.parts
        parts.begin(but=frozenset(self.cases) if resume else frozenset())
        for case in self.cases.values():
            known = parts.still_true(case.name, made_by(self.challenge), self._truth, case.files)
            if isinstance(known, Part):
                self._note(known)

    def _note(self, part: Part) -> None:
        self._parts[part.case] = replace(part, table=part.table.clear(), hashes={})

    def knows(self, submission: str, case: str) -> bool:
        """Return whether a prediction has been measured, or has failed."""
        part = self._parts[case]
        return part is not None and submission in part.lost

    def measure(self, submission: str, case: str, *, arrays: Handed | None = None, failure: str = "") -> None:
        """Measure what a submission's folder holds of a case, or arrays that are handed over; or note why not."""
        if failure:
            prediction = Prediction(submission, status=Status.MISSING, reason=failure)
        elif arrays is not None:
            prediction = Prediction(submission, arrays=arrays)
        else:
            expected = self.cases[case]
            prediction = Prediction.among(submission, Files(self._submissions / submission, [expected]), expected)
        self._add(self.cases[case], [prediction])

    def _add(self, case: Case, predictions: Sequence[Prediction]) -> None:
        lacking = [name for name in self.challenge.built_in if not self.knows(name, case.name)]
        built_in = [Prediction(name, built_in=True) for name in lacking]
        part = measure_more(self._job(case, (*predictions, *built_in)))
        self._folder.parts.write(part)
        self._note(part)

    def _job(self, case: Case, predictions: tuple[Prediction, ...]) -> CaseJob:
        recipe = made_by(self.challenge)
        return CaseJob(self.challenge, case, self._truth, predictions, recipe, self._folder.parts)

    def finish(
        self,
        roles: Mapping[str, Role],
        *,
        loading: Mapping[str, float],
        options: Mapping[str, Any] | None = None,
        failures: Sequence[tuple[str, str, str]] = (),
    ) -> Run:
        """Measure what is left, rank, and let the run appear in its folder.

        Parameters
        ----------
        roles
            Who takes part, and who each stands for. What was measured of others is left out.
        loading
            How long algorithms took to load.
        options
            Of the challenge, where they came out meanwhile and change scores only.
        failures
            What else went wrong: submission, case and reason.
        """
        for case in self.cases.values():
            for name in roles:
                if not self.knows(name, case.name) and not self._at_fault(name, case.name):
                    self.measure(name, case.name)
            self._blame(case, list(roles))
        challenge = self.challenge.varied(**options) if options else self.challenge
        submissions = [Submission(name, self._submissions / name, role) for name, role in sorted(roles.items())]
        cases = list(self.cases.values())
        evaluation = evaluation_of(challenge, self._folder.parts, cases, submissions, loading=loading)
        lines = [(name, case, Status.MISSING.value, brief(reason)) for name, case, reason in failures]
        evaluation = replace(evaluation, failures=sorted({*evaluation.failures, *lines}))
        places = {submission.name: submission.path for submission in submissions}
        return written_run(evaluation, self._folder, truth=self._truth, places=places, started=self._started)

    def _at_fault(self, submission: str, case: str) -> bool:
        """Return whether the challenge was, when a prediction was measured."""
        part = self._parts[case]
        return part is not None and any(who in ("", submission) for who, _ in part.faults)

    def _blame(self, case: Case, names: list[str]) -> None:
        """Charge predictions that broke the evaluation of a case before others showed that it can be measured."""
        part = self._parts[case.name]
        own = tuple(Prediction(name) for name in names)
        built_in = tuple(Prediction(name, built_in=True) for name in self.challenge.built_in)
        if part is not None and (guilty := blamed_later(self._job(case, (*own, *built_in)), part)):
            self._add(case, guilty)


@contextmanager
def growing_run(
    out: Path, challenge: Challenge, *, truth: Path, submissions: Path, resume: bool = False, restart: bool = False
) -> Iterator[GrowingRun]:
    """Open a run folder for predictions that come one by one; nobody else writes to it meanwhile.

    Parameters
    ----------
    out
        The run folder: new, empty, or a run that is to be resumed or made anew.
    challenge
        Whose rules.
    truth, submissions
        The folder with the truth, and that with one folder per team, where predictions lie while they are measured.
    resume, restart
        Keep what was measured, as far as truth and rules are the same; or begin anew.
    """
    folder = RunFolder(out)
    run = GrowingRun(folder, challenge, truth=truth, submissions=submissions)
    folder.begin(resume=resume, restart=restart)
    with sole_writer(out):
        run.begin(resume=resume)
        yield run

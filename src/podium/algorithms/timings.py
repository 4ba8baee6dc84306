"""timing.csv and timing.json: how long an algorithm took on every case, within which limits, and on which machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import mean, median, pstdev
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium.algorithms.machine import BUSY, Hardware
from podium.algorithms.specs import Ending, Outcome
from podium.io import csv_text, encoded, write_bytes, write_text
from podium.model import InputError, Role

__all__ = ["CaseTiming", "FrameTimes", "Repeat", "Surroundings", "TeamTiming", "comparability", "read_timings"]

SCHEMA_NUMBER = 1


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class FrameTimes(_Record):
    """Seconds of the frames of a case."""

    mean: float
    percentile_95: float
    worst: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> FrameTimes:
        """Summarise them; the percentile interpolates linearly."""
        return cls(mean=mean(seconds), percentile_95=float(np.percentile(seconds, 95)), worst=max(seconds))


class Repeat(_Record):
    """One time that a case was asked for.

    Attributes
    ----------
    ending, reason
        What came of it.
    start, load, run, stop
        Seconds until the program ran, until it was ready where it says so, from the question to the answer, and until
        nothing of it ran any more.
    frames, frame_seconds
        A summary, and each frame's seconds, where frames were asked one by one.
    processor_seconds, peak_bytes
        Of all its processes, as far as that can be told.
    others
        How many processors others kept busy meanwhile, as far as that can be told.
    """

    ending: Ending
    reason: str = ""
    start: float = 0.0
    load: float = 0.0
    run: float = 0.0
    stop: float = 0.0
    frames: FrameTimes | None = None
    frame_seconds: tuple[float, ...] = ()
    processor_seconds: float | None = None
    peak_bytes: int | None = None
    others: float | None = None

    @classmethod
    def of(cls, outcome: Outcome, *, others: float | None) -> Repeat:
        """Return what is kept of an outcome."""
        spans = outcome.spans
        return cls(
            ending=outcome.ending,
            reason=outcome.reason,
            start=spans.start,
            load=spans.load,
            run=spans.run,
            stop=spans.stop,
            frames=FrameTimes.of(spans.frames) if spans.frames else None,
            frame_seconds=spans.frames,
            processor_seconds=outcome.processor_seconds,
            peak_bytes=outcome.peak_bytes,
            others=others,
        )


class CaseTiming(_Record):
    """How long a case took.

    Attributes
    ----------
    frames
        How many it has.
    repeats
        Every time that it was asked for. What came of the first counts.
    machine
        Which of the team's machines it was.
    prediction
        What its prediction is called among the team's, if there is one.
    """

    frames: int = 1
    repeats: tuple[Repeat, ...]
    machine: int = 0
    prediction: str = ""

    @property
    def ending(self) -> Ending:
        """What came of it."""
        return self.repeats[0].ending

    @property
    def reason(self) -> str:
        """Why there is no prediction; "" if there is one."""
        first = self.repeats[0]
        if first.ending is Ending.ANSWERED:
            return ""
        return first.reason if first.reason.startswith(first.ending) else f"{first.ending.value}: {first.reason}"

    @property
    def seconds(self) -> float:
        """From the question to the answer: the median of all answers, or of all attempts where there is no answer."""
        answered = [repeat.run for repeat in self.repeats if repeat.ending is Ending.ANSWERED]
        return median(answered or [repeat.run for repeat in self.repeats])

    @property
    def spread(self) -> float:
        """The standard deviation over repeats."""
        return pstdev(repeat.run for repeat in self.repeats)


class Surroundings(_Record):
    """A machine, what kept it busy before the first case, and the mean load of its last minute then."""

    hardware: Hardware
    others: float | None = None
    load: float | None = None


class TeamTiming(_Record):
    """What timing.json says of a team.

    Attributes
    ----------
    schema_number
        Of this document; `schema` in the file.
    podium, challenge, team, role
        Who timed whom, in which challenge.
    algorithm
        What was run: command, image or function, how it was asked, and SHA-256 of its files as far as they are known.
    allowance, repeat, warm_up, isolated
        Within which limits; how often each case was asked for, whether once before that; and whether network, files
        and processes of ours were out of reach.
    machines
        Where: several where it was resumed elsewhere.
    cases
        Every case, failed ones included, by name.
    started, ended
        When; `ended` is None while cases are left.
    """

    schema_number: int = Field(default=SCHEMA_NUMBER, alias="schema")
    podium: str
    challenge: str
    team: str
    role: Role = Role.COMPETITOR
    algorithm: dict[str, Any]
    allowance: dict[str, Any]
    repeat: int = 1
    warm_up: bool = False
    isolated: bool = False
    machines: tuple[Surroundings, ...] = ()
    cases: dict[str, CaseTiming] = Field(default_factory=dict)
    started: datetime
    ended: datetime | None = None

    def other(self, before: TeamTiming) -> str:
        """Say in what it differs from an earlier one, so that every case is asked for again; nothing if in nothing."""
        names = ("challenge", "algorithm", "allowance", "repeat", "warm_up", "isolated")
        return " and ".join(name for name in names if getattr(self, name) != getattr(before, name))

    @property
    def loading(self) -> float | None:
        """How long it took to load, where it says when it is ready; the median, if it was started several times."""
        loads = [repeat.load for case in self.cases.values() for repeat in case.repeats if repeat.load]
        return median(loads) if loads else None

    @property
    def failures(self) -> dict[str, CaseTiming]:
        """The cases without an answer."""
        return {name: case for name, case in sorted(self.cases.items()) if case.ending is not Ending.ANSWERED}

    @property
    def seconds_a_case(self) -> float:
        """The mean over all cases."""
        return mean(case.seconds for case in self.cases.values())

    def write(self, path: Path) -> None:
        """Let timing.json appear, complete or not at all."""
        document = self.model_dump(mode="json", by_alias=True)
        document["loading"] = self.loading
        for name, case in self.cases.items():
            document["cases"][name] |= {"ending": case.ending, "seconds": case.seconds, "spread": case.spread}
        write_bytes(path, encoded(path.name, document | {"cases": dict(sorted(document["cases"].items()))}))

    def write_table(self, path: Path) -> None:
        """Let timing.csv appear: the seconds and frames of every case, failed ones included."""
        lines = [(name, f"{case.seconds:.6f}", case.frames) for name, case in sorted(self.cases.items())]
        write_text(path, csv_text(("case", "seconds", "frames"), lines))

    @classmethod
    def read(cls, path: Path) -> TeamTiming:
        """Read timing.json."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(document["schema"], int) and document["schema"] > SCHEMA_NUMBER:
                raise InputError(f"this has schema {document['schema']}", path=path, advice="Use a newer Podium")
            del document["loading"]
            derived = ("ending", "seconds", "spread")
            document["cases"] = {
                name: {key: value for key, value in case.items() if key not in derived}
                for name, case in document["cases"].items()
            }
            return cls.model_validate(document)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            first = error.errors()[0] if isinstance(error, ValidationError) else None
            reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else str(error)
            what = f"this timing is damaged ({' '.join(reason.split())[:120]})"
            raise InputError(what, path=path, advice="Add --restart to run it anew") from None

    def doubts(self) -> list[str]:
        """Say when others kept the machine busy, so that times may be too long."""
        doubts = []
        for number, machine in enumerate(self.machines):
            most = BUSY * machine.hardware.processors
            known = [
                r.others for c in self.cases.values() if c.machine == number for r in c.repeats if r.others is not None
            ]
            windows = {"before": machine.others, "while": max(known, default=None)}
            for when, others in windows.items():
                if others is not None and others > most:
                    doubts.append(
                        f"the machine was busy {when} {self.team} ran: others used {others:.1f} of its "
                        f"{machine.hardware.processors} processors, so that times may be too long"
                    )
        return doubts


def comparability(timings: Iterable[TeamTiming]) -> list[str]:
    """Say which figures were taken on unlike machines, or differently, and so are not to be compared."""
    ordered = sorted(timings, key=lambda timing: timing.team)
    remarks = []
    machines = [(timing.team, machine.hardware) for timing in ordered for machine in timing.machines]
    for team, hardware in machines[1:]:
        first, other = machines[0]
        if difference := hardware.unlike(other):
            remarks.append(f"times of {first} and {team} were taken on unlike machines ({difference})")
    for timing in ordered[1:]:
        ways = [(t.algorithm.get("protocol"), t.repeat, t.warm_up, t.isolated) for t in (ordered[0], timing)]
        names = ("protocol", "repeats", "warm-up", "isolation")
        if differing := [name for name, a, b in zip(names, *ways, strict=True) if a != b]:
            remarks.append(f"times of {ordered[0].team} and {timing.team} were taken with other {', '.join(differing)}")
    return list(dict.fromkeys(remarks))


def read_timings(folder: Path) -> Mapping[str, TeamTiming]:
    """Read all that lie in a folder, by team."""
    timings = (TeamTiming.read(path) for path in sorted(folder.glob("*.json")))
    return {timing.team: timing for timing in timings}

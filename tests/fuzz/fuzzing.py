"""Coverage-guided fuzzing of one reader: in a process of its own, so that its end is an observation and not ours.

The libraries that read files have no coverage counters in their published builds, so that a fuzzer such as atheris sees
no more of them than is seen here: which lines of Python follow one another, in Podium and in the Python parts of
those libraries, and which errors come out. In return nothing has to be installed, files that are compressed or carry
checksums are damaged inside, and the same seed gives the same inputs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

# No limit is one of time that passes, because how much of it an input takes depends on what else the machine does.
HANG_SECONDS = 5.0
"""Of computing, after which reading an input is interrupted."""
STUCK_SECONDS = 60.0
"""Of computing, by the process and those it started, after which it is ended: interrupting it did not help.

Much more than HANG_SECONDS, since a file may have the process that looks into HDF5 files started again and again.
"""
START_SECONDS = 1800.0
"""Of computing before a process is ready: it imports libraries, compiles kernels and reads every valid file."""
LOOK_SECONDS = 0.25
"""Between two looks at the process."""
LOOKS_ASLEEP = 80
"""So many more looks must find it asleep than awake during one input: it waits for something that does not come."""
_LARGEST_KEPT = 1 << 15
_MOST_KEPT = 2000
_MOST_REASONS = 400
_TOLD_EACH = 100


@dataclass(frozen=True)
class Target:
    """A reader, and the files it starts from.

    Attributes
    ----------
    name
        As on the command line.
    file
        What an input is called.
    seeds
        Valid files.
    read
        Reads a file as an evaluation would; InputError and OSError are good answers.
    tokens
        Words of the format.
    watched
        Parts of the paths of Python files whose lines count as coverage.
    memory
        Bytes that reading an input may take.
    prepare
        Called before anything is limited, to compile what an input may need.
    share
        Of all inputs, beside 1 of a reader that takes no time to speak of.
    unwrap, wrap
        Undo a compression before an input is damaged, and do it again, checksums included.
    """

    name: str
    file: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    tokens: tuple[bytes, ...] = ()
    watched: tuple[str, ...] = ()
    memory: int = 2**28
    prepare: Callable[[], None] | None = None
    share: float = 1.0
    unwrap: Callable[[bytes], bytes] | None = None
    wrap: Callable[[bytes], bytes] | None = None


@dataclass
class Findings:
    """What became of all inputs of a reader."""

    inputs: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    edges: int = 0
    corpus: int = 0
    bad: list[tuple[str, str]] = field(default_factory=list)
    """What went wrong, and the file that the input was kept in."""


class _TooSlow(BaseException):
    pass


class _Reasons:
    """Every reason that was ever given on the way, as words: where C code reads a file, they say how far it came."""

    def __init__(self) -> None:
        from podium.model import InputError

        self.seen: set[str] = set()
        original = InputError.__init__

        def noting(error: Any, found: str, **more: Any) -> None:
            self.seen.add(" ".join(re.findall("[a-z]{2,}", re.sub("'.*?'", "", found))[:8]))
            original(error, found, **more)

        InputError.__init__ = noting  # type: ignore[method-assign]


class _Edges:
    """Which line follows which, in the files that are watched."""

    def __init__(self, watched: tuple[str, ...]) -> None:
        self._watched = watched
        self._files: dict[str, bool] = {}
        self.seen: set[tuple[Any, int, int]] = set()

    def _enter(self, frame: FrameType, _event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        if file not in self._files:
            self._files[file] = any(part in file for part in self._watched)
        if not self._files[file]:
            return None
        code, seen = frame.f_code, self.seen
        last = 0

        def line(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal last
            if event == "line":
                seen.add((code, last, frame.f_lineno))
                last = frame.f_lineno
            return line

        return line

    def of(self, call: Callable[[], str]) -> tuple[str, set[tuple[Any, int, int]]]:
        self.seen = set()
        sys.settrace(self._enter)
        try:
            return call(), self.seen
        finally:
            sys.settrace(None)


def fuzz(target: str, *, inputs: int, seed: int, folder: Path) -> Findings:
    """Run that many inputs through a reader, in as many processes as it ends, and keep those that went wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    findings, start, began = Findings(), 0, time.monotonic()
    while start < inputs:
        progress = folder / "progress"
        progress.write_text("")  # until the process is ready and names its first input
        command = [sys.executable, __file__, target, str(start), str(inputs), str(seed), str(folder)]
        alone = {**os.environ, "POLARS_MAX_THREADS": "1"}
        # Errors go to a file: a pipe that nobody empties would make a process that says a lot stand still.
        with (folder / "errors").open("w+") as told:
            with subprocess.Popen(command, stderr=told, env=alone) as child:
                ended = _watch(child, progress)
            errors = (folder / "errors").read_text(errors="replace").strip()
        if ended == "done":
            break
        reached = progress.read_text()
        if not reached:
            raise RuntimeError(f"{target} did not start, but {ended}: {errors[-2000:]}")
        content = (folder / "current").read_bytes()
        findings.bad.append((f"input {int(reached)}: {ended} {errors[-300:]}", _kept(folder, content)))
        start = int(reached) + 1
    for line in (folder / "log").read_text().splitlines() if (folder / "log").exists() else []:
        entry = json.loads(line)
        if "bad" in entry:
            findings.bad.append((entry["bad"], entry["kept"]))
        else:
            findings.outcomes += Counter(entry["outcomes"])
            findings.edges, findings.corpus = entry["edges"], entry["corpus"]
    findings.inputs, findings.seconds = inputs, time.monotonic() - began
    return findings


def _watch(child: subprocess.Popen[bytes], progress: Path) -> str:
    """Wait until a process ends or hangs; return how.

    What counts is what it did, not the time that passed: how long it computed, and how often it was found asleep. A
    process that other work keeps from computing does neither, however long it takes. The count starts anew with every
    input, and with the first of them once the process is ready; before that, much more is allowed.
    """
    reached, before, asleep = "", 0.0, 0
    while True:
        try:
            code = child.wait(timeout=LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            at, look = progress.read_text(), look_at(child.pid)
            if at != reached:
                reached, before, asleep = at, look.seconds, 0
                continue
            asleep = max(asleep + (1 if look.asleep else -1), 0)  # waiting may mean waking up now and then
            stuck = look.seconds - before > (STUCK_SECONDS if reached else START_SECONDS)
            if not stuck and asleep < LOOKS_ASLEEP:
                continue
            for pid in (child.pid, *look.started):  # or those it started would go on
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            child.wait()
            return "hangs where no signal is handled" if stuck else "hangs asleep"
        if code == 0:
            return "done"
        return f"ends the process with {signal.Signals(-code).name if code < 0 else code}"


@dataclass(frozen=True)
class Look:
    """What a process and those it started are doing.

    Attributes
    ----------
    asleep
        Whether all of their threads wait for something. One that could compute, but is not given a processor, does
        not, and neither does one that waits for a disk.
    seconds
        How long all of them computed so far.
    started
        The processes that it started, and those that they started.
    """

    asleep: bool
    seconds: float
    started: tuple[int, ...]


def look_at(pid: int) -> Look:
    """Look at a process, which may be about to end, and at all that descend from it."""
    facts = {each: _facts(f"/proc/{each}") for each in _numbers("/proc")}
    family = [pid]
    for member in family:  # which grows meanwhile
        family += [each for each, told in facts.items() if told and int(told[_PARENT]) == member]
    ticks, asleep = 0, True
    for member in family:
        # What ended is counted by the process that it belonged to.
        ticks += sum(map(int, facts.get(member, [])[_COMPUTED]))
        for thread in _numbers(f"/proc/{member}/task"):
            told = _facts(f"/proc/{member}/task/{thread}")
            asleep &= not told or told[_STATE] in "SZX"  # sleeping or ended
    return Look(asleep, ticks / os.sysconf("SC_CLK_TCK"), tuple(family[1:]))


# Places in what follows the name in /proc/*/stat; see proc(5).
_STATE, _PARENT, _COMPUTED = 0, 1, slice(11, 15)


def _facts(place: str) -> list[str]:
    """Return what the system tells of a process or thread, from its state on; nothing if it has ended."""
    try:
        return Path(place, "stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _numbers(place: str) -> list[int]:
    """Return the processes, or the threads of one, that are listed there; none if it has ended."""
    try:
        return [int(each.name) for each in Path(place).iterdir() if each.name.isdecimal()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _kept(folder: Path, content: bytes) -> str:
    path = folder / f"bad-{hashlib.sha256(content).hexdigest()[:16]}"
    path.write_bytes(content)
    return str(path)


def inputs_of(target: Target, corpus: list[bytes], seeds: int, random: Random) -> bytes:
    """Return the next input."""
    from mutation import mutated

    # What was found last has been tried least; what is valid gets furthest.
    recent = corpus[-1 - int(random.random() ** 2 * min(len(corpus), 50))]
    content = random.choice((corpus[random.randrange(seeds)], recent, recent, random.choice(corpus)))
    if target.unwrap and target.wrap and random.random() < 0.7:
        try:
            inside = target.unwrap(content)
            others = [inside, *map(target.unwrap, random.sample(corpus, min(2, len(corpus))))]
        except Exception:
            pass
        else:
            return target.wrap(mutated(inside, others, target.tokens, random))
    return mutated(content, corpus, target.tokens, random)


def attempt(target: Target, path: Path, *, seconds: float = 0.0) -> str:
    """Read a file; return whether it was read or refused, or raise what should not have come.

    After so many seconds of computing, unless they are 0, the process gets a SIGPROF, which it has to handle.
    """
    from podium.model import InputError

    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        target.read(path)
    except InputError as error:
        text = str(error)
        if not text.isprintable() or len(text) > 2000:
            raise AssertionError(f"the error is not one short line: {text[:200]!r}") from error
        return "refused"
    except OSError:
        return "refused"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "read"


def _child(name: str, start: int, end: int, seed: int, folder: Path) -> None:
    """Run some of the inputs; whoever started this sees from the progress when it is ready, and how far it is."""
    from readers import TARGETS

    target = TARGETS[name]

    def too_slow(number: int, frame: FrameType | None) -> None:
        raise _TooSlow

    signal.signal(signal.SIGPROF, too_slow)
    place = folder / "inputs"
    place.mkdir(exist_ok=True)
    path = place / target.file
    corpus = target.seeds()
    seeds = len(corpus)
    edges, known, outcomes = _Edges(target.watched), set(), Counter()  # type: ignore[var-annotated]
    reasons, told = _Reasons(), set()  # type: ignore[var-annotated]
    if target.prepare:
        target.prepare()
    for content in corpus:  # compile, import and fill caches before time and memory are limited
        path.write_bytes(content)
        outcome, seen = edges.of(lambda: attempt(target, path))
        assert outcome == "read", f"a valid file of {name} is not read: {outcome}"
        known |= seen
    (folder / "kept").mkdir(exist_ok=True)
    corpus += [each.read_bytes() for each in sorted((folder / "kept").iterdir())]
    _limit_memory(target.memory)
    path.write_bytes(corpus[0])
    assert attempt(target, path) == "read", f"a valid file of {name} is not read within the memory it may take"
    with (folder / "log").open("a") as log, (folder / "progress").open("r+") as progress:
        for index in range(start, end):
            random = Random(f"{seed} {name} {index}")
            content = inputs_of(target, corpus, seeds, random)
            (folder / "current").write_bytes(content)
            path.write_bytes(content)
            progress.seek(0)
            progress.write(f"{index}\n")
            progress.flush()
            try:
                outcome, seen = edges.of(lambda: attempt(target, path, seconds=HANG_SECONDS))
            except (Exception, _TooSlow) as error:
                what = "hangs" if isinstance(error, _TooSlow) else f"{type(error).__name__}: {str(error)[:200]}"
                kept = _kept(folder, content)
                log.write(json.dumps({"bad": f"input {index}: {what} {_where(error)}", "kept": kept}) + "\n")
                log.flush()
                outcome, seen = "bad", set()
            outcomes[outcome] += 1
            new_reason = len(told) < _MOST_REASONS and not reasons.seen <= told
            if outcome != "bad" and (new_reason or not seen <= known):
                known |= seen
                told |= reasons.seen
                if len(content) <= _LARGEST_KEPT and len(corpus) < _MOST_KEPT:
                    corpus.append(content)
                    (folder / "kept" / f"{index:08d}").write_bytes(content)
            reasons.seen.clear()
            if index % _TOLD_EACH == 0 or index == end - 1:
                log.write(json.dumps({"outcomes": outcomes, "edges": len(known), "corpus": len(corpus)}) + "\n")
                log.flush()
                outcomes.clear()


def _where(error: BaseException) -> str:
    """Return the last places of a traceback."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)[-3:]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))


def _limit_memory(extra: int) -> None:
    """Let this process take no more than so many bytes of memory beyond what it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + extra
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    _child(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))

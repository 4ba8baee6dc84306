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
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

HANG_SECONDS = 5.0
_DEAD_SECONDS = 20.0  # stuck where no signal is handled
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
        Called before anything is limited.
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
        progress.write_text(f"{start}\n")
        command = [sys.executable, __file__, target, str(start), str(inputs), str(seed), str(folder)]
        alone = {**os.environ, "POLARS_MAX_THREADS": "1"}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=alone) as child:
            ended = _watch(child, progress)
            errors = child.stderr.read() if child.stderr else ""
        if ended == "done":
            break
        at = int(progress.read_text().split()[0])
        current = folder / "current"
        if not current.exists():
            raise RuntimeError(f"{target} did not start: {errors[-2000:]}")
        findings.bad.append((f"input {at}: {ended} {errors.strip()[-300:]}", _kept(folder, current.read_bytes())))
        start = at + 1
    for line in (folder / "log").read_text().splitlines() if (folder / "log").exists() else []:
        entry = json.loads(line)
        if "bad" in entry:
            findings.bad.append((entry["bad"], entry["kept"]))
        else:
            findings.outcomes += Counter(entry["outcomes"])
            findings.edges, findings.corpus = entry["edges"], entry["corpus"]
    findings.inputs, findings.seconds = inputs, time.monotonic() - began
    return findings


def _watch(child: subprocess.Popen[str], progress: Path) -> str:
    """Wait until a process ends or stands still; return how."""
    while True:
        try:
            code = child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            if time.time() - progress.stat().st_mtime < _DEAD_SECONDS:
                continue
            child.kill()
            child.wait()
            return "hangs where no signal is handled"
        if code == 0:
            return "done"
        return f"ends the process with {signal.Signals(-code).name if code < 0 else code}"


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


def attempt(target: Target, path: Path) -> str:
    """Read a file; return whether it was read or refused, or raise what should not have come."""
    from podium.model import InputError

    signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
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
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "read"


def _child(name: str, start: int, end: int, seed: int, folder: Path) -> None:
    from readers import TARGETS

    target = TARGETS[name]

    def too_slow(number: int, frame: FrameType | None) -> None:
        raise _TooSlow

    signal.signal(signal.SIGALRM, too_slow)
    place = folder / "inputs"
    place.mkdir(exist_ok=True)
    path = place / target.file
    corpus = target.seeds()
    seeds = len(corpus)
    edges, known, outcomes = _Edges(target.watched), set(), Counter()  # type: ignore[var-annotated]
    reasons, told = _Reasons(), set()  # type: ignore[var-annotated]
    if target.prepare:
        target.prepare()
    for content in corpus:  # compile, import and fill caches before memory is limited
        path.write_bytes(content)
        outcome, seen = edges.of(lambda: attempt(target, path))
        assert outcome == "read", f"a valid file of {name} is not read: {outcome}"
        known |= seen
    (folder / "kept").mkdir(exist_ok=True)
    corpus += [each.read_bytes() for each in sorted((folder / "kept").iterdir())]
    _limit_memory(target.memory)
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
                outcome, seen = edges.of(lambda: attempt(target, path))
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

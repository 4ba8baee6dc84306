"""A program that is started once and asked many cases: when it is ready, what it is asked, how it ends."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.algorithms.confinement import Confined
from podium.algorithms.conversation import Conversation, Limit, array_header, header_of
from podium.algorithms.handing import HandedByProcess
from podium.algorithms.reasons import BrokenError
from podium.algorithms.specs import Allowance, Ending, Spans
from podium.model import Question

__all__ = ["Session", "Watch"]

PROTOCOL = 1
_ENDING_SECONDS = 5.0  # that a program may take to end when it is asked nothing more
_MOST_ARRAYS = 64
_BYTES_A_PIXEL = 8
_SPARE_BYTES = 2**16


@dataclass(slots=True)
class Watch:
    """The wall time of a case, as it is taken."""

    start: float = 0.0
    load: float = 0.0
    run: float = 0.0
    stop: float = 0.0
    frames: list[float] = field(default_factory=list)

    @contextlib.contextmanager
    def taking(self, what: str) -> Iterator[None]:
        """Add the time that something takes, whether it fails or not."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            setattr(self, what, getattr(self, what) + time.perf_counter() - begin)

    def spans(self) -> Spans:
        """Return what was taken."""
        return Spans(self.start, self.load, self.run, self.stop, tuple(self.frames))


class Session:
    """A program that runs, or does not run yet, or not any more.

    Parameters
    ----------
    start
        Starts the program, with its log in a file.

    Attributes
    ----------
    log
        Of its last start.
    """

    def __init__(self, start: Callable[[Path], Confined], allowance: Allowance) -> None:
        self._start, self._allowance = start, allowance
        self._conversation: Conversation | None = None
        self._before = 0.0
        self._spent: float | None = 0.0
        self._peak: int | None = None
        self.log = Path()

    @property
    def runs(self) -> bool:
        """Whether it can be asked."""
        return self._conversation is not None

    def start(self, log: Path, watch: Watch) -> None:
        """Start the program, and wait until it says that it is ready."""
        self.log = log
        begin = time.perf_counter()
        program = self._start(log)
        self._before = 0.0
        watch.start += program.started - begin
        try:
            self._conversation = Conversation(program)
        except BaseException:  # Ctrl-C too leaves nothing running
            program.stop()
            raise
        try:
            limit = Limit(self._allowance.load_seconds, "it was not ready")
            hello = self._conversation.hear(limit)
            if hello.get("podium") != PROTOCOL or hello.get("ready") is not True:
                raise BrokenError(Ending.WRONG_OUTPUT, f"it said {hello!r:.60} where it should say that it is ready")
        finally:
            watch.load += time.perf_counter() - program.started
        self._hold()

    def ask_case(
        self, question: Question, folders: tuple[str, str], watch: Watch, *, hold: bool = True
    ) -> dict[str, Any]:
        """Ask about a case whose inputs lie in a folder, and return what it answers.

        Then nothing of it runs until it is asked again, unless it has to hand over its answer itself.
        """
        asked = {"case": question.name, "input": folders[0], "output": folders[1]}
        limit = Limit(self._allowance.seconds(question.frames), "no answer")
        talk = self._talk()
        talk.program.go_on()
        with watch.taking("run"):
            talk.say(asked, limit=limit)
            reply = talk.hear(limit)
        if hold:
            self._hold()
        talk.refuse_more()
        _refuse_failed(reply, question)
        if reply.get("done") != question.name:
            raise BrokenError(Ending.WRONG_OUTPUT, f"it answered {reply!r:.60} where {question.name} was asked")
        return reply

    def ask_function(self, question: Question, folders: tuple[str, str], watch: Watch) -> HandedByProcess:
        """Ask about a case as `ask_case` does, and return the arrays that are handed over."""
        arrays = self.ask_case(question, folders, watch, hold=False).get("arrays")
        if not isinstance(arrays, dict) or len(arrays) > _MOST_ARRAYS:
            raise BrokenError(Ending.WRONG_OUTPUT, "it handed over no arrays")
        headers = {name: array_header(header) for name, header in arrays.items()}
        return HandedByProcess(question.name, headers, self._talk())

    def ask_frames(
        self,
        question: Question,
        known: Mapping[str, Any],
        frames: Iterable[npt.NDArray[Any]],
        watch: Watch,
    ) -> Iterator[npt.NDArray[Any]]:
        """Yield the answer to each frame; a frame is handed over when the answer to the last has come.

        What is known before the first frame is handed over with it, and counts to its time.
        """
        arrays = {name: value for name, value in known.items() if isinstance(value, np.ndarray)}
        asked = {
            "case": question.name,
            "frames": question.frames,
            "known": {name: value for name, value in known.items() if name not in arrays},
            "arrays": {name: header_of(array) for name, array in arrays.items()},
        }
        talk, allowed = self._talk(), self._allowance.seconds(question.frames)
        talk.program.go_on()
        for index, frame in enumerate(frames):
            begin = time.perf_counter()
            limit = Limit(allowed - watch.run, f"no answer to frame {index} of the sequence", of=allowed)
            try:
                if index == 0:
                    talk.say(asked, *arrays.values(), limit=limit)
                talk.say({"frame": index, **header_of(frame)}, frame, limit=limit)
                reply = talk.hear(limit)
                answer = talk.receive(_frame_header(reply, question, index, frame), limit)
            finally:
                watch.frames.append(time.perf_counter() - begin)
                watch.run += watch.frames[-1]
            talk.refuse_more()
            yield answer
        self._hold()

    def _hold(self) -> None:
        """Let time stand still for it while it is not asked."""
        if not self._talk().program.hold():
            raise BrokenError(Ending.WRONG_OUTPUT, "its processes cannot be stopped while it is not asked")

    def idle(self) -> bool:
        """Return whether it waits to be asked: it has not ended, and says nothing."""
        try:
            self._talk().refuse_more()
        except BrokenError:
            return False
        return self._talk().program.broken() is None

    def end(self, watch: Watch) -> None:
        """Let the program end, since it is asked nothing more; end it where it does not."""
        if self._conversation is not None:
            program = self._conversation.program
            program.go_on()
            with watch.taking("stop"):
                _close(program.stdin)
                program.wait(_ENDING_SECONDS)
            self.stop(watch)

    def stop(self, watch: Watch | None = None) -> None:
        """End the program now."""
        if self._conversation is not None:
            program, self._conversation = self._conversation.program, None
            with (watch or Watch()).taking("stop"):
                end = program.stop()
            self._count(end.processor_seconds, end.peak_bytes)
            _close(program.stdin, program.stdout)

    def used(self) -> tuple[float | None, int | None]:
        """Return the processor seconds since this was asked last, and the peak of memory since the program's start."""
        if self._conversation is not None:
            self._count(*self._conversation.program.used())
        spent, self._spent = self._spent, 0.0
        return spent, self._peak

    def _count(self, seconds: float | None, peak: int | None) -> None:
        """Add what the program took since it was counted last; where that is not known, nothing is."""
        self._peak = peak
        if seconds is None or self._spent is None:
            self._spent = None
        else:
            self._spent += seconds - self._before
            self._before = seconds

    def _talk(self) -> Conversation:
        assert self._conversation is not None
        return self._conversation


def _close(*pipes: Any) -> None:
    for pipe in pipes:
        with contextlib.suppress(OSError):  # such as what nobody reads any more
            pipe.close()


def _refuse_failed(reply: dict[str, Any], question: Question) -> None:
    if reply.get("failed") == question.name:
        raise BrokenError(Ending.CRASHED, f"it says that it failed: {reply.get('reason', '')!s:.300}", goes_on=True)


def _frame_header(
    reply: dict[str, Any], question: Question, index: int, frame: npt.NDArray[Any]
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    _refuse_failed(reply, question)
    if type(reply.get("frame")) is not int or reply["frame"] != index:
        raise BrokenError(Ending.WRONG_OUTPUT, f"it answered {reply!r:.60} where frame {index} was asked")
    return array_header(reply, most_bytes=_BYTES_A_PIXEL * frame.size + _SPARE_BYTES)

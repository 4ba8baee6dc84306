"""Podium asks, your program answers: copy this file beside yours. It needs only Python, and NumPy for frames.

    model = load()                                  # this is loading time
    podium_worker.answer_cases(predict)             # predict(input_folder, output_folder) writes its answer there
    podium_worker.answer_frames(start)              # or: start(known) returns a function from a frame to its answer

Whatever your code or its libraries print goes to the log.
"""

import json
import os
import traceback
from collections.abc import Callable
from typing import Any

_ASKED, _ANSWERS = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)


def answer_cases(predict: Callable[[str, str], object]) -> None:
    """Call `predict` with the input and the output folder of every case."""

    def answer(question: dict[str, Any]) -> None:
        predict(question["input"], question["output"])
        _say({"done": question["case"]})

    _answer_all(answer)


def answer_frames(start: Callable[[dict[str, Any]], Callable[[Any], Any]]) -> None:
    """Call `start` with what is known of every sequence, and what it returns with each of its frames."""
    import numpy

    def array(header: dict[str, Any]) -> Any:
        content = numpy.empty(header["shape"], header["type"])
        _ASKED.readinto(content.reshape(-1).view("u1").data)
        return content

    def answer(question: dict[str, Any]) -> None:
        known = {**question["known"], **{name: array(header) for name, header in question["arrays"].items()}}
        track = None
        for _ in range(question["frames"]):
            header = json.loads(_ASKED.readline())
            frame = array(header)
            track = track or start(known)
            mask = track(frame)
            _say({"frame": header["frame"], "shape": mask.shape, "type": mask.dtype.str}, mask.tobytes())

    _answer_all(answer)


def _answer_all(answer: Callable[[dict[str, Any]], None]) -> None:
    _say({"podium": 1, "ready": True})
    for line in _ASKED:
        question = json.loads(line)
        try:
            answer(question)
        except Exception as error:
            traceback.print_exc()
            _say({"failed": question["case"], "reason": f"{type(error).__name__}: {error}"[:300]})


def _say(document: dict[str, Any], content: bytes = b"") -> None:
    _ANSWERS.write(json.dumps(document).encode() + b"\n" + content)
    _ANSWERS.flush()

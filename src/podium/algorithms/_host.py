"""Calls a participant's function in a process of its own: `python _host.py INTERFACE ROOT FILE:NAME`.

It speaks the line protocol with Podium. INTERFACE is the challenge's, pickled, and its package lies in ROOT. The
arrays that a function returns stay here; Podium asks for them piece by piece.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import sys
import traceback
from base64 import b64decode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any


def main(pickled: str, root: str, function: str) -> None:
    """Answer until nobody asks any more."""
    asked, answers = _pipes()
    sys.path[:0] = [root, str(Path(__file__).parents[2])]
    import numpy as np  # from where the participant's own may come, too

    interface = pickle.loads(b64decode(pickled))  # which Podium itself has written
    predict = _loaded(function)
    _say(answers, {"podium": 1, "ready": True})
    arrays: dict[str, Any] = {}
    for line in asked:
        request = json.loads(line)
        if "array" in request:
            array = arrays[request["array"]]
            part = array[request["from"] : request["to"]] if array.ndim else array
            answers.write(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
            answers.flush()
            continue
        arrays = {}  # those of the last case make room
        try:
            arrays = _numbers(interface.call(predict, Path(request["input"])))
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            _say(answers, {"failed": request["case"], "reason": f"{type(error).__name__}: {error}"[:300]})
        else:
            headers = {name: {"shape": array.shape, "type": array.dtype.str} for name, array in arrays.items()}
            _say(answers, {"done": request["case"], "arrays": headers})


def _pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Take standard input and output away from all others: what they print goes to the log."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return asked, answers


def _say(answers: IO[bytes], document: Mapping[str, Any]) -> None:
    answers.write(json.dumps(document).encode() + b"\n")
    answers.flush()


def _loaded(function: str) -> Callable[..., Any]:
    """Import the function from its file, beside which its other modules may lie."""
    file, _, name = function.rpartition(":")
    sys.path.insert(0, str(Path(file).parent))
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    loaded: Callable[..., Any] = getattr(module, name)
    return loaded


def _numbers(arrays: Mapping[str, Any]) -> dict[str, Any]:
    import numpy as np

    numbers = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in numbers.items():
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{name} holds {array.dtype}, not numbers")
    return numbers


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Scripts of participants, honest ones, and the beginning of those that speak the protocol by hand."""

from __future__ import annotations

import textwrap

DOUBLES = """
    import sys
    from pathlib import Path
    inputs, outputs = map(Path, sys.argv[1:])
    (outputs / "answer.txt").write_text(str(2 * int((inputs / "number.txt").read_text())))
"""

MANY = """
    from pathlib import Path
    import podium_worker

    def predict(inputs, outputs):
        Path(outputs, "answer.txt").write_text(str(2 * int(Path(inputs, "number.txt").read_text())))

    podium_worker.answer_cases(predict)
"""

FRAMES = """
    import podium_worker

    def start(known):
        assert known["rate"] == 4.5
        return lambda frame: (frame + known["first"]).astype("u1")

    podium_worker.answer_frames(start)
"""

FUNCTION = """
    import numpy as np

    def predict(number):
        return {"double": np.full((number, 2), 2.0 * number, np.float32), "single": np.array(number)}
"""

BY_HAND = """
    import json, os, sys, time
    from pathlib import Path

    def say(document):
        text = document if isinstance(document, str) else json.dumps(document)
        os.write(1, text.encode() + b"\\n")

    def write(question, text="fine"):
        Path(question["output"], "answer.txt").write_text(text)

    def asked():
        return json.loads(sys.stdin.readline())

    def is_after(name):
        return os.path.exists(name)
"""
"""The line protocol without the helper: what follows says and asks itself."""


def by_hand(text: str) -> str:
    """Return a script that speaks the line protocol without the helper file."""
    return textwrap.dedent(BY_HAND) + textwrap.dedent(text)

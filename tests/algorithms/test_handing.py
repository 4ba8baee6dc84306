"""A function in Python: called in a process of its own, its arrays taken from there as they are wanted."""

import textwrap

import numpy as np
import pytest
from asked_programs import FUNCTION

from podium.algorithms import handing
from podium.algorithms.specs import Allowance, Ending
from podium.model import Handed, InputError

pytestmark = pytest.mark.slow


def test_arrays_are_handed_over(trial):
    results = trial.asked(FUNCTION, {"a": 3, "b": 5}, protocol="function")
    for (outcome, arrays), number in zip(results, (3, 5), strict=True):
        assert (outcome.ending, outcome.reason) == (Ending.ANSWERED, "")
        assert isinstance(outcome.answer, Handed)
        assert outcome.answer.headers == {"double": ((number, 2), np.dtype("<f4")), "single": ((), np.dtype("<i8"))}
        assert arrays["double"].tolist() == [[2.0 * number] * 2] * number
        assert arrays["single"] == number
        assert outcome.answer.waited > 0
    assert len(trial.confinement.programs) == 1
    assert results[0][0].spans.load > 0
    assert results[1][0].spans.load == 0


def test_only_what_is_wanted_is_sent_in_pieces_and_in_any_order(trial):
    script = """
        import numpy as np

        def predict(number):
            return {
                "huge": np.broadcast_to(np.float64(number), (10**6, 10**6)),  # 8 TB, if anybody wanted them
                "large": np.arange(4 * 10**6).reshape(4000, 1000),
                "turned": np.arange(6).reshape(2, 3).T,
                "nothing": np.zeros((0, 5), bool),
            }
    """
    for outcome in trial.asking(script, {"a": 1}, protocol="function"):
        arrays = outcome.answer
        assert np.array_equal(arrays.rows("large", 3990, 4000), np.arange(3990 * 1000, 4000 * 1000).reshape(10, 1000))
        pieces = list(arrays.pieces("large"))
        assert max(piece.nbytes for piece in pieces) <= Handed.piece_bytes
        assert np.array_equal(np.concatenate(pieces), np.arange(4 * 10**6).reshape(4000, 1000))
        assert arrays.whole("turned").tolist() == [[0, 3], [1, 4], [2, 5]]
        assert arrays.whole("nothing").shape == (0, 5)
        assert next(arrays.pieces("huge")).shape == (1, 10**6)
    trial.assert_nothing_is_left()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('too dark')", "it says that it failed: ValueError: too dark: "),
        ("import sys; sys.exit('enough')", "it says that it failed: SystemExit: enough: "),
        ("return {'x': np.array(['a'])}", "it says that it failed: TypeError: x holds <U1, not numbers: "),
        ("return {'x': np.array([{}])}", "it says that it failed: TypeError: x holds object, not numbers: "),
        ("return None", "it says that it failed: AttributeError: "),
    ],
)
def test_a_function_that_fails_costs_its_case(trial, body, reason):
    script = textwrap.dedent(FUNCTION).replace(
        "def predict(number):\n", f"def predict(number):\n    if number == 2:\n        {body}\n"
    )
    results = trial.asked(script, {"a": 1, "b": 2, "c": 3}, protocol="function")
    endings = [outcome.ending for outcome, _ in results]
    assert endings == [Ending.ANSWERED, Ending.CRASHED, Ending.ANSWERED]
    assert results[1][0].reason.startswith(reason)
    assert len(trial.confinement.programs) == 1


def test_a_function_that_ends_its_process(trial):
    script = textwrap.dedent(FUNCTION).replace(
        "def predict(number):\n", "def predict(number):\n    import os\n    number == 2 and os._exit(7)\n"
    )
    results = trial.asked(script, {"a": 1, "b": 2, "c": 3}, protocol="function")
    assert [outcome.ending.value for outcome, _ in results] == ["answered", "crashed", "answered"]
    assert results[1][0].reason == "exit code 7"
    assert len(trial.confinement.programs) == 2


@pytest.mark.parametrize("script", ["import no_such_module", "x = 1", "def predict(: pass"])
def test_a_function_that_is_not_there(trial, script):
    [(outcome, _)] = trial.asked(script, {"a": 1}, protocol="function")
    assert outcome.ending is Ending.CRASHED
    assert outcome.reason.startswith("exit code 1: ")
    assert "Error" in outcome.reason


def test_what_it_prints_goes_to_the_log_and_its_modules_lie_beside_it(trial):
    trial.script("def helps(number):\n    print('{\"done\": 1}', flush=True)\n    return number\n", "beside.py")
    script = "import beside\n" + textwrap.dedent(FUNCTION).replace(
        "def predict(number):\n",
        "def predict(number):\n    import os\n    os.write(1, b'below\\n')\n    beside.helps(1)\n",
    )
    [(outcome, _)] = trial.asked(script, {"a": 1}, protocol="function")
    assert outcome.reason == ""
    assert (trial.logs / "a.log").read_text() == 'below\n{"done": 1}\n'


DIES = """
    import os, time
    import numpy as np

    def predict(number):
        x = np.zeros((1000, 10**5), np.float32)
        if number == 1:
            class Deadly(np.ndarray):
                def __getitem__(self, key):
                    ACT
            x = x.view(Deadly)
        return {"x": x}
"""


def test_a_process_that_dies_while_it_hands_over(trial):
    """What is missing makes the prediction unusable; the next case is asked of a new process."""
    script = DIES.replace("ACT", "print('gone', file=__import__('sys').stderr) or os._exit(6)")
    outcomes = trial.asking(_unwrapped(script), {"a": 1, "b": 2}, protocol="function")
    first = next(outcomes)
    assert first.ending is Ending.ANSWERED
    with pytest.raises(InputError, match="exit code 6"):
        list(first.answer.pieces("x"))
    with pytest.raises(InputError, match="exit code 6"):
        first.answer.whole("x")
    second = next(outcomes)
    assert second.answer.whole("x").shape == (1000, 10**5)
    assert list(outcomes) == []
    assert len(trial.confinement.programs) == 2
    trial.assert_nothing_is_left()


def test_a_process_that_does_not_hand_over(trial, monkeypatch):
    monkeypatch.setattr(handing, "_PATIENCE", 0.3)
    script = _unwrapped(DIES.replace("ACT", "time.sleep(1000)"))
    outcomes = trial.asking(script, {"a": 1}, protocol="function")
    arrays = next(outcomes).answer
    with pytest.raises(InputError, match="a: 'x' was not handed over within"):
        arrays.whole("x")
    assert arrays.waited >= 0.3
    assert list(outcomes) == []
    trial.assert_nothing_is_left()


def _unwrapped(script):
    """Let the host keep what a function returns as it is: a function that is as hostile as it can be."""
    return textwrap.dedent(script) + "\n\nimport sys\nsys.modules['__main__']._numbers = dict\n"


def test_arrays_of_a_case_are_gone_with_the_next(trial):
    outcomes = trial.asking(FUNCTION, {"a": 1, "b": 2}, protocol="function")
    arrays = next(outcomes).answer
    next(outcomes)
    with pytest.raises(InputError, match="given back"):
        arrays.whole("double")
    outcomes.close()
    trial.assert_nothing_is_left()


def test_too_slow_a_function_is_ended(trial):
    script = textwrap.dedent(FUNCTION).replace(
        "def predict(number):\n", "def predict(number):\n    import time\n    time.sleep(1000 * (number == 1))\n"
    )
    allowance = Allowance(case_seconds=0, frame_seconds=0.5, load_seconds=60)
    results = trial.asked(script, {"a": 1, "b": 200}, protocol="function", allowance=allowance)
    assert [outcome.ending.value for outcome, _ in results] == ["too slow", "answered"]


@pytest.mark.parametrize(
    "arrays", ["[]", "{'x': 1}", "{'x': {'shape': [1], 'type': 'O'}}", "{str(k): {} for k in range(100)}", "None"]
)
def test_wrong_headers_are_refused(trial, arrays):
    """A hostile function may answer in the host's place."""
    script = f"""
        import gc, io, json, os, sys, time

        def predict(number):
            answers, = [f for f in gc.get_objects() if isinstance(f, io.BufferedWriter) and f.fileno() > 2]
            answers.write(json.dumps({{"done": "a", "arrays": {arrays}}}).encode() + b"\\n")
            answers.flush()
            time.sleep(1000)
    """
    [(outcome, _)] = trial.asked(script, {"a": 1}, protocol="function")
    assert outcome.ending is Ending.WRONG_OUTPUT

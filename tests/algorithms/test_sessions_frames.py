"""Frame by frame: real programs that are handed a frame when they have answered the last, or do not keep to it."""

import textwrap

import numpy as np
import pytest
from asked import endings
from asked_programs import FRAMES, by_hand
from doubling import Doubling

from podium.algorithms.specs import Allowance, Ending
from podium.model import InputError

pytestmark = pytest.mark.slow


def test_frame_by_frame(trial):
    results = trial.asked(FRAMES, {"a": 3, "b": 5}, protocol="frames")
    for (outcome, answer), count in zip(results, (3, 5), strict=True):
        assert outcome.reason == ""
        assert len(outcome.spans.frames) == count
        assert outcome.spans.run == pytest.approx(sum(outcome.spans.frames))
        assert answer.dtype == np.uint8
        assert answer[:, 0, 0].tolist() == [7 + index for index in range(count)]
    assert len(trial.confinement.programs) == 1
    assert [bind.target for bind in trial.confinement.starts[0]["binds"]] == ["/output"]


def test_the_time_of_every_frame(trial):
    script = FRAMES.replace(
        "return lambda frame:", "import time\n        return lambda frame: time.sleep(0.1 * (frame[0, 0] == 2)) or"
    )
    [(outcome, _)] = trial.asked(script, {"a": 4}, protocol="frames", warm_up=True)
    assert len(outcome.spans.frames) == 4
    assert outcome.spans.frames[2] >= 0.1


FRAMES_BY_HAND = """
    import select

    raw = open(0, "rb", buffering=0)  # which takes no byte more than it is asked for

    def exactly(count):
        content = b""
        while len(content) < count:
            content += raw.read(count - len(content)) or sys.exit("no more")
        return content

    def frame_of():
        return json.loads(raw.readline()), exactly(12 * 4)

    def begin():
        question = json.loads(raw.readline() or sys.exit())
        exactly(12)
        return question

    def answer(k, shape=(3, 4), kind="|u1", content=None):
        say({"frame": k, "shape": shape, "type": kind})
        os.write(1, b"\\1" * 12 if content is None else content)

    say({"podium": 1, "ready": True})
"""


def test_no_frame_is_seen_before_the_last_is_answered(trial):
    """Reading ahead gives nothing, however long it waits."""
    script = by_hand(FRAMES_BY_HAND) + textwrap.dedent(
        """
        q = begin()
        for k in range(q["frames"]):
            frame_of()
            answer(k, content=bytes([bool(select.select([0], [], [], 0.3)[0])]) * 12)
        """
    )
    [(outcome, content)] = trial.asked(script, {"a": 4}, protocol="frames")
    assert outcome.reason == ""
    assert content.tolist() == np.zeros((4, 3, 4), int).tolist()


@pytest.mark.parametrize(
    ("act", "ending", "reason"),
    [
        ("answer(k + 1)", Ending.WRONG_OUTPUT, "it answered {'frame': 2, "),
        ("answer(0)", Ending.WRONG_OUTPUT, "it answered {'frame': 0, "),
        ("answer(True)", Ending.WRONG_OUTPUT, "it answered {'frame': True, "),
        ("answer(k, shape=(4, 3))", Ending.WRONG_OUTPUT, "frame 1 is (4, 3), not (3, 4)"),
        ("answer(k, shape=(3, -4))", Ending.WRONG_OUTPUT, "an array has no shape ([3, -4])"),
        ("answer(k, shape=(3, 4.0))", Ending.WRONG_OUTPUT, "an array has no shape"),
        ("answer(k, shape='34')", Ending.WRONG_OUTPUT, "an array has no shape ('34')"),
        ("answer(k, shape=(10**6, 10**6))", Ending.WRONG_OUTPUT, "an array of 1000000 × 1000000 uint8 is too large"),
        ("answer(k, kind='O')", Ending.WRONG_OUTPUT, "an array has no type of numbers ('O')"),
        ("answer(k, kind='|V12')", Ending.WRONG_OUTPUT, "an array has no type of numbers ('|V12')"),
        ("answer(k, content=b'1' * 13)", Ending.WRONG_OUTPUT, "it said more than it was asked (1)"),
        ("answer(k); answer(k + 1)", Ending.WRONG_OUTPUT, "it said more than it was asked"),
        ("answer(k, content=b'1' * 11); sys.exit(4)", Ending.CRASHED, "exit code 4"),
        (
            "answer(k, content=b'1' * 11); time.sleep(1000)",
            Ending.TOO_SLOW,
            "no answer to frame 1 of the sequence within 3.5 s",
        ),
        ("time.sleep(1000)", Ending.TOO_SLOW, "no answer to frame 1 of the sequence within 3.5 s"),
        ("say({'done': 'b'})", Ending.WRONG_OUTPUT, "it answered {'done': 'b'} where frame 1 was asked"),
        ("sys.exit(9)", Ending.CRASHED, "exit code 9"),
    ],
)
def test_frames_that_break_the_protocol(trial, act, ending, reason):
    """Frame 1 of case b goes wrong, the other cases are answered, by a program that was started anew."""
    script = by_hand(FRAMES_BY_HAND) + textwrap.dedent(
        f"""
        while True:
            q = begin()
            for k in range(q["frames"]):
                frame_of()
                if q["case"] == "b" and k == 1:
                    {act}
                else:
                    answer(k)
        """
    )
    slow = ending is Ending.TOO_SLOW
    allowance = Allowance(case_seconds=2 if slow else 60, frame_seconds=0.5, load_seconds=60)
    results = trial.asked(script, {"a": 2, "b": 3, "c": 2}, protocol="frames", allowance=allowance)
    assert endings(results) == [Ending.ANSWERED, ending, Ending.ANSWERED]
    assert results[1][0].reason.startswith(reason)
    assert len(results[1][0].spans.frames) == 2
    assert len(trial.confinement.programs) == 2


def test_a_sequence_has_one_limit(trial):
    """Each frame may take long, all of them may not."""
    script = by_hand(FRAMES_BY_HAND) + textwrap.dedent(
        """
        q = begin()
        for k in range(q["frames"]):
            frame_of()
            time.sleep(0.4)
            answer(k)
        """
    )
    allowance = Allowance(case_seconds=1, load_seconds=60)
    [(outcome, _)] = trial.asked(script, {"a": 10}, protocol="frames", allowance=allowance)
    assert outcome.ending is Ending.TOO_SLOW
    assert len(outcome.spans.frames) < 10
    assert outcome.spans.run >= 1


def test_a_failed_sequence_goes_on_with_the_next(trial):
    script = FRAMES.replace("return lambda frame:", "return lambda frame: 1 / (frame[0, 0] != 3) and")
    script = "import numpy; numpy.seterr(all='raise')\n" + textwrap.dedent(script).replace("1 /", "1 // int")
    results = trial.asked(script, {"a": 3, "b": 5, "c": 3}, protocol="frames")
    assert endings(results) == [Ending.ANSWERED, Ending.CRASHED, Ending.ANSWERED]
    assert results[1][0].reason.startswith("it says that it failed: ZeroDivisionError")
    assert len(trial.confinement.programs) == 1


def test_large_frames_go_through(trial):
    """Larger than any pipe, in both directions."""

    class Large(Doubling):
        def frames(self, inputs):  # noqa: ARG002  # what every challenge is given
            generator = np.random.default_rng(1)
            self.sent = [generator.normal(size=(700, 900)) for _ in range(3)]
            return {}, iter(self.sent)

        def write_frames(self, question, answers, inputs, folder):  # noqa: ARG002  # what every challenge is given
            np.save(folder / "answer.npy", np.stack(list(answers)))

    interface = Large()
    script = "import podium_worker\npodium_worker.answer_frames(lambda known: lambda frame: frame[::-1])\n"
    [(outcome, content)] = trial.asked(script, {"a": 3}, protocol="frames", interface=interface)
    assert outcome.reason == ""
    assert np.array_equal(content, np.stack(interface.sent)[:, ::-1])


def test_frames_that_cannot_be_read_cost_nobody_a_case(trial):
    class Damaged(Doubling):
        def frames(self, inputs):
            def read():
                yield from list(super(Damaged, self).frames(inputs)[1])[:2]
                raise InputError("the image ends too early")

            return {"rate": 4.5, "first": np.zeros((3, 4), "u1")}, read()

    with pytest.raises(InputError, match="the image ends too early"):
        list(trial.asking(FRAMES, {"a": 3}, protocol="frames", interface=Damaged()))
    trial.assert_nothing_is_left()


def test_frames_that_nobody_takes_are_a_fault_of_the_challenge(trial):
    class Short(Doubling):
        def write_frames(self, question, answers, inputs, folder):  # noqa: ARG002  # what every challenge is given
            np.save(folder / "answer.npy", next(answers))

    with pytest.raises(ValueError, match="a has 3 frames, of which 1 were asked"):
        list(trial.asking(FRAMES, {"a": 3}, protocol="frames", interface=Short()))
    trial.assert_nothing_is_left()

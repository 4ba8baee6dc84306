"""One start, many cases: the line protocol with real programs, of which many do not keep to it."""

import textwrap
import time

import numpy as np
import pytest
from asked import Trial, content_of
from asked_programs import BY_HAND, FRAMES, MANY
from doubling import Doubling

from podium.algorithms import conversation, sessions
from podium.algorithms.specs import Allowance, Ending
from podium.model import InputError

READY = 'say({"podium": 1, "ready": True})\n'
pytestmark = pytest.mark.slow
QUICK = Allowance(case_seconds=0, frame_seconds=0.5, load_seconds=60)  # a number is as many frames


@pytest.fixture
def trial(tmp_path):
    return Trial(tmp_path)


def by_hand(text):
    return textwrap.dedent(BY_HAND) + textwrap.dedent(text)


def loop(*, special, otherwise='write(q); say({"done": q["case"]})'):
    """Return a program that does something else for case b, the first time it is asked in its life."""
    return by_hand(READY) + textwrap.dedent(
        f"""
        for line in sys.stdin:
            q = json.loads(line)
            if q["case"] == "b":
                {special}
            else:
                {otherwise}
        """
    )


def endings(results):
    return [outcome.ending for outcome, _ in results]


def test_one_start_many_cases(trial):
    results = trial.asked(MANY, {"a": 1, "c": 3, "b": 2})
    assert [content for _, content in results] == ["2", "6", "4"]
    assert len(trial.confinement.programs) == 1
    first, second, last = (outcome.spans for outcome, _ in results)
    assert min(first.start, first.load, first.run, last.stop) > 0
    assert (second.start, second.load, second.stop) == (0, 0, 0)
    assert (first.stop, last.load) == (0, 0)
    assert [outcome.peak_bytes for outcome, _ in results] == [500, 500, 1000]
    assert [outcome.processor_seconds for outcome, _ in results] == pytest.approx([0.1, 0.1, 0.3])  # 0.5 in all


def test_loading_is_not_running(trial):
    script = "import time\ntime.sleep(0.5)\n" + textwrap.dedent(MANY).replace(
        "def predict(inputs, outputs):\n", "def predict(inputs, outputs):\n    time.sleep(0.25)\n"
    )
    (one, _), (two, _) = trial.asked(script, {"a": 1, "b": 2})
    assert one.spans.load >= 0.5
    assert min(one.spans.run, two.spans.run) >= 0.25


def test_what_is_printed_goes_to_the_log(trial):
    """By Python, by a library beneath it, by a child; and whoever reads standard input gets nothing."""
    script = MANY.replace(
        "        Path(outputs",
        "        import os, subprocess, sys\n"
        "        print('{\"done\": \"a\"}', flush=True); os.write(1, b'from below\\n')\n"
        "        subprocess.run(['echo', 'from a child'], check=True)\n"
        "        assert sys.stdin.read() == ''\n"
        "        Path(outputs",
    )
    results = trial.asked("print('loading')\n" + textwrap.dedent(script), {"a": 1, "b": 2})
    assert endings(results) == [Ending.ANSWERED] * 2
    log = (trial.logs / "a.log").read_text()
    assert [log.count(text) for text in ("loading", '{"done": "a"}', "from below", "from a child")] == [1, 2, 2, 2]


def test_what_is_printed_before_the_helper_is_there_is_told(trial):
    results = trial.asked("print('loading', flush=True)\n" + textwrap.dedent(MANY), {"a": 1})
    assert endings(results) == [Ending.WRONG_OUTPUT]
    assert results[0][0].reason.startswith("it said what is no line of the protocol (loading)")


def test_an_exception_costs_its_case_and_the_program_goes_on(trial):
    script = MANY.replace(
        "        Path(outputs", "        assert 'b' not in inputs[-1:], 'not this one'\n        Path(outputs"
    )
    results = trial.asked(script, {"a": 1, "b": 2, "c": 3})
    assert endings(results) == [Ending.ANSWERED, Ending.CRASHED, Ending.ANSWERED]
    assert results[1][0].reason.startswith("it says that it failed: AssertionError: not this one: ")
    assert len(trial.confinement.programs) == 1


@pytest.mark.parametrize(
    ("special", "ending", "reason"),
    [
        ('say({"done": "c"})', Ending.WRONG_OUTPUT, "it answered {'done': 'c'} where b was asked"),
        ('say({"done": ["b"]})', Ending.WRONG_OUTPUT, "it answered"),
        ("say({})", Ending.WRONG_OUTPUT, "it answered {} where b was asked"),
        ('say("[1, 2]")', Ending.WRONG_OUTPUT, "it said what is no line of the protocol ([1, 2])"),
        ('say("\\x00\\xff\\u2028 garbage")', Ending.WRONG_OUTPUT, "it said what is no line of the protocol (\\x00"),
        ('say("[" * 60000)', Ending.WRONG_OUTPUT, "it said what is no line of the protocol ([[["),
        ('say("1" * 60000)', Ending.WRONG_OUTPUT, "it said what is no line of the protocol (111"),
        ('say("x" * 70000)', Ending.WRONG_OUTPUT, "it said a line"),
        ('say({"done": "b"}); say({"done": "b"}); write(q)', Ending.WRONG_OUTPUT, "it said more than it was asked"),
        ('say({"done": "b"})', Ending.NO_OUTPUT, "there is no answer.txt for b"),
        ('print("no room", file=sys.stderr); sys.exit(3)', Ending.CRASHED, "exit code 3: no room"),
        ("os.kill(os.getpid(), 11)", Ending.CRASHED, "killed by signal 11"),
        ("sys.exit(0)", Ending.NO_OUTPUT, "it ended before it answered"),
        ("os.write(1, b'{\"do'); sys.exit(0)", Ending.NO_OUTPUT, "it ended before it answered"),
        ('say({"failed": "b", "reason": "too dark\\n" * 100})', Ending.CRASHED, "it says that it failed: too dark too"),
        ('say({"failed": "b", "reason": {"a": 1}})', Ending.CRASHED, "it says that it failed: {'a': 1}"),
    ],
)
def test_what_breaks_the_protocol_costs_its_case(trial, special, ending, reason):
    results = trial.asked(loop(special=special), {"a": 1, "b": 2, "c": 3})
    assert endings(results) == [Ending.ANSWERED, ending, Ending.ANSWERED]
    outcome = results[1][0]
    assert outcome.reason.startswith(reason)
    assert len(outcome.reason) <= 300
    assert outcome.reason.isprintable()
    assert outcome.answer is None
    goes_on = (ending is Ending.NO_OUTPUT and "answer.txt" in reason) or "says that it failed" in reason
    assert len(trial.confinement.programs) == (1 if goes_on else 2)
    assert (results[2][0].spans.load > 0) is not goes_on


@pytest.mark.parametrize(
    "special",
    [
        "time.sleep(1000)",
        "os.write(1, b'{\"do'); time.sleep(1000)",
        "while True: os.write(1, b' ' * 10); time.sleep(0.2)",
        'time.sleep(1000); say({"done": "b"})',
    ],
)
def test_a_late_answer_costs_its_case(trial, special):
    results = trial.asked(loop(special=special), {"a": 200, "b": 1, "c": 200}, allowance=QUICK)
    assert endings(results) == [Ending.ANSWERED, Ending.TOO_SLOW, Ending.ANSWERED]
    assert results[1][0].reason == "no answer within 0.5 s"
    assert results[1][0].spans.run >= 0.5
    assert results[1][0].peak_bytes == 1000


def test_endless_lines_are_not_kept(trial):
    results = trial.asked(
        loop(special="os.write(1, b'x' * 2**16)\n                while True: os.write(1, b'x' * 2**16)"),
        {"b": 1, "c": 3},
    )
    assert endings(results) == [Ending.WRONG_OUTPUT, Ending.ANSWERED]
    assert results[0][0].reason.startswith("it said a line without end (xxx")


def test_a_closed_output_is_told(trial, monkeypatch):
    monkeypatch.setattr(conversation, "_ENDING_SECONDS", 0.2)
    results = trial.asked(loop(special="os.close(1); time.sleep(1000)"), {"b": 1, "c": 3})
    assert endings(results) == [Ending.WRONG_OUTPUT, Ending.ANSWERED]
    assert results[0][0].reason == "it closed its standard input or output and went on"


def test_a_closed_input_is_told(trial, monkeypatch):
    monkeypatch.setattr(conversation, "_ENDING_SECONDS", 0.2)
    script = by_hand("os.close(0)\n" + READY + "time.sleep(1000)\n")
    [(outcome, _)] = trial.asked(script, {"b": 1})
    assert (outcome.ending, outcome.reason) == (
        Ending.WRONG_OUTPUT,
        "it closed its standard input or output and went on",
    )


def test_never_ready(trial):
    """It is started again for each case, three times in a row at most."""
    script = "import time\nprint('loading', flush=True, file=__import__('sys').stderr)\ntime.sleep(1000)\n"
    results = trial.asked(script, dict.fromkeys("abcde", 1), allowance=Allowance(load_seconds=0.5, case_seconds=60))
    assert endings(results) == [Ending.TOO_SLOW] * 5
    assert results[0][0].reason.startswith("it was not ready within 0.5 s")
    assert results[4][0].reason.startswith("not started again after 3 failed starts: it was not ready within 0.5 s")
    assert len(trial.confinement.programs) == 3
    assert results[0][0].spans.load >= 0.5
    assert results[4][0].spans.whole == 0


@pytest.mark.parametrize("hello", ['{"podium": 2, "ready": true}', '{"ready": true}', '{"podium": 1, "ready": 1}'])
def test_another_protocol_is_refused(trial, hello):
    [(outcome, _)] = trial.asked(by_hand(f"say({hello!r}); time.sleep(1000)"), {"a": 1})
    assert outcome.ending is Ending.WRONG_OUTPUT
    assert "where it should say that it is ready" in outcome.reason


def test_dying_between_two_cases_costs_none(trial):
    script = by_hand(READY + 'q = asked()\nwrite(q)\nsay({"done": q["case"]})\n')
    contents = []
    for outcome in trial.asking(script, {"a": 1, "b": 2}):
        contents.append(content_of(outcome))
        trial.confinement.programs[-1].process.wait(60)
    assert contents == ["fine", "fine"]
    assert len(trial.confinement.programs) == 2
    trial.assert_nothing_is_left()


def test_talking_between_two_cases_starts_it_anew(trial):
    script = by_hand(READY) + textwrap.dedent(
        """
        for line in sys.stdin:
            q = json.loads(line)
            write(q)
            say({"done": q["case"]})
            while not Path(q["input"]).parents[1].joinpath("answers", q["case"], "answer.txt").exists():
                time.sleep(0.01)
            say({"done": q["case"]})
            Path("said").touch()
        """
    )
    contents = []
    for outcome in trial.asking(script, {"a": 1, "b": 2}):
        contents.append(content_of(outcome))
        deadline = time.monotonic() + 60
        while not (trial.home / "said").exists() and outcome.case == "a" and time.monotonic() < deadline:
            time.sleep(0.01)
    assert contents == ["fine", "fine"]
    assert len(trial.confinement.programs) == 2
    trial.assert_nothing_is_left()


def test_the_end_of_input_ends_it_or_else(trial, monkeypatch):
    monkeypatch.setattr(sessions, "_ENDING_SECONDS", 0.3)
    script = textwrap.dedent(MANY) + "import time\ntime.sleep(1000)\n"
    [(outcome, content)] = trial.asked(script, {"a": 1})
    assert (outcome.ending, content) == (Ending.ANSWERED, "2")
    assert outcome.spans.stop >= 0.3


def test_what_is_written_later_is_not_the_answer(trial):
    """What lies there when it says that it is done counts; for other cases, and afterwards, it writes in vain."""
    script = by_hand(READY) + textwrap.dedent(
        """
        held = []
        for line in sys.stdin:
            q = json.loads(line)
            for name in "abc":
                os.makedirs(q["output"] + "/../" + name, exist_ok=True)
                Path(q["output"], "..", name, "answer.txt").write_text("by " + q["case"])
            held.append(open(q["output"] + "/answer.txt", "r+"))
            if q["case"] == "b":
                os.remove(q["output"] + "/answer.txt")
            for file in held[:-1]:
                file.seek(0); file.write("changed"); file.flush()
            say({"done": q["case"]})
        """
    )
    contents = []
    outcomes = trial.asking(script, {"a": 1, "b": 2, "c": 3})
    contents = [content_of(outcome) for outcome in outcomes]
    assert contents == ["by a", None, "by c"]
    trial.assert_nothing_is_left()


def test_the_next_case_is_not_there_before_it_is_asked(trial):
    script = by_hand(READY) + textwrap.dedent(
        """
        for line in sys.stdin:
            q = json.loads(line)
            inputs = sorted(os.listdir(os.path.dirname(q["input"])))
            outputs = sorted(os.listdir(os.path.dirname(q["output"])))
            write(q, str((inputs, outputs)))
            say({"done": q["case"]})
        """
    )
    results = trial.asked(script, {"z": 1, "m": 2, "a": 3}, warm_up=True)
    assert [content for _, content in results] == [str(([name], [name])) for name in "zma"]


def test_a_warm_up_does_not_count(trial):
    script = by_hand(READY) + textwrap.dedent(
        """
        count = 0
        for line in sys.stdin:
            q = json.loads(line)
            if count == 0:
                time.sleep(0.4)
            assert os.listdir(q["output"]) == []
            write(q, str(count))
            count += 1
            say({"done": q["case"]})
        """
    )
    results = trial.asked(script, {"a": 1, "b": 2}, warm_up=True)
    assert [content for _, content in results] == ["1", "2"]
    assert len(trial.confinement.programs) == 1
    assert results[0][0].spans.whole > 0


def test_a_warm_up_that_kills_it_costs_a_start(trial):
    script = by_hand(READY) + textwrap.dedent(
        """
        for line in sys.stdin:
            q = json.loads(line)
            if not is_after("warm"):
                Path("warm").touch()
                sys.exit(1)
            write(q)
            say({"done": q["case"]})
        """
    )
    results = trial.asked(script, {"a": 1, "b": 2}, warm_up=True)
    assert endings(results) == [Ending.ANSWERED] * 2
    assert len(trial.confinement.programs) == 2


def test_what_it_starts_goes_with_it(trial):
    """A child that keeps the pipes open, and outlives its parent."""
    special = "os.fork() or time.sleep(1000); sys.exit(5)"
    results = trial.asked(loop(special=special), {"a": 1, "b": 2, "c": 3})
    assert endings(results) == [Ending.ANSWERED, Ending.CRASHED, Ending.ANSWERED]
    assert results[1][0].reason == "exit code 5"


def test_a_folder_that_is_written_all_the_time_goes(trial):
    """Files appear as fast as they can while their folder is removed: then the program is ended first."""
    script = by_hand(READY) + textwrap.dedent(
        """
        import threading

        def busy(handle):
            count = 0
            while True:
                try:
                    os.close(os.open(str(count % 50), os.O_CREAT | os.O_WRONLY, dir_fd=handle))
                except OSError:
                    pass
                count += 1

        for line in sys.stdin:
            q = json.loads(line)
            write(q)
            handle = os.open(q["output"], os.O_RDONLY)
            for _ in range(3):
                threading.Thread(target=busy, args=(handle,), daemon=True).start()
            say({"done": q["case"]})
        """
    )
    results = trial.asked(script, {"a": 1, "b": 2})
    assert all(ending in (Ending.ANSWERED, Ending.WRONG_OUTPUT) for ending in endings(results))


# Frame by frame.


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
        def frames(self, inputs):  # noqa: ARG002
            generator = np.random.default_rng(1)
            self.sent = [generator.normal(size=(700, 900)) for _ in range(3)]
            return {}, iter(self.sent)

        def write_frames(self, question, answers, inputs, folder):  # noqa: ARG002
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
        def write_frames(self, question, answers, inputs, folder):  # noqa: ARG002
            np.save(folder / "answer.npy", next(answers))

    with pytest.raises(ValueError, match="a has 3 frames, of which 1 were asked"):
        list(trial.asking(FRAMES, {"a": 3}, protocol="frames", interface=Short()))
    trial.assert_nothing_is_left()

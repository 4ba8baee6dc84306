"""One start, many cases: the line protocol with real programs, of which many do not keep to it."""

import textwrap
import time

import pytest
from asked import content_of, endings
from asked_programs import MANY, by_hand

from podium.algorithms import conversation, sessions
from podium.algorithms.specs import Allowance, Ending

READY = 'say({"podium": 1, "ready": True})\n'
pytestmark = pytest.mark.slow
QUICK = Allowance(case_seconds=0, frame_seconds=0.5, load_seconds=60)  # a number is as many frames


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


def test_a_case_is_explained_by_what_was_said_of_it_alone(trial):
    script = """
        import podium_worker

        def predict(inputs, outputs):
            print("on", inputs[-1:])
            assert inputs[-1:] != "a", "no target"

        podium_worker.answer_cases(predict)
    """
    (one, _), (two, _) = trial.asked(script, {"a": 1, "b": 2})
    assert "no target" in one.reason
    assert two.reason == "there is no answer.txt for b: on b"


@pytest.mark.parametrize("protocol", ["many", "function"])
def test_what_was_printed_is_in_the_log_even_if_it_was_killed(trial, protocol):
    script = """
        import os
        {}

        def predict(*given):
            print("said")
            os.kill(os.getpid(), 9)
        {}
    """
    asking = ("import podium_worker", "podium_worker.answer_cases(predict)") if protocol == "many" else ("", "")
    [(outcome, _)] = trial.asked(script.format(*asking), {"a": 1}, protocol=protocol)
    assert outcome.reason.endswith(": said")


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


def test_only_the_start_that_is_asked_is_loading(trial):
    """A program that fails when it is warmed up is started again, and its first start does not count."""
    script = by_hand(
        """
        first = not is_after("started")
        Path("started").touch()
        time.sleep(5 if first else 0)
        say({"podium": 1, "ready": True})
        question = asked()
        if first:
            Path("ended").write_text(str(time.perf_counter()))
            sys.exit(3)
        write(question)
        say({"done": question["case"]})
        question = asked()
        write(question)
        say({"done": question["case"]})
        """
    )
    [(outcome, content)] = trial.asked(script, {"a": 1}, warm_up=True)
    assert (outcome.reason, content) == ("", "fine")
    assert 0 < outcome.spans.load < time.perf_counter() - float((trial.home / "ended").read_text())

"""One start per case, and what holds in every protocol: what is seen, what is timed, what is left."""

import contextlib
import sys

import pytest
from asked import ALLOWANCE, content_of
from asked_programs import DOUBLES, FRAMES, FUNCTION, MANY
from doubling import Doubling, DoublingInside

from podium.algorithms.asking import ask_cases
from podium.algorithms.specs import Algorithm, Allowance, Ending
from podium.model import InputError

pytestmark = pytest.mark.slow
FOLDERS = ("inputs", "outputs", "answers", "unseen")


def test_one_start_per_case(trial):
    (one, first), (two, second) = trial.asked(DOUBLES, {"A_001": 4, "A_002": 5}, protocol="case")
    assert (first, second) == ("8", "10")
    assert one.ending is two.ending is Ending.ANSWERED
    assert len(trial.confinement.programs) == 2
    for outcome in (one, two):
        assert outcome.reason == ""
        assert outcome.spans.run > 0
        assert outcome.spans.start > 0
        assert outcome.spans.load == 0
        assert outcome.spans.stop >= 0
        assert outcome.spans.frames == ()
        assert (outcome.processor_seconds, outcome.peak_bytes) == (0.5, 1000)
    binds = trial.confinement.starts[0]["binds"]
    assert [(bind.target, bind.writable) for bind in binds] == [("/input", False), ("/output", True)]


@pytest.mark.parametrize("protocol", ["case", "many"])
def test_inputs_are_sealed_and_of_no_age(trial, protocol):
    """Modes, time stamps, links and what lies beside: nothing but the inputs of this case."""
    script = """
        import os, sys
        import podium_worker

        def predict(inputs, outputs):
            lines = [sorted(os.listdir(os.path.dirname(inputs))), sorted(os.listdir(outputs))]
            for folder, folders, files in os.walk(inputs):
                for name in [".", *sorted(files)]:
                    state = os.stat(os.path.join(folder, name))
                    lines.append((name, oct(state.st_mode & 0o777), state.st_mtime_ns, state.st_atime_ns // 10**9))
            with open(os.path.join(outputs, "answer.txt"), "w") as file:
                file.write("\\n".join(map(str, lines)))
    """
    script += (
        "\n        podium_worker.answer_cases(predict)\n"
        if protocol == "many"
        else "\n        predict(*sys.argv[1:])\n"
    )
    for outcome, content in trial.asked(script, {"b": 1, "a": 2}, protocol=protocol):
        siblings, written, *entries = map(eval, content.splitlines())
        assert siblings == [outcome.case]
        assert written == []
        assert [name for name, *_ in entries] == [".", "number.txt", ".", "number.txt"]
        assert {mode for _, mode, *_ in entries} == {"0o555", "0o444"}
        assert {modified for *_, modified, _ in entries} == {0}


def test_a_crash_costs_its_case(trial):
    script = (
        DOUBLES
        + "\n    print('thinking'); print('cannot go on', file=sys.stderr)\n    sys.exit(3 * (inputs.name == 'b'))\n"
    )
    results = trial.asked(script, {"a": 1, "b": 2, "c": 3}, protocol="case")
    assert [outcome.ending.value for outcome, _ in results] == ["answered", "crashed", "answered"]
    assert results[1][0].reason == "exit code 3: cannot go on | thinking"
    assert results[1][0].answer is None
    assert "cannot go on" in (trial.logs / "b.log").read_text()


def test_too_slow_a_case_is_ended(trial):
    script = """
        import sys, time
        from pathlib import Path
        Path(sys.argv[2], "answer.txt").write_text("early")
        time.sleep(1000 * (Path(sys.argv[1]).name == "a"))
    """
    allowance = Allowance(case_seconds=0, frame_seconds=0.5, load_seconds=1)
    (slow, _), (quick, content) = trial.asked(script, {"a": 1, "b": 200}, protocol="case", allowance=allowance)
    assert slow.ending is Ending.TOO_SLOW
    assert slow.reason == "more than 1.5 s"
    assert slow.spans.run >= 1.5
    assert slow.answer is None
    assert (quick.ending, content) == (Ending.ANSWERED, "early")


def test_time_goes_by_frames():
    assert Allowance(case_seconds=10, frame_seconds=2).seconds(30) == 70


def test_no_output(trial):
    [(outcome, _)] = trial.asked("", {"a": 1}, protocol="case")
    assert (outcome.ending, outcome.reason) == (Ending.NO_OUTPUT, "there is no answer.txt for a")


def test_what_is_no_answer_is_wrong_output(trial):
    [(outcome, _)] = trial.asked(DOUBLES.replace("answer.txt", "other.txt"), {"a": 1}, protocol="case")
    assert (outcome.ending, outcome.reason) == (Ending.WRONG_OUTPUT, "there is no answer.txt for a")


@pytest.mark.parametrize("protocol", ["case", "many"])
@pytest.mark.parametrize(
    "write",
    [
        "os.symlink(SECRET, outputs + '/answer.txt')",
        "os.link(SECRET, outputs + '/answer.txt')",
        "os.mkfifo(outputs + '/answer.txt')",
        "os.symlink(os.path.dirname(SECRET), outputs + '/folder'); open(outputs + '/answer.txt', 'w')",
        "os.rmdir(outputs); os.symlink(os.path.dirname(SECRET), outputs)",
    ],
)
def test_links_out_are_not_followed(trial, protocol, write):
    secret = trial.folder / "truth" / "answer.txt"
    secret.parent.mkdir()
    secret.write_text("the truth")
    script = f"""
        import os, sys
        import podium_worker
        SECRET = {str(secret)!r}

        def predict(inputs, outputs):
            {write}

        """ + ("podium_worker.answer_cases(predict)" if protocol == "many" else "predict(*sys.argv[1:])")
    [(outcome, content)] = trial.asked(script, {"a": 1}, protocol=protocol)
    assert outcome.ending in (Ending.WRONG_OUTPUT, Ending.NO_OUTPUT)
    assert content is None
    assert secret.read_text() == "the truth"


@pytest.mark.parametrize("protocol", ["case", "many"])
def test_a_sparse_file_is_as_large_as_it_says(trial, protocol):
    script = """
        import os, sys
        import podium_worker

        def predict(inputs, outputs):
            with open(outputs + "/answer.txt", "w") as file:
                file.truncate(10**12)

        """ + ("podium_worker.answer_cases(predict)" if protocol == "many" else "predict(*sys.argv[1:])")
    [(outcome, _)] = trial.asked(script, {"a": 1}, protocol=protocol)
    assert outcome.ending is Ending.TOO_MUCH_OUTPUT


def test_answers_inside_the_inputs(trial):
    script = """
        import sys
        from pathlib import Path
        inputs, outputs = map(Path, sys.argv[1:])
        assert inputs / "preds" == outputs
        (inputs / "preds" / "answer.txt").write_text("inside")
    """
    [(outcome, content)] = trial.asked(script, {"a": 1}, protocol="case", interface=DoublingInside())
    assert (outcome.reason, content) == ("", "inside")
    binds = trial.confinement.starts[0]["binds"]
    assert [(bind.target, bind.writable) for bind in binds] == [
        ("/input", False),
        ("/output", True),
        ("/input/preds", True),
    ]
    assert binds[1].source == binds[2].source == binds[0].source / "preds"


def test_the_answer_lies_there_until_the_next_is_asked_for(trial):
    outcomes = trial.asking(DOUBLES, {"a": 1, "b": 2}, protocol="case")
    first = next(outcomes).answer
    assert first.read_text() == "2"
    assert {path.name for path in trial.scratch.rglob("*")} == {*FOLDERS, "a", "answer.txt"}
    second = next(outcomes).answer
    assert not first.exists()
    assert second.read_text() == "4"
    assert next(outcomes, None) is None
    trial.assert_nothing_is_left()


@pytest.mark.parametrize("protocol", ["case", "many", "frames", "function"])
def test_nothing_is_left_where_it_is_left_early(trial, protocol):
    script = {"case": DOUBLES, "many": MANY, "frames": FRAMES, "function": FUNCTION}[protocol]
    with contextlib.closing(trial.asking(script, {"a": 3, "b": 2}, protocol=protocol)) as outcomes:
        outcome = next(outcomes)
        assert outcome.ending is Ending.ANSWERED
    trial.assert_nothing_is_left()


def test_an_interrupt_ends_everything(trial):
    class Interrupted(Doubling):
        def answer(self, question, folder):  # noqa: ARG002  # what every challenge is given
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(trial.asking(DOUBLES, {"a": 3}, protocol="case", interface=Interrupted()))
    trial.assert_nothing_is_left()


def test_a_warm_up_does_not_count(trial):
    script = """
        import sys
        from pathlib import Path
        count = Path(__file__).with_name("count")
        number = int(count.read_text()) if count.exists() else 0
        count.write_text(str(number + 1))
        assert number  # the first time goes wrong
        assert list(Path(sys.argv[2]).iterdir()) == []
        Path(sys.argv[2], "answer.txt").write_text(str(number))
    """
    results = trial.asked(script, {"a": 1, "b": 2}, protocol="case", warm_up=True)
    assert [content for _, content in results] == ["1", "2"]


def test_words_in_braces_are_all_that_is_filled_in(trial):
    script = trial.script(
        "import sys; from pathlib import Path; Path(sys.argv[1][3:], 'answer.txt').write_text(str(sys.argv[2:]))"
    )
    command = (sys.executable, str(script), "to={output}", "{x}", "{", "%s", "{input}")
    outcomes = ask_cases(
        Algorithm("team", command, folder=trial.home),
        trial.confinement,
        Doubling(),
        trial.questions({"a": 1}),
        allowance=ALLOWANCE,
        scratch=trial.scratch,
        logs=trial.logs,
    )
    [content] = [content_of(outcome) for outcome in outcomes]
    assert eval(content)[:3] == ["{x}", "{", "%s"]


def test_a_function_where_none_is_called(trial):
    class Files(Doubling):
        call = Doubling.__mro__[1].call

    with pytest.raises(InputError, match="algorithms of this challenge are not functions"):
        list(trial.asking("", {"a": 1}, protocol="function", interface=Files()))


def test_strange_names_of_cases(trial):
    [(outcome, content)] = trial.asked(DOUBLES, {"a case, no. 1": 4}, protocol="case")
    assert (outcome.case, content) == ("a case, no. 1", "8")
    assert (trial.logs / "a_case__no._1.log").exists()

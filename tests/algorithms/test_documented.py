"""docs/algorithms.md: its programs run, its conversations take place as they are printed, its options exist."""

import json
import re
import subprocess
import sys
import textwrap

import pytest
import typer.main
from shared_data import PROJECT

from podium.algorithms.specs import Ending, Spans
from podium.cli import app

PAGE = (PROJECT / "docs" / "algorithms.md").read_text()
PROGRAMS = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, re.DOTALL))
CONVERSATIONS = dict(re.findall(r"```text (\w+)\n(.*?)```", PAGE, re.DOTALL))
ANSWERING = {
    "many": """
        def predict(inputs, outputs):
            if inputs.endswith("2"):
                raise ValueError("there is no target")
        podium_worker.answer_cases(predict)
    """,
    "frames": "podium_worker.answer_frames(lambda known: lambda frame: (frame + known['first']).astype('u1'))",
}


def test_the_page_has_what_is_tested():
    assert set(PROGRAMS) == {"infer", "many", "track", "function"}
    assert set(CONVERSATIONS) == set(ANSWERING)
    assert PAGE.count("```") == 2 * (len(PROGRAMS) + len(CONVERSATIONS) + 1)


@pytest.mark.parametrize(
    ("name", "protocol", "expected"),
    [
        ("infer", "case", "6"),
        ("many", "many", "6"),
        ("track", "frames", [7, 8, 9]),
        ("function", "function", [[6, 6]] * 3),
    ],
)
def test_programs_answer(trial, name, protocol, expected):
    [(outcome, content)] = trial.asked(PROGRAMS[name], {"a": 3}, protocol=protocol)
    assert (outcome.ending, outcome.reason) == (Ending.ANSWERED, "")
    match protocol:
        case "frames":
            content = content[:, 0, 0].tolist()
        case "function":
            content = content["double"].tolist()
    assert content == expected


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_conversations_take_place(trial, name):
    script = trial.script("import podium_worker\n" + textwrap.dedent(ANSWERING[name]))
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as program:
        for line in CONVERSATIONS[name].splitlines():
            who, said = line[0], line[2:]
            count = int(said.removesuffix(" bytes")) if said.endswith(" bytes") else 0
            if who == "→":
                program.stdin.write(bytes(count) if count else said.encode() + b"\n")
                program.stdin.flush()
            elif count:
                assert len(program.stdout.read(count)) == count
            else:
                assert json.loads(program.stdout.readline()) == json.loads(said)
        program.stdin.close()
        assert program.stdout.read() == b""
        assert program.wait(60) == 0


HEARD = """
    import os, podium_worker
    asked = podium_worker._ASKED

    class Heard:
        def __getattr__(self, name):
            return getattr(asked, name)
        def __iter__(self):
            return iter(self.readline, b"")
        def readline(self):
            line = asked.readline()
            os.write(2, line)
            return line

    podium_worker._ASKED = Heard()
"""


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_podium_says_what_the_page_says(trial, name):
    """All that Podium says in lines, but for the folders that a test has."""
    numbers = {"A_001": 2} if name == "frames" else {"A_001": 1, "A_002": 2}
    script = textwrap.dedent(HEARD) + textwrap.dedent(ANSWERING[name])
    trial.asked(script, numbers, protocol=name)
    log = (trial.logs / "A_001.log").read_text().replace(str(trial.scratch), "")
    heard = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    said = [json.loads(line[2:]) for line in CONVERSATIONS[name].splitlines() if line.startswith("→ {")]
    assert [_folders(line) for line in heard] == said


def _folders(line):
    return {key: value.replace("puts/", "put/") if key in ("input", "output") else value for key, value in line.items()}


def test_options_exist():
    command = typer.main.get_command(app)
    known = {option for parameter in command.commands["run"].params for option in parameter.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) - {"--val-dir"} <= known


def test_spans_and_endings_are_explained():
    for name in Spans.__dataclass_fields__:
        assert f"| `{name}` |" in PAGE
    for ending in Ending:
        assert ending.value in PAGE

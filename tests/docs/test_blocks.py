"""Every command and block of code in README and docs: all run, on material that is called as it is there."""

import os
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from documentation import LANGUAGES, Block, Material, blocks, pages
from shared_data import PROJECT
from standard_json import strict_json
from typer.main import get_command
from typer.testing import CliRunner

from podium.challenges.kinds import parse_challenge
from podium.cli import app

BLOCKS = [block for page in pages() for block in blocks(page)]
OWN_TESTS = {
    "docs/tutorials/": "tests/cli/test_tutorials.py runs them",
    "docs/algorithms.md": "tests/algorithms/test_documented.py runs its programs and has its conversations",
}
# What cannot be had on every machine that runs tests. Commands of Podium are parsed all the same.
NOT_HERE = {
    r"--image |images=\[": "an image of a container: tests/algorithms/test_containers.py makes some and runs them",
    r"--dask tcp:": "a scheduler: tests/run/test_pools.py starts one",
    r"--dask local:8": "eight processes: tests/run/test_pools.py starts two",
    r"--install-completion": "a shell that may be changed: tests/cli/test_completion.py installs it elsewhere",
    r"^pip install": "a package index: tests/test_wheels.py installs what was built",
    r"^git clone": "a repository's address",
    r"SLURMCluster": "a cluster",
    r"assert_truth_is_hidden\(": "two truths of the same images: tests/challenges/test_interfaces.py calls it",
    r"^python docs/making": "peers: tests/docs/test_metric_pages.py runs it",
}
BEFORE = {
    "docs/metrics.md": """
import numpy as np
from podium.metrics import *
mask, other_mask = np.zeros((2, 6, 7, 8), bool)
mask[1:4, 2:5, 2:6] = other_mask[1:5, 2:5, 2:5] = True
rng, n = np.random.default_rng(0), 40
truth = rng.integers(0, 2, n)
scores = (truth + rng.normal(size=n)).clip(-2, 3)
called = (scores > 0.5).astype(int)
images = [InstanceCounts.between(mask, other_mask)] * n
""",
    "docs/gpu.md": """
import torch
labels = torch.zeros((8, 9, 10), dtype=torch.uint8)
labels[2:6, 2:7, 2:8], labels[3:5, 3:5, 3:5] = 1, 2
prediction = labels.roll(1, -1)
""",
    "docs/challenge.md": """
from pathlib import Path
from tempfile import mkdtemp
from podium.challenges.kinds import read_challenge
challenge, folder = read_challenge("challenge.toml"), Path(mkdtemp(dir="."))
truth, teams, tmp_path = folder / "truth", folder / "submissions", Path(mkdtemp(dir="."))
""",
}


def reason(text: str) -> str | None:
    """Return why something is not run here."""
    return next((why for pattern, why in NOT_HERE.items() if re.search(pattern, text, re.MULTILINE)), None)


def has_its_own_test(block: Block) -> bool:
    return any(block.page.startswith(page) for page in OWN_TESTS) and block.language != "sh"


def faults(block: Block) -> list[str]:
    """Return what is wrong with how a block is written."""
    if block.language not in LANGUAGES:
        return [f"{block.page}:{block.line}: a block must be fenced, and be one of {sorted(LANGUAGES)}"]
    hidden = re.search(r"^(\$ )?(podium|make|pip) |^import |^from \w+ import", block.text, re.MULTILINE)
    if block.language == "text" and hidden and not has_its_own_test(block) and reason(block.text) is None:
        return [f"{block.page}:{block.line}: {hidden[0]!r} is to be run, and no mere text"]
    return []


def test_every_block_says_what_it_is():
    assert [fault for block in BLOCKS for fault in faults(block)] == []
    assert {block.language for block in BLOCKS} >= {"console", "python", "sh", "text", "toml"}


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("    podium rank run\n", "must be fenced"),
        ("```\npodium rank run\n```\n", "must be fenced"),
        ("```text\npodium rank run\n```\n", "no mere text"),
        ("```text\nimport podium\n```\n", "no mere text"),
        ("```sh\npodium rank run\n```\n", None),
    ],
)
def test_a_block_that_escapes_is_noticed(tmp_path, written, fault):
    (tmp_path / "page.md").write_text(f"# Title\n\n{written}")
    (block,) = blocks(tmp_path / "page.md")
    said = faults(block)
    assert said == [] if fault is None else fault in said[0]


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "toml"], ids=lambda b: f"{b.page}:{b.line}")
def test_toml_is_what_it_is_said_to_be(block):
    document = tomllib.loads(block.text)
    if "challenge" in document:
        assert parse_challenge(block.text).name == document["challenge"]["name"]


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "json"], ids=lambda b: f"{b.page}:{b.line}")
def test_json_is_json(block):
    strict_json(block.text)


@pytest.fixture(scope="module")
def material(demos, few_cases, made_once):
    """Return what pages speak of: the demos, and a challenge that podium init declares."""

    def make(folder: Path) -> None:
        toml = folder / "lesions" / "challenge.toml"
        declared = ["init", str(toml.parent), "--kind", "segmentation", "--label", "organ=1", "--label", "tumor=2"]
        for command in (declared, ["demo", str(toml), "--no-report", "--out", str(folder / "demo")]):
            result = CliRunner().invoke(app, command)
            assert result.exit_code == 0, result.output
        toml.rename(folder / "demo" / "lesions" / toml.name)

    return Material(demos, few_cases, made_once("declared", make) / "demo" / "lesions")


def typed(command: str) -> None:
    """Do what a command says, or, where that cannot be done here, parse it; return what it printed."""
    words = shlex.split(command)
    if words[0] == "make":
        targets = set(re.findall(r"^([\w-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
        assert set(words[1:]) <= targets
        return ""
    if words[0] != "podium":
        assert reason(command), f"{command}: nothing is known of this"
        return ""
    if reason(command):
        group = get_command(app)
        if words[1] in group.commands:
            group.commands[words[1]].make_context(words[1], words[2:], parent=group.make_context("podium", ["metrics"]))
        return ""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where `python` is the one with Podium
    result = CliRunner(env={"COLUMNS": "80", "PATH": path}).invoke(app, words[1:])
    allowed = (0, 3) if words[1] in ("evaluate", "measure", "gather") else (0,)  # teams of demos fail in places
    assert result.exit_code in allowed, f"{command}\n{result.output}\n{result.exception!r}"
    return result.output


def names(block: Block) -> str:
    return f"{block.page}:{block.line}"


@pytest.mark.heavy
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language in ("sh", "console")], ids=names)
def test_commands_run(block, material, tmp_path, monkeypatch):
    if has_its_own_test(block):
        pytest.skip(next(why for page, why in OWN_TESTS.items() if block.page.startswith(page)))
    said = ""
    for number, part in enumerate(block.apart()):
        (tmp_path / str(number)).mkdir()
        material.lay_out(part, tmp_path / str(number))
        monkeypatch.chdir(tmp_path / str(number))
        said += "".join(typed(command) for command in part.commands)
    if block.language == "console":
        shown = [line for line in block.text.splitlines() if not line.startswith("$ ")]
        assert unlike(said, shown) is None


def unlike(said: str, shown: list[str]) -> str | None:
    """Return the first line shown that was not said after those before it; … stands for any lines."""
    printed = [" ".join(line.split()) for line in said.splitlines()]
    place = 0
    for line in (" ".join(line.split()) for line in shown):
        if line in ("", "…"):
            continue
        if line not in printed[place:]:
            return line
        place += printed[place:].index(line) + 1
    return None


def test_output_that_is_not_said_is_noticed():
    assert unlike("a\n b  c\nd\n", ["a", "…", "d"]) is None
    assert unlike("a\n b  c\nd\n", ["b c", "a"]) == "a"
    assert unlike("a\n", ["e"]) == "e"


PYTHON = {page: [b for b in BLOCKS if b.page == page and b.language == "python"] for page in {b.page for b in BLOCKS}}


@pytest.mark.heavy
@pytest.mark.parametrize("page", sorted(page for page, own in PYTHON.items() if own))
def test_python_runs(page, material, tmp_path, monkeypatch):
    if page in OWN_TESTS:
        pytest.skip(OWN_TESTS[page])
    together = Block(page, 0, "python", BEFORE.get(page, "") + "\n".join(block.text for block in PYTHON[page]))
    material.lay_out(together, tmp_path)
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "page"}
    if page in BEFORE:
        exec(compile(BEFORE[page], f"before {page}", "exec"), space)
    for block in PYTHON[page]:
        if reason(block.text) is None:
            exec(compile("\n" * block.line + block.text, page, "exec"), space)


def test_alternatives_have_a_folder_each():
    text = "podium run kits21 --out out\npodium run tusrec --out out\npodium rank run\npodium report run --out out\n"
    parts = [list(part.commands) for part in Block("page", 1, "sh", text).apart()]
    assert parts == [
        ["podium run kits21 --out out"],
        ["podium run tusrec --out out", "podium rank run"],
        ["podium report run --out out"],
    ]

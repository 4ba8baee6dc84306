"""docs/tutorials: every command runs as it stands there, on the TOML that stands there, and says what it is said to."""

import re
from pathlib import Path

import pytest
from shared_data import PROJECT

from podium.challenges.kinds.making import KINDS
from podium.challenges.kinds.toml_files import parse_challenge

PAGES = sorted((PROJECT / "docs" / "tutorials").glob("[a-z]*.md"))
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.M | re.S)
QUICK = "lung-nodules"


def blocks(page: Path) -> list[tuple[str, str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_there_is_one_for_every_kind():
    declared = [parse_challenge(text) for page in PAGES for name, _, text in blocks(page) if name == "toml"]
    assert {challenge.kind for challenge in declared} == set(KINDS)
    assert len(PAGES) == 6
    index = (PROJECT / "docs" / "tutorials" / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f"({page.name})" not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_goes_from_init_to_report_without_python(page):
    content = blocks(page)
    assert {name for name, _, _ in content} == {"console", "toml", "text"}
    assert page.read_text(encoding="utf-8").count("```") == 2 * len(content)
    (toml,) = (text for name, _, text in content if name == "toml")
    assert len(toml.splitlines()) <= 60
    commands = [line for name, _, text in content if name == "console" for line in text.splitlines()]
    assert commands[0].startswith("$ podium init ")
    assert commands[-1] == "$ podium report run"
    assert all(line.startswith("$ podium ") for line in commands)


SHOWN = {
    "bone-age": {"mean_absolute_error"},
    "brain-tumour": {"lesion_wise_dice", "lesion_wise_hausdorff_distance_95"},
    "chest-x-ray": {"area_under_roc", "expected_calibration_error"},
    "landmarks": {"landmark_error"},
    "lung-nodules": {"froc_score"},
    "tool-tracking": {"landmark_error"},
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_field_measures(page):
    (challenge,) = (parse_challenge(text) for name, _, text in blocks(page) if name == "toml")
    assert SHOWN[page.stem] <= {quantity.metric for quantity in challenge.quantities}
    if page.stem == "brain-tumour":
        assert len({target for quantity in challenge.quantities for target in challenge.targets_of(quantity)}) == 4
        assert (challenge.ranking.scheme, challenge.ranking.test is not None) == ("rank then mean", True)
    if page.stem == "chest-x-ray":
        assert len(challenge.targets) > 1


def follow(page, run):
    """Do what a page says, in the folder at hand."""
    output = ""
    for name, where, text in blocks(page):
        if name == "toml":
            assert Path(where).is_file(), "podium init has written it"
            Path(where).write_text(text, encoding="utf-8")
        elif name == "console":
            output = ""
            for line in text.splitlines():
                result = run(*line.split()[2:])
                assert result.exit_code == (3 if "evaluate" in line else 0), f"{line}\n{result.output}"
                output += result.output
        else:
            for line in text.splitlines():
                assert squeezed(line) in squeezed(output), line
    assert Path("run/report.html").is_file()
    assert len(Path("run/intervals.csv").read_text().splitlines()) > 4


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=[] if p.stem == QUICK else pytest.mark.heavy) for p in PAGES], ids=lambda p: p.stem
)
def test_every_command_runs(page, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    follow(page, run)

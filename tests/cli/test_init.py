"""`podium init`: a challenge.toml from questions, from options, or from a folder of truth."""

import pytest
from declared_challenges import write_lesions
from typer.testing import CliRunner

from podium.challenges.kinds.toml_files import read_challenge
from podium.cli import app


def test_options_are_enough(run, tmp_path):
    result = run("init", tmp_path / "My Brain", "--title", "Brains 2027", "--label", "edema=1", "--label", "core=2")
    assert result.exit_code == 0, result.output
    challenge = read_challenge(tmp_path / "My Brain")
    assert (challenge.name, challenge.title) == ("my-brain", "Brains 2027")
    assert challenge.labels == {"edema": 1, "core": 2}
    shown = " ".join(result.output.split())
    assert "challenge.toml" in shown
    assert "podium demo" in shown


def test_questions_are_asked(tmp_path):
    write_lesions(tmp_path, subjects=2)
    answers = f"Brain lesions\nsegmentation\n{tmp_path / 'truth'}\n"
    result = CliRunner().invoke(app, ["init", str(tmp_path / "made"), "--ask"], input=answers)
    assert result.exit_code == 0, result.output
    challenge = read_challenge(tmp_path / "made")
    assert (challenge.name, challenge.title) == ("brain-lesions", "Brain lesions")
    assert challenge.files.truth.text == "{subject}_{visit}_seg.nii.gz"
    assert "4 files are called like" in result.output


def test_enter_takes_what_is_proposed(tmp_path):
    result = CliRunner().invoke(app, ["init", str(tmp_path / "made"), "--ask"], input="\n\n\n")
    assert result.exit_code == 0, result.output
    assert read_challenge(tmp_path / "made").name == "made"


def test_a_wrong_answer_is_asked_for_again(tmp_path):
    (tmp_path / "empty").mkdir()
    write_lesions(tmp_path, subjects=2)
    answers = f"Brain lesions\nlesions\nsegmentation\n{tmp_path / 'nowhere'}\n{tmp_path / 'truth'}\n"
    result = CliRunner().invoke(app, ["init", str(tmp_path / "made"), "--ask"], input=answers)
    assert result.exit_code == 0, result.output
    assert "There is no kind 'lesions'" in result.output
    assert "There is no folder" in result.output
    assert read_challenge(tmp_path / "made").files.truth.text == "{subject}_{visit}_seg.nii.gz"


def test_commands_can_be_copied_whatever_the_folder_is_called(run, tmp_path):
    result = run("init", tmp_path / "My Brain")
    assert f"podium demo '{tmp_path}/My Brain/challenge.toml' " in result.output


def test_what_is_there_stays(run, tmp_path):
    assert run("init", tmp_path, "--name", "one").exit_code == 0
    again = run("init", tmp_path, "--name", "two")
    assert again.exit_code == 1
    assert "there is one already. Say --force" in again.output
    assert read_challenge(tmp_path).name == "one"
    assert run("init", tmp_path, "--name", "two", "--force").exit_code == 0
    assert read_challenge(tmp_path).name == "two"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label", "tumor"], "--label tumor is not of the form NAME=NUMBER"),
        (["--label", "tumor=x"], "a label is a whole number from 1"),
        (["--label", "tumor=1", "--label", "tumor=2"], "--label tumor is there twice"),
        (["--name", "Brain Lesions!"], "not 'Brain Lesions!'. Call it brain-lesions"),
        (["--kind", "segment"], "Did you mean 'segmentation'?"),
        (["--truth", "nowhere"], "there is no such folder"),
    ],
)
def test_mistakes_are_explained_and_nothing_is_written(run, tmp_path, options, message):
    result = run("init", tmp_path / "made", *options)
    assert result.exit_code == 1
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "made").exists()

"""What is given to `podium.run_algorithm`: names of teams, and where commands are at home."""

import pytest

from podium import _front_run
from podium.model import InputError


def command(text, protocol="case"):
    ((name, words),) = _front_run._named(text)
    return _front_run._command(name, words, protocol, ())


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "algorithm").mkdir()
    for name in ("infer.py", "weights.pt"):
        (tmp_path / "algorithm" / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_command_is_at_home_where_its_script_lies(home):
    made = command("team=python algorithm/infer.py --weights algorithm/weights.pt {input} {output}")
    here = str(home / "algorithm")
    assert made.name == "team"
    assert made.folder == home / "algorithm"
    assert made.command == ("python", f"{here}/infer.py", "--weights", f"{here}/weights.pt", "{input}", "{output}")
    assert command("./algorithm/infer.py {input}").folder == home / "algorithm"
    assert command("python -m package.module {input} {output}").folder is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("python algorithm/infer.py {input}", "infer"),
        ("python -m package.baseline {input}", "baseline"),
        ("/usr/bin/tool --flag=1 {input}", "tool"),
        ("a-team.2=tool {input}", "a-team.2"),
        ("tool key=value {input}", "tool"),
    ],
)
def test_teams_without_a_name_get_one(home, text, name):
    assert command(text).name == name


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("uploads/Team_A.tar.gz", "Team_A"),
        ("registry.example.org:5000/lab/unet:1.2", "unet"),
        ("unet@sha256:0123", "unet"),
        ("model.sif", "model"),
    ],
)
def test_images_name_their_team(image, name):
    assert _front_run._stem(image) == name


def test_several_are_given_by_name_or_as_text():
    assert _front_run._named({"a": "x=1 y"}) == [("a", "x=1 y")]
    assert _front_run._named(["a=x", "y {input}"]) == [("a", "x"), ("", "y {input}")]
    assert _front_run._named("image:1") == [("", "image:1")]


def test_what_cannot_be_run_is_refused(home):
    for text, message in (
        ("", "a command is empty"),
        ("python algorithm/infer.py", "does not say where inputs and output go"),
        ('python "x', "cannot be understood"),
    ):
        with pytest.raises(InputError, match=message):
            command(text)
    assert command("python algorithm/infer.py", protocol="many").name == "infer"
    made = _front_run._function("", "algorithm/infer.py:predict", ())
    assert (made.name, made.folder) == ("infer", home / "algorithm")
    assert made.function == f"{home}/algorithm/infer.py:predict"
    for text in ("infer.py:predict", "algorithm/infer.py", "algorithm/infer.py:not a name"):
        with pytest.raises(InputError, match="is no function"):
            _front_run._function("", text, ())

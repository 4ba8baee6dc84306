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


def test_python_itself_is_no_script_wherever_it_lies(home):
    (home / "venv" / "bin").mkdir(parents=True)
    (home / "venv" / "bin" / "python3.12").touch()
    made = command("venv/bin/python3.12 algorithm/infer.py {input} {output}")
    assert (made.name, made.folder) == ("infer", home / "algorithm")
    assert made.command[0] == f"{home}/venv/bin/python3.12"


def test_a_tilde_is_the_home_of_whoever_calls_though_no_shell_has_seen_it(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    (home / "blue.tar.gz").touch()
    assert command("a=python ~/algorithm/infer.py {input}").folder == home / "algorithm"
    assert _front_run._image("~/blue.tar.gz") == f"{home}/blue.tar.gz"
    assert _front_run._function("a", "~/algorithm/infer.py:predict", ()).folder == home / "algorithm"


def test_a_module_is_at_home_where_it_lies(home):
    (home / "package").mkdir()
    assert command("python -m package.module {input} {output}").folder == home
    assert command("python -m elsewhere.module {input} {output}").folder is None


def test_another_home_may_be_given(home):
    given = {"home": home}
    made = _front_run._command("team", "python algorithm/infer.py {input} {output}", "case", (), **given)
    assert made.folder == home
    assert made.command[1] == str(home / "algorithm" / "infer.py")
    assert _front_run._function("team", "algorithm/infer.py:predict", (), **given).folder == home
    assert _front_run._function("team", "algorithm/infer.py:predict", ()).folder == home / "algorithm"


def test_a_script_that_is_not_there_is_missed_before_anything_runs(home):
    with pytest.raises(InputError, match=r"algorithm/infr\.py: there is no such script"):
        command("python algorithm/infr.py {input} {output}")


def test_what_a_command_names_and_could_not_read_is_told_with_what_to_add(home):
    (home / "models").mkdir()
    (home / "models" / "weights.pt").touch()
    text = "python algorithm/infer.py {input} {output} algorithm/../models/weights.pt"
    with pytest.raises(InputError, match=rf"infer names this, but could not read it.*Add --read {home}/models"):
        command(text)
    assert _front_run._command("a", text, "case", (home / "models",)).reads == (home / "models",)
    assert _front_run._command("a", text, "case", (), walls=False).folder == home / "algorithm"
    assert command("python algorithm/infer.py {input} {output} /usr/share").folder == home / "algorithm"


@pytest.mark.parametrize("protocol", ["many", "frames"])
def test_programs_that_are_started_once_are_given_no_folders(home, protocol):
    with pytest.raises(InputError, match=rf"with --protocol {protocol} .* Leave \{{input\}} and \{{output\}} out"):
        command("python algorithm/infer.py {input} {output}", protocol=protocol)

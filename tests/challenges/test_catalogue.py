"""Finding challenges by name, in this package and in others."""

import inspect
import shutil

import pytest
from plugin import installed

from podium.challenges import catalogue, challenges, get_challenge
from podium.model import Challenge, InputError

BUILT_IN = ["csv2026", "kits21", "lvquan18", "trackrad2025", "tusrec"]


def test_the_five_are_there():
    assert [name for name in challenges() if name in BUILT_IN] == BUILT_IN
    for name, kind in challenges().items():
        assert issubclass(kind, Challenge)
        assert not inspect.isabstract(kind)
        assert kind.name == name


def test_a_challenge_is_made_with_its_edition_and_options():
    challenge = get_challenge("kits21", edition="code", tolerance_scale="2", geometry="shape")
    assert (challenge.name, challenge.edition, challenge.geometry) == ("kits21", "code", "shape")
    assert challenge.tolerance_scale == 2.0  # options may be text, as on the command line
    assert get_challenge("kits21").edition == "document"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("kits22", {}, "there is no challenge called 'kits22'. Did you mean 'kits21'?"),
        ("KITS21", {}, "Did you mean 'kits21'?"),
        ("x" * 5000, {}, "there is no challenge called 'xxx"),  # longer than any path
        ("x", {}, f"There are: {', '.join(BUILT_IN)}"),
        ("kits21", {"edition": "gossip"}, "has no rules called 'gossip'. There are: document, code"),
        ("kits21", {"colour": "red"}, "has no option 'colour'. Options of kits21: geometry, "),
        ("csv2026", {"tolerance_px": "-1"}, "tolerance_px is '-1': "),
    ],
)
def test_what_is_not_there_is_one_line_that_helps(name, options, message):
    with pytest.raises(InputError) as caught:
        get_challenge(name, **options)
    assert message in str(caught.value)


def test_a_run_names_its_challenge_and_no_file(tmp_path):
    path = tmp_path / "challenge.toml"
    path.write_text("[challenge]\n")
    for name in (str(path), str(tmp_path)):
        with pytest.raises(InputError, match="there is no challenge called"):
            catalogue.recorded_challenge(name, edition="document", options={}, given=None)
        with pytest.raises(InputError, match="line"):
            get_challenge(name)


def test_the_challenge_of_another_package_is_found(tmp_path):
    with installed(tmp_path):
        assert get_challenge("landmarks").title == "Landmarks"
        assert list(challenges()) == [*BUILT_IN, "landmarks"]
    assert "landmarks" not in challenges()


def test_two_of_one_name_are_refused(tmp_path):
    with installed(tmp_path):
        shutil.copytree(tmp_path / "podium_landmarks-1.0.dist-info", tmp_path / "podium_points-1.0.dist-info")
        facts = tmp_path / "podium_points-1.0.dist-info"
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: podium-points\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text("[podium.challenges]\npoints = podium_landmarks:Landmarks\n")
        with pytest.raises(ValueError, match="two challenges are called 'landmarks'"):
            challenges()


def test_a_folder_with_a_challenge_is_enough(tmp_path, monkeypatch):
    """Only folders with a challenge.py count, and no list is kept anywhere."""
    monkeypatch.setattr(catalogue, "__file__", str(tmp_path / "catalogue.py"))
    (tmp_path / "empty").mkdir()
    assert challenges() == {}
    (tmp_path / "kits21").mkdir()
    (tmp_path / "kits21" / "challenge.py").touch()
    assert list(challenges()) == ["kits21"]

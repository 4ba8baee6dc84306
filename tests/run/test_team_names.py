"""What teams are called after their files, and names that nobody could tell apart."""

import pytest

from podium.model import InputError
from podium.run.team_names import alike, team_of, teams_of_files

PATTERNS = ("LVQUAN_*.mat", "LVQUAN_*.txt")


def test_names_without_spaces_and_in_one_form():
    assert alike("Team Blue") == alike("TeamBlue") == alike("\uff34eam\u00a0Blue")
    assert alike("cafe\u0301") == alike("caf\u00e9") != alike("cafe")
    assert alike("team") != alike("Team")


@pytest.mark.parametrize(
    ("name", "team"),
    [
        *(("LVQUAN_a.mat", "a"), ("LVQUAN_A b.txt", "A b")),
        *(("lvquan_a.TXT", ""), ("LVQUAN_.mat", ""), ("a.mat", ""), ("LVQUAN_a.zip", "")),
    ],
)
def test_the_team_of_a_file(name, team):
    assert team_of(name, PATTERNS) == team
    assert team_of(name, ()) == ""


def test_either_all_files_are_of_teams_or_none_is(tmp_path):
    for name in ("x.mat", ".LVQUAN_h.mat", "notes.md"):
        (tmp_path / name).touch()
    assert teams_of_files(tmp_path, PATTERNS) == {}
    (tmp_path / "LVQUAN_a.mat").touch()
    with pytest.raises(InputError, match=r"x\.mat is not named after a team like the others"):
        teams_of_files(tmp_path, PATTERNS)
    (tmp_path / "x.mat").unlink()
    assert teams_of_files(tmp_path, PATTERNS) == {"LVQUAN_a.mat": "a"}
    assert teams_of_files(tmp_path, ()) == {}

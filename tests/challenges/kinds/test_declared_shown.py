"""What does not decide but is computed of all rows together: it stands on the leaderboard, and changes no place."""

import pytest
from declared_challenges import DATA, TOML

import podium
from podium.challenges.kinds.toml_files import read_challenge


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("chest", ["expected_calibration_error_effusion", "expected_calibration_error_nodule"]),
        ("bone-age", ["bias_months"]),
    ],
)
def test_it_is_shown_and_decides_nothing(tmp_path, name, columns):
    DATA[name](tmp_path)
    challenge = read_challenge(TOML / f"{name}.toml")
    folders = {"truth": tmp_path / "truth", "submissions": tmp_path / "submissions"}
    board = podium.evaluate(challenge, **folders, out=tmp_path / "run", jobs=1).leaderboard
    shown = {column.name: column for column in board.columns}
    assert set(columns) <= set(shown)
    assert not {f"{column}_rank" for column in columns} & set(shown)
    quantities = [quantity for quantity in challenge.quantities if quantity.decides]
    without = challenge.varied(quantities=quantities)
    assert podium.evaluate(without, **folders, out=tmp_path / "without", jobs=1).leaderboard.places == board.places


def test_a_heading_names_the_percentile_or_tolerance_that_all_targets_share():
    challenge = read_challenge(TOML / "brain-lesions.toml")
    assert [measure.title for measure in challenge.measures] == ["Dice", "Hausdorff distance 95 %"]
    surface = {"metric": "surface_dice", "of": ["whole", "core"], "failed": 0}
    for given, title in {
        "the usual": ({}, "Surface Dice 1 mm"),
        "one": ({"tolerance_mm": 2.0}, "Surface Dice 2 mm"),
        "equal": ({"tolerance_mm": {"whole": 2.0, "core": 2.0}}, "Surface Dice 2 mm"),
        "two": ({"tolerance_mm": {"whole": 2.0, "core": 1.0}}, "Surface Dice"),
        "words of one's own": ({"tolerance_mm": 2.0, "title": "NSD"}, "NSD"),
    }.values():
        assert challenge.varied(quantities=[surface | given]).measures[0].title == title

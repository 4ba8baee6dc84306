"""What is shown of a submission to LVQuan18."""

import numpy as np
import polars as pl
import pytest

from podium.challenges import get_challenge
from podium.model import Agreement, Status
from podium.ranking import leaderboard_of
from podium.run.measuring import tabulated

INDICES = ["A1", "A2", "D1", "D2", "D3", *(f"RWT{n}" for n in range(1, 7))]


def write(path, values, **more):
    """Write values of shape (images, 12) as CSV."""
    lines = [",".join(["image", *INDICES, "Phase", *more])]
    for row, numbers in enumerate(values.tolist()):
        cells = [*numbers, *(float(column[row]) for column in more.values())]
        lines.append(",".join([f"sub-01-{row + 1:02d}", *map(repr, cells)]))
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def show(tmp_path):
    """Return a function that measures a prediction and shows it."""

    def show(truth, prediction, **scale):
        challenge = get_challenge("lvquan18")
        write(tmp_path / "truth" / "LVQUAN_truth.csv", truth, **scale)
        (case,) = challenge.cases(tmp_path / "truth")
        path = write(tmp_path / "team" / "LVQUAN_team.csv", prediction)
        values = challenge.measure(case, challenge.load(case), path)
        table = tabulated([("team", value) for value in values])
        return challenge, table, challenge.overviews(table)

    return show


@pytest.fixture
def truth():
    values = np.random.default_rng(1).uniform(0.1, 0.6, (8, 12)).round(3)
    values[:, 11] = 0
    return values


def test_every_index_has_its_pairs(show, truth):
    guess = truth.copy()
    guess[:, 0] += [0.1, 0.3, 0.1, 0.3, 0.1, 0.3, 0.1, 0.3]
    _, _, views = show(truth, guess)
    assert all(isinstance(view, Agreement) for view in views)
    assert [view.title.partition(",")[0] for view in views] == INDICES
    first = views[0]
    np.testing.assert_allclose(first.reference, truth[:, 0])
    np.testing.assert_allclose(first.prediction, guess[:, 0])
    assert first.unit == ""
    assert first.bias == pytest.approx(0.2)
    spread = 1.96 * np.sqrt(8 * 0.01 / 7)  # every difference is 0.1 from its mean
    np.testing.assert_allclose(first.limits, (0.2 - spread, 0.2 + spread))
    assert first.correlation == pytest.approx(np.corrcoef(truth[:, 0], guess[:, 0])[0, 1])
    assert views[1].bias == pytest.approx(0)


def test_numbers_are_the_leaderboards(show, truth):
    guess = truth + np.random.default_rng(2).normal(0, 0.02, truth.shape)
    guess[:, 11] = 0
    challenge, table, views = show(truth, guess)
    values = leaderboard_of(challenge, table).entries[0].values
    for index, view in zip(INDICES, views, strict=True):
        assert view.correlation == values[f"pcc_{index}"]
        assert np.abs(view.prediction - view.reference).mean() == pytest.approx(values[f"mae_{index}"])


def test_known_scales_give_millimetres(show, truth):
    _, _, views = show(truth, truth, pix_spa=np.full(8, 0.5), ratio_resize_inverse=np.full(8, 2.0))
    assert [view.unit for view in views] == ["mm²"] * 2 + ["mm"] * 9
    np.testing.assert_allclose(views[2].reference, truth[:, 2] * 80)
    np.testing.assert_allclose(views[0].reference, truth[:, 0] * 80**2)


def test_a_constant_has_no_correlation(show, truth):
    guess = truth.copy()
    guess[:, 3] = 0.25
    _, _, views = show(truth, guess)
    assert np.isnan(views[3].correlation)
    assert np.isfinite(views[3].bias)


def test_images_without_a_number_are_left_out(show, truth):
    guess = truth.copy()
    guess[2, 0] = np.nan
    guess[5] = np.nan
    _, _, views = show(truth, guess)
    assert [view.reference.size for view in views] == [6, *[7] * 10]


def test_a_submission_without_any_number_shows_nothing(show, truth):
    challenge, table, _ = show(truth, truth)
    lost = table.with_columns(value=pl.lit(None, pl.Float64), status=pl.lit(Status.MISSING.value))
    for view in challenge.overviews(lost):
        assert view.reference.size == 0
        assert np.isnan([view.bias, *view.limits, view.correlation]).all()

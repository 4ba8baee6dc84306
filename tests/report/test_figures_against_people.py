"""Algorithms against people: verdicts and what is drawn of them, checked by numbers."""

import numpy as np
import pytest
from reports import synthetic_run

from podium.model import Direction, InputError
from podium.ranking import mean_intervals
from podium.raters import people_verdicts
from podium.report.figures import band_of, people_band

HIGHER, LOWER = Direction.HIGHER, Direction.LOWER


def test_people_are_compared_case_by_case():
    generator = np.random.default_rng(2)
    people = generator.normal(0.9, 0.05, 40)
    algorithms = np.stack([people + generator.normal(0.0, 0.01, 40), people - 0.05 + generator.normal(0, 0.01, 40)])
    band = band_of(algorithms, people, direction=HIGHER)
    assert band.within.tolist() == [1, 0]
    assert band.people[0] == pytest.approx(people.mean())
    assert band.people[1] < band.people[0] < band.people[2]
    low, high = mean_intervals(algorithms).low, mean_intervals(algorithms).high
    np.testing.assert_allclose([band.low, band.high], [low, high])
    assert band_of(-algorithms, -people, direction=LOWER).within.tolist() == [1, 0]


def test_cases_that_either_lacks_do_not_count():
    people = np.array([0.9, 0.8, np.nan, 0.85, 0.7])
    algorithms = np.array([[0.9, np.nan, 0.1, 0.85, 0.7], [np.nan] * 5])
    band = band_of(algorithms, people, direction=HIGHER)
    assert band.within[0] == 1  # equal wherever both have a value
    assert np.isnan(band.within[1])
    assert np.isnan(band.mean[1])
    assert band.mean[0] == pytest.approx(np.mean([0.9, 0.1, 0.85, 0.7]))


def test_one_case_tells_nothing():
    band = band_of([[0.5]], [0.9], direction=HIGHER)
    assert np.isnan([band.within[0], band.low[0]]).all()


def test_verdicts_are_those_of_the_room_for_raters():
    run = synthetic_run(6, 25, people=True, failing=0.05)
    table = run.measurements
    verdicts = {
        (verdict.submission, verdict.metric, verdict.target): verdict.within
        for verdict in people_verdicts(run.challenge, run.cube, roles=run.roles)
    }
    people = table.filter(submission="raters", metric="dice", target="mass").sort("case")["value"].to_numpy()
    for team in range(1, 7):
        name = f"team {team:02d}"
        own = table.filter(submission=name, metric="dice", target="mass").sort("case")["value"].to_numpy()
        assert bool(band_of(own, people, direction=HIGHER).within[0]) == verdicts[name, "dice", "mass"]
    assert set(verdicts.values()) == {True, False}


def test_the_band_and_open_markers_are_drawn():
    people = np.linspace(0.85, 0.95, 20)
    noise = 0.01 * np.sin(np.arange(20))
    band = band_of(np.stack([people + noise, people - 0.2 + noise]), people, direction=HIGHER)
    (axes,) = people_band([band], submissions=["a", "b"], labels=["Dice ↑"]).axes
    (span,) = axes.patches
    assert (span.get_x(), span.get_x() + span.get_width()) == pytest.approx(band.people[1:])
    faces = {round(float(y)): colour for each in axes.collections if each.get_label().startswith("_child")
             for (_, y), colour in zip(each.get_offsets(), each.get_facecolors(), strict=False)}  # fmt: skip
    assert faces[1].tolist() == [1, 1, 1, 1]
    assert faces[0].tolist() != [1, 1, 1, 1]


@pytest.mark.parametrize("cases", [1, 2, 3])
def test_few_cases_are_drawn_without_a_warning(cases):
    values = np.random.default_rng(cases).random((2, cases))
    bands = [band_of(values, people, direction=HIGHER) for people in (values[0], np.full(cases, np.nan))]
    people_band(bands, submissions=["a", "b"], labels=["x", "y"]).draw_without_rendering()


def test_nothing_is_refused():
    with pytest.raises(InputError, match="nothing"):
        people_band([], submissions=["a", "b", "c"], labels=[])

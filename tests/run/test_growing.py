"""A run that grows prediction by prediction is what an evaluation gives, and needs room for one prediction."""

import shutil

import polars as pl
import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks

from podium.challenges import get_challenge
from podium.model import InputError, Role, Value
from podium.run import evaluate_into, growing_run

TEXTS = {"a": {}, "b": {"001": "3 4 0", "003": ""}, "c": {"002": "no point"}}


class Broken(Landmarks):
    """A challenge that a strange prediction breaks."""

    def measure(self, case, truth, prediction):
        """Raise where the point is far away."""
        values = super().measure(case, truth, prediction)
        if values[0].value > 50:
            raise ZeroDivisionError("far")
        return values


def grown(folder, challenge, truth, teams, *, keep=False, roles=None, order=None):
    """Let a run grow from folders of predictions, one at a time; return it and how many lay there at most."""
    work, most = folder / "work", 0
    with growing_run(folder / "grown", challenge, truth=truth, submissions=work) as run:
        for team in order or sorted(path.name for path in teams.iterdir()):
            (work / team).mkdir(parents=True)
            for name, case in run.cases.items():
                names = [name for name in case.expected if "*" not in name and (teams / team / name).exists()]
                for source in names[:1]:
                    (work / team / source).parent.mkdir(parents=True, exist_ok=True)
                    copy = shutil.copytree if (teams / team / source).is_dir() else shutil.copy
                    copy(teams / team / source, work / team / source)
                most = max(most, sum(path.is_file() and path.name != "timing.csv" for path in work.rglob("*")))
                run.measure(team, name)
                if not keep:
                    for path in (work / team).iterdir():
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
            if (teams / team / "timing.csv").exists():
                shutil.copy(teams / team / "timing.csv", work / team / "timing.csv")
        roles = roles or dict.fromkeys((path.name for path in teams.iterdir()), Role.COMPETITOR)
        return run.finish(roles, loading={}), most


def same(one, other):
    assert one.measurements.equals(other.measurements)
    assert one.failures.filter(pl.col("case") != "").equals(other.failures.filter(pl.col("case") != ""))
    assert one.leaderboard.entries == other.leaderboard.entries


def test_a_grown_run_is_that_of_an_evaluation(tmp_path):
    truth, teams = write_landmarks(tmp_path, TEXTS)
    whole = evaluate_into(tmp_path / "whole", Landmarks(), truth=truth, submissions=teams)
    run, most = grown(tmp_path, Landmarks(), truth, teams)
    same(run, whole)
    assert most == 1, "there is never more than one prediction"
    assert run.record.submissions["a"].sha256 == whole.record.submissions["a"].sha256
    assert run.withheld == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kits21", "trackrad2025", "csv2026", "tusrec"])
def test_in_every_challenge(name, tmp_path):
    challenge = get_challenge(name)
    challenge.write_demo(tmp_path / "demo")
    truth, teams = tmp_path / "demo" / "truth", tmp_path / "demo" / "submissions"
    for team in list(teams.iterdir()):
        if team.is_file():  # an archive
            team.unlink()
    whole = evaluate_into(tmp_path / "whole", challenge, truth=truth, submissions=teams)
    same(grown(tmp_path, challenge, truth, teams)[0], whole)


def test_why_there_is_no_prediction_is_said(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"a": {}})
    with growing_run(tmp_path / "run", Landmarks(), truth=truth, submissions=teams) as growing:
        growing.measure("a", "001", failure="crashed: exit code 3")
        run = growing.finish({"a": Role.COMPETITOR}, loading={}, failures=[("a", "sub-01", "too slow")])
    assert ("a", "001", "missing", "crashed: exit code 3") in run.failures.rows()
    assert ("a", "sub-01", "missing", "too slow") in run.failures.rows()
    assert run.leaderboard.entries[0].values["distance"] == pytest.approx((100 + 3) / 4)


@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
def test_who_breaks_an_evaluation_is_to_blame_where_others_do_not_whoever_came_first(tmp_path, order):
    truth, teams = write_landmarks(tmp_path, {"a": {"002": "60 0 0"}, "b": {}})
    whole = evaluate_into(tmp_path / "whole", Broken(), truth=truth, submissions=teams)
    run, _ = grown(tmp_path, Broken(), truth, teams, order=order)
    same(run, whole)
    assert "this prediction breaks the evaluation (measure raised ZeroDivisionError: far)" in run.failures["reason"][0]


def test_a_faulty_challenge_ranks_nobody(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"a": {"002": "60 0 0"}})
    run, _ = grown(tmp_path, Broken(), truth, teams)
    assert "ZeroDivisionError" in run.withheld


def test_what_was_measured_is_known_when_resuming_unless_the_truth_changed(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"a": {}})
    places = {"truth": truth, "submissions": teams}
    with growing_run(tmp_path / "run", Landmarks(), **places) as growing:
        growing.measure("a", "001")
        growing.measure("a", "002", failure="crashed")
    (truth / "001.txt").write_text("1 1 1")
    with (
        pytest.raises(InputError, match="an unfinished run is here"),
        growing_run(tmp_path / "run", Landmarks(), **places),
    ):
        pass
    with growing_run(tmp_path / "run", Landmarks(), resume=True, **places) as growing:
        assert [growing.knows("a", name) for name in growing.cases] == [False, True, False, False]
        assert len(growing.finish({"a": Role.COMPETITOR}, loading={}).failures) == 1
    with growing_run(tmp_path / "run", Landmarks(), restart=True, **places) as growing:
        assert not any(growing.knows("a", name) for name in growing.cases)


def test_only_those_who_take_part_are_in_the_run(tmp_path):
    truth, teams = write_landmarks(tmp_path, TEXTS)
    run, _ = grown(tmp_path, Landmarks(), truth, teams, roles={"a": Role.BASELINE, "b": Role.COMPETITOR})
    assert run.roles == {"a": Role.BASELINE, "b": Role.COMPETITOR}
    assert set(run.measurements["submission"]) == {"a", "b"}
    assert set(run.failures["submission"]) == {"b"}


def test_loading_is_recorded_and_nothing_that_a_submission_says_of_it(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"a": {}, "b": {}})
    (teams / "b" / "timing.csv").write_text("case,seconds,loading\n" + "".join(f"{n:03},1,9\n" for n in range(1, 5)))
    (teams / "b" / "timing.json").write_text('{"loading": 9}')
    with growing_run(tmp_path / "run", Landmarks(), truth=truth, submissions=teams) as growing:
        run = growing.finish(dict.fromkeys("ab", Role.COMPETITOR), loading={"a": 2.5})
    loading = run.measurements.filter(pl.col("metric") == "loading")
    assert set(loading["submission"]) == {"a"}
    assert loading["value"].to_list() == [2.5] * 4
    assert run.cube.loading.tolist() == pytest.approx([2.5, float("nan")], nan_ok=True)
    evaluated = evaluate_into(tmp_path / "evaluated", Landmarks(), truth=truth, submissions=teams)
    assert "loading" not in set(evaluated.measurements["metric"])
    assert run.measurements.filter(pl.col("metric") != "loading").equals(evaluated.measurements)


class Handing(Landmarks):
    """A challenge that takes arrays."""

    def measure_handed(self, case, truth, arrays):
        """Measure the point that was handed over."""
        return [Value(case.name, "distance", float(abs(arrays - truth[0])))]


def test_arrays_are_measured_without_a_file(tmp_path):
    truth, _ = write_landmarks(tmp_path, {})
    assert Handing().takes_arrays
    assert not Landmarks().takes_arrays
    (tmp_path / "work" / "a").mkdir(parents=True)
    with growing_run(tmp_path / "run", Handing(), truth=truth, submissions=tmp_path / "work") as growing:
        for name in growing.cases:
            growing.measure("a", name, arrays=2.0)
        run = growing.finish({"a": Role.COMPETITOR}, loading={})
    assert run.leaderboard.entries[0].values["distance"] == 2
    assert len(run.failures) == 0

"""The front door: the library is the product, and the command line a way to call it."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from plugin import installed, write_landmarks
from shared_data import PROJECT
from sixth_challenge import Landmarks

import podium
import podium.metrics
from podium.cli import app
from podium.model import InputError


@pytest.fixture
def folders(tmp_path, kits21_demo):
    """Return a truth and teams of KiTS21, where a notebook would have them."""
    folder = tmp_path / "notebook"
    folder.mkdir()
    (folder / "truth").symlink_to(kits21_demo / "truth")
    (folder / "teams").symlink_to(kits21_demo / "submissions")
    lines = ["submission,case,value"]
    lines += [f"team {team},case {case},{(team + 1) / (case + 2)}" for team in range(3) for case in range(8)]
    (folder / "table.csv").write_text("\n".join(lines))
    return folder


def test_a_demo_with_too_many_resamples_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(InputError, match="Ask for 1,000,000 at most"):
        podium.demo("kits21", out=tmp_path / "demo", bootstrap=10**9)
    assert not (tmp_path / "demo").exists()


NOTEBOOK = """
import podium
run = podium.evaluate("kits21", truth="truth", submissions="teams", out="run")
run.leaderboard
ranking = run.rank(bootstrap=1000)
ranking.plot("places"); run.report()
podium.rank("table.csv", better="higher").report("out")
"""


def assert_it_did_all(folder):
    assert "<html" in (folder / "run" / "report.html").read_text()
    assert "team 2" in (folder / "out" / "report.html").read_text()
    run = podium.load(str(folder / "run"))
    assert run.leaderboard.places["no-cysts"] == 1
    assert repr(run).startswith("<Run of kits21, document: ")


@pytest.mark.heavy
def test_the_notebook_of_the_design_runs(folders):
    subprocess.run([sys.executable, "-c", NOTEBOOK], cwd=folders, check=True, capture_output=True)
    assert_it_did_all(folders)


@pytest.mark.slow
def test_the_notebook_runs_with_few_figures(folders, monkeypatch):
    """The same, but for most figures, each in three formats, and for a process of its own."""
    few = 'only=["dots_and_boxes", "places"], formats=["svg"]'
    monkeypatch.chdir(folders)
    exec(NOTEBOOK.replace("run.report()", f"run.report({few})").replace('report("out")', f'report("out", {few})'))
    assert_it_did_all(folders)


# Each command, and the one call that does its work; `run` and `ranking` are what podium.load and podium.rank return.
CALLS = {
    "demo": "podium.demo",
    "challenges": "podium.list_challenges",
    "init": "podium.draft_challenge",
    "check": "podium.check",
    "evaluate": "podium.evaluate",
    "run": "podium.run_algorithm",
    "gather": "podium.gather",
    "rank": "podium.rank",
    "report": "podium.Ranking.report",
    "measure": "podium.measure",
    "compare": "podium.compare",
    "metrics": "podium.metrics.metrics",
    "raters": "podium.agreement",
    "verify": "podium.Run.verify",
}


def test_every_command_has_its_call():
    names = {command.callback.__name__ for command in app.registered_commands}
    assert names == set(CALLS)
    for command, call in CALLS.items():
        thing = podium
        for part in call.split(".")[1:]:
            thing = getattr(thing, part)
        assert callable(thing)
        assert inspect.getdoc(thing), call
        source = inspect.getsource(sys.modules[f"podium.cli.{command}"])
        owners = {"podium.Run.": "podium.load(run_folder).", "podium.Ranking.": "ranking."}
        called = next((call.replace(*pair) for pair in owners.items() if call.startswith(pair[0])), call)
        assert f"{called}(" in source, f"{command} does not call {call}"


def test_no_call_has_the_name_of_a_package():
    packages = {path.parent.name for path in (PROJECT / "src" / "podium").glob("*/__init__.py")}
    assert packages & set(podium.__all__) == set()


def test_calls_are_typed_and_take_paths_as_text_or_path():
    for name in podium.__all__:
        call = getattr(podium, name)
        if inspect.isfunction(call):
            signature = inspect.signature(call)
            assert signature.return_annotation is not inspect.Signature.empty, name
            assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values()), name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'podium' has no attribute 'nothing'"):
        podium.nothing  # noqa: B018


@pytest.fixture
def run(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"one": {"001": "2 0 0"}, "two": {"002": "x"}, "<three>": {}})
    return podium.evaluate(Landmarks(), truth=str(truth), submissions=str(teams), out=str(tmp_path / "run"))


def test_a_run_has_everything(run):
    assert run.challenge.name == "landmarks"
    assert set(run.measurements["submission"]) == {"one", "two", "<three>"}
    assert run.failures.rows() == [("two", "002", "invalid", "002.txt: this is no point: three numbers are expected")]
    assert run.cube is run.cube
    assert run.cube.values.shape == (3, 4, 1)
    assert run.leaderboard.places == {"<three>": 1, "one": 2, "two": 3}
    assert run.provenance["schema"] == 2
    assert run.provenance["submissions"]["one"]["sha256"].keys() == {f"00{n}.txt" for n in range(1, 5)}
    assert run.to_frame().equals(run.measurements)
    assert run.verify(sample=4).nothing_differs
    assert "&lt;three&gt;" in run._repr_html_()


def test_a_ranking_has_everything(run, tmp_path):
    ranking = run.rank(bootstrap=100)
    assert ranking.places == {"<three>": 1, "one": 2, "two": 3}
    assert ranking.intervals.columns == ["column", "submission", "estimate", "low", "high"]
    assert ranking.comparisons["first"].n_unique() == 3
    assert ranking.stability.places.shape == (100, 3)
    assert {rule.name for rule in ranking.sensitivity.alternatives} >= {"median then rank", "rank then mean"}
    frame = ranking.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns[:2] == ["place", "submission"]
    assert "best" in frame.columns
    assert "&lt;three&gt;" in ranking._repr_html_()
    assert ranking.plot("places").axes
    with pytest.raises(InputError, match="there is no figure called 'nonsense'"):
        ranking.plot("nonsense")
    page = ranking.report(tmp_path / "page.html", pictures=False, formats=("svg",), only=["places"])
    assert page == tmp_path / "page.html"
    assert "Landmarks" in page.read_text()


def test_a_ranking_without_resamples_says_what_to_ask_for(run):
    ranking = run.rank(bootstrap=0)
    assert ranking.places["<three>"] == 1
    assert "best" not in ranking.to_frame().columns
    with pytest.raises(InputError, match="how sure a ranking is needs resamples"):
        ranking.stability  # noqa: B018


def test_a_challenge_of_an_installed_package_goes_all_the_way(tmp_path):
    """An author gives seven members; everything else works."""
    (tmp_path / "site").mkdir()
    truth, teams = write_landmarks(tmp_path, {"one": {"001": "2 0 0"}, "two": {}})
    with installed(tmp_path / "site"):
        run = podium.evaluate("landmarks", truth=truth, submissions=teams, out=tmp_path / "run")
        again = podium.load(tmp_path / "run")
        assert again.leaderboard == run.leaderboard
        assert again.verify(sample=4).nothing_differs
        assert podium.check("landmarks", teams / "one", truth=truth) == []
        assert podium.check("landmarks", teams / "one") == []
        (teams / "one" / "001.txt").write_text("1 2")
        assert [problem.file for problem in podium.check("landmarks", teams / "one", truth=truth)] == ["001.txt"]
        with pytest.raises(InputError, match="there is no demo of Landmarks"):
            podium.demo("landmarks", out=tmp_path / "demo")
        page = again.report(bootstrap=50, formats=("svg",))
        assert "Landmarks" in page.read_text()


def test_the_sixth_challenge_is_short():
    lines = (PROJECT / "tests" / "support" / "sixth_challenge.py").read_text().splitlines()
    assert len(lines) <= 60


def test_comparisons_are_one_call_too(kits21_demo):
    case = next((kits21_demo / "truth").glob("case_*")) / "aggregated_MAJ_seg.nii.gz"
    found = podium.compare(case, str(case), regions={"all": (1, 2, 3)})
    assert found["all"].overlap.common > 0
    frame = found.to_frame()
    assert dict(frame.select("metric", "value").rows())["dice"] == 1.0
    assert found.warnings == ()
    assert "<table" in found._repr_html_()


def test_lists_of_challenges_come_with_their_rules():
    listed = podium.list_challenges()
    assert {"kits21", "tusrec", "csv2026", "trackrad2025", "lvquan18"} <= set(listed)
    assert all(kind.summary for kind in listed.values())


@pytest.mark.slow
def test_a_run_folder_of_the_first_version_loads_ranks_and_reports(tmp_path, monkeypatch):
    """What version 0.1.0 wrote is kept among the tests; so will be what every later one writes."""
    import shutil

    monkeypatch.chdir(tmp_path)  # its truth lay in demo-run, as that of a `make demo` does
    for folder in sorted((PROJECT / "tests" / "run_folders").glob("*/*")):
        copy = tmp_path / folder.parent.name / folder.name
        shutil.copytree(folder, copy)
        run = podium.load(copy)
        entries = json.loads((folder / "leaderboard.json").read_text())["entries"]
        places = {entry["submission"]: entry["place"] for entry in entries}
        assert run.leaderboard.places == places
        again = run.rank(bootstrap=100)
        assert again.confidence.ranks
        page = again.report(formats=("svg",), only=["dots_and_boxes", "places", "accuracy_runtime"])
        text = page.read_text()
        assert "No cases are drawn: the truth is no longer at" in text
        assert Path(page).parent == copy
        assert {path.name for path in folder.iterdir()} <= {path.name for path in copy.iterdir()}


def measured(**columns):
    """Return a table of two teams and cases, with a column for each metric."""
    return pl.DataFrame({"team": ["A", "A", "B", "B"], "patient": ["1", "2", "1", "2"], **columns})


DICE, DISTANCE = [0.9, 0.8, 0.7, 0.6], [3.0, 2.0, 5.0, 9.0]


def test_cases_of_one_name_are_one_case_however_the_table_is_arranged():
    columns = measured(Dice=DICE, HD95=DISTANCE)
    lines = columns.unpivot(index=["team", "patient"], variable_name="metric", value_name="value")
    rules = [podium.rank(table, tasks=["Dice:higher", "HD95:lower"], bootstrap=0).rule for table in (columns, lines)]
    for rule in rules:
        assert rule.units.names == ("1", "2")
        assert rule.units.cluster.tolist() == [0, 1, 0, 1]
        assert rule.unit_words == ("case", "cases")
        assert "Cases of one name in several tasks are drawn together, as one case." in rule.notes
    other = lines.with_columns(pl.format("{} {}", "metric", "patient").alias("patient"))
    rule = podium.rank(other, tasks=["Dice:higher", "HD95:lower"], bootstrap=0).rule
    assert len(rule.units.names) == 4
    assert not any("drawn together" in note for note in rule.notes)
    centres = columns.with_columns(pl.lit("Oslo").alias("centre"))
    options = {"tasks": ["Dice:higher", "HD95:lower"], "columns": {"cluster": "centre"}}
    assert podium.rank(centres, **options, bootstrap=0).rule.units.names == ("Oslo",)


def test_a_note_on_clusters_in_tests_is_for_several_cases_of_one_task():
    ranking = podium.rank(measured(Dice=DICE, IoU=DICE), better="higher", scheme="test-then-rank", bootstrap=0)
    assert not any("clusters" in note for note in ranking.leaderboard.notes)
    joined = measured(Dice=DICE).with_columns(pl.lit("p").alias("cluster"))
    ranking = podium.rank(joined, better="higher", scheme="test-then-rank", bootstrap=0)
    assert any("the means of 1 clusters" in note for note in ranking.leaderboard.notes)


def test_a_direction_against_the_name_of_a_metric_is_doubted():
    both = measured(Dice=DICE, HD95=DISTANCE)
    first, *_ = podium.rank(both, better="higher", bootstrap=0).leaderboard.notes
    assert first == (
        "Higher values of HD95 count as better, though its name says that lower ones are. If so, say "
        "--task Dice:higher --task HD95:lower."
    )
    first, *_ = podium.rank(measured(Dice=DICE), better="lower", bootstrap=0).leaderboard.notes
    assert first.endswith("If so, say --better higher.")
    for ranking in (
        podium.rank(both, tasks=["Dice:higher", "HD95:lower"], bootstrap=0),
        podium.rank(measured(points=DICE), better="lower", bootstrap=0),
    ):
        assert not any("count as better" in note for note in ranking.leaderboard.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "or for each task: --task HD95:lower --task 'liver Dice:higher'$"),
        ({"tasks": ["HD95:up"]}, "there is no task 'HD95:up'. There are: .*. Did you mean --task HD95:lower\\?"),
        ({"tasks": ["hd-95:higher:2"]}, "'hd-95:higher:2'. There are: .*. Did you mean --task HD95:higher\\?"),
        ({"better": "lower", "ranges": {"hd95": (0, 1)}}, "there is no task 'hd95'. .* Did you mean HD95\\?"),
        ({"better": "lower", "interval": "garanteed"}, "there is no interval 'garanteed'. There are: bootstrap-t"),
        ({"better": "lower", "level": 95}, "the level is 95, but must lie between 0 and 1. Say 0.95"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_say_instead(options, message):
    table = measured(HD95=DISTANCE, **{"liver Dice": DICE})
    columns = {"submission": "team", "case": "patient"}
    with pytest.raises(InputError, match=message):
        podium.rank(table, columns=columns, bootstrap=0, **options)


def test_the_only_values_have_the_name_of_their_column():
    assert podium.rank(measured(Dice=DICE), better="higher", bootstrap=0).leaderboard.columns[0].title == "Dice"
    value = measured(value=DICE)
    assert podium.rank(value, better="higher", bootstrap=0).leaderboard.columns[0].title == "Value"


def test_a_range_may_be_named_as_the_only_column_of_values(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text(
        "team,case,Dice\n" + "".join(f"{team},{case},0.{case}{k}\n" for case in range(9) for k, team in enumerate("AB"))
    )
    named = podium.rank(path, better="higher", ranges={"Dice": (0, 1)}, bootstrap=50)
    plain = podium.rank(path, better="higher", ranges={"": (0, 1)}, bootstrap=50)
    assert named.confidence.columns.keys() == plain.confidence.columns.keys()
    with pytest.raises(InputError, match=r"there is no task 'HD95'\. All values are of one kind: leave out the name"):
        podium.rank(path, better="higher", ranges={"HD95": (0, 1)})
    with pytest.raises(InputError, match=r"outside the range 0 to 0\.5"):
        podium.rank(path, better="higher", ranges={"Dice": (0, 0.5)})

"""What a run folder tells: leaderboards, metrics and failures as text, and rankings beside the published one."""

import csv
import json
import math

import numpy as np
import pytest
from boards import measurements
from plugin import write_landmarks
from sixth_challenge import Landmarks

import podium
from podium.challenges import challenges
from podium.io import encoded
from podium.model import Direction, Entry, InputError, Leaderboard, Measure, Value
from podium.run import leaderboard_document, leaderboard_files, ranking_document_of, ranking_files, write_ranking
from podium.run.measuring import tabulated
from podium.run.results import metrics_document, metrics_files
from podium.run.runs import failures_frame

NAMES = sorted(challenges())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_ranking_again_gives_the_same_leaderboard(demos, name):
    run = podium.load(demos / name / "run")
    for file, content in leaderboard_files(run.leaderboard, run.challenge.options).items():
        assert (run.folder / file).read_bytes() == encoded(file, content), file


# Metrics


def test_metrics_are_aggregated_over_what_is_a_number():
    table = tabulated(
        [
            ("team", Value("a", "dice", 1.0, "tumour")),
            ("team", Value("b", "dice", 0.5, "tumour")),
            ("team", Value("c", "dice", None, "tumour", reason="undefined here")),
            ("team", Value("a", "frame", 9.0, unit="frame 1")),
            ("team", Value("a", "distance", math.inf)),
        ]
    )
    document = metrics_document(table)
    assert document["aggregates"]["dice_tumour"] == {"mean": 0.75, "std": 0.25, "min": 0.5, "max": 1.0, "count": 2}
    assert document["aggregates"]["distance"]["mean"] is None
    assert document["aggregates"]["distance"]["std"] is None
    assert "frame" not in document["aggregates"]
    assert document["results"][0] == {"case": "a", "dice_tumour": 1.0, "distance": math.inf}
    assert document["results"][2] == {"case": "c", "dice_tumour": None}


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1.0, 1e200, 1e308])
def test_no_magnitude_overflows_or_vanishes(size):
    """Of 0.5 and 1.5 times a size, and in whatever company."""
    values = {"a": {"c1": {("error", ""): 0.5 * size}, "c2": {("error", ""): 1.5 * size}}}
    aggregate = metrics_document(measurements(values))["aggregates"]["error"]
    assert aggregate == pytest.approx({"mean": size, "std": size / 2, "min": size / 2, "max": 1.5 * size, "count": 2})
    random = np.random.default_rng(0).random(50)
    values = {"a": {f"c{case}": {("error", ""): value} for case, value in enumerate(random.tolist())}}
    aggregate = metrics_document(measurements(values))["aggregates"]["error"]
    assert aggregate["mean"] == math.fsum(random) / 50
    assert aggregate["std"] == math.sqrt(math.fsum((random - aggregate["mean"]) ** 2) / 50)


def test_a_failed_case_says_why_in_its_metrics(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"team": {"002": ""}})
    run = podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=tmp_path / "run")
    document = json.loads((run.folder / "metrics" / "team.json").read_text())
    assert document["results"][1] == {
        "case": "002",
        "distance": 100.0,
        "status": "missing",
        "reason": "there is no 002.txt",
    }
    assert document["aggregates"]["distance"]["count"] == 4


@pytest.mark.parametrize("names", [["a/b", "a_b", "..", "x" * 255, "病" * 84, "𝒏" * 63, "ü", " a ", "a:b"]])
def test_every_submission_has_a_file_of_its_own_whatever_it_is_called(names):
    files = list(metrics_files(tabulated([]), names))
    assert len(set(files)) == len(names)
    for file in files:
        folder, _, name = file.rpartition("/")
        assert folder == "metrics"
        assert not name.startswith(".")
        assert len(name.encode()) < 255
    assert "metrics/ü.json" in files


def test_failures_are_a_table_whatever_they_say(tmp_path):
    """A prediction's reason may hold anything that is printable; it comes back as it was."""
    texts = {"002": ""}
    truth, teams = write_landmarks(tmp_path, {'team, "one"': texts, "two": {"001": 'a, "b"'}})
    run = podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=tmp_path / "run")
    rows = list(csv.reader((run.folder / "failures.csv").read_text().splitlines(keepends=True)))
    assert rows[0] == ["submission", "case", "status", "reason"]
    assert [tuple(row) for row in rows[1:]] == run.failures.rows()
    assert podium.load(run.folder, challenge=Landmarks()).failures.equals(run.failures)
    assert failures_frame([("a", "", "warning", "x")]).rows() == [("a", "", "warning", "x")]


# Leaderboards


@pytest.fixture
def board():
    columns = (
        Measure("score", "Score", Direction.HIGHER, digits=2),
        Measure("distance", "Distance", Direction.LOWER, "mm", digits=1),
    )
    return Leaderboard(
        challenge="c",
        edition="document",
        columns=columns,
        entries=(
            Entry("one|two", "competitor", 1, "", {"score": 1 / 3, "distance": math.inf}),
            Entry("<b>", "baseline", None, "a baseline", {"score": None, "distance": 0.25}),
        ),
        notes=("A *note*.",),
    )


def test_a_leaderboard_as_csv_json_and_markdown(board):
    contents = leaderboard_files(board, {"option": 1})
    files = {name: encoded(name, content).decode() for name, content in contents.items()}
    assert files["leaderboard.csv"].splitlines() == [
        "place,submission,role,score,distance,remark",
        "1,one|two,competitor,0.3333333333333333,inf,",
        ",<b>,baseline,,0.25,a baseline",
    ]
    document = json.loads(files["leaderboard.json"])
    assert document["schema"] == 2
    assert document["options"] == {"option": 1}
    assert document["columns"][1] == {
        "name": "distance",
        "title": "Distance",
        "unit": "mm",
        "direction": "lower is better",
        "digits": 1,
    }
    assert [entry["place"] for entry in document["entries"]] == [1, None]
    assert document["entries"][0]["values"] == {"score": 1 / 3, "distance": None}
    assert document["notes"] == ["A *note*."]
    assert files["leaderboard.md"].splitlines() == [
        "| # | submission | Score ↑ | Distance, mm ↓ | remark |",
        "|---|---|---|---|---|",
        "| 1 | one\\|two | 0.33 | ∞ |  |",
        "| – | \\<b\\> | – | 0.2 | a baseline |",
        "",
        "A \\*note\\*.",
    ]


def test_the_document_holds_the_options_that_made_it(board):
    assert leaderboard_document(board, {"edition": "code"})["options"] == {"edition": "code"}


# Rankings


@pytest.fixture
def run(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"a": {}, "b": {"001": "2 0 0"}, "c": {"002": "5 0 0"}}, cases=6)
    return podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=tmp_path / "run")


def test_a_ranking_that_draws_no_cases_has_no_files_of_its_own(run):
    ranking = run.rank(bootstrap=0)
    assert ranking_files(ranking) == {}
    assert ranking_document_of(ranking) == leaderboard_document(run.leaderboard, run.challenge.options)
    drawn = run.rank(bootstrap=20)
    assert json.loads(encoded("ranking.json", ranking_files(drawn)["ranking.json"]))["leaderboard"]["entries"]


def test_the_published_board_is_never_overwritten(run, tmp_path):
    before = {path.name: path.read_bytes() for path in run.folder.glob("leaderboard.*")}
    ranking = run.rank(bootstrap=20)
    assert write_ranking(ranking, run.challenge.options, None, run.folder) == run.folder
    assert (run.folder / "ranking.json").is_file()
    ranking.made_with = {**run.challenge.options, "colour": "red/blue", "level": 0.9}
    place = write_ranking(ranking, run.challenge.options, None, run.folder)
    assert place.parent == run.folder / "rankings"
    assert place.name.startswith("colour=red_blue-level=0.9~")  # not all of it can be a name
    ranking.made_with = {**run.challenge.options, "colour": "red_blue", "level": 0.9}
    other = write_ranking(ranking, run.challenge.options, None, run.folder)
    assert other.name == "colour=red_blue-level=0.9"
    ranking.made_with = {**run.challenge.options, "colour": "red/blue", "level": 0.9}
    assert json.loads((place / "leaderboard.json").read_text())["options"]["colour"] == "red/blue"
    assert write_ranking(ranking, run.challenge.options, place, run.folder) == place  # and again
    assert before == {path.name: path.read_bytes() for path in run.folder.glob("leaderboard.*")}
    with pytest.raises(InputError, match="a run is here, whose own board stays"):
        write_ranking(ranking, {}, run.folder, None)
    assert write_ranking(ranking, {}, None, None) is None
    assert write_ranking(ranking, {}, tmp_path / "new" / "place", None) == tmp_path / "new" / "place"
    assert (tmp_path / "new" / "place" / "leaderboard.csv").is_file()


def test_files_of_others_are_not_overwritten_by_a_ranking(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "places.csv").write_text("mine")
    with pytest.raises(InputError, match="this file is in the way, and Podium did not write it"):
        write_ranking(run.rank(bootstrap=20), {}, tmp_path / "mine", None)
    assert (tmp_path / "mine" / "places.csv").read_text() == "mine"

"""One team on grand-challenge.org: predictions.json in, metrics.json out."""

import json

import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks
from typer.testing import CliRunner

import podium
from podium.challenges import get_challenge
from podium.cli import app
from podium.model import InputError
from podium.run import find_submissions, measure_all


@pytest.mark.slow
@pytest.mark.parametrize("team", ["good", "shifted", "noisy", "no_tracking"])
def test_the_same_numbers_as_from_plain_folders(shared, tmp_path, team):
    golden = shared / "golden" / "trackrad"
    metrics = tmp_path / "output" / "metrics.json"
    arguments = [
        "--truth", golden / "ground_truth", "--predictions", golden / "submissions" / team / "predictions.json",
        "--metrics", metrics, "--rules", "code",
    ]  # fmt: skip
    result = CliRunner().invoke(app, ["evaluate", "trackrad2025", "--grand-challenge", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    document = json.loads(metrics.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    challenge = get_challenge("trackrad2025", edition="code")
    plain = [s for s in find_submissions(golden / "plain") if s.name == team]
    table = measure_all(challenge, truth=golden / "ground_truth", submissions=plain).table
    expected = {
        (case, metric): value
        for name, case, unit, metric, value in table.select("submission", "case", "unit", "metric", "value").iter_rows()
        if name == team and unit == ""
    }
    written = {
        (entry["case"], metric): value
        for entry in document["results"]
        for metric, value in entry.items()
        if metric not in ("case", "status", "reason")
    }
    assert set(written) == set(expected)
    for key, value in expected.items():
        assert written[key] == pytest.approx(value, abs=1e-6), key
    assert document["aggregates"]["dice"]["count"] == len(document["results"])
    scores = document["aggregates"]["scores"]
    assert not any("rank" in name for name in scores)
    official = json.loads((shared / "golden" / "trackrad.json").read_text())["teams"][team]["aggregates"]
    assert scores["runtime"] == pytest.approx(official["runtime"], rel=1e-9)


def test_jobs_that_make_no_sense(shared, tmp_path):
    truth = shared / "golden" / "trackrad" / "ground_truth"
    predictions = tmp_path / "predictions.json"

    def run(text):
        predictions.write_text(text)
        arguments = ["--truth", truth, "--predictions", predictions, "--metrics", tmp_path / "metrics.json"]
        return CliRunner().invoke(app, ["evaluate", "trackrad2025", "--grand-challenge", *map(str, arguments)])

    assert "this is not JSON" in run("{").stderr
    assert "not a list of jobs" in run('{"a": 1}').stderr
    assert "names no known case" in run('[{"pk": "1", "inputs": [{"image": {"name": "S_0019_frames.mha"}}]}]').stderr
    assert "names no known case" in run('[{"pk": "1", "inputs": [{"image": {"name": "Z_999_frames.mha"}}]}]').stderr
    backwards = {"started_at": "2025-06-01T12:00:03Z", "completed_at": "2025-06-01T12:00:00Z"}
    job = {"pk": "1", "inputs": [{"image": {"name": "S_001_frames.mha"}}], "outputs": None, **backwards}
    assert "two jobs are about case S_001" in run(json.dumps([job, job])).stderr
    result = run(json.dumps([job]))  # no output at all, and all other cases missing
    assert result.exit_code == 0, result.output
    results = json.loads((tmp_path / "metrics.json").read_text())["results"]
    assert {entry["status"] for entry in results} == {"missing"}
    assert {entry["dice"] for entry in results} == {0.0}


@pytest.fixture
def platform(tmp_path):
    """Return a function that evaluates jobs whose outputs lie in <pk>/output/images/point, and its results by case."""
    truth, _ = write_landmarks(tmp_path, {}, cases=3)
    folder = tmp_path / "input"
    for number in (1, 2, 3):
        place = folder / f"pk-{number}" / "output" / "images" / "point"
        place.mkdir(parents=True)
        (place / "point.txt").write_text(f"{number} 0 0")

    def evaluated(jobs):
        (folder / "predictions.json").write_text(json.dumps(jobs))
        metrics = tmp_path / "output" / "metrics.json"
        document = podium.grand_challenge(
            Landmarks(), truth=truth, predictions=folder / "predictions.json", metrics=metrics
        )
        assert json.loads(metrics.read_text()) == document
        return {entry["case"]: entry for entry in document["results"]}

    evaluated.folder = folder
    return evaluated


def platform_job(number, path="images/point", **changes):
    return {
        "pk": f"pk-{number}",
        "inputs": [{"image": {"name": f"00{number}_frames.mha"}}],
        "outputs": [{"image": {"pk": "x"}, "interface": {"relative_path": path}}],
        "started_at": "2025-06-01T12:00:00Z",
        "completed_at": "2025-06-01T12:00:02.5Z",
    } | changes


def test_each_job_is_measured_by_its_own_output(platform):
    results = platform([platform_job(number) for number in (1, 2, 3)])
    assert {case: entry["distance"] for case, entry in results.items()} == {"001": 1.0, "002": 2.0, "003": 3.0}
    assert {entry["seconds"] for entry in results.values()} == {2.5}


def test_an_output_outside_the_job_is_not_followed(platform):
    """A path with `..` would let a job hand in what another one put out, and an absolute one whatever it likes."""
    paths = [
        "../../pk-3/output/images/point",
        "images/../../../pk-3/output/images/point",
        "..",
        str(platform.folder / "pk-3" / "output" / "images" / "point"),
    ]
    for path in paths:
        results = platform([platform_job(1, path), platform_job(2), platform_job(3)])
        assert results["001"]["status"] == "missing", path
        assert results["001"]["distance"] == 100.0
        assert results["002"]["distance"] == 2.0


def test_a_linked_output_is_not_followed(platform):
    place = platform.folder / "pk-1" / "output" / "images" / "point"
    (place / "point.txt").unlink()
    (place / "point.txt").symlink_to(platform.folder / "pk-3" / "output" / "images" / "point" / "point.txt")
    assert platform([platform_job(number) for number in (1, 2, 3)])["001"]["status"] == "missing"


def test_the_first_output_that_is_an_image_with_a_path_is_taken(platform):
    outputs = [
        {"image": None, "interface": {"relative_path": "images/point"}},
        {"image": {"pk": "x"}, "interface": None},
        {"image": {"pk": "x"}, "interface": {"relative_path": "images/nothing"}},
        {"image": {"pk": "x"}, "interface": {"relative_path": "images/point"}},
    ]
    assert platform([platform_job(1, outputs=outputs)])["001"]["distance"] == 1.0
    assert platform([platform_job(1, outputs=outputs[:3])])["001"]["status"] == "missing"


def test_a_failed_case_keeps_its_time_and_a_time_that_is_none_is_left_out(platform):
    jobs = [
        platform_job(1, "images/nothing"),
        platform_job(2, completed_at=None),
        platform_job(3, completed_at="2025-06-01T12:00:03"),  # one with a time zone, one without
    ]
    results = platform(jobs)
    assert (results["001"]["status"], results["001"]["seconds"]) == ("missing", 2.5)
    assert "seconds" not in results["002"]
    assert "seconds" not in results["003"]


def test_a_challenge_that_is_at_fault_gives_no_metrics(platform, monkeypatch):
    monkeypatch.setattr(Landmarks, "measure", lambda *_: None)
    with pytest.raises(InputError, match="Landmarks itself is at fault"):
        platform([platform_job(1)])

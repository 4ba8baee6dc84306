"""One team on grand-challenge.org: predictions.json in, metrics.json out."""

import json

import pytest
from typer.testing import CliRunner

from podium.challenges import get_challenge
from podium.cli import app
from podium.run import evaluate, find_submissions


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
    table = evaluate(challenge, truth=golden / "ground_truth", submissions=plain).table
    expected = {
        (case, metric): value
        for name, case, unit, metric, value in table.select("submission", "case", "unit", "metric", "value").iter_rows()
        if name == team and unit == ""
    }
    found = {
        (entry["case"], metric): value
        for entry in document["results"]
        for metric, value in entry.items()
        if metric not in ("case", "status", "reason")
    }
    assert set(found) == set(expected)
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-6), key
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

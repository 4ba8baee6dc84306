"""`podium verify`: what it finds in a run whose inputs, measurements or leaderboard were touched."""

import json
import shutil

import polars as pl
import pytest
from typer.testing import CliRunner

from podium.cli import app
from podium.run.verifying import twins


@pytest.fixture(scope="module")
def original(kits21_demo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("verify") / "demo"
    shutil.copytree(kits21_demo, folder)
    shutil.make_archive(str(folder / "submissions" / "packed"), "zip", folder / "submissions" / "careful")
    return folder


@pytest.fixture
def run(original, tmp_path):
    """Return a run of its own, whose inputs may be touched."""
    folder = tmp_path / "own"
    shutil.copytree(original, folder)
    arguments = ["--truth", folder / "truth", "--submissions", folder / "submissions", "--out", folder / "run"]
    assert CliRunner().invoke(app, ["evaluate", "kits21", *map(str, arguments)]).exit_code == 3
    return folder


def verify(run, *more):
    return CliRunner().invoke(app, ["verify", str(run / "run"), *map(str, more)])


def test_an_untouched_run_is_what_it_says_and_its_twins_are_named(run):
    result = verify(run, "--sample", 3)
    assert result.exit_code == 0, result.output
    assert "input files hashed: nothing differs." in result.stderr
    assert "3 cases measured again" in result.stderr
    assert "ranked again: nothing differs." in result.stderr
    assert "careful and packed are identical: 100% of their files and 100% of their measured cases" in result.stdout
    assert result.stdout.count("identical") == 1


def test_a_changed_and_a_missing_input_are_named(run):
    teams = run / "submissions"
    shutil.copy(teams / "noisy" / "case_00001.nii.gz", teams / "generous" / "case_00001.nii.gz")
    (teams / "noisy" / "case_00003.nii.gz").unlink()
    result = verify(run, "--sample", 8)
    assert result.exit_code == 3
    assert "generous: case_00001.nii.gz has changed" in result.stdout
    assert "noisy: case_00003.nii.gz is gone" in result.stdout
    assert "generous, case_00001: dice kidney_and_mass is " in result.stdout
    assert "noisy, case_00003: dice kidney_and_mass is missing, was ok" in result.stdout


@pytest.mark.slow
def test_a_measurement_that_was_touched_is_found_by_measuring_and_by_ranking(run):
    path = run / "run" / "measurements.parquet"
    table = pl.read_parquet(path)
    cheat = (pl.col("submission") == "noisy") & (pl.col("metric") == "dice")
    table.with_columns(pl.when(cheat).then(1.0).otherwise("value").alias("value")).write_parquet(path)
    found = json.loads(verify(run, "--sample", 8, "--json").stdout)
    assert {each["submission"] for each in found["measurements"]} == {"noisy"}
    assert any(line.startswith("noisy has place") for line in found["ranking"])
    assert found["inputs"] == []


@pytest.mark.slow
def test_a_leaderboard_that_was_touched_is_found(run):
    path = run / "run" / "leaderboard.json"
    document = json.loads(path.read_text())
    document["entries"][0]["submission"] = "somebody else"
    path.write_text(json.dumps(document))
    result = verify(run, "--sample", 0)
    assert result.exit_code == 3
    assert "somebody else is on the leaderboard, but was not measured" in result.stdout
    path.write_text("{")
    assert "leaderboard.json is damaged" in verify(run, "--sample", 0).stdout
    path.unlink()
    assert "there is no leaderboard.json" in verify(run, "--sample", 0).stdout


@pytest.mark.slow
def test_what_is_gone_altogether_is_said(run):
    shutil.rmtree(run / "submissions" / "noisy")
    result = verify(run, "--sample", 1)
    assert result.exit_code == 3
    assert "noisy:  cannot be opened" in result.stdout


def measurements(values):
    rows = [
        (name, case, "", "", "dice", value, "ok", "")
        for name, own in values.items()
        for case, value in enumerate(map(float, own))
    ]
    names = ("submission", "case", "unit", "target", "metric", "value", "status", "reason")
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.col("case").cast(pl.String))


def test_nearly_identical_submissions_are_found_by_their_measurements():
    values = {"a": range(20), "b": [*range(19), 7.5], "c": range(100, 120), "d": [*range(100, 110), *range(10)]}
    (pair,) = twins(measurements(values), {}, list(values))
    assert (pair.first, pair.second, pair.equal_files, pair.equal_cases) == ("a", "b", 0.0, 0.95)


def test_equal_files_are_found_although_nothing_could_be_measured():
    hashes = {"a": {"1.nii": "x", "2.nii": "y"}, "b": {"1.nii": "x", "2.nii": "y"}, "c": {}, "d": {}}
    (pair,) = twins(measurements({}), hashes, list(hashes))
    assert (pair.first, pair.second, pair.equal_files) == ("a", "b", 1.0)

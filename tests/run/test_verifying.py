"""Auditing a run: what is found where inputs, measurements or the leaderboard were touched, and twins."""

import json
import shutil

import polars as pl
import pytest
from plugin import write_landmarks
from reports import forge
from sixth_challenge import Landmarks
from typer.testing import CliRunner

import podium
from podium.cli import app
from podium.model import Case, InputError
from podium.run.measuring import SCHEMA
from podium.run.verifying import Twins, twins

pytestmark = pytest.mark.slow


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
    assert "careful and packed are identical: 100 % of their files and 100 % of their measured cases" in result.stdout
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
    table = pl.read_parquet(run / "run" / "measurements.parquet")
    cheat = (pl.col("submission") == "noisy") & (pl.col("metric") == "dice")
    forge(run / "run", table.with_columns(pl.when(cheat).then(1.0).otherwise("value").alias("value")))
    differing = json.loads(verify(run, "--sample", 8, "--json").stdout)
    assert {line["submission"] for line in differing["measurements"]} == {"noisy"}
    assert any(line.startswith("noisy has place") for line in differing["ranking"])
    assert differing["inputs"] == []


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
    assert "noisy: cannot be opened" in result.stdout


def landmarks(tmp_path, teams):
    """Return a run of its own of a challenge that takes no time."""
    truth, submissions = write_landmarks(tmp_path, teams)
    podium.evaluate(Landmarks(), truth=truth, submissions=submissions, out=tmp_path / "run")
    return lambda: podium.load(tmp_path / "run", challenge=Landmarks()).verify()


def test_an_archive_that_could_not_be_opened_then_either_is_no_difference(tmp_path):
    (tmp_path / "teams").mkdir()
    broken = tmp_path / "teams" / "broken.zip"
    broken.write_bytes(b"nothing")
    verification = landmarks(tmp_path, {"team": {}})
    assert verification().nothing_differs
    broken.unlink()
    ((name, file, what),) = verification().inputs
    assert (name, file) == ("broken", "")
    assert "it is gone" in what


def test_an_archive_that_was_replaced_by_a_broken_one_is_named(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for case in ("001", "002", "003", "004"):
        (source / f"{case}.txt").write_text("1 0 0")
    (tmp_path / "teams").mkdir()
    shutil.make_archive(str(tmp_path / "teams" / "packed"), "zip", source)
    verification = landmarks(tmp_path, {"team": {"001": "2 0 0"}})
    assert verification().nothing_differs
    (tmp_path / "teams" / "packed.zip").write_bytes(b"nothing")
    differing = verification()
    assert [line[:2] for line in differing.inputs] == [("packed", "")]
    assert {line[2] for line in differing.measurements} == {"distance is invalid, was ok"}


def test_an_archive_of_one_prediction_that_is_a_folder_is_found_again(tmp_path):
    class Folders(Landmarks):
        """Landmarks whose predictions are folders."""

        def cases(self, truth):
            """One case, of which a folder is expected."""
            return [Case("001", (truth / "001.txt",), ("001",))]

        def measure(self, case, truth, prediction):
            """Measure what lies in the folder."""
            return super().measure(case, truth, prediction / "point.txt")

    truth, teams = write_landmarks(tmp_path, {"team": {}}, cases=1)
    shutil.rmtree(teams / "team")
    (tmp_path / "source" / "001").mkdir(parents=True)
    (tmp_path / "source" / "001" / "point.txt").write_text("1 0 0")
    shutil.make_archive(str(teams / "team"), "zip", tmp_path / "source")
    run = podium.evaluate(Folders(), truth=truth, submissions=teams, out=tmp_path / "run")
    assert list(run.record.submissions["team"].sha256) == ["001/point.txt"]
    assert run.verify().nothing_differs


def test_a_truth_that_changed_or_is_gone_is_named_and_nothing_measured_against_it(tmp_path):
    verification = landmarks(tmp_path, {"team": {}})
    (tmp_path / "truth" / "002.txt").write_text("0 0 3")
    differing = verification()
    assert differing.inputs == (("the truth", "002.txt", "has changed"),)
    assert [line[:2] for line in differing.measurements] == [("team", "002")]
    shutil.rmtree(tmp_path / "truth")
    differing = verification()
    assert differing.cases == ()
    assert [line[:2] for line in differing.inputs] == [("the truth", "")]
    assert differing.measurements == ()


def test_a_truth_whose_cases_cannot_be_told_any_more_is_named(run):
    next((run / "truth").rglob("aggregated_MAJ_seg.nii.gz")).unlink()
    result = verify(run)
    assert result.exit_code == 3, result.output
    assert "the truth: case_" in result.stdout
    assert "the truth: cannot be used (" in result.stdout


def test_a_team_that_only_the_measurements_know_is_refused_or_found(tmp_path):
    verification = landmarks(tmp_path, {"team": {}})
    table = pl.read_parquet(tmp_path / "run" / "measurements.parquet")
    both = pl.concat([table, table.with_columns(submission=pl.lit("nobody"), value=pl.lit(0.0))])
    forge(tmp_path / "run", both)
    with pytest.raises(InputError, match=r"measurements\.parquet holds 'nobody', which run\.json does not know"):
        verification()
    forge(tmp_path / "run", both, roles={"team": "competitor", "nobody": "competitor"})
    differing = verification()
    assert {line[0] for line in differing.measurements} == {"nobody"}
    assert differing.measurements[0][2] == "distance was recorded, and does not come out now"
    assert "nobody is not on the leaderboard" in differing.ranking


def test_faults_that_are_on_record_are_no_difference(tmp_path):
    class Refusing(Landmarks):
        """Breaks on everything."""

        def measure(self, case, truth, prediction):  # noqa: ARG002
            """Return nothing."""
            return

    truth, teams = write_landmarks(tmp_path, {"team": {}})
    run = podium.evaluate(Refusing(), truth=truth, submissions=teams, out=tmp_path / "run")
    assert run.withheld
    assert run.verify().nothing_differs
    other = podium.Run(Refusing(), run.record.model_copy(update={"faults": []}), run.measurements, run.failures)
    other.folder = run.folder
    assert {line[2] for line in other.verify().measurements} == {"measure returned NoneType, not a list of values"}


def test_a_run_of_another_version_of_the_rules_is_refused(tmp_path):
    verification = landmarks(tmp_path, {"team": {}})
    path = tmp_path / "run" / "run.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 7'))
    with pytest.raises(InputError, match="measured by version 7 of Landmarks, this is 1"):
        verification()


def test_which_cases_are_measured_again_depends_on_the_seed(tmp_path):
    landmarks(tmp_path, {"team": {}})
    run = podium.load(tmp_path / "run", challenge=Landmarks())
    samples = {run.verify(sample=2, seed=seed).cases for seed in range(8)}
    assert len(samples) > 1
    assert all(len(cases) == 2 and list(cases) == sorted(cases) for cases in samples)
    assert run.verify(sample=2, seed=3).cases == run.verify(sample=2, seed=3).cases
    assert run.verify(sample=0).cases == ()
    seen = []
    run.verify(progress=lambda what, done, total: seen.append((what, done, total)))
    assert ("files hashed", 8, 8) in seen
    assert seen[-1] == ("cases measured", 4, 4)


def test_what_differs_is_a_table_too(tmp_path):
    verification = landmarks(tmp_path, {"team": {}})
    assert verification().to_frame().is_empty()
    (tmp_path / "teams" / "team" / "001.txt").write_text("9 0 0")
    assert verification().to_frame().rows() == [
        ("inputs", "team", "001.txt", "has changed"),
        ("measurements", "team", "001", "distance is 9.0, was 1.0"),
    ]


def measurements(values):
    rows = [
        (name, f"{case:03}", "", "", "dice", value, None, "ok", "")
        for name, own in values.items()
        for case, value in enumerate(map(float, own))
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def test_nearly_identical_submissions_are_found_by_their_measurements():
    values = {"a": range(20), "b": [*range(19), 7.5], "c": range(100, 120), "d": [*range(100, 110), *range(10)]}
    (pair,) = twins(measurements(values), {}, list(values), time="seconds")
    assert (pair.first, pair.second, pair.equal_files, pair.equal_cases) == ("a", "b", 0.0, 0.95)


def test_equal_files_are_found_although_nothing_could_be_measured():
    hashes = {"a": {"1.nii": "x", "2.nii": "y"}, "b": {"1.nii": "x", "2.nii": "y"}, "c": {}, "d": {}}
    (pair,) = twins(measurements({}), hashes, list(hashes), time="seconds")
    assert (pair.first, pair.second, pair.equal_files) == ("a", "b", 1.0)


@pytest.mark.parametrize(("equal", "are_twins"), [(8, False), (9, True), (10, True)])
def test_twins_are_equal_in_nine_of_ten_cases(equal, are_twins):
    values = {"one": range(10), "two": [*range(equal), *range(100, 110 - equal)]}
    pairs = twins(measurements(values), {}, list(values), time="seconds")
    assert [(pair.first, pair.second, pair.equal_cases) for pair in pairs] == [("one", "two", equal / 10)] * are_twins
    hashes = {name: {f"{case}.nii": str(value) for case, value in enumerate(own)} for name, own in values.items()}
    pairs = twins(measurements({}), hashes, list(values), time="seconds")
    assert [pair.equal_files for pair in pairs] == [equal / 10] * are_twins


def test_cases_that_only_one_of_two_measured_are_not_equal():
    values = {"one": range(10), "two": range(8)}
    assert twins(measurements(values), {}, list(values), time="seconds") == []


def test_cases_that_both_failed_and_times_make_no_twins_and_no_difference():
    alike = measurements({"one": range(10), "two": range(10)})
    failed = alike.with_columns(status=pl.lit("invalid"), reason=pl.lit("wrong"), value=pl.lit(0.0))
    assert twins(failed, {}, ["one", "two"], time="seconds") == []
    times = alike.with_columns(metric=pl.lit("seconds"), value=pl.int_range(pl.len()).cast(pl.Float64))
    (pair,) = twins(pl.concat([alike, times]), {}, ["one", "two"], time="seconds")
    assert pair.equal_cases == 1.0
    assert twins(pl.concat([alike, times]), {}, ["one", "two"], time="other") == []


def test_equal_files_are_equal_whatever_they_are_called():
    hashes = {"one": {"job-1/a.mha": "x", "job-2/a.mha": "y"}, "two": {"job-3/a.mha": "y", "job-4/a.mha": "x"}}
    (pair,) = twins(measurements({}), hashes, list(hashes), time="seconds")
    assert pair == Twins("one", "two", equal_files=1.0, equal_cases=0.0)


def test_people_who_agree_are_no_twins(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"team": {}, "experts": {}})
    run = podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=tmp_path / "run", references=["experts"])
    assert run.verify().twins == ()
    both = podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=tmp_path / "both")
    assert [(pair.first, pair.second) for pair in both.verify().twins] == [("experts", "team")]

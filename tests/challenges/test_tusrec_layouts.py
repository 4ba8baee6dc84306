"""TUS-REC as its organisers lay it out: training data, and what their containers write."""

import h5py
import numpy as np
import pytest
from tusrec_files import NAME, displacement_sets, measured, random_motion, write_prediction, write_truth
from typer.testing import CliRunner

import podium
from podium.challenges import get_challenge
from podium.challenges.tusrec.reported import read_metrics
from podium.cli import app
from podium.model import InputError
from podium.testing import assert_check_agrees

OTHER = "sub050__LH_rotation"
SEEDS = {NAME: 0, OTHER: 3}


def poses(seed):
    return np.concatenate([np.eye(4)[None], random_motion(6, seed)[1]])


@pytest.fixture
def folders(tmp_path):
    """Return a truth of two scans, and a team's predictions."""
    points = np.random.default_rng(1).integers([1, 1, 1], [7, 7, 5], (20, 3))
    truth = write_truth(tmp_path / "truth", {name: (poses(seed), points) for name, seed in SEEDS.items()})
    for name, seed in SEEDS.items():
        local, to_first = random_motion(6, seed + 10)
        write_prediction(tmp_path / "teams" / "ours", name, displacement_sets(to_first, local, points))
    return truth, tmp_path / "teams"


def as_training_data(truth):
    """Join frames and transforms as the training data have them, without dataset_keys.h5."""
    for path in sorted(truth.glob("transfs/*/*.h5")):
        both = truth / "frames_transfs" / path.parent.name / path.name
        both.parent.mkdir(parents=True, exist_ok=True)
        frames = truth / "frames" / path.parent.name / path.name
        with h5py.File(both, "w") as file, h5py.File(path) as given, h5py.File(frames) as images:
            file.create_dataset("tforms", data=given["tforms"][()])
            file.create_dataset("frames", data=images["frames"][()])
        path.unlink()
        frames.unlink()
    (truth / "dataset_keys.h5").unlink()
    for name in ("transfs", "frames"):
        (truth / name / "050").rmdir()
        (truth / name).rmdir()


def test_the_training_layout(folders):
    truth, teams = folders
    challenge = get_challenge("tusrec")
    expected = {name: measured(challenge, truth, teams / "ours" / f"{name}.h5", name) for name in SEEDS}
    as_training_data(truth)
    assert [case.name for case in challenge.cases(truth)] == sorted(SEEDS)
    assert {name: measured(challenge, truth, teams / "ours" / f"{name}.h5", name) for name in SEEDS} == expected


def test_both_layouts_at_once_are_told_apart(folders):
    """The organisers' own loader has no rule for it; a scan that is there twice has one truth."""
    truth, _ = folders
    (truth / "frames_transfs" / "050").mkdir(parents=True)
    (truth / "frames_transfs" / "050" / "RH_rotation.h5").write_bytes(b"")
    with pytest.raises(InputError, match=f"the scan {NAME} is there twice"):
        get_challenge("tusrec").cases(truth)


def write_metrics(path, truth, values, seconds):
    """Write what the organisers' test.py does: five arrays, one number for each scan in the order of the keys."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(truth / "dataset_keys.h5") as keys:
        scans = list(keys.keys())
    with h5py.File(path, "a") as file:
        for name in ("GPE", "GLE", "LPE", "LLE"):
            numbers = np.array([values[scan][name.lower()] for scan in scans])
            file.create_dataset(name, len(numbers), dtype=numbers.dtype, data=numbers)
        times = np.array(seconds)
        file.create_dataset("time_elapsed", len(times), dtype=times.dtype, data=times)
    return path


@pytest.fixture
def reported(folders):
    """Return the truth, teams with predictions and with what a container wrote about them, and the true errors."""
    truth, teams = folders
    challenge = get_challenge("tusrec")
    values = {name: measured(challenge, truth, teams / "ours" / f"{name}.h5", name) for name in SEEDS}
    write_metrics(teams / "container" / "metrics.h5", truth, values, [2.5, 3.5])
    return truth, teams, values


@pytest.mark.parametrize("edition", ["document", "code"])
def test_metrics_of_a_container_score_like_its_predictions(reported, tmp_path, edition):
    truth, teams, _ = reported
    options = {"reported": "seconds"}
    run = podium.evaluate(
        "tusrec", truth=truth, submissions=teams, out=tmp_path / "run", options=options, rules=edition
    )
    table = run.measurements.filter(run.measurements["metric"] != "seconds").sort("case", "metric")
    ours, container = (table.filter(table["submission"] == name)["value"].to_list() for name in ("ours", "container"))
    assert container == pytest.approx(ours, abs=1e-12)
    reasons = set(table.filter(table["submission"] == "container")["reason"])
    assert reasons == {"taken from metrics.h5, not measured"}
    times = run.measurements.filter(run.measurements["metric"] == "seconds")
    assert dict(times.select("case", "value").iter_rows()) == {OTHER: 2.5, NAME: 3.5}
    assert set(times["submission"]) == {"container"}
    warned = run.failures.filter(run.failures["submission"] == "container")
    assert set(warned["status"]) == {"warning"}
    assert any("taken from metrics.h5 and not measured" in note for note in run.leaderboard.notes)


def reported_errors(run, name="gpe"):
    rows = run.measurements.filter(
        (run.measurements["submission"] == "container") & (run.measurements["metric"] == name)
    )
    return dict(rows.select("case", "value").iter_rows())


def test_numbers_are_in_the_order_in_which_the_container_went_through_the_keys(reported, tmp_path):
    """The order of names, unless dataset_keys.h5 keeps track of how it was written: no error would tell of it."""
    truth, teams, values = reported
    (truth / "dataset_keys.h5").unlink()
    with h5py.File(truth / "dataset_keys.h5", "w", track_order=True) as file:
        for name in sorted(SEEDS, reverse=True):
            file.create_dataset(name, data=0)
    (teams / "container" / "metrics.h5").unlink()
    write_metrics(teams / "container" / "metrics.h5", truth, values, [2.5, 3.5])
    run = podium.evaluate(
        "tusrec", truth=truth, submissions=teams, out=tmp_path / "run", options={"reported": "seconds"}
    )
    assert reported_errors(run) == pytest.approx({name: values[name]["gpe"] for name in SEEDS})
    assert reported_errors(run, "seconds") == {NAME: 2.5, OTHER: 3.5}


def test_a_landmark_on_the_first_frame_is_told_where_the_container_took_it_for_another(reported, tmp_path):
    truth, teams, _ = reported
    with h5py.File(truth / "landmarks" / "landmark_050.h5", "a") as file:
        file["RH_rotation"][0, 0] = 0
    for edition, told in (("document", True), ("code", False)):
        challenge = get_challenge("tusrec", edition=edition, reported="seconds")
        values = {
            case.name: challenge.measure(case, challenge.load(case), teams / "container" / "metrics.h5")
            for case in challenge.cases(truth)
        }
        assert ["first frame" in values[name][0].reason for name in (NAME, OTHER)] == [told, False]


def test_a_scan_without_a_number_costs_that_scan_alone(reported, tmp_path):
    truth, teams, values = reported
    with h5py.File(teams / "container" / "metrics.h5", "a") as file:
        file["GLE"][0] = np.nan
    run = podium.evaluate(
        "tusrec", truth=truth, submissions=teams, out=tmp_path / "run", options={"reported": "seconds"}
    )
    failed = run.failures.filter(run.failures["status"] == "invalid")
    assert failed["case"].to_list() == [OTHER]
    assert failed["reason"][0].startswith(f"metrics.h5: 'GLE' of {OTHER} is nan")
    assert reported_errors(run, "gle")[NAME] == pytest.approx(values[NAME]["gle"])


def test_containers_are_gathered_and_verified_by_the_command_line(reported, tmp_path):
    """Each team's container wrote its metrics.h5; they are evaluated one by one, joined, ranked and audited."""
    truth, teams, values = reported
    better = {name: {error: value / 2 for error, value in own.items()} for name, own in values.items()}
    write_metrics(tmp_path / "later" / "second" / "metrics.h5", truth, better, [5.0, 6.0])
    teams.joinpath("container").rename(tmp_path / "first")
    (tmp_path / "alone").mkdir()
    (tmp_path / "first").rename(tmp_path / "alone" / "container")
    for place in ("alone", "later"):
        arguments = ["--truth", truth, "--submissions", tmp_path / place, "--out", tmp_path / f"run-{place}"]
        command("evaluate", "tusrec", *arguments, "--option", "reported=seconds")
    command("gather", tmp_path / "run-alone", tmp_path / "run-later", "--out", tmp_path / "run")
    assert "nothing differs" in command("verify", tmp_path / "run")
    command("rank", tmp_path / "run")
    run = podium.load(tmp_path / "run")
    assert [entry.submission for entry in run.leaderboard.entries] == ["second", "container", "no-motion"]
    assert run.leaderboard.entries[0].values["seconds"] == 5.5
    refused = CliRunner().invoke(
        app, ["gather", str(tmp_path / "alone" / "container" / "metrics.h5"), "--out", str(tmp_path / "no")]
    )
    assert refused.exit_code == 1
    assert "neither a run folder nor a metrics.json" in refused.stderr


def command(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_timing_file_wins_over_reported_times(reported, tmp_path):
    truth, teams, _ = reported
    (teams / "container" / "timing.csv").write_text(f"case,seconds\n{NAME},1\n{OTHER},2\n")
    options = {"reported": "minutes"}
    run = podium.evaluate("tusrec", truth=truth, submissions=teams, out=tmp_path / "run", options=options)
    times = run.measurements.filter(run.measurements["metric"] == "seconds")
    assert dict(times.select("case", "value").iter_rows()) == {NAME: 1, OTHER: 2}


def test_check_takes_what_evaluate_takes(reported, tmp_path):
    truth, teams, _ = reported
    assert podium.check("tusrec", teams / "container", options={"reported": "seconds"}) == []
    assert podium.check("tusrec", teams / "container", truth=truth) != []
    assert_check_agrees(
        get_challenge("tusrec", reported="seconds"),
        truth=truth,
        submission=teams / "container",
        scratch=tmp_path / "damaged",
    )


def test_times_of_2024_are_minutes(reported):
    _, teams, values = reported
    metrics = read_metrics(teams / "container" / "metrics.h5", sorted(SEEDS), NAME, unit="minutes")
    assert metrics["seconds"] == 210
    assert metrics["gle"] == values[NAME]["gle"]


def test_a_team_cannot_report_its_own_errors(reported, tmp_path):
    """Unless an organiser says that the file is theirs, it is a file like any other, and no prediction."""
    truth, teams, _ = reported
    run = podium.evaluate("tusrec", truth=truth, submissions=teams, out=tmp_path / "run")
    lost = run.failures.filter(run.failures["submission"] == "container")
    assert set(lost.filter(lost["case"] != "")["status"]) == {"missing"}
    (remark,) = lost.filter(lost["case"] == "")["reason"]
    assert remark.startswith("metrics.h5: unexpected file")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda file: file.__delitem__("GLE"), "there is no dataset 'GLE'"),
        (lambda file: replaced(file, "GPE", [1.0]), "'GPE' holds 1 number.*2 scans"),
        (lambda file: replaced(file, "LPE", [-1.0, -1.0]), "'LPE' of .* is -1"),
        (lambda file: replaced(file, "LPE", [np.nan, np.nan]), "'LPE' of .* is nan"),
        (lambda file: replaced(file, "LPE", [b"a", b"b"]), "'LPE' holds"),
    ],
)
def test_metrics_that_cannot_be_used(reported, change, problem):
    truth, teams, _ = reported
    path = teams / "container" / "metrics.h5"
    with h5py.File(path, "a") as file:
        change(file)
    with pytest.raises(InputError, match=problem):
        measured(get_challenge("tusrec", reported="seconds"), truth, path)


def replaced(file, name, numbers):
    del file[name]
    file[name] = numbers


def test_metrics_need_the_order_of_the_scans(reported):
    truth, teams, _ = reported
    (truth / "dataset_keys.h5").unlink()
    with pytest.raises(InputError, match=r"dataset_keys\.h5 is missing"):
        measured(get_challenge("tusrec", reported="seconds"), truth, teams / "container" / "metrics.h5")

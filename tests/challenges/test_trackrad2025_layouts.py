"""TrackRAD 2025 as its organisers' repository writes it: what containers answer, and where."""

import json
import shutil
import uuid

import numpy as np
import pytest
import SimpleITK
from typer.testing import CliRunner

import podium
from podium.challenges import get_challenge
from podium.cli import app
from podium.run import Problem
from podium.testing import assert_check_agrees

SLUG = "mri-linac-series-targets"
FRAMES = {"Z_001": 9, "Z_002": 12}


def sequence(frames, shift=0):
    """Return an array [d0, d1, T], as SimpleITK reads a sequence."""
    array = np.zeros((24, 30, frames), np.uint8)
    for frame in range(frames):
        array[8 + frame % 3 : 15 + frame % 3, 10 + shift : 18 + shift, frame] = 1
    return array


@pytest.fixture
def truth(tmp_path):
    folder = tmp_path / "dataset"
    for name, frames in FRAMES.items():
        (folder / name / "targets").mkdir(parents=True)
        image = SimpleITK.GetImageFromArray(sequence(frames))
        SimpleITK.WriteImage(image, str(folder / name / "targets" / f"{name}_labels.mha"), useCompression=True)
        (folder / name / "scanned-region.json").write_text('"abdomen"')
    return folder


def answer(output, name, shift=1):
    """Write what the organisers' inference.py does: output.mha, with an origin and a spacing by default."""
    folder = output / "images" / SLUG
    folder.mkdir(parents=True)
    image = SimpleITK.GetImageFromArray(sequence(FRAMES[name], shift))
    SimpleITK.WriteImage(image, str(folder / "output.mha"), useCompression=True)


def dice_of(run, team):
    rows = run.measurements.filter(
        (run.measurements["submission"] == team)
        & (run.measurements["metric"] == "dice")
        & (run.measurements["unit"] == "")
    )
    return dict(rows.select("case", "value").iter_rows())


EXPECTED = {name: pytest.approx(2 * 7 / 16) for name in FRAMES}


@pytest.mark.parametrize("place", ["", "output"])
def test_outputs_mounted_into_a_folder_for_each_case(truth, tmp_path, place):
    for name in FRAMES:
        answer(tmp_path / "teams" / "ours" / name / place, name)
    run = podium.evaluate(
        "trackrad2025",
        truth=truth,
        submissions=tmp_path / "teams",
        out=tmp_path / "run",
        options={"timing": "ignored"},
    )
    assert dice_of(run, "ours") == EXPECTED
    assert run.failures.is_empty()
    for given in (truth, None):
        assert podium.check("trackrad2025", tmp_path / "teams" / "ours", truth=given) == []


def test_one_case_alone_is_not_mistaken_for_the_folder_of_a_team(truth, tmp_path):
    shutil.rmtree(truth / "Z_002")
    answer(tmp_path / "teams" / "ours" / "Z_001", "Z_001")
    run = podium.evaluate("trackrad2025", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert dice_of(run, "ours") == {"Z_001": EXPECTED["Z_001"]}


def test_two_answers_of_one_case_are_none(truth, tmp_path):
    for name in FRAMES:
        answer(tmp_path / "teams" / "ours" / name, name)
    folder = tmp_path / "teams" / "ours" / "Z_001" / "images" / SLUG
    shutil.copy(folder / "output.mha", folder / "second.mha")
    run = podium.evaluate("trackrad2025", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert dice_of(run, "ours")["Z_001"] == 0
    (reason,) = run.failures.filter(run.failures["case"] == "Z_001")["reason"]
    assert reason.startswith("there are 2 predictions of Z_001")


def job(folder, name, number, *, key="interface", shift=1):
    """Run a job as the organisers' test-algorithm.sh does, and return its entry of predictions.json."""
    pk = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
    answer(folder / pk / "output", name, shift)
    entry = {
        "pk": pk,
        "inputs": [
            {"value": 8, key: {"slug": "frame-rate"}},
            {"value": "abdomen", key: {"slug": "scanned-region"}},
            {
                "image": {"name": "mri-linac-target.mha"},
                key: {"slug": "mri-linac-target", "relative_path": "images/mri-linac-target"},
            },
            {"image": {"name": f"{name}.mha"}, key: {"slug": "mri-linac-series", "relative_path": "images/mri-linacs"}},
        ],
        "status": "Succeeded",
        "outputs": [{"image": {"name": "output.mha"}, key: {"slug": SLUG, "relative_path": f"images/{SLUG}"}}],
        "started_at": "2025-06-01T12:00:00.000000Z",
        "completed_at": f"2025-06-01T12:00:0{number}.500000Z",
    }
    (folder / pk / "prediction.json").write_text(json.dumps(entry))
    return entry


def download(folder, **options):
    folder.mkdir(parents=True)
    jobs = [job(folder, name, number, **options) for number, name in enumerate(FRAMES, start=2)]
    (folder / "predictions.json").write_text(json.dumps(jobs))
    return folder


@pytest.mark.parametrize("key", ["interface", "socket"])
def test_teams_as_downloaded_from_the_platform(truth, tmp_path, key):
    """Outputs are matched by the inputs that predictions.json names, and take the time that it tells."""
    for team, shift in (("ours", 1), ("theirs", 0)):
        download(tmp_path / "teams" / team, key=key, shift=shift)
    shutil.make_archive(str(tmp_path / "teams" / "packed"), "zip", tmp_path / "teams" / "ours")
    run = podium.evaluate("trackrad2025", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert dice_of(run, "ours") == dice_of(run, "packed") == EXPECTED
    assert dice_of(run, "theirs") == dict.fromkeys(FRAMES, 1.0)
    assert run.failures.is_empty()
    times = run.measurements.filter(run.measurements["metric"] == "seconds")
    assert set(times.select("submission", "case", "value").iter_rows()) == {
        (team, case, 2.5 + place) for team in ("ours", "packed", "theirs") for place, case in enumerate(FRAMES)
    }


@pytest.mark.parametrize("layout", ["folders", "download"])
def test_whatever_happens_to_files_check_and_evaluate_agree(truth, tmp_path, layout):
    team = tmp_path / "teams" / "ours"
    if layout == "download":
        download(team)
    else:
        for name in FRAMES:
            answer(team / name, name)
    assert_check_agrees(
        get_challenge("trackrad2025"), truth=truth, submission=team, scratch=tmp_path / "damaged", seed=3
    )


def test_a_download_is_checked_as_it_is_evaluated(truth, tmp_path):
    """Without the truth nobody can tell which case an output is of, and that is all that is said."""
    for team in ("ours", "theirs"):
        download(tmp_path / "teams" / team)
    ours = tmp_path / "teams" / "ours"
    assert podium.check("trackrad2025", ours, truth=truth) == []
    said = [Problem("predictions.json", "only with the truth can be told which case an output is of", warning=True)]
    assert podium.check("trackrad2025", ours) == podium.check("kits21", ours) == said
    several = Problem("", "this holds several teams (ours, theirs): check one of them at a time")
    for given in (truth, None):
        assert podium.check("trackrad2025", tmp_path / "teams", truth=given) == [several]
    jobs = json.loads((ours / "predictions.json").read_text())
    jobs.append({"pk": "x", "inputs": []})
    (ours / "predictions.json").write_text(json.dumps(jobs))
    (problem,) = podium.check("trackrad2025", ours, truth=truth)
    assert (problem.file, problem.warning) == ("predictions.json", True)


def test_teams_of_the_platform_are_gathered_verified_and_ranked_by_the_command_line(truth, tmp_path):
    """Each team's metrics.json, as its evaluation on the platform wrote it; frames are not in it, and not missed."""
    for team, shift in (("ours", 1), ("theirs", 0)):
        folder = download(tmp_path / "input" / team, key="socket", shift=shift)
        if team == "ours":
            jobs = json.loads((folder / "predictions.json").read_text())
            (folder / "predictions.json").write_text(json.dumps(jobs[:1]))  # the other failed on the platform
        arguments = ["--truth", truth, "--predictions", folder / "predictions.json", "--keys", "organisers"]
        metrics = tmp_path / "output" / team / "metrics.json"
        command("evaluate", "trackrad2025", "--grand-challenge", *arguments, "--metrics", metrics)
    places = [tmp_path / "output" / team / "metrics.json" for team in ("ours", "theirs")]
    command("gather", *places, "--out", tmp_path / "run")
    said = command("verify", tmp_path / "run")
    assert "2 cases measured again (Z_001, Z_002): nothing differs." in said
    assert "theirs" in command("rank", tmp_path / "run", "--bootstrap", 20)
    run = podium.load(tmp_path / "run")
    assert dice_of(run, "ours") == {"Z_001": EXPECTED["Z_001"], "Z_002": 0}
    together = podium.evaluate("trackrad2025", truth=truth, submissions=tmp_path / "input", out=tmp_path / "together")
    assert run.leaderboard.places == together.leaderboard.places
    lost = ("ours", "Z_002", "missing", "no job is about this case")
    assert lost in run.failures.rows()
    assert lost in together.failures.rows()


def command(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_jobs_are_told_apart_by_their_inputs_and_not_by_their_order(truth, tmp_path):
    folder = download(tmp_path / "teams" / "ours", shift=0)
    jobs = json.loads((folder / "predictions.json").read_text())
    (folder / "predictions.json").write_text(json.dumps(jobs[::-1]))
    run = podium.evaluate("trackrad2025", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert dice_of(run, "ours") == dict.fromkeys(FRAMES, 1.0)


def test_a_job_that_cannot_be_matched_costs_its_case(truth, tmp_path):
    folder = download(tmp_path / "teams" / "ours")
    jobs = json.loads((folder / "predictions.json").read_text())
    jobs[0]["inputs"][-1]["image"]["name"] = "something.mha"
    (folder / "predictions.json").write_text(json.dumps(jobs))
    run = podium.evaluate("trackrad2025", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert dice_of(run, "ours") == {"Z_001": 0, "Z_002": EXPECTED["Z_002"]}
    reasons = run.failures["reason"].to_list()
    assert "no job is about this case" in reasons
    assert any(reason.startswith("predictions.json: job 1 names no known case in its inputs") for reason in reasons)
    assert "predictions.json: no time counts, as there is none for Z_001" in reasons


def test_files_named_after_their_case_and_timing_win(truth, tmp_path):
    folder = download(tmp_path / "teams" / "ours")
    image = SimpleITK.GetImageFromArray(sequence(FRAMES["Z_001"]))
    SimpleITK.WriteImage(image, str(folder / "Z_001.mha"))
    (folder / "timing.csv").write_text("case,seconds\nZ_001,1\nZ_002,2\n")
    run = podium.evaluate("trackrad2025", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert dice_of(run, "ours") == {"Z_001": 1.0, "Z_002": EXPECTED["Z_002"]}
    times = run.measurements.filter(run.measurements["metric"] == "seconds")
    assert dict(times.select("case", "value").iter_rows()) == {"Z_001": 1, "Z_002": 2}


@pytest.mark.parametrize("content", ["{", "[]", "[1, 2]", '{"a": 1}'])
def test_a_list_of_jobs_that_cannot_be_used(truth, tmp_path, content):
    folder = download(tmp_path / "teams" / "ours")
    (folder / "predictions.json").write_text(content)
    run = podium.evaluate("trackrad2025", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert dice_of(run, "ours") == dict.fromkeys(FRAMES, 0)
    failed = run.failures.filter(run.failures["case"] != "")
    assert all(reason.startswith("predictions.json: ") for reason in failed["reason"])


@pytest.mark.slow
def test_the_organisers_own_layout_and_plain_files_give_the_same(shared, tmp_path):
    """Four teams, in the folders that the organisers' evaluation read, and again as files named after their case."""
    golden = shared / "golden" / "trackrad"
    tables = []
    for layout in ("submissions", "plain"):
        run = podium.evaluate(
            "trackrad2025", truth=golden / "ground_truth", submissions=golden / layout, out=tmp_path / layout
        )
        assert run.failures.is_empty()
        tables.append(run.measurements)
    assert (
        tables[0]
        .select("submission", "case", "unit", "metric")
        .equals(tables[1].select("submission", "case", "unit", "metric"))
    )
    assert tables[0]["value"].to_list() == pytest.approx(tables[1]["value"].to_list(), abs=1e-6, nan_ok=True)

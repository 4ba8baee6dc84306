"""One team on grand-challenge.org: predictions.json in, metrics.json out."""

import json
import shutil

import pytest
from plugin import installed, write_landmarks
from sixth_challenge import Landmarks
from typer.testing import CliRunner

import podium
from podium.challenges import get_challenge
from podium.cli import app
from podium.io import read_label_map, write_label_map
from podium.model import InputError, OrganisersKeys
from podium.run import find_submissions, measure_all


@pytest.mark.slow
@pytest.mark.parametrize("team", ["good", "shifted", "noisy", "no_tracking"])
def test_the_same_numbers_as_from_plain_folders(shared, tmp_path, team):
    golden = shared / "golden" / "trackrad"
    metrics = tmp_path / "output" / "metrics.json"
    arguments = [
        "--truth", golden / "ground_truth", "--predictions", golden / "submissions" / team / "predictions.json",
        "--metrics", metrics, "--rules", "code", "--keys", "organisers",
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
        if metric not in ("case", "status", "reason", "case_id", *challenge.organisers_keys.results.values())
    }
    assert set(written) == set(expected)
    for key, value in expected.items():
        assert written[key] == pytest.approx(value, abs=1e-6), key
    assert document["aggregates"]["dice"]["count"] == len(document["results"])
    assert not any("rank" in name for name in document["aggregates"]["scores"])
    eligibility = document["eligibility"]
    assert eligibility["eligible"] == (team != "no_tracking")
    assert ("does not outperform no tracking" in eligibility["reason"]) == (team == "no_tracking")
    official = json.loads((shared / "golden" / "trackrad.json").read_text())["teams"][team]
    theirs = document["aggregates"]
    for key, value in official["aggregates"].items():
        assert theirs[key] == pytest.approx(value, rel=1e-9 if "time" in key else 1e-5), key
    for entry in document["results"]:
        own = official["cases"][entry["case"]]["official"]
        assert own.keys() <= entry.keys()
        for key, value in own.items():
            assert entry[key] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-5, abs=1e-5)), key


@pytest.mark.slow
def test_more_than_a_second_a_frame_is_not_eligible(shared, tmp_path):
    golden = shared / "golden" / "trackrad"
    shutil.copytree(golden / "submissions" / "good", tmp_path / "input")
    predictions = tmp_path / "input" / "predictions.json"
    jobs = json.loads(predictions.read_text())
    frames = {
        case: entry["official"]["frame_count"]
        for case, entry in json.loads((shared / "golden" / "trackrad.json").read_text())["teams"]["good"][
            "cases"
        ].items()
    }

    def eligibility(seconds_per_frame):
        for job in jobs:
            case = next(name[:5] for entry in job["inputs"] if (name := entry.get("image", {}).get("name")))
            job.pop("started_at", None)
            job["exec_duration"] = f"PT{4 + seconds_per_frame * frames[case]:.3f}S"
        predictions.write_text(json.dumps(jobs))
        arguments = {"truth": golden / "ground_truth", "predictions": predictions, "metrics": tmp_path / "metrics.json"}
        return podium.grand_challenge("trackrad2025", **arguments)["eligibility"]

    assert eligibility(0.5) == {"eligible": True, "reason": ""}
    slow = eligibility(1.5)
    assert slow == {"eligible": False, "reason": "takes 1.5 s per frame, at most 1 s is allowed"}


@pytest.mark.parametrize("team", ["A", "B", "C"])
def test_files_under_the_organisers_keys_of_csv2026(shared, tmp_path, team):
    """What the organisers' baseline reports of a validation, from outputs that are files and no images."""
    golden = shared / "golden" / "csv2026"
    jobs = []
    for path in sorted((golden / "teams" / team / "preds").iterdir()):
        name = path.name.removesuffix("_pred.h5")
        place = tmp_path / "input" / name / "output"
        place.mkdir(parents=True)
        shutil.copy(path, place / "answer.h5")
        output = {"file": "https://example.org/answer.h5", "image": None, "value": None}
        output["socket"] = {"slug": "answer", "relative_path": "answer.h5"}
        inputs = [{"file": f"https://example.org/archive/{name}.h5", "image": None, "socket": {"slug": "views"}}]
        jobs.append({"pk": name, "inputs": inputs, "outputs": [output]})
    (tmp_path / "input" / "predictions.json").write_text(json.dumps(jobs))
    document = podium.grand_challenge(
        "csv2026",
        rules="code",
        truth=golden,
        predictions=tmp_path / "input" / "predictions.json",
        metrics=tmp_path / "metrics.json",
        keys="organisers",
    )
    official = json.loads((shared / "golden" / "csv2026.json").read_text())["teams"][team]["baseline_validate_all_12"]
    for key, value in official.items():
        assert document["aggregates"][key] == pytest.approx(value, rel=1e-9), key


@pytest.mark.slow
def test_what_a_container_of_kits21_answers(kits21_demo, tmp_path):
    """It writes images/kidney-tumor-and-cyst/<uuid>.mha for an input that is called after its case."""
    truth, team = kits21_demo / "truth", kits21_demo / "submissions" / "no-cysts"
    jobs = []
    for number, path in enumerate(sorted(team.glob("*.nii.gz"))):
        case = path.name.removesuffix(".nii.gz")
        place = tmp_path / "input" / f"pk-{number}" / "output" / "images" / "kidney-tumor-and-cyst"
        place.mkdir(parents=True)
        write_label_map(place / f"0f3c-{number}.mha", read_label_map(path))
        output = {
            "image": {"name": "any"},
            "socket": {"slug": "masks", "relative_path": "images/kidney-tumor-and-cyst"},
        }
        jobs.append({"pk": f"pk-{number}", "inputs": [{"image": {"name": f"{case}.mha"}}], "outputs": [output]})
    (tmp_path / "input" / "predictions.json").write_text(json.dumps(jobs))
    arguments = {"truth": truth, "predictions": tmp_path / "input" / "predictions.json"}
    document = podium.grand_challenge("kits21", **arguments, metrics=tmp_path / "metrics.json", keys="organisers")
    plain = measure_all(
        get_challenge("kits21"),
        truth=truth,
        submissions=[s for s in find_submissions(team.parent) if s.name == team.name],
    ).table
    dice = plain.filter(
        (plain["metric"] == "dice") & (plain["target"] == "kidney_and_mass") & (plain["submission"] == team.name)
    )
    assert {e["caseID"]: e["Dice_kidney"] for e in document["results"]} == dict(
        dice.select("case", "value").iter_rows()
    )
    assert document["eligibility"]["eligible"]


@pytest.fixture
def platform(tmp_path):
    """Return a function that evaluates jobs whose outputs lie in <pk>/output/images/point, and its results by case."""
    truth, _ = write_landmarks(tmp_path, {}, cases=3)
    folder = tmp_path / "input"
    for number in (1, 2, 3):
        place = folder / f"pk-{number}" / "output" / "images" / "point"
        place.mkdir(parents=True)
        (place / "point.txt").write_text(f"{number} 0 0")

    def document(jobs, **options):
        (folder / "predictions.json").write_text(json.dumps(jobs))
        metrics = tmp_path / "output" / "metrics.json"
        written = podium.grand_challenge(
            options.pop("challenge", Landmarks()),
            truth=truth,
            predictions=folder / "predictions.json",
            metrics=metrics,
            **options,
        )
        assert json.loads(metrics.read_text()) == written
        return written

    def evaluated(jobs, **options):
        return {entry["case"]: entry for entry in document(jobs, **options)["results"]}

    evaluated.folder, evaluated.document = folder, document
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
        assert results["001"]["status"] == "invalid", path
        assert "relative_path cannot be used, as it leads elsewhere" in results["001"]["reason"]
        assert results["001"]["distance"] == 100.0
        assert results["002"]["distance"] == 2.0


def test_a_linked_output_is_not_followed(platform):
    place = platform.folder / "pk-1" / "output" / "images" / "point"
    (place / "point.txt").unlink()
    (place / "point.txt").symlink_to(platform.folder / "pk-3" / "output" / "images" / "point" / "point.txt")
    entry = platform([platform_job(number) for number in (1, 2, 3)])["001"]
    assert entry["status"] == "invalid"
    assert entry["reason"] == "point.txt in pk-1/output/images/point is a link, which is not followed"


def test_the_first_output_that_is_an_image_with_a_path_is_taken(platform):
    outputs = [
        {"image": None, "interface": {"relative_path": "images/point"}},
        {"image": {"pk": "x"}, "interface": None},
        {"image": {"pk": "x"}, "interface": {"relative_path": "images/nothing"}},
        {"image": {"pk": "x"}, "interface": {"relative_path": "images/point"}},
    ]
    assert platform([platform_job(1, outputs=outputs)])["001"]["distance"] == 1.0
    entry = platform([platform_job(1, outputs=outputs[:3]), platform_job(2)])["001"]
    assert (entry["status"], entry["reason"]) == ("missing", "there is nothing at pk-1/output/images/nothing")


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


# The newer kind of predictions.json.


def newer_job(number, **changes):
    """Return a job as the platform writes it today: sockets, and durations in place of points in time."""
    socket = {"slug": "point-of-interest", "kind": "Segmentation", "relative_path": "images/point"}
    return {
        "pk": f"pk-{number}",
        "inputs": [
            {"file": None, "image": None, "value": 1.5, "socket": {"slug": "field", "relative_path": "field.json"}},
            {"file": None, "image": {"pk": "y", "name": f"00{number}_frames.mha"}, "value": None,
             "socket": {"slug": "frames", "relative_path": "images/frames"}},
        ],
        "outputs": [{"file": None, "image": {"pk": "x", "name": "any.mha"}, "value": None, "socket": socket}],
        "exec_duration": "P0DT00H01M02.5S",
        "invoke_duration": None,
        "status": "Succeeded",
    } | changes  # fmt: skip


def test_sockets_are_read_like_interfaces(platform):
    results = platform([newer_job(1), newer_job(2), platform_job(3)])
    assert {case: entry["distance"] for case, entry in results.items()} == {"001": 1.0, "002": 2.0, "003": 3.0}


def test_durations_are_times(platform):
    assert {entry["seconds"] for entry in platform([newer_job(n) for n in (1, 2, 3)]).values()} == {62.5}
    invoked = [newer_job(n, exec_duration=None, invoke_duration=f"PT{n}M") for n in (1, 2, 3)]
    assert [entry["seconds"] for entry in platform(invoked).values()] == [60.0, 120.0, 180.0]
    odd = ["P", "PT", "T1S", "P1M", "PT-1S", "PTnanS", "P999999999D", 5, ["PT1S"]]
    for duration in odd:
        results = platform([newer_job(1, exec_duration=duration), newer_job(2), newer_job(3)])
        assert "seconds" not in results["001"], duration
        assert results["002"]["seconds"] == 62.5


def test_times_of_two_kinds_are_not_mixed(platform):
    """One leaves out loading, the other does not."""
    mixed = [newer_job(1, exec_duration=None, invoke_duration="PT1S"), newer_job(2), newer_job(3)]
    assert ["seconds" in entry for entry in platform(mixed).values()] == [False, True, True]


def test_an_output_may_be_a_file_by_itself(platform):
    (platform.folder / "pk-1" / "output" / "point.txt").write_text("7 0 0")
    socket = {"slug": "point", "relative_path": "point.txt"}
    output = {"file": "https://example.org/point.txt", "image": None, "value": None, "socket": socket}
    assert platform([newer_job(1, outputs=[output])])["001"]["distance"] == 7.0


def test_which_of_several_outputs_counts_is_asked(platform):
    place = platform.folder / "pk-1" / "output" / "images" / "heat"
    place.mkdir()
    (place / "heat.txt").write_text("50 0 0")
    heat = {"image": {"pk": "x"}, "socket": {"slug": "heat", "relative_path": "images/heat"}}
    jobs = [newer_job(1, outputs=[heat, *newer_job(1)["outputs"]]), newer_job(2), newer_job(3)]
    entry = platform(jobs)["001"]
    assert entry["status"] == "invalid"
    assert entry["reason"] == (
        "the job has several outputs (heat, point-of-interest), and --socket must say which counts"
    )
    assert platform(jobs, socket="point-of-interest")["001"]["distance"] == 1.0
    with pytest.raises(InputError, match="the job lists no output of the socket nothing with a relative_path"):
        platform(jobs, socket="nothing")


def test_several_files_in_one_output_are_an_error(platform):
    place = platform.folder / "pk-1" / "output" / "images" / "point"
    (place / ".hidden").write_text("")
    (place / "point.raw").write_text("")  # the voxels of a header
    assert platform([platform_job(1)])["001"]["distance"] == 1.0
    (place / "other.txt").write_text("0 0 0")
    reason = platform([platform_job(1), platform_job(2)])["001"]["reason"]
    assert reason == "2 files are in pk-1/output/images/point: other.txt, point.txt"


# One job costs one case.


def test_a_foreign_or_odd_job_is_named_and_costs_nothing(platform):
    foreign = platform_job(1, inputs=[{"image": {"name": "Z_999_frames.mha"}}])
    both = platform_job(1, inputs=[{"image": {"name": "001.mha"}}, {"image": {"name": "archive/002.mha"}}])
    document = platform.document([foreign, both, 5, None, *(platform_job(n) for n in (1, 2, 3))])
    assert [entry["distance"] for entry in document["results"]] == [1.0, 2.0, 3.0]
    assert document["remarks"] == [
        "job 1 names no known case in its inputs (Z_999_frames.mha)",
        "job 2 has inputs of several cases: 001, 002",
        "job 3 is not an object: 5",
        "job 4 is not an object: None",
    ]


def test_a_duplicate_fails_its_case_only(platform):
    results = platform([*(platform_job(n) for n in (1, 2, 3)), platform_job(2, completed_at="2025-06-01T12:00:09Z")])
    assert (results["002"]["status"], results["002"]["reason"]) == ("invalid", "2 jobs are about this case")
    assert results["002"]["seconds"] == 9.0  # the longer of the two
    assert [results[case]["distance"] for case in ("001", "003")] == [1.0, 3.0]


def test_a_case_is_found_by_the_longest_name(platform):
    """No case is another's beginning, and a digit more is another case."""
    for name in ("0011_frames.mha", "001x.mha", "frames_001.mha", ""):
        document = platform.document([platform_job(1, inputs=[{"image": {"name": name}}]), platform_job(2)])
        assert document["results"][0]["reason"] == "no job is about this case", name
    for name in ("001", "001.mha", "001_x.mha", "some/folder/001-x.mha"):
        results = platform([platform_job(1, inputs=[{"image": {"name": name}}])])
        assert results["001"]["distance"] == 1.0, name


# Nobody is failed where nothing was understood; hostile files are met by the command itself.


@pytest.fixture
def command(platform, tmp_path):
    """Return a function that runs the command on a text as predictions.json, and its result."""
    with installed(tmp_path):
        files = {"--truth": tmp_path / "truth", "--predictions": platform.folder / "predictions.json"}

        def run(text, *more):
            files["--predictions"].write_text(text)
            arguments = [str(part) for pair in files.items() for part in pair]
            metrics = tmp_path / "metrics.json"
            metrics.unlink(missing_ok=True)
            line = ["evaluate", "landmarks", "--grand-challenge", *arguments, "--metrics", str(metrics), *more]
            result = CliRunner().invoke(app, line)
            assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
            assert metrics.exists() == (result.exit_code == 0)
            result.results = json.loads(metrics.read_text())["results"] if metrics.exists() else []
            return result

        yield run


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", "this is not JSON"),
        ("", "this is not JSON"),
        ("9" * 5000, "this is not JSON"),
        ('{"a": 1}', "this is not a list of jobs"),
        ("null", "this is not a list of jobs"),
        ("[]", "no job is about a case of the truth, such as 001; the list is empty"),
        ("[1, 2]", "such as 001; job 1 is not an object: 1"),
        (nested(100_000), "nested too deeply"),
        (nested(300), "job 1 is not an object: a list"),
        (json.dumps([platform_job(9)]), "such as 001; job 1 names no known case in its inputs (009_frames.mha)"),
        (json.dumps([platform_job(1, outputs=None)]), "of 001, the job lists no image or file with a relative_path"),
        (json.dumps([platform_job(1, "images/elsewhere")]), "of 001, there is nothing at pk-1/output/images/elsewhere"),
        (json.dumps([platform_job(1, pk="x")]), "of 001, there is nothing at x/output/images/point"),
    ],
    ids=lambda value: value[:30],
)
def test_where_no_case_has_an_output_the_command_says_what_it_looked_for(command, text, line):
    result = command(text)
    assert result.exit_code == 1
    assert line in result.stderr
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 600


PLANTED = {
    "secret/output/images/point/point.txt": "0 0 0",
    "input/pk-2/output/images/point/pk-1/output/images/point/point.txt": "0 0 0",
}


@pytest.mark.parametrize(
    "pk",
    ["../secret", "{absolute}", "..", ".", "", "/", "pk-2/../../secret", "pk-2/output/images/point/pk-1", "linked", 1,
     None, ["pk-1"], {"pk": 1}, "x" * 300, "x" * 100_000, "a\u0000b", "\ud800", True, 1e308],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_a_pk_is_the_name_of_a_folder_and_nothing_else(command, platform, tmp_path, pk):
    """Whatever would lead to a perfect prediction elsewhere is not followed."""
    for path, text in PLANTED.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    (platform.folder / "linked").symlink_to(tmp_path / "secret")
    pk = str(tmp_path / "secret") if pk == "{absolute}" else pk
    result = command(json.dumps([platform_job(1, pk=pk), platform_job(2)]))
    assert result.exit_code == 0, result.output
    entry = result.results[0]
    assert (entry["case"], entry["status"], entry["distance"]) == ("001", "invalid", 100.0)
    assert result.results[1]["distance"] == 2.0
    assert len(entry["reason"]) < 200
    assert entry["reason"].isprintable()


@pytest.mark.parametrize(
    "path",
    ["..", "../../../secret/output/images/point", "{absolute}", "", ".", "/", 7, 7.5, True, ["images/point"], {"a": 1},
     "x" * 300, "x/" * 50_000, "a\u0000b", "\udfff", "images/linked", "linked"],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_a_relative_path_stays_in_the_job(command, platform, tmp_path, path):
    for planted, text in PLANTED.items():
        (tmp_path / planted).parent.mkdir(parents=True)
        (tmp_path / planted).write_text(text)
    for link in ("images/linked", "linked"):
        (platform.folder / "pk-1" / "output" / link).symlink_to(tmp_path / "secret" / "output" / "images" / "point")
    path = str(tmp_path / "secret" / "output" / "images" / "point") if path == "{absolute}" else path
    result = command(json.dumps([platform_job(1, path), platform_job(2)]))
    assert result.exit_code == 0, result.output
    entry = result.results[0]
    assert (entry["case"], entry["status"], entry["distance"]) == ("001", "invalid", 100.0)
    assert len(entry["reason"]) < 200
    assert entry["reason"].isprintable()


@pytest.mark.parametrize("value", [None, 3, [3, [[]]], [{"image": 3}], "x" * 70_000])
@pytest.mark.parametrize("key", ["inputs", "outputs", "started_at", "completed_at"])
def test_what_is_odd_in_a_job_costs_no_other_case(command, key, value):
    result = command(json.dumps([platform_job(1, **{key: value}), platform_job(2)]))
    assert result.exit_code == 0, result.output
    assert result.results[1]["distance"] == 2.0
    assert all(len(line) < 500 for line in result.stderr.splitlines())


def test_the_command_says_how_many_cases_failed(command):
    result = command(json.dumps([platform_job(1, "images/nothing"), platform_job(2), platform_job(8)]))
    assert result.exit_code == 0
    assert "2 cases failed, the first: 001, there is nothing at pk-1/output/images/nothing." in result.stderr
    assert "predictions.json: job 3 names no known case in its inputs (008_frames.mha)." in result.stderr


# What is in metrics.json.


def test_a_team_whose_every_case_failed_is_not_eligible(platform):
    for number in (1, 2, 3):
        (platform.folder / f"pk-{number}" / "output" / "images" / "point" / "point.txt").write_text("no point")
    document = platform.document([platform_job(n) for n in (1, 2, 3)])
    assert document["eligibility"] == {"eligible": False, "reason": "every case failed"}
    assert {entry["status"] for entry in document["results"]} == {"invalid"}


def test_what_made_the_numbers_is_enclosed(platform):
    document = platform.document([platform_job(n) for n in (1, 2, 3)])
    assert document["eligibility"] == {"eligible": True, "reason": ""}
    run = document["evaluation"]["run"]
    assert (run["challenge"], run["edition"]) == ("landmarks", "document")
    assert run["truth"]["sha256"].keys() == {"001.txt", "002.txt", "003.txt"}
    own = run["submissions"]["team"]["sha256"]
    assert own.keys() == {f"pk-{n}/output/images/point/point.txt" for n in (1, 2, 3)}


class Renamed(Landmarks):
    """Landmarks whose organisers have names of their own."""

    organisers_keys = OrganisersKeys("id", {"distance": "error_mm", "seconds": "time"}, {"distance": "mean_error_mm"})


def test_the_organisers_keys_are_beside_podiums(platform):
    jobs = [platform_job(1), platform_job(2, completed_at=None), platform_job(3, "images/nothing")]
    plain = platform.document(jobs, challenge=Renamed())
    both = platform.document(jobs, challenge=Renamed(), keys="organisers")
    assert both["aggregates"]["mean_error_mm"] == both["aggregates"]["scores"]["distance"]
    assert [(entry["id"], entry["error_mm"]) for entry in both["results"]] == [
        ("001", 1.0),
        ("002", 2.0),
        ("003", 100.0),
    ]
    assert ["time" in entry for entry in both["results"]] == [True, False, True]
    for before, after in zip(plain["results"], both["results"], strict=True):
        assert before.items() <= after.items()
    with pytest.raises(InputError, match="the organisers of Landmarks have no keys that are known"):
        platform.document(jobs, keys="organisers")


def test_unknown_keys_are_refused(command):
    assert "there are no keys 'mine'" in command("[]", "--keys", "mine").stderr


def test_a_socket_without_jobs_is_not_passed_over(tmp_path):
    arguments = ["--truth", tmp_path, "--submissions", tmp_path, "--out", tmp_path / "run", "--socket", "point"]
    result = CliRunner().invoke(app, ["evaluate", "kits21", *map(str, arguments)])
    assert result.exit_code == 1
    assert "--socket says which output of a job counts. It needs --grand-challenge" in result.stderr

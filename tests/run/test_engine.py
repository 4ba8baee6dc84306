"""Every submission on every case: nobody's numbers depend on threads, archives or others; times and warnings."""

import shutil

import polars as pl
import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks

import podium
from podium.challenges import challenges, get_challenge
from podium.io import digest
from podium.model import InputError, Role
from podium.run import Parts, Threads, find_submissions, found_cases, measure_all

NAMES = sorted(challenges())
RESULTS = ("measurements.parquet", "failures.csv", "leaderboard.csv", "leaderboard.json", "leaderboard.md")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_does_not_matter(demos, name, tmp_path):
    folder, outputs = demos / name, []
    baselines = [submission for submission in ("baseline",) if (folder / "submissions" / submission).exists()]
    for jobs in (1, 3):
        out = tmp_path / str(jobs)
        podium.evaluate(
            name,
            truth=folder / "truth",
            submissions=folder / "submissions",
            out=out,
            jobs=jobs,
            baselines=baselines,
        )
        outputs.append({file: (out / file).read_bytes() for file in RESULTS})
    assert outputs[0] == outputs[1]
    assert outputs[0] == {file: (folder / "run" / file).read_bytes() for file in RESULTS}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_others_are_not_touched_by_a_bad_submission(demos, name, tmp_path):
    kept = tmp_path / "submissions"
    shutil.copytree(demos / name / "submissions", kept, ignore=shutil.ignore_patterns("unlucky*"))
    alone = measure_all(get_challenge(name), truth=demos / name / "truth", submissions=find_submissions(kept)).table
    together = podium.load(demos / name / "run").measurements.filter(pl.col("submission") != "unlucky")
    assert alone.equals(together)


@pytest.mark.slow
def test_archives_give_the_same_numbers_as_folders(demos, tmp_path):
    for team in ("careful", "noisy"):
        source = demos / "kits21" / "submissions" / team
        if team == "careful":
            shutil.make_archive(str(tmp_path / team), "zip", source)
        else:
            shutil.make_archive(str(tmp_path / team), "gztar", source.parent, team)
    table = measure_all(
        get_challenge("kits21"), truth=demos / "kits21" / "truth", submissions=find_submissions(tmp_path)
    ).table
    measured = podium.load(demos / "kits21" / "run").measurements
    assert table.equals(measured.filter(pl.col("submission").is_in(["careful", "noisy"])))


def test_an_archive_that_cannot_be_opened_costs_every_case(kits21_demo, tmp_path):
    (tmp_path / "broken.zip").write_bytes(b"nothing")
    evaluation = measure_all(
        get_challenge("kits21"), truth=kits21_demo / "truth", submissions=find_submissions(tmp_path)
    )
    assert set(evaluation.table["status"]) == {"invalid"}
    judged = [measure.name for measure in evaluation.challenge.measures if measure.price is not None]
    assert set(evaluation.table.filter(pl.col("metric").is_in(judged))["value"]) == {0.0}
    assert evaluation.hashes == {"broken": {}}


@pytest.mark.parametrize(
    ("name", "file"), [("kits21", "aggregated_MAJ_seg.nii.gz"), ("trackrad2025", "targets/A_002_labels.mha")]
)
@pytest.mark.slow
def test_a_case_without_truth_is_said(demos, tmp_path, name, file):
    truth = tmp_path / name
    shutil.copytree(demos / name / "truth", truth)
    case = sorted(path for path in truth.iterdir() if path.is_dir())[1]
    (case / file).unlink()
    with pytest.raises(InputError, match="this case has no"):
        found_cases(get_challenge(name), truth)


def test_a_truth_that_is_none_is_said(tmp_path):
    with pytest.raises(InputError, match=r"this is not a folder\. Give the folder that holds the truth"):
        found_cases(Landmarks(), tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no case of Landmarks was found\. Is this"):
        found_cases(Landmarks(), tmp_path)


class WithBaseline(Landmarks):
    """Landmarks with somebody who is always at the origin."""

    @property
    def built_in(self):
        """One baseline."""
        return {"origin": Role.BASELINE}

    def measure_built_in(self, name, case, truth):
        """Measure nothing but the truth's own distance."""
        return [value for value in self.measure(case, truth, case.files[0]) if name == "origin"]


def test_what_is_built_in_is_measured_and_its_name_is_taken(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"team": {}})
    evaluation = measure_all(WithBaseline(), truth=truth, submissions=find_submissions(teams))
    assert evaluation.roles == {"team": Role.COMPETITOR, "origin": Role.BASELINE}
    assert evaluation.table.filter(pl.col("submission") == "origin")["value"].to_list() == [0.0] * 4
    shutil.copytree(teams / "team", teams / "origin")
    with pytest.raises(InputError, match="a submission is called origin, like the baseline that Podium evaluates"):
        measure_all(WithBaseline(), truth=truth, submissions=find_submissions(teams))


# Times


def times(evaluation, submission="team"):
    table = evaluation.table.filter((pl.col("submission") == submission) & (pl.col("metric") == "seconds"))
    return dict(table.select("case", "value").iter_rows())


def timed(tmp_path, lines, texts=None):
    truth, teams = write_landmarks(tmp_path, {"team": texts or {}})
    (teams / "team" / "timing.csv").write_text("\n".join(["case,seconds", *lines]) + "\n")
    return measure_all(Landmarks(), truth=truth, submissions=find_submissions(teams))


def test_times_of_failed_rows_are_recorded_as_they_were_reported(tmp_path):
    """What a failed case counts is for the rules to say; the measurements hold what the team sent."""
    lines = ["001,1.5", "002,0.25", "003,900", "004,4"]
    evaluation = timed(tmp_path, lines, {"002": "", "003": "nothing"})
    rows = evaluation.table.filter(pl.col("metric") == "distance").select("case", "status").iter_rows()
    assert dict(rows) == {"001": "ok", "002": "missing", "003": "invalid", "004": "ok"}
    assert times(evaluation) == {"001": 1.5, "002": 0.25, "003": 900.0, "004": 4.0}
    seconds = evaluation.table.filter(pl.col("metric") == "seconds")
    assert set(seconds["status"]) == {"ok"}
    assert [line for line in evaluation.failures if line[2] == "warning"] == []


@pytest.mark.slow
def test_times_of_failed_rows_are_recorded_in_every_demo_that_has_times(demos):
    failed_rows = 0
    for name in NAMES:
        run = podium.load(demos / name / "run")
        for folder in sorted((demos / name / "submissions").iterdir()):
            if not (folder / "timing.csv").is_file():
                continue
            reported = {line.split(",")[0]: float(line.split(",")[1]) for line in timing_lines(folder)}
            own = run.measurements.filter((pl.col("submission") == folder.name) & (pl.col("unit") == ""))
            seconds = dict(own.filter(pl.col("metric") == "seconds").select("case", "value").iter_rows())
            assert seconds == {row: reported[row] for row in set(own["case"]) if row in reported}
            failed_rows += own.filter(pl.col("status").is_in(["missing", "invalid"]))["case"].n_unique()
    assert failed_rows > 0


def timing_lines(folder):
    return (folder / "timing.csv").read_text().splitlines()[1:]


def test_rows_without_a_time_and_times_without_a_row_are_warned_of(tmp_path):
    evaluation = timed(tmp_path, ["001,1", "zz,2"])
    assert times(evaluation) == {"001": 1.0}
    assert evaluation.failures == [
        ("team", "", "warning", "timing.csv: no time counts, as there is none for 002, 003, 004"),
        ("team", "", "warning", "timing.csv: there is no case called zz"),
    ]


def test_many_rows_without_a_time_are_not_all_named(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"team": {}}, cases=6)
    (teams / "team" / "timing.csv").write_text("case,seconds\n001,1\n")
    (line,) = measure_all(Landmarks(), truth=truth, submissions=find_submissions(teams)).failures
    assert line[3] == "timing.csv: no time counts, as there is none for 002, 003, 004 …"


def test_times_that_cannot_be_read_are_none_and_their_file_is_on_record(tmp_path):
    evaluation = timed(tmp_path, ["001,soon"])
    assert times(evaluation) == {}
    (line,) = evaluation.failures
    assert line[:3] == ("team", "", "warning")
    assert line[3].startswith("timing.csv: ")
    assert line[3].endswith("; no timing is counted")
    path = tmp_path / "teams" / "team" / "timing.csv"
    assert evaluation.hashes["team"]["timing.csv"] == digest(path)


# Bookkeeping


def test_files_that_nobody_asked_for_are_warned_of(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"team": {"001": ""}})
    (teams / "team" / "01.txt").write_text("0 0 0")
    evaluation = measure_all(Landmarks(), truth=truth, submissions=find_submissions(teams))
    assert evaluation.failures == [
        ("team", "", "warning", "01.txt: unexpected file, is it meant to be 001.txt?"),
        ("team", "001", "missing", "there is no 001.txt"),
    ]


def test_everything_that_was_read_is_hashed(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"team": {}})
    (teams / "team" / "notes.md").write_text("not read")
    evaluation = measure_all(Landmarks(), truth=truth, submissions=find_submissions(teams))
    names = ["001.txt", "002.txt", "003.txt", "004.txt"]
    assert evaluation.truth == {name: digest(truth / name) for name in names}
    assert evaluation.hashes == {"team": {name: digest(teams / "team" / name) for name in names}}


def test_progress_counts_cases(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"team": {}})
    seen = []
    measure_all(
        Landmarks(),
        truth=truth,
        submissions=find_submissions(teams),
        pool=Threads(1),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_part_that_vanishes_meanwhile_is_said(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"team": {}})
    parts = Parts(tmp_path / "run")

    def vanishing(done, total):
        if done == total:
            parts.path("002").unlink()

    with pytest.raises(InputError, match=r"a part file that was written cannot be read\. Add --resume"):
        measure_all(Landmarks(), truth=truth, submissions=find_submissions(teams), parts=parts, progress=vanishing)

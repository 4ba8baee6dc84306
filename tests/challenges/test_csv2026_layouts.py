"""CSV 2026 as its organisers' baseline writes it: data/val/preds, and preds.tar.gz."""

import subprocess
import tarfile

import h5py
import numpy as np
import pytest
from csv2026_files import vessel_with_plaque, write_sample
from typer.testing import CliRunner

import podium
from podium.challenges import get_challenge
from podium.cli import app
from podium.model import InputError
from podium.run.submissions import Submission, opened
from podium.testing import assert_check_agrees

OPTIONS = {"baseline_seconds": 1.5}
CASES = ("0001", "0002")


def infer(folder):
    """Write what the organisers' inference.py does for every image: compressed masks of uint8, and the class in 1-D."""
    out = folder / "preds"
    out.mkdir()
    for image in sorted((folder / "images").glob("*.h5")):
        with h5py.File(out / f"{image.stem}_pred.h5", "w") as file:
            for name in ("long_mask", "trans_mask"):
                file.create_dataset(name, data=vessel_with_plaque(), compression="gzip")
            file.create_dataset("cls", data=np.array([1], np.uint8))
    return out


@pytest.fixture
def val(tmp_path):
    """Return data/val after the baseline's inference: images, labels and preds."""
    folder = tmp_path / "data" / "val"
    (folder / "images").mkdir(parents=True)
    for case in CASES:
        with h5py.File(folder / "images" / f"{case}.h5", "w") as file:
            file.create_dataset("long_img", data=np.zeros((4, 4), np.uint8))
        write_sample(folder / "labels" / f"{case}_label.h5", cls=1)
    infer(folder)
    return folder


def best(run, team):
    rows = run.measurements.filter((run.measurements["submission"] == team) & (run.measurements["metric"] == "dice"))
    return set(rows["value"]) == {1.0} and set(rows["case"]) == set(CASES)


def packed(val, team, *more):
    """Pack predictions as the organisers' README says, and files besides, into the folder of a team."""
    team.mkdir(parents=True)
    subprocess.run(["tar", "-czf", str(team / "preds.tar.gz"), "preds/", *more], cwd=val, check=True)
    return team


def test_a_folder_that_holds_nothing_but_an_archive_is_that_archive(val, tmp_path):
    teams = tmp_path / "teams"
    packed(val, teams / "ours")
    (teams / "ours" / ".DS_Store").write_bytes(b"")
    run = podium.evaluate("csv2026", truth=val, submissions=teams, out=tmp_path / "run", options=OPTIONS)
    assert best(run, "ours")
    assert run.failures.is_empty()
    assert podium.check("csv2026", teams / "ours", truth=val) == []
    assert podium.check("csv2026", teams / "ours") == []
    challenge = get_challenge("csv2026", **OPTIONS)
    assert_check_agrees(challenge, truth=val, submission=teams / "ours", scratch=tmp_path / "damaged")


def test_times_lie_beside_the_archive_or_in_it(val, tmp_path):
    """Organisers measure times, and put them beside what a team sent; theirs win over the team's own."""
    teams = tmp_path / "teams"
    (val / "timing.csv").write_text("case,seconds\n0001,0.1\n0002,0.2\n")
    packed(val, teams / "within", "timing.csv")
    packed(val, teams / "beside", "timing.csv")
    (teams / "beside" / "timing.csv").write_text("case,seconds\n0001,1.5\n0002,2.5\n")
    run = podium.evaluate("csv2026", truth=val, submissions=teams, out=tmp_path / "run", options=OPTIONS)
    assert best(run, "beside")
    times = run.measurements.filter(run.measurements["metric"] == "seconds").select("submission", "value").rows()
    assert times == [("beside", 1.5), ("beside", 2.5), ("within", 0.1), ("within", 0.2)]
    assert "timing.csv" in run.record.submissions["beside"].sha256
    assert run.verify().nothing_differs
    assert podium.check("csv2026", teams / "beside", truth=val) == []
    (teams / "beside" / "timing.csv").write_text("case,seconds\n0001,1.5\n")
    (warning,) = podium.check("csv2026", teams / "beside", truth=val)
    assert (warning.file, warning.what) == ("timing.csv", "0002 has no time: without it no time counts")
    assert [line[:2] for line in run.verify().inputs] == [("beside", "timing.csv")]


def test_an_archive_beside_anything_else_is_a_file(val, tmp_path):
    team = packed(val, tmp_path / "teams" / "ours")
    (team / "README.txt").write_text("hello")
    with opened(Submission("ours", team)) as files:
        assert files.top == ["README.txt", "preds.tar.gz"]


def test_archives_in_archives_and_links_stay_as_they_are(val, tmp_path):
    team = packed(val, tmp_path / "teams" / "ours")
    with tarfile.open(tmp_path / "outer.tar.gz", "w:gz") as outer:
        outer.add(team / "preds.tar.gz", "preds.tar.gz")
    with opened(Submission("outer", tmp_path / "outer.tar.gz")) as files:
        assert files.top == ["preds.tar.gz"]
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "preds.tar.gz").symlink_to(team / "preds.tar.gz")
    with opened(Submission("linked", linked)) as files:
        assert files.top == []


def test_predictions_beside_the_labels_are_read_with_a_warning(val, tmp_path):
    """The organisers' script puts them there; it is no attack."""
    arguments = ["evaluate", "csv2026", "--truth", val, "--submissions", val / "preds", "--out", tmp_path / "run"]
    result = CliRunner().invoke(app, [*map(str, arguments), "--option", "baseline_seconds=1.5"])
    assert result.exit_code == 0, result.output
    run = podium.load(tmp_path / "run")
    assert best(run, "preds")
    assert run.failures.select("submission", "case", "status").rows() == [("preds", "", "warning")]
    assert "lies in the folder of the truth, beside the labels" in run.failures["reason"][0]
    remarks = podium.check("csv2026", val / "preds", truth=val)
    assert ["lies in the folder of the truth, beside the labels" in remark.what for remark in remarks] == [True]
    assert all(remark.warning for remark in remarks)


def test_teams_and_archives_beside_the_labels(val, tmp_path):
    team = packed(val, tmp_path / "packed")
    (team / "preds.tar.gz").rename(val / "preds.tar.gz")
    (remark,) = podium.check("csv2026", val / "preds.tar.gz", truth=val)
    assert "beside the labels" in remark.what
    inner = val / "preds" / "ours"
    inner.mkdir()
    for path in list((val / "preds").glob("*.h5")):
        path.rename(inner / path.name)
    run = podium.evaluate("csv2026", truth=val, submissions=val / "preds", out=tmp_path / "run", options=OPTIONS)
    assert best(run, "ours")


def test_nothing_else_within_the_truth_is_a_submission(val, tmp_path):
    for place in ("labels", "images"):
        with pytest.raises(InputError, match="this lies inside the folder of the truth"):
            podium.check("csv2026", val / place, truth=val)
    with pytest.raises(InputError, match="this is the folder of the truth"):
        podium.evaluate("csv2026", truth=val, submissions=val, out=tmp_path / "run", options=OPTIONS)
    for path in (val / "preds").iterdir():
        path.unlink()
    (val / "preds").rmdir()
    (val / "preds").symlink_to(val / "labels")
    with pytest.raises(InputError, match="this lies inside the folder of the truth"):
        podium.check("csv2026", val / "preds", truth=val)


def test_a_truth_that_is_called_preds_is_a_truth_all_the_same(val, tmp_path):
    truth = (val / "labels").rename(tmp_path / "preds")
    with pytest.raises(InputError, match="this is the folder of the truth"):
        podium.check("csv2026", truth, truth=truth)


def test_a_link_to_predictions_beside_the_labels_is_noticed(val, tmp_path):
    (tmp_path / "teams").mkdir()
    (tmp_path / "teams" / "ours").symlink_to(val / "preds")
    run = podium.evaluate("csv2026", truth=val, submissions=tmp_path / "teams", out=tmp_path / "run", options=OPTIONS)
    assert run.failures["reason"].to_list() == ["ours: lies in the folder of the truth, beside the labels"]

"""`podium raters`: what it prints, what it writes, and how it fails."""

import json

from annotated import two_and_three, write_case
from sixth_challenge import Landmarks

import podium


def test_tables_and_files(run, tmp_path):
    for number in range(3):
        write_case(tmp_path / "truth" / f"case_{number:05}", two_and_three(number))
    out = tmp_path / "raters"
    result = run("raters", "kits21", "--truth", tmp_path / "truth", "--out", out, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "KiTS21: inter-rater variability" in result.stdout
    assert "Tolerance: 95th percentile of distance, mm" in result.stdout
    assert f"The survey is in {out}." in result.stderr
    again = run("raters", "kits21", "--truth", tmp_path / "truth", "--out", out)
    assert again.exit_code == 1
    assert "a finished run is here" in again.stderr
    resumed = run("raters", "kits21", "--truth", tmp_path / "truth", "--out", out, "--resume", "--json")
    assert resumed.exit_code == 0, resumed.output
    document = json.loads(resumed.stdout)
    assert document == json.loads((out / "raters.json").read_text())
    survey = podium.agreement("kits21", truth=str(tmp_path / "truth"))
    assert survey.to_frame().filter(survey.to_frame()["name"] == "dice")["cases"].to_list() == [3, 3, 3]


def test_a_case_that_is_counted_out_shows_in_the_exit_code(run, tmp_path):
    write_case(tmp_path / "truth" / "case_00000", two_and_three())
    (tmp_path / "truth" / "case_00001").mkdir()
    result = run("raters", "kits21", "--truth", tmp_path / "truth")
    assert result.exit_code == 3
    assert "case_00001 is counted out: case_00001 has no annotations" in " ".join(result.stdout.split())


def test_one_annotator_has_nobody_to_be_compared_with(run, tmp_path):
    result = run("raters", "lvquan18", "--truth", tmp_path)
    assert result.exit_code == 1
    assert result.stderr == "error: LVQuan18 has one annotator only, so there is nobody to compare\n"
    assert not hasattr(Landmarks(), "panel")
    result = run("raters", "kits21", "--truth", tmp_path, "--resume")
    assert "--resume needs --out" in result.stderr

"""Algorithms of declared challenges: what they are given, what they answer, and what is never shown."""

import shutil
import sys

import pytest
from declared_challenges import SEGMENTATION, TOML, lesion, write_ages, write_labels, write_lesions

import podium
from podium.challenges.kinds import SegmentationChallenge
from podium.challenges.kinds.toml_files import parse_challenge, read_challenge
from podium.io import read_label_map
from podium.model import InputError, Question
from podium.testing import assert_truth_is_hidden

pytestmark = pytest.mark.slow

COPY = """
import pathlib, shutil, sys
inputs, output = map(pathlib.Path, sys.argv[1:3])
path, = (inputs / "images").glob("*_T1.nii.gz")
assert path.with_name(path.name.replace("T1", "T2")).exists() and len(list(inputs.rglob("*.nii.gz"))) == 2
if path.name != "s1_0_T1.nii.gz":
    shutil.copyfile(path, output / path.name.replace("_T1", ""))
"""
TELL = """
import pathlib, sys
inputs, output = map(pathlib.Path, sys.argv[1:3])
path, = inputs.glob("*.txt")
lines = ["case,months", path.stem + "," + path.read_text()]
if path.stem.startswith("c1"):
    lines = ["case,extra,months", path.stem + ",7," + path.read_text()]
if path.stem.startswith("c2"):
    lines.append("another,1")
(output / "predictions.csv").write_text("\\n".join(lines))
"""
INPUTS = ["images/{subject}_{visit}_T1.nii.gz", "images/{subject}_{visit}_T2.nii.gz"]


def segmentation(**files):
    return SegmentationChallenge.made(**{**SEGMENTATION, "files": {**SEGMENTATION["files"], **files}})


def command(tmp_path, script):
    path = tmp_path / "algorithm" / "run.py"
    path.parent.mkdir()
    path.write_text(script)
    return f"ours={sys.executable} {path} {{input}} {{output}}"


def test_an_algorithm_is_given_its_inputs_and_measured_as_its_files_would_be(tmp_path):
    data = write_lesions(tmp_path / "data")
    for path in sorted((data / "submissions" / "near").iterdir()):
        for name in ("T1", "T2"):
            target = data / "truth" / "images" / path.name.replace(".nii.gz", f"_{name}.nii.gz")
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, target)
    challenge = segmentation(inputs=INPUTS)
    given = {"truth": data / "truth", "out": tmp_path / "out", "unconfined": True}
    run = podium.run_algorithm(challenge, **given, commands=command(tmp_path, COPY), keep=True).run
    (data / "submissions" / "near" / "s1_0.nii.gz").unlink()
    files = podium.evaluate(
        challenge, truth=data / "truth", submissions=data / "submissions", out=tmp_path / "run"
    ).measurements.filter(submission="near")
    ours = run.measurements.filter(submission="ours").filter(
        ~(run.measurements["metric"].is_in(["seconds", "loading"]))
    )
    assert ours["value"].to_list() == files["value"].to_list()
    assert ours["case"].to_list() == files["case"].to_list()
    assert set(run.failures["case"]) == {"s1_0"}
    assert "there is no s1_0.nii.gz in the output" in run.failures["reason"][0]


def test_lines_of_all_cases_become_one_table(tmp_path):
    data = write_ages(tmp_path / "data")
    challenge = parse_challenge(
        (TOML / "bone-age.toml").read_text().replace("[table]", 'inputs = "{child}_{hand}.txt"\n\n[table]')
    )
    team = sorted((data / "submissions").iterdir())[0]
    lines = (team / "predictions.csv").read_text().splitlines()[1:]
    (tmp_path / "images").mkdir()
    for name, number in (line.split(",") for line in lines):
        (tmp_path / "images" / f"{name}.txt").write_text(number)
    given = {"inputs": tmp_path / "images", "truth": data / "truth", "out": tmp_path / "out", "unconfined": True}
    run = podium.run_algorithm(challenge, **given, commands=command(tmp_path, TELL)).run
    files = podium.evaluate(challenge, truth=data / "truth", submissions=data / "submissions", out=tmp_path / "run")
    keys = ("case", "metric", "target")

    def values(measurements, name):
        rows = measurements.filter(submission=name).iter_rows(named=True)
        return {tuple(row[key] for key in keys): row["value"] for row in rows if row["status"] == "ok"}

    expected, ours = values(files.measurements, team.name), values(run.measurements, "ours")
    assert ours == {key: value for key, value in expected.items() if not key[0].startswith("c2")}
    assert any(key[0].startswith("c1") for key in ours)
    assert {case[:2] for case in run.failures["case"]} <= {"c2", "tr"}


def test_what_is_called_like_a_truth_is_never_shown(tmp_path):
    challenge = segmentation(inputs="{subject}_{visit}.nii.gz")
    folders = [tmp_path / name for name in ("one", "other", "none")]
    for shift, folder in enumerate(folders):
        for number in range(3):
            write_labels(folder / f"s{number}_0.nii.gz", lesion(number, noise=2))
            if folder.name != "none":
                write_labels(folder / f"s{number}_0_seg.nii.gz", lesion(number, shift=shift))
    secrets = [read_label_map(path).array for folder in folders for path in folder.glob("*_seg.nii.gz")]
    assert len(secrets) == 6
    assert_truth_is_hidden(challenge.interface, folders, scratch=tmp_path / "scratch", secrets=secrets)
    asked = [question.name for question in challenge.interface.questions(folders[0])]
    assert asked == [case.name for case in challenge.cases(folders[0])]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"inputs": "{subject}_{visit}_seg.nii.gz"}, r"files.inputs: .*could be a truth, which no algorithm may see"),
        ({"inputs": "a/{subject}.nii.gz"}, r"does not tell cases apart that differ in \{visit\}"),
        ({"inputs": "{subject}_{visit}_{scan}.nii.gz"}, r"\{scan\} is no part of truth"),
        ({"inputs": INPUTS, "prediction": "a/{subject}_{visit}.nii.gz"}, "Add a name without folders"),
    ],
)
def test_inputs_that_cannot_be(files, problem):
    with pytest.raises(InputError, match=problem):
        segmentation(**files)


def test_inputs_of_tables_have_the_parts_of_their_cases():
    with pytest.raises(InputError, match="has not the parts of case"):
        read_challenge(TOML / "bone-age.toml").varied(
            files={"prediction": "p.csv", "case": "{child}_{hand}", "inputs": "{child}.png"}
        )


def test_a_case_with_a_part_of_its_files_is_named(tmp_path):
    for name in ("s0_0_T1", "s0_0_T2", "s1_0_T2"):
        write_labels(tmp_path / "images" / f"{name}.nii.gz", lesion(0))
    with pytest.raises(InputError, match=r"there is no images/s1_0_T1\.nii\.gz of s1_0"):
        segmentation(inputs=INPUTS).interface.questions(tmp_path)


def test_an_answer_is_called_like_a_prediction(tmp_path):
    interface = segmentation(inputs=INPUTS, prediction=["{subject}_{visit}.nii.gz", "{subject}_{visit}.mha"]).interface
    question = Question("s0_1")
    with pytest.raises(InputError, match=r"there is no s0_1.nii.gz in the output, which is empty"):
        interface.answer(question, tmp_path)
    (tmp_path / "s0_1.mha").touch()
    assert interface.file_name(question, interface.answer(question, tmp_path)) == "s0_1.mha"


def test_without_inputs_it_is_said_what_to_write(tmp_path):
    data = write_lesions(tmp_path / "data", subjects=1)
    with pytest.raises(InputError, match=r"does not say how algorithms are asked. Name inputs in \[files\]"):
        podium.run_algorithm(
            segmentation(), truth=data / "truth", out=tmp_path / "out", commands=command(tmp_path, COPY)
        )

"""Going through cases: what is counted out, taken up again, written, printed."""

import csv
import json
import math
import shutil

import annotated
import numpy as np
import pytest
from typer.testing import CliRunner

from podium import evaluate
from podium.challenges import get_challenge
from podium.cli import app
from podium.io import read_label_map
from podium.model import InputError
from podium.raters import summarise, survey_raters
from podium.run import Parts

pytestmark = pytest.mark.slow

REGIONS = ("kidney_and_mass", "mass", "tumor")


@pytest.fixture
def truth(tmp_path):
    """Return a folder with four good cases, one damaged, one without annotations, one with a single annotation."""
    folder = tmp_path / "truth"
    for number in range(4):
        annotated.write_case(folder / f"case_{number:05d}", annotated.two_and_three(shift=number))
    damaged = annotated.write_case(folder / "case_00004", annotated.two_and_three())
    file = damaged / "segmentations" / "tumor_instance-1_annotation-2.nii.gz"
    file.write_bytes(file.read_bytes()[:-40])
    (folder / "case_00005").mkdir()
    single = {key: mask for key, mask in annotated.two_and_three().items() if key[:2] != ("tumor", 1) or key[2] == 1}
    annotated.write_case(folder / "case_00006", single)
    return folder


@pytest.fixture
def run():
    def run(*arguments):
        return CliRunner(env={"COLUMNS": "120"}).invoke(app, ["raters", "kits21", *map(str, arguments)])

    return run


def test_what_cannot_be_measured_is_counted_out_with_its_reason(truth):
    found = survey_raters(get_challenge("kits21"), truth=truth)
    assert [each.case for each in found.agreements] == [f"case_{k:05d}" for k in range(4)]
    assert list(found.counted_out) == ["case_00004", "case_00005", "case_00006"]
    assert found.counted_out["case_00004"].startswith(
        "case_00004/segmentations/tumor_instance-1_annotation-2.nii.gz: the gzip data"
    )
    assert "has no annotations" in found.counted_out["case_00005"]
    assert "no two raters can be compared" in found.counted_out["case_00006"]


def test_two_and_three_annotations(truth):
    """Two samples a group, since one kidney has two annotations, and that is said."""
    found = survey_raters(get_challenge("kits21"), truth=truth).agreements[0]
    assert [len(group) for group in found.panel.groups] == [2] * 5
    assert found.remarks == ("kidney instance 2 has 2 annotations, others have 3",)


def test_means_over_cases(truth):
    found = survey_raters(get_challenge("kits21"), truth=truth)
    summary = summarise(found)
    assert [(line.target, line.name) for line in summary.variability] == [
        (region, metric) for region in REGIONS for metric in ("dice", "surface_dice")
    ]
    for line in summary.variability:
        numbers = [each.variability(line.name, line.target) for each in found.agreements]
        assert line.interval.mean == pytest.approx(np.mean(numbers))
        assert line.interval.low <= line.interval.mean <= line.interval.high
        assert line.interval.cases == 4
    for line in summary.tolerance:
        assert line.interval.mean == pytest.approx(np.mean([each.tolerance(line.target) for each in found.agreements]))


def test_an_absent_class_is_undefined_and_named(truth):
    masks = annotated.two_and_three()
    masks["tumor", 1, 1] = np.zeros(annotated.SHAPE, np.uint8)
    masks["tumor", 1, 2] = np.zeros(annotated.SHAPE, np.uint8)
    annotated.write_case(truth / "case_00001", masks)
    found = survey_raters(get_challenge("kits21"), truth=truth)
    lines = {line.target: line for line in summarise(found).tolerance}
    assert lines["tumor"].undefined == ("case_00001",)
    assert lines["tumor"].interval.cases == 3
    assert lines["kidney_and_mass"].undefined == ()
    others = [each.tolerance("tumor") for each in found.agreements if each.case != "case_00001"]
    assert lines["tumor"].interval.mean == pytest.approx(np.mean(others))
    assert math.isnan(found.agreements[1].tolerance("tumor"))


def test_threads_change_nothing(truth):
    one, two = (survey_raters(get_challenge("kits21"), truth=truth, jobs=jobs) for jobs in (1, 3))
    assert one == two


def test_progress_is_told(truth):
    told = []
    survey_raters(get_challenge("kits21"), truth=truth, progress=lambda done, total: told.append((done, total)))
    assert told == [(k, 7) for k in range(8)]


def counting(monkeypatch, challenge):
    """Return the challenge, and a list of the cases that it is asked to read."""
    read = []
    panel = type(challenge).panel
    monkeypatch.setattr(type(challenge), "panel", lambda self, case: read.append(case.name) or panel(self, case))
    return challenge, read


FAILED = ["case_00004", "case_00005", "case_00006"]
"""Cases of which nothing is kept, since they could not be measured."""


def flip_a_bit(path):
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_resuming_does_only_what_is_missing(truth, tmp_path, monkeypatch):
    """A part that is gone, one with a flipped bit and one that is cut short are measured again, and nothing else."""
    challenge, read = counting(monkeypatch, get_challenge("kits21"))
    out = tmp_path / "out"
    first = survey_raters(challenge, truth=truth, out=out, jobs=1)
    assert len(read) == 7
    parts = Parts(out)
    assert len(parts) == 4
    whole = {case: parts.path(case).read_bytes() for case in ("case_00000", "case_00001", "case_00002")}
    parts.path("case_00000").unlink()
    flip_a_bit(parts.path("case_00001"))
    parts.path("case_00002").write_bytes(whole["case_00002"][:-7])
    read.clear()
    assert survey_raters(challenge, truth=truth, out=out, resume=True, jobs=1) == first
    assert read == ["case_00000", "case_00001", "case_00002", *FAILED]
    assert {case: parts.path(case).read_bytes() for case in whole} == whole
    read.clear()
    assert survey_raters(challenge, truth=truth, out=out, resume=True, jobs=1) == first
    assert read == FAILED


def test_resuming_notices_other_files_and_other_questions(truth, tmp_path, monkeypatch):
    challenge, read = counting(monkeypatch, get_challenge("kits21"))
    out = tmp_path / "out"
    survey_raters(challenge, truth=truth, out=out)
    annotated.write_case(truth / "case_00003", annotated.two_and_three(shift=4))
    read.clear()
    survey_raters(challenge, truth=truth, out=out, resume=True)
    assert sorted(read) == ["case_00003", *FAILED]
    read.clear()
    found = survey_raters(challenge, truth=truth, out=out, resume=True, metrics=("hausdorff_distance",))
    assert len(read) == 7
    assert found.agreements[0].variability("hausdorff_distance", "tumor") > 0
    assert "hausdorff_distance" in (out / "variability.csv").read_text()
    read.clear()
    survey_raters(challenge, truth=truth, out=out, resume=True, metrics=("hausdorff_distance",), percentiles=(50,))
    assert len(read) == 7
    read.clear()
    again = challenge.varied(reference="OR")  # other options are another way to measure
    survey_raters(again, truth=truth, out=out, resume=True, metrics=("hausdorff_distance",), percentiles=(50,))
    assert len(read) == 7


def test_a_survey_that_is_there_is_left_alone(truth, tmp_path, monkeypatch):
    """Another one into its folder is refused; made anew, everything is measured, and the old stays until then."""
    challenge, read = counting(monkeypatch, get_challenge("kits21"))
    out = tmp_path / "out"
    survey_raters(challenge, truth=truth, out=out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    read.clear()
    with pytest.raises(InputError, match=r"out: a finished run is here\. Add --resume .* --restart"):
        survey_raters(challenge, truth=truth, out=out)
    assert read == []
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    tables = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}

    class StopError(Exception):
        pass

    def stop(done, total):
        if done:
            raise StopError

    with pytest.raises(StopError):
        survey_raters(challenge, truth=truth, out=out, restart=True, percentiles=(10,), progress=stop, jobs=1)
    assert {name: (out / name).read_bytes() for name in tables} == tables
    read.clear()
    found = survey_raters(challenge, truth=truth, out=out, restart=True, percentiles=(10,))
    assert len(read) == 7
    assert found.percentiles == (10.0, 95.0)
    assert (out / "tolerances.csv").read_bytes() != tables["tolerances.csv"]


def test_a_survey_that_was_cut_short(truth, tmp_path, monkeypatch):
    """What was measured before somebody pulled the plug is not lost, and no table is there that could mislead."""
    challenge, read = counting(monkeypatch, get_challenge("kits21"))
    out = tmp_path / "out"

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        survey_raters(challenge, truth=truth, out=out, progress=stop, jobs=1)
    assert not (out / "raters.json").exists()
    measured = len(Parts(out))
    assert 2 <= measured < 4
    with pytest.raises(InputError, match=f"an unfinished run is here, with {measured} cases measured"):
        survey_raters(challenge, truth=truth, out=out)
    read.clear()
    found = survey_raters(challenge, truth=truth, out=out, resume=True, jobs=1)
    assert read == [*(f"case_{number:05d}" for number in range(measured, 4)), *FAILED]
    assert found == survey_raters(challenge, truth=truth)
    assert json.loads((out / "raters.json").read_text())["cases"].keys() == {f"case_{k:05d}" for k in range(4)}


HOW = [{}, {"resume": True}, {"restart": True}]


REFUSED = {
    "cases.csv": ("this folder is not empty, and no run", "cases.csv is in this folder, and Podium did not write it"),
    "run.json": ("this folder holds what belongs to run.json",) * 2,
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", REFUSED)
def test_folders_that_hold_something_else(truth, tmp_path, name, how):
    """Nothing that Podium did not write is touched."""
    out = tmp_path / "out"
    out.mkdir()
    mine = out / name
    mine.write_text("mine")
    with pytest.raises(InputError, match=REFUSED[name][bool(how)]):
        survey_raters(get_challenge("kits21"), truth=truth, out=out, **how)
    assert mine.read_text() == "mine"
    assert [path.name for path in out.iterdir()] == [name]
    with pytest.raises(InputError, match="this is not a folder"):
        survey_raters(get_challenge("kits21"), truth=truth, out=mine, **how)


def test_a_stranger_beside_a_survey_stays(truth, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="this folder is not empty, and no run"):
        survey_raters(get_challenge("kits21"), truth=truth, out=tmp_path / "out")
    survey_raters(get_challenge("kits21"), truth=truth, out=tmp_path / "out", restart=True)
    survey_raters(get_challenge("kits21"), truth=truth, out=tmp_path / "out", restart=True)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("how", HOW)
def test_a_run_is_never_damaged_by_a_survey(truth, tmp_path, how):
    """Neither is it resumed, nor made anew, nor are its parts thrown away, finished or cut short."""
    for case in FAILED:
        shutil.rmtree(truth / case)
    team = tmp_path / "teams" / "team"
    team.mkdir(parents=True)
    annotation = truth / "case_00000" / "segmentations" / "tumor_instance-1_annotation-1.nii.gz"
    shutil.copy(annotation, team / "case_00000.nii.gz")
    out = tmp_path / "out"
    evaluate(get_challenge("kits21", references="majority"), truth=truth, submissions=team.parent, out=out)
    (out / "parts" / "unfinished").touch()
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=r"this folder holds what belongs to run\.json"):
        survey_raters(get_challenge("kits21"), truth=truth, out=out, **how)
    (out / "parts" / "unfinished").unlink()
    with pytest.raises(InputError, match=r"this folder holds what belongs to run\.json"):
        survey_raters(get_challenge("kits21"), truth=truth, out=out, **how)
    before.pop(out / "parts" / "unfinished")
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("how", HOW)
def test_an_empty_folder_will_do(truth, tmp_path, how):
    out = tmp_path / "out"
    out.mkdir()
    survey_raters(get_challenge("kits21"), truth=truth, out=out, **how)
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    tables = {f"{name}.csv" for name in ("variability", "tolerances", "cases", "pairs", "counted_out")}
    assert names == tables | {"raters.json", "parts"}


def test_infinite_and_undefined_numbers_survive_a_resume(truth, tmp_path, monkeypatch):
    masks = annotated.two_and_three()
    masks["tumor", 1, 1] = masks["tumor", 1, 2] = np.zeros(annotated.SHAPE, np.uint8)
    annotated.write_case(truth / "case_00001", masks)
    ask = {"truth": truth, "out": tmp_path / "out", "metrics": ("hausdorff_distance",)}
    first = survey_raters(get_challenge("kits21"), **ask)
    challenge, read = counting(monkeypatch, get_challenge("kits21"))
    again = survey_raters(challenge, resume=True, **ask)
    assert sorted(read) == FAILED
    assert math.isinf(again.agreements[1].variability("hausdorff_distance", "tumor"))
    assert math.isnan(again.agreements[1].tolerance("tumor"))
    assert repr(again) == repr(first)


def test_own_measures_may_be_asked_for_by_name(truth):
    """Surface Dice at half the tolerance is measured between raters only on demand; Dice is not measured twice."""
    names = ("surface_dice_half_tolerance", "dice")
    found = survey_raters(get_challenge("kits21"), truth=truth, metrics=names).agreements[0]
    assert {metric for metric, _ in found.values} == {"dice", "surface_dice", "surface_dice_half_tolerance"}
    assert found.variability("surface_dice_half_tolerance", "tumor") <= found.variability("surface_dice", "tumor")


def test_as_a_table(truth):
    found = survey_raters(get_challenge("kits21"), truth=truth, percentiles=())
    frame = found.to_frame()
    assert frame.columns == ["target", "name", "percentile", "mean", "low", "high", "cases"]
    assert frame.select("target", "name", "percentile").rows() == [
        *((region, metric, None) for region in REGIONS for metric in ("dice", "surface_dice")),
        *((region, "tolerance", 95.0) for region in REGIONS),
    ]
    lines = (*found.summary.variability, *found.summary.tolerances)
    assert frame["mean"].to_list() == [line.interval.mean for line in lines]
    assert "<table" in found._repr_html_()


def test_samples_are_written_in_the_organisers_layout(truth, tmp_path, run):
    out, samples = tmp_path / "out", tmp_path / "samples"
    result = run("--truth", truth, "--out", out, "--write-samples", samples)
    assert result.exit_code == 3
    challenge = get_challenge("kits21")
    case = challenge.rated_cases(truth)[2]
    panel = challenge.panel(case)
    written = sorted(path.relative_to(samples).as_posix() for path in samples.glob("case_00002/**/*.nii.gz"))
    assert written == sorted(
        f"case_00002/segmentation_samples/group_{number}/{panel.panel.members[member]}"
        for number, group in enumerate(panel.panel.groups)
        for member in group
    )
    for number, group in enumerate(panel.panel.groups):
        for member in group:
            name = panel.panel.members[member]
            found = read_label_map(samples / "case_00002" / "segmentation_samples" / f"group_{number}" / name)
            np.testing.assert_array_equal(
                found.array, panel.annotations.whole(panel.annotations.paint(panel.samples[member])).array
            )
            assert panel.grid.geometry_differences(found) == []
    lost = samples / written[0]
    lost.unlink()
    before = (samples / "case_00001").stat().st_mtime_ns
    run("--truth", truth, "--out", out, "--write-samples", samples, "--resume")
    assert lost.is_file()
    assert (samples / "case_00001").stat().st_mtime_ns == before
    assert not list(samples.rglob(".*"))


def test_nothing_is_written_unless_asked(truth, tmp_path, run):
    before = sorted(tmp_path.rglob("*"))
    assert run("--truth", truth).exit_code == 3
    assert sorted(tmp_path.rglob("*")) == before


def test_tables_for_people(truth, run):
    result = run("--truth", truth, "--percentile", 50, "--metric", "hausdorff_distance_95")
    assert result.exit_code == 3, result.output
    for expected in (
        "KiTS21: inter-rater variability",
        "hausdorff distance 95",
        "Tolerance: 95th percentile of distance, mm",
        "Tolerance by percentile, mm",
        "case_00003",
        "case_00000: kidney instance 2 has 2 annotations, others have 3.",
        "case_00005 is counted out: case_00005 has no annotations.",
    ):
        assert expected in result.stdout, expected


def test_files_for_programs(truth, tmp_path, run):
    out = tmp_path / "out"
    result = run("--truth", truth, "--out", out, "--json", "--percentile", 90)
    document = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert document == json.loads((out / "raters.json").read_text())
    assert set(document["counted_out"]) == {"case_00004", "case_00005", "case_00006"}
    found = survey_raters(get_challenge("kits21"), truth=truth, percentiles=(90,))
    case = document["cases"]["case_00000"]
    assert case["variability"]["dice"]["tumor"] == found.agreements[0].variability("dice", "tumor")
    assert set(case["tolerances_mm"]["tumor"]) == {"90", "95"}

    def rows(name):
        with (out / f"{name}.csv").open() as file:
            return list(csv.DictReader(file))

    lines = {(line["target"], line["metric"]): line for line in rows("variability")}
    means = {(line.target, line.name): line.interval.mean for line in summarise(found).variability}
    assert {key: float(line["mean"]) for key, line in lines.items()} == means
    assert [line["case"] for line in rows("counted_out")] == ["case_00004", "case_00005", "case_00006"]
    assert len(rows("tolerances")) == 6
    assert len(rows("cases")) == 4 * (6 + 6)
    assert len(rows("pairs")) == 4 * 5 * (6 + 6)


def test_exit_codes(truth, tmp_path, run):
    for case in ("case_00004", "case_00005", "case_00006"):
        (truth / case).rename(tmp_path / case)
    assert run("--truth", truth).exit_code == 0
    for case in truth.iterdir():
        case.rename(tmp_path / f"moved_{case.name}")
    assert run("--truth", truth).exit_code == 1
    (truth / "case_00001").mkdir()
    result = run("--truth", truth)
    assert result.exit_code == 1
    assert "all 1 were counted out" in result.stderr
    assert "case_00001 has no annotations" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--percentile", 101], "a percentile lies between 0 and 100, not 101"),
        (["--resume"], "--resume needs --out"),
        (["--metric", "sensitivity"], "sensitivity depends on which of two is the reference"),
        (["--option", "reference=NO"], "reference is one of MAJ, AND, OR"),
    ],
)
def test_calls_that_cannot_be_meant(truth, run, arguments, message):
    result = run("--truth", truth, *arguments)
    assert result.exit_code == 1
    assert message in result.stderr


def test_an_unknown_metric_is_not_counted_as_a_bad_case(truth, run):
    result = run("--truth", truth, "--metric", "dise")
    assert result.exit_code == 1
    assert "Did you mean 'dice'" in result.stderr


def test_challenges_with_one_annotator():
    result = CliRunner().invoke(app, ["raters", "tusrec", "--truth", "."])
    assert result.exit_code == 1
    assert "one annotator only" in result.stderr


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(InputError, match="not a folder"):
        survey_raters(get_challenge("kits21"), truth=tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["kidney_instance-1.nii.gz", "tumor_instance-1_annotation-1 (copy).nii.gz"])
def test_names_that_are_no_annotations(truth, name):
    source = truth / "case_00000" / "segmentations" / "kidney_instance-1_annotation-1.nii.gz"
    (source.parent / name).write_bytes(source.read_bytes())
    (source.parent / "ureter_instance-1_annotation-1.nii.gz").write_bytes(b"other structures are left alone")
    found = survey_raters(get_challenge("kits21"), truth=truth)
    assert "not the name of an annotation" in found.counted_out["case_00000"]
    (source.parent / name).unlink()
    assert "case_00000" not in survey_raters(get_challenge("kits21"), truth=truth).counted_out

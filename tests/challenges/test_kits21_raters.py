"""KiTS21 with several annotators: predictions against every sampled truth, and people on the leaderboard."""

import csv
import json
import shutil

import annotated
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import podium
from podium.challenges import get_challenge
from podium.cli import app
from podium.io import read_label_map, write_label_map
from podium.metrics import dice, overlap, surface_dice, surface_distances
from podium.model import InputError, LabelMap, Role, Status
from podium.ranking import leaderboard_of
from podium.run import check_submission, find_submissions, measure_all

pytestmark = pytest.mark.slow

REGIONS = {"kidney_and_mass": (1, 2, 3), "mass": (2, 3), "tumor": (2,)}
CASES = 8
TOLERANCES = {"kidney_and_mass": 1.0330772532390826, "mass": 1.1328796488598762, "tumor": 1.1498198361434828}


def labels_of(masks, *, grown=0):
    """Return labels made of the first annotations, the kidneys longer by some voxels."""
    labels = np.zeros(annotated.SHAPE, np.uint8)
    for (kind, instance, number), mask in masks.items():
        if number == 1 and kind == "kidney":
            labels[mask == 1] = 1
            if grown:
                labels[annotated.block((10, 16) if instance == 2 else (2, 8), (8, 9 + grown), (2, 8)) == 1] = 1
    labels[masks["tumor", 1, 1] == 1] = 2
    return labels


def write(path, labels, *, spacing=annotated.SPACING):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_label_map(path, LabelMap.from_array(labels, spacing=spacing))


@pytest.fixture
def folders(tmp_path):
    """Return truth and submissions: eight cases, a team as good as people, one that finds no tumour, one that fails."""
    for number in range(CASES):
        case = f"case_{number:05d}"
        masks = annotated.two_and_three(shift=number % 4)
        annotated.write_case(tmp_path / "truth" / case, masks)
        labels = labels_of(masks)
        write(tmp_path / "truth" / case / "aggregated_MAJ_seg.nii.gz", labels)
        write(tmp_path / "teams" / "good" / f"{case}.nii.gz", labels_of(masks, grown=number % 2))
        write(tmp_path / "teams" / "blind" / f"{case}.nii.gz", np.minimum(labels, 1))
        if number:
            write(tmp_path / "teams" / "lazy" / f"{case}.nii.gz", labels)
    return tmp_path / "truth", tmp_path / "teams"


def slowly(challenge, truth, case, prediction, *, spacing=None):
    """Measure against sample after sample, written to disk and read again, as the organisers do."""
    rated = {each.name: each for each in challenge.rated_cases(truth)}[case]
    guess = read_label_map(prediction)
    found = {}
    for place, sample in challenge.samples(rated, challenge.panel(rated)):
        path = truth.parent / "samples" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        write_label_map(path, sample)
        reference = read_label_map(path)
        overlaps = overlap(reference, guess, regions=REGIONS)
        surfaces = surface_distances(reference, guess, regions=REGIONS, spacing_mm=spacing)
        for region in REGIONS:
            found.setdefault(("dice", region), []).append(dice(overlaps[region]))
            value = surface_dice(surfaces[region], tolerance_mm=TOLERANCES[region])
            found.setdefault(("surface_dice", region), []).append(value)
    assert len(found["dice", "tumor"]) == 10
    return {key: np.mean(values) for key, values in found.items()}


@pytest.mark.parametrize("team", ["good", "blind"])
def test_against_every_sample_as_done_slowly(folders, team):
    truth, teams = folders
    challenge = get_challenge("kits21", references="samples")
    for case in challenge.cases(truth):
        prediction = teams / team / f"{case.name}.nii.gz"
        expected = slowly(challenge, truth, case.name, prediction)
        values = challenge.measure(case, challenge.load(case), prediction)
        found = {(value.metric, value.target): value.value for value in values}
        assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-12)


def test_code_means_samples_and_the_spacing_of_the_prediction(folders, tmp_path):
    truth, teams = folders
    challenge = get_challenge("kits21", edition="code")
    assert challenge.against == "samples"
    case = challenge.cases(truth)[0]
    prediction = tmp_path / "case_00000.nii.gz"
    labels = read_label_map(teams / "good" / "case_00001.nii.gz").array
    write(prediction, labels, spacing=(0.4, 0.4, 0.4))
    expected = slowly(challenge, truth, case.name, prediction, spacing=(0.4, 0.4, 0.4))
    found = {(v.metric, v.target): v.value for v in challenge.measure(case, challenge.load(case), prediction)}
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-12)
    document = get_challenge("kits21", references="samples")
    with pytest.raises(InputError, match="wrong geometry"):
        document.measure(case, document.load(case), prediction)


@pytest.mark.parametrize("references", ["samples", "aggregated"])
def test_code_says_loudly_whose_spacing_was_believed(folders, tmp_path, references):
    """A header of tiny voxels makes every distance tiny: what a team gains by that is said on the leaderboard."""
    truth, teams = folders
    shifted = np.roll(read_label_map(teams / "good" / "case_00001.nii.gz").array, 2, axis=0)
    for team, spacing in (("honest", annotated.SPACING), ("tiny", (0.1, 0.1, 0.1))):
        shutil.copytree(teams / "good", teams / team)
        write(teams / team / "case_00001.nii.gz", shifted, spacing=spacing)
    options = {"rules": "code", "options": {"references": references}}
    run = podium.evaluate("kits21", truth=truth, submissions=teams, out=tmp_path / "run", **options)
    means = {
        entry.submission: entry.values["surface_dice_all"]
        for entry in run.leaderboard.entries
        if entry.submission in ("honest", "tiny")
    }
    assert means["tiny"] > means["honest"]
    (note,) = [note for note in run.leaderboard.notes if note.startswith("Attention")]
    assert "the spacing in tiny's own headers was used" in note
    assert "not the reference's in case_00001: surface Dice is 1.0000 on average where that matters, and 0." in note
    warnings = run.failures.filter(run.failures["status"] == "warning").rows()
    assert [row[:2] for row in warnings] == [("tiny", "case_00001")]
    assert "by the prediction's own spacing, 0.1 0.1 0.1 mm, as the organisers' code does" in warnings[0][3]
    table = run.measurements.filter(run.measurements["case"] == "case_00001")

    def surface_dice_of(team, metric):
        chosen = table.filter((table["submission"] == team) & (table["metric"] == metric))
        return dict(chosen.select("target", "value").iter_rows())

    right = surface_dice_of("tiny", "surface_dice_by_reference_spacing")
    assert right == surface_dice_of("honest", "surface_dice")
    assert run.rank(bootstrap=20).places["honest"] > 0
    document = podium.evaluate(
        "kits21",
        truth=truth,
        submissions=teams,
        out=tmp_path / "document",
        options={"references": references, "geometry": "shape"},
    )
    assert not any(note.startswith("Attention") for note in document.leaderboard.notes)


def test_a_spacing_that_changes_nothing_is_not_told(folders, tmp_path):
    truth, teams = folders
    perfect = read_label_map(teams / "lazy" / "case_00001.nii.gz").array
    write(tmp_path / "case_00001.nii.gz", perfect, spacing=(0.4, 0.4, 0.4))
    challenge = get_challenge("kits21", edition="code", references="aggregated")
    case = challenge.cases(truth)[1]
    values = challenge.measure(case, challenge.load(case), tmp_path / "case_00001.nii.gz")
    assert {value.reason for value in values} == {""}
    assert "surface_dice_by_reference_spacing" not in {value.metric for value in values}


def test_both_ways_give_the_same_quantities(folders):
    """A leaderboard needs the same names, whatever a prediction was measured against."""
    truth, teams = folders
    names = []
    for references in ("aggregated", "samples", "majority"):
        challenge = get_challenge("kits21", references=references)
        case = challenge.cases(truth)[0]
        values = challenge.measure(case, challenge.load(case), teams / "good" / "case_00000.nii.gz")
        names.append({(value.metric, value.target) for value in values})
    assert names[0] == names[1] == names[2]
    challenge = get_challenge("kits21", references="samples")
    case = challenge.cases(truth)[0]
    assert {(v.metric, v.target) for v in challenge.measure_built_in("raters", case, challenge.load(case))} == names[0]


def test_people_are_on_the_leaderboard_and_not_ranked(folders):
    truth, teams = folders
    challenge = get_challenge("kits21", references="samples")
    measured = measure_all(challenge, truth=truth, submissions=find_submissions(teams))
    assert measured.roles["raters"] is Role.REFERENCE
    board = leaderboard_of(challenge, measured.table, roles=measured.roles)
    entries = {entry.submission: entry for entry in board.entries}
    assert entries["raters"].place is None
    assert entries["raters"].role == "reference"
    assert entries["good"].place == 1
    assert [entry.submission for entry in board.entries if entry.place is None] == ["raters"]
    cases = challenge.rated_cases(truth)
    agreements = [challenge.agreement(case, challenge.panel(case)) for case in cases]
    for region in REGIONS:
        expected = np.mean([each.variability("dice", region) for each in agreements])
        assert entries["raters"].values[f"dice_{region}"] == pytest.approx(expected)
    without = measure_all(get_challenge("kits21"), truth=truth, submissions=find_submissions(teams))
    assert "raters" not in without.roles


def test_the_truth_of_a_case_is_read_once_for_all_submissions(folders, monkeypatch):
    import podium.raters.compositions as compositions

    truth, teams = folders
    read = []
    reader = compositions.read_label_map
    monkeypatch.setattr(compositions, "read_label_map", lambda path, **k: read.append(path) or reader(path, **k))
    measure_all(get_challenge("kits21", references="samples"), truth=truth, submissions=find_submissions(teams))
    assert len(read) == len(set(read)) == CASES * 8


def test_every_annotation_is_on_record(folders):
    truth, teams = folders
    measured = measure_all(
        get_challenge("kits21", references="samples"), truth=truth, submissions=find_submissions(teams)
    )
    assert len(measured.truth) == CASES * 9  # and what was aggregated of them, since that says what is lacking


def test_a_submission_called_raters(folders):
    truth, teams = folders
    (teams / "good").rename(teams / "raters")
    with pytest.raises(InputError, match="called raters, like the reference that Podium evaluates itself"):
        measure_all(get_challenge("kits21", references="samples"), truth=truth, submissions=find_submissions(teams))


def test_one_annotation_leaves_people_undefined(folders):
    truth, teams = folders
    for number in (2, 3):
        (truth / "case_00001" / "segmentations" / f"tumor_instance-1_annotation-{number}.nii.gz").unlink()
    challenge = get_challenge("kits21", references="samples")
    measured = measure_all(challenge, truth=truth, submissions=find_submissions(teams))
    rows = measured.table.filter((pl.col("submission") == "raters") & (pl.col("case") == "case_00001"))
    assert rows["value"].null_count() == len(rows) > 0
    assert set(rows["status"]) == {Status.UNDEFINED.value}
    assert "no two raters can be compared" in rows["reason"][0]
    board = leaderboard_of(challenge, measured.table, roles=measured.roles)
    assert {entry.submission for entry in board.entries} == {"good", "blind", "lazy", "raters"}


@pytest.mark.parametrize("references", ["samples", "majority", "staple"])
def test_without_annotations(folders, references):
    truth, _ = folders
    shutil.rmtree(truth / "case_00002" / "segmentations")
    with pytest.raises(InputError, match=r"case_00002: this case has no segmentations/\*.nii.gz. Add them"):
        get_challenge("kits21", references=references).cases(truth)
    flat = truth.parent / "flat"
    write(flat / "case_00000.nii.gz", np.zeros(annotated.SHAPE, np.uint8))
    with pytest.raises(InputError, match="needs separate annotations"):
        get_challenge("kits21", references=references).cases(flat)
    with pytest.raises(InputError, match="needs separate annotations"):
        get_challenge("kits21", edition="code", references=references).cases(flat)


def test_references_that_there_are_not():
    with pytest.raises(InputError, match=r"references is one of aggregated, samples, majority, .*, not 'all'"):
        get_challenge("kits21", references="all")


def test_one_truth_of_many(folders):
    """Of two annotations of the second kidney, a majority is both; the union is either."""
    truth, _ = folders
    masks = annotated.two_and_three()
    for references, number in (("majority", 1), ("intersection", 1), ("union", 2)):
        challenge = get_challenge("kits21", references=references)
        found = challenge.load(challenge.cases(truth)[0])[""]
        np.testing.assert_array_equal(found.array[10:] > 0, masks["kidney", 2, number][10:] > 0)
    assert get_challenge("kits21", references="union").built_in == {}


@pytest.mark.slow
def test_the_command_line(folders, tmp_path):
    truth, teams = folders
    out = tmp_path / "run"
    given = {"--truth": truth, "--submissions": teams, "--out": out, "--references": "samples"}
    arguments = ["evaluate", "kits21", *(part for item in given.items() for part in item)]
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 3, result.output  # lazy misses a case
    assert "raters is not ranked: it is people, shown for comparison." in result.stdout
    assert "Within inter-rater variability" in result.stdout
    with (out / "people.csv").open() as file:
        rows = {(row["submission"], row["target"], row["metric"]): row for row in csv.DictReader(file)}
    assert set(rows) == {
        (team, region, metric)
        for team in ("good", "blind", "lazy")
        for region in REGIONS
        for metric in ("dice", "surface_dice")
    }
    assert rows["blind", "tumor", "dice"]["within"] == "no"
    assert rows["good", "mass", "dice"]["within"] == "yes"
    assert json.loads((out / "run.json").read_text())["options"]["references"] == "samples"
    again = [str(each) if each != "samples" else "aggregated" for each in arguments]
    result = CliRunner().invoke(app, again)
    assert result.exit_code == 1
    assert "a finished run is here" in result.stderr
    assert (out / "people.csv").exists()
    assert CliRunner().invoke(app, [*again, "--restart"]).exit_code == 3
    assert not (out / "people.csv").exists()


def test_a_majority_would_flatter(folders):
    """Against the majority, an algorithm that is the majority is perfect; against what people drew, it is not."""
    truth, _ = folders
    challenge = get_challenge("kits21", references="majority")
    case = challenge.cases(truth)[0]
    prediction = truth.parent / "case_00000.nii.gz"
    write_label_map(prediction, challenge.load(case)[""])

    def tumour(references):
        rules = get_challenge("kits21", references=references)
        own = rules.cases(truth)[0]
        values = rules.measure(own, rules.load(own), prediction)
        return {(value.metric, value.target): value.value for value in values}["dice", "tumor"]

    assert tumour("majority") == 1
    assert tumour("samples") < 1


def test_names_and_order_by_hand(tmp_path):
    """Kidneys, tumours and cysts draw in this order; tumours are painted over cysts, cysts over kidneys."""
    masks = {("kidney", k, n): annotated.block((2, 12), (2, 12), (2, 10)) for k in (1, 10, 2) for n in (1, 2)}
    masks |= {("tumor", 1, n): annotated.block((4, 8), (4, 8), (4, 8)) for n in (1, 2, 3)}
    masks |= {("cyst", 1, n): annotated.block((6, 10), (4, 8), (4, 8)) for n in (1, 2, 4)}
    annotated.write_case(tmp_path / "case_00042", masks)
    challenge = get_challenge("kits21", references="samples")
    (case,) = challenge.cases(tmp_path)
    panel = challenge.panel(case)
    draws = np.random.RandomState(42)
    for group in panel.panel.groups:
        offsets = [draws.randint(0, n) for n in (2, 2, 2, 3, 3)]  # kidneys 1, 2 and 10, the tumour, the cyst
        names = []
        for k in (0, 1):
            one, two, ten = ((offset + k) % 2 + 1 for offset in offsets[:3])
            tumour, cyst = (1, 2, 3)[(offsets[3] + k) % 3], (1, 2, 4)[(offsets[4] + k) % 3]
            names.append(f"kidney_i1a{one}_i2a{two}_i10a{ten}_cyst_i1a{cyst}_tumor_i1a{tumour}.nii.gz")
        assert [panel.panel.members[member] for member in group] == sorted(names)
    labels = panel.annotations.whole(panel.annotations.paint(panel.samples[0])).array
    assert (labels[3, 5, 5], labels[5, 5, 5], labels[7, 5, 5], labels[9, 5, 5]) == (1, 2, 2, 3)


def test_a_check_against_samples_doubts_what_is_swapped(folders):
    """The reference of several annotators is their majority; values are still those of an evaluation."""
    truth, teams = folders
    challenge = get_challenge("kits21", edition="code")
    assert check_submission(challenge, teams / "good", truth=truth) == []
    path = teams / "good" / "case_00003.nii.gz"
    write(path, np.array([0, 2, 1], np.uint8)[read_label_map(path).array])
    (problem,) = check_submission(challenge, teams / "good", truth=truth)
    assert (problem.file, problem.warning) == (path.name, True)
    assert problem.what.startswith("labels 1 and 2 look swapped")

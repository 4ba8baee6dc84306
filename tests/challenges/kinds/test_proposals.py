"""What a folder of truth suggests."""

import json

import numpy as np
import pytest
from declared_challenges import lesion, write_labels, write_lesions

from podium.challenges.kinds.drafts import DRAFTED, draft_challenge
from podium.challenges.kinds.patterns import Pattern
from podium.challenges.kinds.phantoms import write_phantoms
from podium.challenges.kinds.proposals import look_at_label_maps, look_at_table, proposed_patterns
from podium.challenges.kinds.toml_files import parse_challenge
from podium.io import write_label_map
from podium.model import InputError, LabelMap

NAMES = [
    ("s1_0_seg.nii.gz s1_1_seg.nii.gz s2_0_seg.nii.gz", "{subject}_{visit}_seg.nii.gz", "{subject}_{visit}.nii.gz"),
    ("B-GLI-01-000-seg.nii.gz B-GLI-02-000-seg.nii.gz", "B-GLI-{case}-000-seg.nii.gz", "B-GLI-{case}-000.nii.gz"),
    ("case_0/agg_MAJ_seg.nii.gz case_1/agg_MAJ_seg.nii.gz", "case_{case}/agg_MAJ_seg.nii.gz", "case_{case}.nii.gz"),
    ("p1/p1_seg.nii p2/p2_seg.nii", "{case}/{case}_seg.nii", "{case}.nii"),
    ("ann.mha bob.mha", "{case}.mha", "{case}.mha"),
    ("only.mha", "{case}.mha", "{case}.mha"),
    ("a_b_c_label.mha d_e_label.mha", "{case}_label.mha", "{case}.mha"),
    ("labelsTr/x_1.nii.gz labelsTr/x_2.nii.gz", "labelsTr/x_{case}.nii.gz", "x_{case}.nii.gz"),
    ("liver_1_2_3.nii liver_2_3_4.nii", "{case}.nii", "{case}.nii"),
]


@pytest.mark.parametrize(("names", "truth", "prediction"), NAMES)
def test_patterns(names, truth, prediction):
    files = names.split()
    assert proposed_patterns(files)[:2] == (truth, prediction)
    assert all(Pattern(truth).match(name) is not None for name in files)


def test_a_challenge_follows_from_a_folder(tmp_path):
    write_lesions(tmp_path)
    (tmp_path / "truth" / ".hidden.nii.gz").write_bytes(b"")
    draft = draft_challenge("a", truth=tmp_path / "truth")
    challenge = parse_challenge(draft.text)
    assert challenge.labels == {"label_1": 1, "label_2": 2}
    assert challenge.files.cluster.text == "{subject}"
    assert len(challenge.cases(tmp_path / "truth")) == 6
    assert draft.remarks[0] == "6 files are called like {subject}_{visit}_seg.nii.gz."
    assert "names that participants know" in draft.remarks[1]


def test_images_beside_the_labels_are_left_alone(tmp_path):
    for number in range(3):
        write_labels(tmp_path / f"case{number}" / "seg.nii.gz", lesion(number))
        write_labels(tmp_path / f"case{number}" / "a.nii.gz", np.arange(18 * 16 * 14).reshape(18, 16, 14))
    proposal = look_at_label_maps(tmp_path)
    assert (proposal.truth, proposal.prediction, proposal.cases) == ("{case}/seg.nii.gz", "{case}.nii.gz", 3)


@pytest.mark.parametrize("labels", [{"background": 0, "whole": [1, 2], "core": 2}, {"0": "back", "1": "a b", "2": "c"}])
def test_labels_are_called_as_in_the_dataset(tmp_path, labels):
    write_labels(tmp_path / "labelsTr" / "x_1.nii.gz", lesion(1))
    (tmp_path / "dataset.json").write_text(json.dumps({"labels": labels}))
    proposal = look_at_label_maps(tmp_path / "labelsTr")
    if "core" in labels:
        assert proposal.labels == {"label_1": 1, "core": 2}
        assert proposal.regions == {"whole": ["label_1", "core"]}
    else:
        assert proposal.labels == {"a_b": 1, "c": 2}
    challenge = parse_challenge(draft_challenge("a", truth=tmp_path / "labelsTr").text)
    named = ("whole", "core") if "core" in labels else ("a_b", "c")
    assert {quantity.of for quantity in challenge.quantities} == {named}


def test_what_is_ignored_is_a_label_that_is_not_measured(tmp_path):
    write_labels(tmp_path / "labelsTr" / "x_1.nii.gz", lesion(1))
    (tmp_path / "dataset.json").write_text(json.dumps({"labels": {"background": 0, "core": 1, "ignore": 2}}))
    proposal = look_at_label_maps(tmp_path / "labelsTr")
    assert proposal.labels == {"core": 1, "label_2": 2}
    assert any("What it ignores is label_2" in remark for remark in proposal.remarks)
    challenge = parse_challenge(draft_challenge("a", truth=tmp_path / "labelsTr").text)
    assert {quantity.of for quantity in challenge.quantities} == {("core",)}


def test_pictures_beside_label_maps_are_previews(tmp_path):
    for number in range(3):
        write_labels(tmp_path / f"case{number}.nii.gz", lesion(number))
        for name in (f"seg{number}.png", f"seg{number}_b.png"):
            write_label_map(tmp_path / name, LabelMap.from_array(lesion(number)[:, :, 0]))
    assert look_at_label_maps(tmp_path).truth.endswith(".nii.gz")


def test_what_suggests_nothing_is_said(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        draft_challenge("a", truth=tmp_path / "nowhere")
    with pytest.raises(InputError, match="there is no label map in it"):
        look_at_label_maps(tmp_path)
    write_labels(tmp_path / "image.nii.gz", np.arange(18 * 16 * 14).reshape(18, 16, 14))
    with pytest.raises(InputError, match="as an image has"):
        look_at_label_maps(tmp_path)
    write_labels(tmp_path / "image.nii.gz", np.zeros((4, 4, 4), int))
    assert look_at_label_maps(tmp_path).labels == {"structure": 1}
    (tmp_path / "dataset.json").write_text("[]")
    with pytest.raises(InputError, match=r"it holds no labels"):
        look_at_label_maps(tmp_path)


@pytest.mark.parametrize("kind", [kind for kind in DRAFTED if kind != "segmentation"])
def test_tables_suggest_their_columns(tmp_path, kind):
    with pytest.raises(InputError, match=r"Tables end in \.csv"):
        draft_challenge("a", kind=kind, truth=tmp_path)
    first = parse_challenge(draft_challenge("a", kind=kind).text)
    write_phantoms(first, tmp_path, cases=3)
    draft = draft_challenge("a", kind=kind, truth=tmp_path / "truth")
    again = parse_challenge(draft.text)
    assert again.targets == first.targets
    assert len(again.cases(tmp_path / "truth")) == len(first.cases(tmp_path / "truth"))
    for case in again.cases(tmp_path / "truth"):
        again.load(case)
    assert draft.remarks


def test_tables_of_all_sorts(tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("image,months,sex\nann_left,10,f\nann_right,12.5,f\nbob_left,90,m\nbob_right,92,m\n")
    challenge = parse_challenge(draft_challenge("a", kind="regression", truth=tmp_path).text)
    assert challenge.targets == ("months",)
    assert challenge.files.truth.text == "ages.csv"
    assert challenge.cluster("ann_left") == "ann"
    assert challenge.quantities[0].failed == 80
    path.write_text("image,sex\nann,f\n")
    with pytest.raises(InputError, match="no column of this table holds numbers"):
        look_at_table(tmp_path)
    path.write_text("image\n")
    with pytest.raises(InputError, match="this is no table"):
        look_at_table(tmp_path)
    path.write_text("name,x1,y1,x2,y2\nn1,0,0,5,5\n")
    boxes = parse_challenge(draft_challenge("a", kind="detection", truth=tmp_path).text).candidates
    assert (boxes.shape, boxes.axes) == ("boxes", ("x", "y"))
    path.write_text("name,x,y,radius\nn1,0,0,5\n")
    points = parse_challenge(draft_challenge("a", kind="detection", truth=tmp_path).text).candidates
    assert (points.shape, points.axes, points.radius_mm) == ("points", ("x", "y"), None)


def test_files_in_few_folders_come_first_and_others_are_named(tmp_path):
    for number in range(2):
        folder = tmp_path / f"case_{number}"
        for name in ("agg_AND_seg", "agg_MAJ_seg", "segmentations/kidney-1_label-1", "segmentations/kidney-1_label-2"):
            write_labels(folder / f"{name}.nii.gz", lesion(number))
    proposal = look_at_label_maps(tmp_path)
    assert (proposal.truth, proposal.cases) == ("case_{case}/agg_AND_seg.nii.gz", 2)
    assert "case_{case}/agg_MAJ_seg.nii.gz looks like truth, too." in proposal.remarks
    truth, _, _ = proposed_patterns(["a/b/1_x.mha", "c/d/2_3_x.mha"])
    assert Pattern(truth).match("c/d/2_3_x.mha") is not None

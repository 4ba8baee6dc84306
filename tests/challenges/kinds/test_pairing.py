"""Folders paired by the names of their files."""

import re

import pytest

from podium.challenges.kinds.pairing import LabelFiles, pair_folders
from podium.model import InputError


def folder(path, *names):
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).touch()
    return path


def paired(tmp_path, references, *predictions, ending=""):
    own = LabelFiles.within(folder(tmp_path / "references", *references), ending)
    others = [LabelFiles.within(folder(tmp_path / f"p{n}", *names)) for n, names in enumerate(predictions)]
    return pair_folders(own, others)


@pytest.mark.parametrize(
    ("references", "predictions", "rule", "cases"),
    [
        (["a_1.nii.gz", "a_2.nii.gz"], ["a_1.nii.gz", "a_2.nii.gz"], "by file name", ["a_1", "a_2"]),
        (["x.nii.gz"], ["x.mha"], "by file name, whatever the ending (.nii.gz, .mha)", ["x"]),
        (["x_seg.nii.gz", "y_seg.nii.gz"], ["x.nii.gz", "y.nii.gz"], "by file name without '_seg'", ["x", "y"]),
        (
            ["x_seg.nii", "y_seg.nii"],
            ["x_pred.nii", "y_pred.nii"],
            "by file name without '_seg' and '_pred'",
            ["x", "y"],
        ),
        (["gt-1.nrrd", "gt-2.nrrd"], ["net_1.nrrd", "net_2.nrrd"], "by file name without 'gt-' and 'net_'", ["1", "2"]),
        (["ann/seg.nii", "bob/seg.nii"], ["ann.nii", "bob.nii"], "by file name without '/seg'", ["ann", "bob"]),
        (["h1/a.nii", "h2/a.nii"], ["h1/a.nii", "h2/a.nii"], "by file name", ["h1_a", "h2_a"]),
        (["A – GT.nii", "B – GT.nii"], ["A.nii", "B.nii"], "by file name without ' – GT'", ["A", "B"]),
        (["liver_seg.nii"], ["liver_pred.nii"], "by file name without '_seg' and '_pred'", ["liver"]),
    ],
)
def test_files_are_paired_and_the_rule_is_said(tmp_path, references, predictions, rule, cases):
    (pairing,) = paired(tmp_path, references, predictions)
    assert pairing.rule == rule
    assert list(pairing.pairs) == cases
    assert list(pairing.pairs.values()) == list(zip(references, predictions, strict=True))
    for (one, two), case in zip(pairing.pairs.values(), cases, strict=True):
        parts = pairing.truth.match(one)
        assert pairing.case.fill(parts) == case
        assert two in [pattern.fill(parts) for pattern in pairing.prediction]
    assert (pairing.missing, pairing.extra) == ((), ())


def test_what_has_no_partner_is_named(tmp_path):
    names = [f"c{number}.nii.gz" for number in range(5)]
    (pairing,) = paired(tmp_path, [*names[:4], "notes.txt", ".c9.nii.gz"], [*names[1:], "plans.json"])
    assert list(pairing.pairs) == ["c1", "c2", "c3"]
    assert pairing.missing == ("c0.nii.gz",)
    assert pairing.extra == ("c4.nii.gz",)


def test_several_folders_share_the_names_of_cases(tmp_path):
    plain, seg = ["x.nii", "y.nii"], ["x_seg.nii", "y_seg.nii"]
    one, two = paired(tmp_path, seg, seg, plain)
    assert one.pairs.keys() == two.pairs.keys() == {"x", "y"}
    assert one.truth == two.truth


def test_most_pairs_win_over_whole_names(tmp_path):
    references = [f"c{number}_seg.nii" for number in range(4)]
    (pairing,) = paired(tmp_path, references, ["c0_seg.nii", "c1.nii", "c2.nii", "c3.nii"])
    assert list(pairing.pairs) == ["c1", "c2", "c3"]


@pytest.mark.parametrize(
    ("references", "predictions", "message"),
    [
        (
            ["a.nii.gz"],
            ["b.nii.gz"],
            "no reference and prediction have a name in common: a.nii.gz is in .*, b.nii.gz in",
        ),
        (["a.nii.gz"], ["b.jpg"], r"no label map is here \(there are .jpg\). Label maps end in .nii.gz"),
        (["a.nii.gz", "b.mha"], ["a.nii.gz"], r"several endings \(1 .nii.gz, 1 .mha\). Say which: --ending"),
        (["a{1}_x.nii", "a{1}_y.nii"], ["b_x.nii", "b_y.nii"], r"\{1\} is no name of a part"),
    ],
)
def test_what_cannot_be_paired_is_said(tmp_path, references, predictions, message):
    with pytest.raises(InputError, match=message):
        paired(tmp_path, references, predictions)


def test_of_several_endings_one_may_be_chosen(tmp_path):
    (pairing,) = paired(tmp_path, ["a.nii.gz", "b.mha"], ["a.nii.gz", "b.nii.gz"], ending=".mha")
    assert list(pairing.pairs) == ["b"]
    with pytest.raises(InputError, match=re.escape("Label maps end in .nii")):
        LabelFiles.within(tmp_path / "references", ".nii")
    with pytest.raises(InputError, match="there is no such folder"):
        LabelFiles.within(tmp_path / "nowhere")


def test_an_ending_tells_references_from_images_beside_them(tmp_path):
    references = [f"{case}/{kind}.nii.gz" for case in ("ann", "bob") for kind in ("seg", "t1", "t2")]
    predictions = ["ann/net.nii.gz", "bob/net.nii.gz"]
    with pytest.raises(InputError, match=r"say which: --ending _seg\.nii\.gz"):
        paired(tmp_path, references, predictions)
    (pairing,) = paired(tmp_path, references, predictions, ending="seg.nii.gz")
    assert list(pairing.pairs.values()) == [("ann/seg.nii.gz", "ann/net.nii.gz"), ("bob/seg.nii.gz", "bob/net.nii.gz")]
    assert (pairing.missing, pairing.extra) == ((), ())
    with pytest.raises(InputError, match=r"no label map that ends in \.mha is here"):
        paired(tmp_path, references, predictions, ending=".mha")


def test_pictures_beside_label_maps_are_previews(tmp_path):
    names = ["a.nii.gz", "b.nii.gz"]
    (pairing,) = paired(tmp_path, [*names, "a.png", "b.png"], [*names, "a.png", "overview.png"])
    assert (pairing.rule, list(pairing.pairs.values()), pairing.extra) == (
        "by file name", [(name, name) for name in names], (),
    )  # fmt: skip
    (pairing,) = paired(tmp_path / "pictures", ["a.png", "b.png"], ["a.png", "b.png"])
    assert list(pairing.pairs) == ["a", "b"]

"""File patterns with named parts."""

import pytest

from podium.challenges.kinds import FileNames, Pattern
from podium.model import InputError


def test_files_are_found_with_their_parts(tmp_path):
    for name in ("a/a_1_seg.nii.gz", "a/b_1_seg.nii.gz", "b/b_2_seg.nii.gz", "b/.b_3_seg.nii.gz", "b/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    pattern = Pattern("{subject}/{subject}_{visit}_seg.nii.gz")
    files = [(parts, path.relative_to(tmp_path).as_posix()) for parts, path in pattern.files(tmp_path)]
    assert files == [
        ({"subject": "a", "visit": "1"}, "a/a_1_seg.nii.gz"),
        ({"subject": "b", "visit": "2"}, "b/b_2_seg.nii.gz"),
    ]


def test_a_name_that_can_be_divided_in_two_ways_is_refused(tmp_path):
    (tmp_path / "ann_lee_1.nii").touch()
    with pytest.raises(InputError, match="may be 'ann' or 'ann_lee'"):
        list(Pattern("{subject}_{visit}.nii").files(tmp_path))
    assert list(Pattern("{subject}_1.nii").files(tmp_path))


@pytest.mark.parametrize(
    "text", ["", "/{a}.nii", "../{a}.nii", "{a", "a}", "{}", "{a b}.nii", "*_{a}.nii", "{a}[1].nii", "{a}\\b"]
)
def test_what_is_no_pattern_is_refused(text):
    with pytest.raises(ValueError, match=r"pattern|brace|part"):
        Pattern(text)


@pytest.mark.parametrize(
    ("text", "stem"),
    [("{a}.nii.gz", "{a}"), ("x/{a}_{b}.csv", "x_{a}_{b}"), ("{a}", "{a}"), ("case.{a}", "case.{a}")],
)
def test_the_stem_has_no_ending(text, stem):
    assert Pattern(text).stem.text == stem


def touched(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_a_case_whose_name_does_not_tell_its_cluster_is_refused(tmp_path):
    """Of site_1_7 nobody can tell whether it is of site or of site_1; it would be drawn with site_2."""
    touched(tmp_path, "site_1/7.nii", "site_2/7.nii")
    names = {"truth": "{site}/{scan}.nii", "prediction": "{site}/{scan}.nii"}
    assert [case.name for case in FileNames(**names).cases(tmp_path)] == ["site_1_7", "site_2_7"]
    advice = r'\{site\} may be .site. or .site_1.\. Write case = "\{site\}-\{scan\}" in \[files\]'
    with pytest.raises(InputError, match=advice):
        FileNames(**names, cluster="{site}").cases(tmp_path)
    with pytest.raises(InputError, match=advice):
        FileNames(**names, stratum="{site}").cases(tmp_path)
    parted = FileNames(**names, cluster="{site}", case="{site}-{scan}").cases(tmp_path)
    assert [case.name for case in parted] == ["site_1-7", "site_2-7"]


def test_two_cases_with_one_prediction_are_refused(tmp_path):
    touched(tmp_path, "a_b/c.nii", "a/b_c.nii")
    names = FileNames(truth="{one}/{two}.nii", prediction="{one}_{two}.nii", case="{one}-{two}")
    with pytest.raises(InputError, match=r"a_b_c\.nii would be the prediction of a-b_c and of a_b-c"):
        names.cases(tmp_path)


@pytest.mark.parametrize("name", ["scan_[1]", "scan*", "scan?"])
def test_a_name_that_is_a_pattern_is_refused(tmp_path, name):
    """The prediction scan_[1].nii would be found for no case, and scan_1.nii for this."""
    touched(tmp_path, f"{name}.nii", "scan_1.nii")
    with pytest.raises(InputError, match="is in a name"):
        FileNames(truth="{case}.nii", prediction="{case}.nii").cases(tmp_path)

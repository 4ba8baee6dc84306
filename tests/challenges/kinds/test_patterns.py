"""File patterns with named parts."""

import pytest

from podium.challenges.kinds import Pattern
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

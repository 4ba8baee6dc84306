"""What an algorithm left in its output folder."""

import os
import re

import pytest

from podium.io.answers import only_answer
from podium.model import InputError

PATTERNS = ("images/targets/*.mha", "*.mha")


def written(path, content=b"x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_the_first_pattern_that_anything_fits_counts(tmp_path):
    flat = written(tmp_path / "a.mha")
    assert only_answer(tmp_path, PATTERNS) == flat
    usual = written(tmp_path / "images" / "targets" / "output.mha")
    assert only_answer(tmp_path, PATTERNS) == usual


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ([], "there is no images/targets/*.mha in the output, which is empty"),
        (["notes.txt", "a/b.nii"], "in the output, only a/b.nii, notes.txt"),
        (["a.mha", "b.mha"], "there are 2 answers, one is expected: a.mha, b.mha"),
    ],
)
def test_anything_but_one_answer_is_refused(tmp_path, names, problem):
    for name in names:
        written(tmp_path / name)
    with pytest.raises(InputError, match=re.escape(problem)):
        only_answer(tmp_path, PATTERNS)


def test_a_link_is_no_answer(tmp_path):
    secret = written(tmp_path / "truth" / "labels.mha")
    output = tmp_path / "output"
    output.mkdir()
    (output / "a.mha").symlink_to(secret)
    with pytest.raises(InputError, match=r"a\.mha is a link"):
        only_answer(output, PATTERNS)


def test_a_link_on_the_way_is_noticed(tmp_path):
    written(tmp_path / "truth" / "targets" / "labels.mha")
    output = tmp_path / "output"
    output.mkdir()
    (output / "images").symlink_to(tmp_path / "truth")
    with pytest.raises(InputError, match="images is a link"):
        only_answer(output, PATTERNS)


def test_a_link_that_leads_nowhere_is_noticed(tmp_path):
    (tmp_path / "a.mha").symlink_to("nowhere")
    with pytest.raises(InputError, match="is a link"):
        only_answer(tmp_path, PATTERNS)


def test_a_pipe_is_no_answer(tmp_path):
    os.mkfifo(tmp_path / "a.mha")
    with pytest.raises(InputError, match="not a plain file"):
        only_answer(tmp_path, PATTERNS)


def test_a_folder_is_an_answer_where_that_is_asked_for(tmp_path):
    written(tmp_path / "scan" / "GP.npy")
    assert only_answer(tmp_path, ("scan",), folders=True) == tmp_path / "scan"
    with pytest.raises(InputError, match="not a plain file"):
        only_answer(tmp_path, ("scan",))
    (tmp_path / "scan" / "LP.npy").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match=r"scan/LP\.npy is a link"):
        only_answer(tmp_path, ("scan",), folders=True)

"""The folders of a case."""

import pytest
from doubling import INTERFACE, Doubling

from podium.algorithms.reasons import BrokenError
from podium.algorithms.specs import Ending
from podium.algorithms.workspace import Places, Workspace, file_name, keep
from podium.model import InputError, Question


@pytest.fixture
def question(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.txt").write_text("3")
    return Question("a", (tmp_path / "images" / "a.txt",))


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path / "scratch", end=lambda: None)


def test_a_case_comes_and_goes(workspace, question, tmp_path):
    with workspace.laid_out(INTERFACE, question) as places:
        assert (places.input / "number.txt").read_text() == "3"
        assert list(places.output.iterdir()) == list(places.answer.iterdir()) == []
        (places.output / "file").write_text("x")
        (places.answer / "file").write_text("x")
        (workspace.outputs / "elsewhere").write_text("x")
    assert [path.name for path in (tmp_path / "scratch").rglob("file")] == ["file"]
    assert list(workspace.inputs.iterdir()) == list(workspace.outputs.iterdir()) == []
    workspace.clear()
    assert not places.answer.exists()
    workspace.close()
    assert list((tmp_path / "scratch").iterdir()) == []


def test_it_goes_where_laying_out_fails(workspace, question):
    class Failing(Doubling):
        def lay_out(self, question, folder):
            super().lay_out(question, folder)
            raise InputError("the image is damaged")

    with pytest.raises(InputError, match="damaged"), workspace.laid_out(Failing(), question):
        pass
    assert list(workspace.inputs.iterdir()) == []


@pytest.mark.parametrize("way", ["symlink_to", "hardlink_to"])
def test_inputs_are_no_links(workspace, question, way):
    """Their modes and time stamps would be those of the originals."""

    class Linking(Doubling):
        def lay_out(self, question, folder):
            getattr(folder / "number.txt", way)(question.files[0])

    with pytest.raises(InputError, match="plain files, not as links"), workspace.laid_out(Linking(), question):
        pass
    assert question.files[0].stat().st_mode & 0o222
    assert question.files[0].stat().st_mtime > 0


def test_what_lay_there_before_goes(tmp_path):
    (tmp_path / "inputs" / "old").mkdir(parents=True)
    workspace = Workspace(tmp_path, end=lambda: None)
    assert list(workspace.inputs.iterdir()) == []


@pytest.mark.parametrize("ended", [True, False])
def test_answers_are_kept(tmp_path, ended):
    places = Places(tmp_path / "i", tmp_path / "o", tmp_path / "a")
    (places.output / "folder").mkdir(parents=True)
    (places.output / "folder" / "file").write_bytes(b"content" * 10**6)
    (places.output / "empty").touch()
    places.answer.mkdir()
    keep(places, most_bytes=7 * 10**6, ended=ended)
    assert (places.answer / "folder" / "file").read_bytes() == b"content" * 10**6
    assert (places.answer / "empty").read_bytes() == b""
    assert places.output.exists() is not ended


def test_no_more_than_allowed_is_kept(tmp_path):
    places = Places(tmp_path / "i", tmp_path / "o", tmp_path / "a")
    places.output.mkdir()
    places.answer.mkdir()
    for name in "abc":
        (places.output / name).write_bytes(b"x" * 10)
    with pytest.raises(BrokenError, match="more than allowed") as raised:
        keep(places, most_bytes=29, ended=True)
    assert raised.value.ending is Ending.TOO_MUCH_OUTPUT


@pytest.mark.parametrize(
    ("case", "name"), [("sub050__RH_rotation", None), ("A_001", None), ("a/b", "a_b"), ("..", "_."), ("Größe", None)]
)
def test_names_of_files(case, name):
    assert file_name(case) == (name or case)

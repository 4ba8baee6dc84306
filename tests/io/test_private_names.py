"""Private names of other packages: which are used, and that each can go. A test names what is done without it."""

import ast
import gzip
import zipfile
from types import SimpleNamespace

import label_files as files
import numpy as np
import pytest
from isal import isal_zlib
from shared_data import PROJECT

from podium.io import read_label_map
from podium.io.archives import open_zip
from podium.model import InputError

FALLBACKS = {
    "_GzipReader": "test_without_its_core_igzip_itself_reads",
    "_EndRecData": "test_without_the_end_of_zip_files_none_is_opened",
    "_version": "test_without_pytorchs_count_of_versions_overwriting_is_not_noticed",
}
"""Every private name that is used, and the test of what is done where it is missing."""


def private_names(source: str) -> set[str]:
    """Return private names of other packages that are imported, or asked for by name. Ruff refuses all other ways."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("podium"):
            words = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Import):
            words = [word for alias in node.names for word in alias.name.split(".")]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            words = [arg.value for arg in node.args[1:2] if isinstance(arg, ast.Constant)]
        else:
            continue
        names |= {word for word in words if word.startswith("_") and not word.startswith("__")}
    return names


def test_every_private_name_has_a_fallback_that_is_tested():
    used = set()
    for path in (PROJECT / "src").rglob("*.py"):
        used |= private_names(path.read_text("utf-8"))
    assert used == set(FALLBACKS)
    assert set(FALLBACKS.values()) <= set(globals())


def test_a_private_name_is_noticed():
    assert private_names("from zipfile import _EndRecData") == {"_EndRecData"}
    assert private_names("import typer._click.core") == {"_click"}
    assert private_names("from typer._click import core") == {"_click"}
    assert private_names("getattr(zipfile, '_EndRecData', None)") == {"_EndRecData"}
    assert private_names("from podium._jit import kernel\nfrom __future__ import annotations") == set()


@pytest.fixture
def without_core(monkeypatch):
    monkeypatch.delattr(isal_zlib, "_GzipReader")


def test_without_its_core_igzip_itself_reads(without_core, tmp_path):
    array = files.labels((20, 18, 9), dtype="i4", largest=300, seed=1)
    content = files.nifti(array)
    path = files.write(tmp_path / "whole.nii.gz", content)
    np.testing.assert_array_equal(read_label_map(path).array, array)
    half = len(content) // 2
    (tmp_path / "members.nii.gz").write_bytes(gzip.compress(content[:half]) + gzip.compress(content[half:]))
    np.testing.assert_array_equal(read_label_map(tmp_path / "members.nii.gz").array, array)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda packed: packed[: len(packed) // 2], "the gzip data ends too early"),
        (lambda packed: packed[:-8] + bytes(8), "the gzip data is damaged"),
        (lambda packed: packed[:10] + b"\xff" * 40 + packed[50:], "the gzip data is damaged"),
    ],
)
def test_without_its_core_damage_is_said_in_the_same_words(without_core, tmp_path, damage, words):
    packed = gzip.compress(files.nifti(files.labels((20, 18, 9), dtype="i4", largest=300, seed=1)))
    (tmp_path / "damaged.nii.gz").write_bytes(damage(packed))
    with pytest.raises(InputError, match=words):
        read_label_map(tmp_path / "damaged.nii.gz")


def test_without_the_end_of_zip_files_none_is_opened(monkeypatch, tmp_path):
    with zipfile.ZipFile(tmp_path / "team.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    with open_zip(tmp_path / "team.zip", most_entries=10) as archive:
        assert archive.namelist() == ["a.txt"]
    monkeypatch.delattr(zipfile, "_EndRecData")
    with (
        pytest.raises(InputError, match=r"cannot be opened safely .* Pack it as \.tar\.gz"),
        open_zip(tmp_path / "team.zip", most_entries=10),
    ):
        pass


def test_without_pytorchs_count_of_versions_overwriting_is_not_noticed():
    pytest.importorskip("triton")
    from podium.metrics._gpu.readings import versions_of

    assert versions_of(SimpleNamespace(reference=object(), prediction=object())) == (0, 0)

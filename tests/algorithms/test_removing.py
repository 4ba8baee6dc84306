"""Removing what a program wrote."""

import os
import stat

import pytest

from podium.algorithms.removing import remove


def test_files_folders_links_and_nothing(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("stays")
    kept.chmod(0o751)
    doomed = tmp_path / "doomed"
    (doomed / "a" / "b").mkdir(parents=True)
    (doomed / "a" / "b" / "file").touch()
    (doomed / "to a folder").symlink_to(kept)
    (doomed / "a" / "to a file").symlink_to(kept / "file")
    (doomed / "to nothing").symlink_to("nowhere")
    os.mkfifo(doomed / "pipe")
    remove(doomed, aside=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").read_text() == "stays"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o751
    remove(doomed, aside=tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(kept)
    for name in ("file", "link"):
        remove(tmp_path / name, aside=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_whatever_the_modes(tmp_path):
    inner = tmp_path / "doomed" / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").touch(0o000)
    for folder in (inner, inner.parent, inner.parent.parent):
        folder.chmod(0)
    remove(tmp_path / "doomed", aside=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_however_deep(tmp_path):
    handle = os.open(tmp_path, os.O_RDONLY)
    for _ in range(3000):  # no path reaches the last of them
        os.mkdir("f" * 20, dir_fd=handle)
        inside = os.open("f" * 20, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inside
    os.close(handle)
    remove(tmp_path / ("f" * 20), aside=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_removed_is_said(tmp_path, monkeypatch):
    """As where a program writes faster than we remove."""
    (tmp_path / "doomed").mkdir()
    monkeypatch.setattr(os, "listdir", lambda _: [])
    (tmp_path / "doomed" / "file").touch()
    with pytest.raises(OSError, match="not empty"):
        remove(tmp_path / "doomed", aside=tmp_path)

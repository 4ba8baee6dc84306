"""Making safe what a program wrote; what real programs leave is swept in the tests of commands and containers."""

import os
import socket
import stat
import subprocess

import pytest

from podium.algorithms.sweeping import sweep_output


def test_plain_files_are_left_as_they_are(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("content")
    (tmp_path / "a" / "b" / "file").chmod(0o640)
    assert sweep_output(tmp_path) == []
    assert (tmp_path / "a" / "b" / "file").read_text() == "content"
    assert stat.S_IMODE((tmp_path / "a" / "b" / "file").stat().st_mode) == 0o640


def test_a_hard_link_to_a_file_of_ours_does_not_change_it(tmp_path):
    (tmp_path / "truth").write_text("truth")
    (tmp_path / "truth").chmod(0o400)
    (tmp_path / "out").mkdir()
    os.link(tmp_path / "truth", tmp_path / "out" / "answer")
    assert sweep_output(tmp_path / "out") == ["answer is a file with further names (a hard link)"]
    assert (stat.S_IMODE((tmp_path / "truth").stat().st_mode), (tmp_path / "truth").read_text()) == (0o400, "truth")


def test_names_are_shown_on_one_line(tmp_path):
    (tmp_path / "a\nb").symlink_to("c\nd")
    assert sweep_output(tmp_path) == ["a\\nb is a link to c\\nd"]


def test_sockets_and_devices(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    expected = ["socket is a socket"]
    if os.geteuid() == 0:
        try:
            os.mknod("device", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("devices cannot be made here")
        expected.insert(0, "device is a device")
    assert sweep_output(tmp_path) == expected
    assert not any(tmp_path.iterdir())


def test_a_folder_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    with pytest.raises(OSError, match="link"):
        sweep_output(tmp_path / "link")


def test_folders_within_folders_without_end(tmp_path):
    subprocess.run(
        ["sh", "-c", "i=0; while [ $i -lt 400 ]; do mkdir d; cd d; i=$((i+1)); done"], cwd=tmp_path, check=True
    )
    (problem,) = sweep_output(tmp_path)
    assert problem.endswith("lies in more than 64 folders")

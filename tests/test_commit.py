"""`podium --version` names the commit where it is known for certain: in a checkout, and in what is built from one."""

import subprocess

import pytest

from podium._commit import commit_of


@pytest.fixture
def package(tmp_path):
    """Make a checkout with one commit; return the folder of its package."""
    folder = tmp_path / "checkout" / "src" / "podium"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("one = 1\n")
    (tmp_path / "checkout" / "notes.txt").write_text("not part of the package\n")
    git(tmp_path / "checkout", "init", "--quiet")
    git(tmp_path / "checkout", "add", ".")
    git(tmp_path / "checkout", "commit", "--quiet", "--message", "one")
    return folder


def git(folder, *words):
    own = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    return subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_a_checkout_knows_its_commit_and_its_changes(package):
    root = package.parent.parent
    number = git(root, "rev-parse", "--short=10", "HEAD")
    assert commit_of(package) == number
    (root / "notes.txt").write_text("changed\n")
    assert commit_of(package) == number, "what is not in the package does not matter"
    (package / "__init__.py").write_text("one = 2\n")
    assert commit_of(package) == f"{number}+changes"
    git(root, "commit", "--all", "--quiet", "--message", "two")
    assert commit_of(package) == git(root, "rev-parse", "--short=10", "HEAD") != number
    (package / "new.py").write_text("")
    assert commit_of(package).endswith("+changes")


def test_a_package_that_lies_in_the_checkout_of_another_project_has_none(package):
    installed = package.parent.parent / "site-packages" / "podium"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert commit_of(installed) == ""


def test_what_was_built_says_what_it_was_built_from(package, tmp_path):
    (package / "_commit.txt").write_text("0123456789\n")
    assert commit_of(package) == "0123456789"


def test_without_git_nothing_is_said(package, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(package) == ""
    assert commit_of(tmp_path / "nowhere" / "podium") == ""

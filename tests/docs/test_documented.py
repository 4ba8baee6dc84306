"""Nothing public is undocumented: names, commands, options, challenges, files. Whoever forgets one is told here."""

import json
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import griffe
import polars
import pytest
from documentation import pages
from shared_data import PROJECT
from typer.main import get_command

import podium
from podium.challenges import challenges
from podium.cli import app
from podium.io import LAYOUTS, SCORE_COLUMNS, SUFFIXES, TABLE_SUFFIXES

FORMATS = (PROJECT / "docs" / "formats.md").read_text(encoding="utf-8")


def missing(names, text) -> list[str]:
    """Return which names do not stand in a text as code."""
    words = set(re.findall(r"`([^`]+)`", text))
    return [name for name in names if name not in words]


@pytest.fixture
def page(making):
    """Return a function that returns the pages of a maker, by path."""
    return lambda maker: dict(import_module(maker).pages())


def public_packages() -> set[str]:
    """Return every package that exports names and has no underscore; the command line has pages of its own."""
    found = {"podium"}
    for module in pkgutil.walk_packages(podium.__path__, "podium."):
        inner = module.name.removeprefix("podium.")
        if module.ispkg and not any(part.startswith("_") for part in inner.split(".")) and not inner.startswith("cli"):
            found.add(module.name)
    own = {f"podium.challenges.{name}" for name in challenges()}
    return {name for name in found - own if hasattr(import_module(name), "__all__")}


def undocumented(package: str, names: list[str], loaded) -> list[str]:
    """Return which names of a package have no words of their own."""
    wordless = []
    for name in names:
        entry = loaded[f"{package}.{name}".removeprefix("podium.")]
        if not (entry.final_target if entry.is_alias else entry).has_docstring:
            wordless.append(f"{package}.{name}")
    return wordless


@pytest.fixture(scope="module")
def loaded():
    return griffe.load("podium", search_paths=[str(PROJECT / "src")], resolve_aliases=True)


def test_every_public_package_has_a_page(making):
    from reference_pages import PACKAGES

    assert public_packages() <= set(PACKAGES)


def test_every_public_name_is_in_the_reference_with_words_of_its_own(page, loaded):
    from reference_pages import PACKAGES, exported

    texts = page("reference_pages")
    for package in PACKAGES:
        entries = re.findall(r"^::: (\S+)$", texts[f"reference/{package}.md"], re.MULTILINE)
        assert entries == [f"{package}.{name}" for name in exported(package)]
    assert [name for package in PACKAGES for name in undocumented(package, exported(package), loaded)] == []


def test_a_name_without_words_is_noticed(tmp_path):
    (tmp_path / "podium").mkdir()
    text = 'def told():\n    """Words."""\n\n\ndef untold():\n    pass\n\n\nNUMBER = 1\n'
    (tmp_path / "podium" / "__init__.py").write_text(text)
    planted = griffe.load("podium", search_paths=[str(tmp_path)])
    assert undocumented("podium", ["told", "untold", "NUMBER"], planted) == ["podium.untold", "podium.NUMBER"]


def omitted(command, text: str) -> list[str]:
    """Return the options and arguments of a command that its page does not have."""
    options = [option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)]
    flags = [option for option in options if option.startswith("--")]
    return [flag for flag in flags if not re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text)]


def test_every_command_and_option_has_its_place(page):
    texts, group = page("command_pages"), get_command(app)
    assert [name for name in group.commands if f"commands/{name}.md" not in texts] == []
    for name, command in group.commands.items():
        assert omitted(command, texts[f"commands/{name}.md"]) == []
        assert f"[`podium {name}`]({name}.md)" in texts["commands/index.md"]


def test_an_omitted_option_is_noticed(page):
    text = page("command_pages")["commands/rank.md"].replace("--bootstrap", "")
    assert omitted(get_command(app).commands["rank"], text) == ["--bootstrap"]


def test_every_challenge_has_a_page_with_its_rules_and_options(page):
    texts = page("challenge_pages")
    for name, kind in challenges().items():
        text = texts[f"challenges/{name}.md"]
        assert (PROJECT / "src/podium/challenges" / name / "README.md").read_text(encoding="utf-8")[:80] in text
        assert [option for option in kind.option_names() if option not in text] == []
        assert re.search(r"^## .*editions", text, re.MULTILINE | re.IGNORECASE)


def test_every_file_format_that_is_read_is_named():
    assert missing([*SUFFIXES, *TABLE_SUFFIXES, *LAYOUTS, *SCORE_COLUMNS], FORMATS) == []
    assert missing([".nii.gz", ".nowhere"], FORMATS) == [".nowhere"]


def test_every_file_that_is_written_is_described_to_its_columns(demos, tmp_path):
    run = podium.load(demos / "lvquan18" / "run")
    podium.rank(demos / "lvquan18" / "run", bootstrap=20, out=tmp_path / "ranked")
    for folder in (demos / "lvquan18" / "run", tmp_path / "ranked"):
        names = {path.relative_to(folder).parts[0] for path in folder.rglob("*") if path.is_file()}
        assert missing(names - {"metrics", "parts", "figures"}, FORMATS) == []
        for path in folder.glob("*.csv"):
            if path.name != "leaderboard.csv":
                columns = polars.read_csv(path, n_rows=0).columns
                assert missing([name for name in columns if not name.startswith("place of ")], FORMATS) == [], path
    record = json.loads((demos / "lvquan18" / "run" / "run.json").read_text())
    assert missing(record, FORMATS) == []
    assert missing(run.measurements.columns, FORMATS) == []


def broken(page: Path) -> list[str]:
    """Return links and pictures of a page that lead nowhere; pages that are generated are looked at by MkDocs."""
    targets = re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", page.read_text(encoding="utf-8"))
    links = [(one or two).partition("#")[0] for one, two in targets]
    made = re.compile(
        r"(\.\./)*(metrics|challenges|commands|reference|figures)/\w+\.md|(\.\./)*(uncertainty|figures|performance)\.md"
    )
    local = [link for link in links if link and not re.match(r"https?:|mailto:", link) and not made.fullmatch(link)]
    return [link for link in local if not (page.parent / link).exists()]


@pytest.mark.parametrize(
    "page", [*pages(), PROJECT / "CHANGELOG.md"], ids=lambda page: page.relative_to(PROJECT).as_posix()
)
def test_links_and_pictures_are_there(page):
    assert broken(page) == []


def test_a_link_that_leads_nowhere_is_noticed(tmp_path):
    (tmp_path / "page.md").write_text("[a](page.md) [b](gone.md#there) ![c](gone.png) [d](#here)")
    assert broken(tmp_path / "page.md") == ["gone.md", "gone.png"]


def test_readme_is_two_screens_and_its_figures_are_those_that_were_measured(making):
    from readme_figures import README, table, written

    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    assert text == written(text), "run: python docs/making/readme_figures.py"
    assert table() in text
    other = text.replace(table().splitlines()[2], "| faster than light | 0 ms | | |")
    assert other != written(other)
    outside = re.sub(r"<!-- figures.*?<!-- end of figures -->", "", text, flags=re.DOTALL)
    assert re.findall(r"\d+(?:\.\d+)?\s?(?:×|ms|s\b)", outside) == [], "measured figures stand in the table alone"

"""Names, terminals, file systems and run folders as no test bench has them: one line, and nothing that runs."""

import ast
import csv
import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys

import polars as pl
import pytest
from reports import forge
from shared_data import PROJECT
from typer.testing import CliRunner

from podium.cli import app
from podium.io import documents, parquet_can_be_read
from podium.model import InputError
from podium.run import find_submissions, sole_writer
from podium.run.runs import read_tables

FORMULAS = ("=1+1", "+1+1", "-2+3", "@SUM(1)", "=cmd|' C calc'!A0", "'=1+1", "＝1+1")

STARTS = ("=", "+", "-", "@", "\t", "\r", "＝")


def podium(*arguments, **environment):
    """Run the real command in a process of its own."""
    command = [sys.executable, "-m", "podium", *map(os.fsencode, arguments)]
    return subprocess.run(command, capture_output=True, env=os.environ | environment, check=False)


def one_line(result):
    """Return the only line that a command that failed has said."""
    (line,) = [line for line in result.stderr.decode().splitlines() if not line.startswith("Compiling")]
    assert result.returncode == 1
    assert line.startswith("error: ")
    assert len(line) < 1000
    return line


@pytest.fixture(scope="module")
def evaluated(kits21_demo, tmp_path_factory):
    """Return a folder with the truth, teams that are called like formulas, and their run, ranked."""
    folder = tmp_path_factory.mktemp("formulas")
    shutil.copytree(kits21_demo / "truth", folder / "truth")
    for team, name in zip(sorted((kits21_demo / "submissions").iterdir()), FORMULAS, strict=False):
        shutil.copytree(team, folder / "submissions" / name)
    (folder / "submissions" / FORMULAS[0] / "=HYPERLINK(1)").write_text("")
    arguments = ["evaluate", "kits21", "--truth", folder / "truth", "--submissions", folder / "submissions"]
    for command in ([*arguments, "--out", folder / "run"], ["rank", folder / "run", "--bootstrap", "20"]):
        result = CliRunner().invoke(app, list(map(str, command)))
        assert result.exit_code in (0, 3), result.output
    return folder


def cells(folder):
    """Yield every cell of every CSV file in a folder."""
    for path in sorted(folder.rglob("*.csv")):
        with path.open(newline="") as file:
            for line in csv.reader(file):
                yield from ((path.name, cell) for cell in line)


def is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def runnable(folder):
    """Return the cells that a spreadsheet would run."""
    return {
        (name, cell) for name, cell in cells(folder) if cell[:1] in (*"=+-@\t\r＝",) and cell and not is_number(cell)
    }


@pytest.mark.slow
def test_no_cell_of_any_table_is_a_formula(evaluated):
    assert len({name for name, _ in cells(evaluated / "run")}) >= 8
    assert runnable(evaluated / "run") == set()
    assert any(is_number(cell) and cell.startswith("-") for _, cell in cells(evaluated / "run"))


@pytest.mark.slow
def test_a_formula_in_a_table_is_noticed(evaluated, tmp_path, monkeypatch):
    run = shutil.copytree(evaluated / "run", tmp_path / "run")
    monkeypatch.setattr(documents, "harmless", lambda cell: cell)
    assert CliRunner().invoke(app, ["rank", str(run), "--bootstrap", "20"]).exit_code == 0
    assert runnable(run)


@pytest.mark.slow
def test_names_are_what_they_were_when_a_run_is_read(evaluated):
    table, failures = read_tables(evaluated / "run")
    assert set(failures["submission"]) <= set(table["submission"]) == {*FORMULAS[: len(set(table["submission"]))]}


def test_one_module_writes_csv():
    """What is written elsewhere would not be made harmless; a workbook becomes text that is only read here."""
    for path in (PROJECT / "src" / "podium").rglob("*.py"):
        names = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        if names & {"write_csv", "writerow", "writerows"}:
            assert path.name in ("documents.py", "_workbooks.py")


@pytest.mark.parametrize(
    ("one", "other"),
    [("team", "team "), ("the team", "theteam"), ("the team", "the  team"), ("Zoë", "Zoe\u0308"), ("ﬁt", "fit")],
)
def test_names_that_nobody_can_tell_apart_are_refused(tmp_path, one, other):
    for name in (one, other):
        (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=r"two submissions are called .*Rename one of them") as caught:
        find_submissions(tmp_path)
    assert all(" ".join(ascii(name)[1:-1].split()) in str(caught.value) for name in (one, other))


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_locks_says_so(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(InputError, match="this file system has no locks"), sole_writer(tmp_path):
        pass


@pytest.mark.slow
def test_a_terminal_that_knows_no_letters_but_ascii(evaluated):
    shown = podium("rank", evaluated / "run", "--bootstrap", "0", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert shown.returncode == 0, shown.stderr.decode()
    assert b"Traceback" not in shown.stderr
    listed = podium("challenges", "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert listed.returncode == 0, listed.stderr.decode()
    plain = podium("challenges", "--json", PYTHONIOENCODING="utf-8")
    assert json.loads(listed.stdout) == json.loads(plain.stdout)


@pytest.mark.slow
def test_a_path_that_is_not_utf8(kits21_demo, few_cases, tmp_path):
    folder = tmp_path / os.fsdecode(b"Gr\xfc\xdfe")
    shutil.copytree(few_cases("kits21"), folder / "truth")
    for team, name in (("unlucky", "unlucky"), ("careful", os.fsdecode(b"careful-\xfc"))):
        shutil.copytree(kits21_demo / "submissions" / team, folder / "submissions" / name)
    text = str(folder)
    inputs = ("--truth", f"{text}/truth", "--submissions", f"{text}/submissions")
    result = podium("evaluate", "kits21", *inputs, "--out", f"{text}/run")
    assert result.returncode in (0, 3), result.stderr.decode()
    for arguments in (("rank", f"{text}/run", "--bootstrap", "0"), ("verify", f"{text}/run", "--sample", "0")):
        result = podium(*arguments)
        assert result.returncode == 0, result.stderr.decode()
    one_line(podium("rank", f"{text}/nothing"))
    one_line(podium("evaluate", "kits21", "--truth", f"{text}/none", "--submissions", text, "--out", f"{text}/2"))


DAMAGE = {
    "empty": lambda text: "",
    "a list": lambda text: "[]",
    "a number": lambda text: "5",
    "deep": lambda text: "[" * 200_000,
    "deep inside": lambda text: text.replace(
        '"options": {', '"options": {"a": ' + "[" * 50_000 + "]" * 50_000 + ", ", 1
    ),
    "cut short": lambda text: text[: len(text) // 2],
    "a long number": lambda text: text.replace('"schema": 2', '"schema": ' + "9" * 10_000),
    "no schema": lambda text: text.replace('"schema"', '"scheme"'),
    "a schema in words": lambda text: text.replace('"schema": 2', '"schema": "two"'),
    "another challenge": lambda text: text.replace('"kits21"', '"' + "x" * 5000 + '"'),
    "another edition": lambda text: text.replace('"edition": "document"', '"edition": "none"'),
    "strange options": lambda text: text.replace('"options": {', '"options": {"strange": 1, '),
    "options of another kind": lambda text: text.replace('"options": {', '"options": [{', 1),
    "nobody": lambda text: json.dumps(json.loads(text) | {"roles": {}, "submissions": {}}),
    "not UTF-8": lambda text: text.encode() + b"\xff",
    "zeros": lambda text: b"\0" * 1000,
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_run_is_told_in_one_line(evaluated, tmp_path, damage):
    run = shutil.copytree(evaluated / "run", tmp_path / "run")
    content = DAMAGE[damage]((run / "run.json").read_text())
    (run / "run.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    for command in ("rank", "report", "verify"):
        result = CliRunner().invoke(app, [command, str(run), *(["--bootstrap", "0"] if command != "verify" else [])])
        assert result.exit_code == 1, (damage, command, result.exception)
        assert isinstance(result.exception, SystemExit), result.exc_info
        (line,) = result.stderr.splitlines()
        assert line.startswith("error: ")
        assert len(line) < 1000


def foreign(table, kind):
    match kind:
        case "numbers as names":
            return table.with_columns(pl.lit(1.5).alias("submission"))
        case "text as numbers":
            return table.with_columns(pl.lit("many").alias("value"))
        case "lists":
            return table.with_columns(pl.lit([[1.0]]).alias("value"))
        case "empty names":
            return table.with_columns(pl.lit(None, pl.String).alias("submission"))
        case "a strange status":
            return table.with_columns(pl.lit("splendid").alias("status"))
        case "no rows":
            return table.clear()
        case "other columns":
            return table.rename({"metric": "measure"})
        case "strangers":
            return table.with_columns(pl.lit("somebody else").alias("submission"))
        case "other measures":
            return table.with_columns(pl.lit("splendour").alias("metric"))
    return table


KINDS = (
    "numbers as names",
    "text as numbers",
    "lists",
    "empty names",
    "a strange status",
    "no rows",
    "other columns",
    "strangers",
    "other measures",
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_foreign_table_is_told_in_one_line(evaluated, tmp_path, kind):
    run = shutil.copytree(evaluated / "run", tmp_path / "run")
    forge(run, foreign(pl.read_parquet(run / "measurements.parquet"), kind))
    for command in ("rank", "report"):
        result = CliRunner().invoke(app, [command, str(run), "--bootstrap", "0"])
        assert result.exit_code == 1, (kind, command, result.output, result.exception)
        assert isinstance(result.exception, SystemExit), result.exc_info
        (line,) = result.stderr.splitlines()
        assert line.startswith("error: ")


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"PAR1", b"\0" * 100, b"PAR1" + b"\xff" * 500 + b"PAR1"])
def test_what_is_no_table_is_told_in_one_line(evaluated, tmp_path, content):
    run = shutil.copytree(evaluated / "run", tmp_path / "run")
    (run / "measurements.parquet").write_bytes(content)
    result = CliRunner().invoke(app, ["rank", str(run), "--bootstrap", "0"])
    assert isinstance(result.exception, SystemExit), result.exc_info
    (line,) = result.stderr.splitlines()
    assert "this run folder is damaged" in line


@pytest.mark.slow
def test_a_table_that_ends_a_process_is_told_in_one_line(evaluated, tmp_path):
    """One byte of a Parquet file makes Polars ask for more memory than there is, and abort."""
    run = shutil.copytree(evaluated / "run", tmp_path / "run")
    content = bytearray(documents.parquet_bytes(pl.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]})))
    content[44] = 127
    (run / "measurements.parquet").write_bytes(content)
    assert not parquet_can_be_read(run / "measurements.parquet")
    assert "this run folder is damaged" in one_line(podium("rank", run))
    for command in ("report", "verify"):
        (line,) = CliRunner().invoke(app, [command, str(run)]).stderr.splitlines()
        assert "this run folder is damaged" in line
    document = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(document | {"measurements": ""}))
    assert "measurements.parquet cannot be read" in one_line(podium("rank", run))


@pytest.mark.heavy
def test_a_report_made_twice_is_the_same_bytes(evaluated):
    """By two processes, whose sets have another order."""
    pages = []
    for seed in ("1", "2"):
        result = podium("report", evaluated / "run", "--bootstrap", "20", PYTHONHASHSEED=seed)
        assert result.returncode == 0, result.stderr.decode()
        files = [evaluated / "run" / "report.html", *(evaluated / "run" / "figures").rglob("*.*")]
        pages.append({str(path): path.read_bytes() for path in files})
    assert len(pages[0]) > 30
    assert sorted(pages[0]) == sorted(pages[1])
    assert [name for name, content in pages[0].items() if pages[1][name] != content] == []

"""Tables as people export them: each is read right, to the last digit, or refused with what to do."""

import codecs
import gzip
import io
import zipfile
from decimal import Decimal

import polars as pl
import pytest
import xlsxwriter

from podium.io import read_scores, scores_of_frame
from podium.model import InputError

TEAMS = {"Alpha": (0.7071067811865476, 1 / 3, 0.875, 0.5), "Köln B": (0.25, 2 / 3, 0.9999999999999999, 0.125)}
CASES = ("1", "2", "10", "11")
LONG = [(team, case, value) for team, row in TEAMS.items() for case, value in zip(CASES, row, strict=True)]
HD95 = {"Alpha": (3.25, 1e-3, 12.0, 1234.5), "Köln B": (2.5, 17.0, 0.1, 7.75)}
SECOND = [(team, case, value) for team, row in HD95.items() for case, value in zip(CASES, row, strict=True)]


def lines(*rows, separator=",", end="\n", decimal="."):
    def text(field):
        return str(field).replace(".", decimal) if isinstance(field, float) else str(field)

    return "".join(separator.join(map(text, row)) + end for row in rows)


def workbook(**sheets):
    """Write a workbook as a spreadsheet program would: numbers as numbers, a percent format, an empty line."""
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
        shown = book.add_format({"num_format": "0.0%"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for place, row in enumerate(rows):
                for column, field in enumerate(row):
                    sheet.write(place, column, field, *([shown] if isinstance(field, float) else []))
    return stream.getvalue()


def parquet(frame):
    stream = io.BytesIO()
    frame.write_parquet(stream)
    return stream.getvalue()


FRAME = pl.DataFrame(LONG, schema=["submission", "case", "value"], orient="row")
WIDE = [(case, *(TEAMS[team][k] for team in TEAMS)) for k, case in enumerate(CASES)]
METRICS = [(*row, other) for row, (_, _, other) in zip(LONG, SECOND, strict=True)]
PLAIN = ("submission", "case", "value")

READ = {
    "plain": (lines(PLAIN, *LONG), {}, ()),
    "R, write.csv2": (
        '"";"algorithm";"case";"value"\n'
        + "".join(f'"{k}";"{t}";"{c}";{v!r}\n'.replace(".", ",") for k, (t, c, v) in enumerate(LONG, 1)),
        {},
        ("separated by semicolons", "decimal commas", "'algorithm' as submission"),
    ),
    "R, write.csv with row names": (
        '"","submission","case","value"\n' + "".join(f'"{k}","{t}","{c}",{v!r}\n' for k, (t, c, v) in enumerate(LONG)),
        {},
        (),
    ),
    "pandas, to_csv with its index": (lines(("", *PLAIN), *((k, *row) for k, row in enumerate(LONG))), {}, ()),
    "pandas, read and written again": (
        lines(("Unnamed: 0", *PLAIN), *((k, *row) for k, row in enumerate(LONG))),
        {},
        (),
    ),
    "challengeR": (
        lines(("task", "alg_name", "case", "value"), *(("T1", *row) for row in LONG)),
        {},
        ("'alg_name' as submission",),
    ),
    "Excel, CSV UTF-8": (
        codecs.BOM_UTF8 + lines(PLAIN, *LONG, separator=";", decimal=",", end="\r\n").encode(),
        {},
        ("semicolons", "decimal commas"),
    ),
    "Excel, CSV of Western Europe": (
        lines(("Team", "Bild", "Score"), *LONG, separator=";", decimal=",", end="\r\n").encode("cp1252"),
        {"columns": {"case": "Bild"}},
        ("cp1252", "semicolons", "decimal commas", "'Team' as submission, 'Score' as value"),
    ),
    "Excel, Unicode text": (
        codecs.BOM_UTF16_LE + lines(PLAIN, *LONG, separator="\t", end="\r\n").encode("utf-16-le"),
        {},
        ("separated by tabs",),
    ),
    "UTF-16 without a mark": (lines(PLAIN, *LONG).encode("utf-16-be"), {}, ("read as utf-16-be",)),
    "Excel, a line that names the separator": ("sep=;\r\n" + lines(PLAIN, *LONG, separator=";"), {}, ()),
    "Excel, empty lines and columns that were once used": (
        lines((*PLAIN, "", ""), *((*row, "", "") for row in LONG), *[("",) * 5] * 3, separator=";", end="\r\n"),
        {},
        ("semicolons",),
    ),
    "Excel, a title above": (
        lines(("Results of 2026", "", ""), ("", "", ""), PLAIN, *LONG),
        {},
        ("1 line above the names of columns ('Results of 2026') passed over",),
    ),
    "old Macintosh": (lines(PLAIN, *LONG, end="\r"), {}, ()),
    "everything in quotes, capitals and spaces": (
        "".join('"' + '" , "'.join(map(str, row)) + '"\n' for row in [("Team Name", "Case ID", "Metric Value"), *LONG])
        .replace('" , "', '","'),
        {},
        ("'Team Name' as submission, 'Case ID' as case, 'Metric Value' as value",),
    ),
    "gzipped tabs": (gzip.compress(lines(PLAIN, *LONG, separator="\t").encode()), {}, ("tabs",)),
    "teams as columns": (lines(("image", *TEAMS), *WIDE), {}, ("Teams are columns: Alpha, Köln B.",)),
    "teams as columns, cases without a heading": (
        lines(("", *TEAMS), *WIDE, separator=";", decimal=","),
        {},
        ("Teams are columns", "first column (without a name)", "decimal commas"),
    ),
    "cases as columns": (
        lines(("model", *CASES), *((team, *row) for team, row in TEAMS.items())),
        {},
        ("Cases are columns: 1, 2, 10, 11.", "'model' as submission"),
    ),
    "percent": (
        lines(PLAIN, *((t, c, f"{Decimal(repr(v)).scaleb(2)}%") for t, c, v in LONG)),
        {},
        ("Values are percentages",),
    ),
    "thousands": (
        lines(PLAIN, *((t, c, f'"{v:,.20f}"') for t, c, v in [*LONG[1:], ("Alpha", "1", 1234567.5)])),
        {},
        ("Marks between thousands were taken out: '1,234,567.5", "was read as 1234567.5"),
    ),
    "Parquet": (parquet(FRAME), {}, ()),
    "Parquet, of pandas": (parquet(FRAME.with_columns(pl.int_range(pl.len()).alias("__index_level_0__"))), {}, ()),
    "Excel": (workbook(Tabelle1=[PLAIN, *((t, int(c), v) for t, c, v in LONG)]), {}, ()),
    "Excel, two sheets": (
        workbook(Notes=[["ask Jo"]], Scores=[PLAIN, *LONG]),
        {"sheet": "Scores"},
        (),
    ),
    "Excel, an empty sheet besides, teams as columns": (
        workbook(Scores=[["Case", *TEAMS], *WIDE], Sheet2=[]),
        {},
        ("The sheet 'Scores' was read.", "Teams are columns"),
    ),
    "one column is case and cluster": (
        lines(("team", "patient", "value"), *LONG),
        {"columns": {"case": "patient", "cluster": "patient"}},
        ("'team' as submission",),
    ),
    "a patient for each case": (
        lines((*PLAIN, "Patient"), *((*row, "p1") for row in LONG)),
        {},
        ("'Patient' as cluster, so that its cases are drawn together",),
    ),
}  # fmt: skip


def read(tmp_path, content, name="table.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_scores(path, **options)[:2]


def by_key(table):
    return {(row["submission"], row["case"]): row["value"] for row in table.iter_rows(named=True)}


@pytest.mark.parametrize("name", READ)
def test_it_is_read_to_the_last_digit(tmp_path, name):
    content, options, words = READ[name]
    table, remarks = read(tmp_path, content, **options)
    truth = {(team, case): value for team, case, value in LONG}
    if name == "thousands":
        truth["Alpha", "1"] = 1234567.5
    assert len(table) == len(LONG)
    assert by_key(table) == truth
    for word in words:
        assert any(word in remark for remark in remarks), remarks
    if not words:
        assert remarks == ()
    if "cluster" in table.columns:
        assert table["cluster"].to_list() == (table["case"].to_list() if "case and" in name else ["p1"] * len(table))


def test_metrics_as_columns_are_tasks(tmp_path):
    header = ("Team", "Image", "Fold", "Dice", "HD95 (mm)", "comment")
    rows = [(team, case, 1, dice, distance, "fine") for team, case, dice, distance in METRICS]
    for content in (lines(header, *rows), workbook(Sheet1=[header, *rows])):
        table, remarks = read(tmp_path, content)
        assert by_key(table.filter(pl.col("task") == "Dice")) == {(t, c): v for t, c, v in LONG}
        assert by_key(table.filter(pl.col("task") == "HD95 (mm)")) == {(t, c): v for t, c, v in SECOND}
        assert remarks[-1] == "Metrics are columns: Dice, HD95 (mm). Passed over: Fold, comment."
    one, _ = read(tmp_path, lines(header, *rows), columns={"value": "Dice"})
    assert by_key(one) == {(t, c): v for t, c, v in LONG}
    assert "task" not in one.columns
    organs, _ = read(tmp_path, lines(("organ", *header), *(("liver", *row) for row in rows)))
    assert organs["task"].unique().sort().to_list() == ["liver Dice", "liver HD95 (mm)"]


def test_one_file_for_each_team(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "README.md").write_text("ask Jo")
    (folder / ".hidden.csv").write_text("no")
    alpha, other = (list(zip(CASES, row, strict=True)) for row in TEAMS.values())
    (folder / "Alpha.csv.gz").write_bytes(gzip.compress(lines(("case", "dice"), *alpha).encode()))
    (folder / "Köln B.xlsx").write_bytes(workbook(Sheet1=[("image", "dice"), *other]))
    table, remarks, *_ = read_scores(folder)
    assert by_key(table) == {(t, c): v for t, c, v in LONG}
    assert remarks[0] == "One file for each team: Alpha, Köln B."
    assert "Passed over: README.md." in remarks
    several, again, *_ = read_scores(sorted(folder.glob("*[xg][lz]*")))
    assert by_key(several) == by_key(table)
    assert again[0] == remarks[0]
    (folder / "all.csv").write_text(lines(PLAIN, ("Gamma", "1", 0.5)))
    with pytest.raises(InputError, match=r"all\.csv names its submissions and Alpha\.csv\.gz does not"):
        read_scores(folder)
    (folder / "all.csv").unlink()
    (folder / "Alpha.txt").write_text(lines(("case", "dice"), *alpha))
    with pytest.raises(InputError, match="two tables are of the team 'Alpha'"):
        read_scores(folder)


def test_tables_of_all_teams_are_joined(tmp_path):
    paths = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for path, part in zip(paths, (LONG[:4], LONG[4:]), strict=True):
        path.write_text(lines(PLAIN, *part))
    table, remarks, *_ = read_scores(paths)
    assert (by_key(table), remarks) == ({(t, c): v for t, c, v in LONG}, ("2 files were read as one table.",))


REFUSED = {
    "a comma that may be a thousand": (
        lines(PLAIN, ("a", 1, "1,234"), separator=";"),
        {},
        r"line 2 has '1,234'.*--decimal , or --decimal \.",
    ),
    "two decimal marks": (
        lines(PLAIN, ("a", 1, "0,5"), ("b", 1, "0.7"), separator=";"),
        {},
        "has '0,5' where a number should be",
    ),
    "unquoted decimal commas": (
        "case,A,B\n1,0,5,0,7\n",
        {},
        "line 2 has more fields, 5, than the first line, 3.*decimal comma need quotes",
    ),
    "R, write.table": (
        '"submission" "case" "value"\n"1" "a" "x" 0.5\n',
        {"separator": " "},
        "Every column needs a name",
    ),
    "units": (lines(PLAIN, ("a", 1, "12.5 mm")), {}, "line 2 has '12.5 mm' where a number should be.*leave units off"),
    "a percent sign here and there": (
        lines(PLAIN, ("a", 1, "85%"), ("b", 1, "0.85")),
        {},
        "line 2 has a percent sign, line 3 has none",
    ),
    "a line of means": (
        lines(("case", "A", "B"), (1, 0.5, 0.6), ("Mean", 0.5, 0.6)),
        {},
        "line 3 is no case, it seems, but sums up others",
    ),
    "metrics of nobody": (
        lines(("case", "Dice", "HD95"), (1, 0.5, 3.0)),
        {},
        "Dice, HD95 look like metrics, and none says whose.*one file per team",
    ),
    "a leaderboard": (
        lines(("team", "Dice", "HD95"), ("a", 0.5, 3.0), ("b", 0.5, 3.5)),
        {},
        "there is no column 'case'",
    ),
    "two columns for one thing": (
        lines(("team", "algorithm", "case", "value"), ("a", "b", 1, 0.5)),
        {},
        "'team' and 'algorithm' may both be the submission.*--column submission=team",
    ),
    "a column twice": (lines((*PLAIN, "value"), ("a", 1, 0.5, 0.6)), {}, "two columns are called 'value'"),
    "a team twice": (lines(("case", "A", "A"), (1, 0.5, 0.6)), {}, "two columns are called 'A'"),
    "metric and organ": (
        lines(("team", "case", "metric", "organ", "value"), ("a", 1, "Dice", "liver", 0.5)),
        {},
        "'metric' and 'organ' may both be the task",
    ),
    "sheets": (
        workbook(Dice=[PLAIN, *LONG], HD95=[PLAIN, *LONG]),
        {},
        "the workbook has the sheets Dice, HD95. Say which: --sheet Dice",
    ),
    "no such sheet": (workbook(Dice=[PLAIN, *LONG]), {"sheet": "Dise"}, "there is no sheet 'Dise'. There are: Dice"),
    "an empty workbook": (workbook(Sheet1=[]), {}, "no sheet with anything in it"),
    "an old workbook": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
        {},
        "old or protected Excel file.*Save it as .xlsx",
    ),
    "a zip file": (b"PK\x03\x04", {}, "damaged|no Excel workbook"),
    "a sheet of text": (lines(PLAIN, *LONG), {"sheet": "1"}, "only an Excel workbook has sheets"),
    "separated by either": ("a,b;c,d;e\n1,2;3,4;5\n", {}, "separated by commas or semicolons.*--separator"),
    "no such encoding": (lines(PLAIN, *LONG), {"encoding": "klingon"}, "there is no encoding 'klingon'"),
    "another encoding": (lines(PLAIN, *LONG), {"encoding": "ascii"}, "this is not text in ascii"),
    "no such separator": (lines(PLAIN, *LONG), {"separator": "::"}, "'::' cannot separate columns"),
    "no such mark": (lines(PLAIN, *LONG), {"decimal": "·"}, "'·' is no decimal mark"),
    "no such layout": (lines(PLAIN, *LONG), {"layout": "square"}, "there is no layout 'square'. There are: long, wide"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_what_to_do(tmp_path, name):
    content, options, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        read(tmp_path, content, **options)


def test_what_is_guessed_can_be_overruled(tmp_path):
    thousands = lines(PLAIN, ("a", 1, "1,234"), separator=";")
    assert read(tmp_path, thousands, decimal=",")[0]["value"].to_list() == [1.234]
    assert read(tmp_path, thousands, decimal=".", separator=";")[0]["value"].to_list() == [1234]
    assert read(tmp_path, thousands, decimal=",", separator="semicolon")[1] == ()
    latin = lines(PLAIN, ("Łódź", 1, 0.5)).encode("iso8859-2")
    assert read(tmp_path, latin, encoding="iso8859-2")[0]["submission"].to_list() == ["Łódź"]
    assert read(tmp_path, lines(PLAIN, *LONG, separator="\t"), separator="tab")[1] == ()
    metrics = lines(("case", "Dice", "HD95"), (1, 0.5, 3.0))
    teams = {("Dice", "1"): 0.5, ("HD95", "1"): 3.0}
    assert by_key(read(tmp_path, metrics, layout="wide")[0]) == teams
    # A team may be called like a column, if it is said that teams are columns.
    assert by_key(read(tmp_path, lines(("case", "Model", "Score"), (1, 0.5, 3.0)), layout="wide")[0]) == {
        ("Model", "1"): 0.5,
        ("Score", "1"): 3.0,
    }
    metric, _ = read(tmp_path, lines(("team", "case", "score", "age"), ("a", 1, 0.5, 70.0)), layout="metrics")
    assert metric["task"].to_list() == ["score", "age"]
    sheets = workbook(Dice=[PLAIN, *LONG], HD95=[PLAIN, *SECOND])
    assert by_key(read(tmp_path, sheets, sheet="2")[0]) == {(t, c): v for t, c, v in SECOND}


def test_a_cluster_that_was_not_guessed_can_be_named_and_the_other_way_round(tmp_path):
    content = lines((*PLAIN, "patient", "centre"), ("a", 1, 0.5, "p", "north"))
    table, _ = read(tmp_path, content, columns={"cluster": "centre"})
    assert table["cluster"].to_list() == ["north"]
    assert "stratum" not in read(tmp_path, content)[0].columns
    assert read(tmp_path, content, columns={"cluster": "case"})[0]["cluster"].to_list() == ["1"]


def test_missing_values_of_spreadsheets(tmp_path):
    rows = [PLAIN, ("a", 1, 1 / 3), ("b", 1, "NA"), ("c", 1, "#N/A"), ("d", 1, "-"), ("e", 1, None), ("f", 1, "0.25")]
    assert read(tmp_path, workbook(S=rows))[0]["value"].to_list() == [1 / 3, None, None, None, None, 0.25]
    frame = pl.DataFrame({"submission": ["a", "b"], "case": [1, 1], "value": [0.5, None]})
    assert read(tmp_path, parquet(frame))[0]["value"].to_list() == [0.5, None]


def test_numbers_of_a_workbook_keep_all_their_digits(tmp_path):
    """What Excel stores, which this writer would round to sixteen digits."""
    stored = {0.5: 0.1 + 0.2, 0.25: 1e-300, 0.125: 123456789.12345679, 0.75: 1e15 + 0.125}
    plain = workbook(S=[PLAIN, *((f"t{k}", 1, value) for k, value in enumerate(stored))])
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(plain)) as before, zipfile.ZipFile(stream, "w") as after:
        for name in before.namelist():
            text = before.read(name).decode()
            for value, exact in stored.items():
                text = text.replace(f"<v>{value}</v>", f"<v>{exact!r}</v>")
            after.writestr(name, text)
    assert read(tmp_path, stream.getvalue())[0]["value"].to_list() == list(stored.values())


def test_a_table_in_memory(tmp_path):
    wide = pl.DataFrame({"case": CASES, **TEAMS})
    table, remarks, *_ = scores_of_frame(wide)
    assert by_key(table) == {(t, c): v for t, c, v in LONG}
    assert remarks == ("Teams are columns: Alpha, Köln B.",)
    nested = FRAME.with_columns(pl.lit([1]).alias("list"), pl.lit(b"x").alias("bytes"))
    assert by_key(scores_of_frame(nested)[0]) == by_key(table)
    with pytest.raises(InputError, match="DataFrame: there is no column 'submission'"):
        scores_of_frame(pl.DataFrame())


def test_columns_in_german_and_french_are_known(tmp_path):
    for header in ("Gruppe;Fall;Metrik;Wert", "Equipe;Cas;Structure;Valeur"):
        table, remarks = read(tmp_path, header + "\nA;1;Dice;0,5\n")
        assert table.row(0) == ("A", "1", 0.5, "Dice")
        assert "Numbers have decimal commas." in remarks


def test_columns_as_challenger_has_them_are_known(tmp_path):
    table, _ = read(tmp_path, "Task,TestCase,Algorithm,MetricValue\nT1,case1,A1,0.266\n")
    assert table.row(0, named=True) == {"submission": "A1", "case": "case1", "value": 0.266, "task": "T1"}


def test_columns_that_nothing_was_made_of_are_named(tmp_path):
    _, remarks = read(tmp_path, "team,case,Dice,centre\nA,1,0.5,Oslo\n")
    assert remarks[-1] == "Values are in the column 'Dice'. Passed over: centre."


def test_a_column_that_is_lacking_is_asked_for_by_one_that_is_there(tmp_path):
    with pytest.raises(InputError, match=r"Say which column is the case: --column 'case=Nr\. x', for instance"):
        read(tmp_path, "team,Nr. x,value\nA,1,0.5\n")

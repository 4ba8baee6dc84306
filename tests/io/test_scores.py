"""Tables of scores: what is read, and what is said about what cannot be."""

import gzip

import pytest

from podium.io import read_scores
from podium.model import InputError

GOOD = "submission,case,value\na,1,0.5\nb,1,0.25\n"


@pytest.fixture
def read(tmp_path):
    def build(text, **options):
        path = tmp_path / "scores.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        table, remarks, *_ = read_scores(path, **options)
        build.remarks = remarks
        return table

    return build


def test_a_plain_table(read):
    table = read(GOOD)
    assert table.columns == ["submission", "case", "value"]
    assert table.rows() == [("a", "1", 0.5), ("b", "1", 0.25)]


def test_names_stay_text(read):
    assert read("submission,case,value\n007,01,1\n").rows() == [("007", "01", 1.0)]


def test_all_columns_in_any_order_and_others_passed_over(read):
    table = read("stratum,value,colour,cluster,task,case,submission\ns,1e-3,red,p,t,c,a\n")
    assert table.columns == ["submission", "case", "value", "task", "cluster", "stratum"]
    assert table.rows() == [("a", "c", 0.001, "t", "p", "s")]


@pytest.mark.parametrize("nothing", ["", "NA", "na", "NaN", "nan", "null", "None", "N/A", "  ", '""'])
def test_missing_values(read, nothing):
    assert read(f"submission,case,value\na,1,{nothing}\nb,1,2\n")["value"].to_list() == [None, 2.0]


def test_a_line_without_its_last_field_has_no_value(read):
    assert read("submission,case,value\na,1\nb,1,2\n")["value"].to_list() == [None, 2.0]


@pytest.mark.parametrize(
    "text",
    [" 0.5", "0.5 ", "+0.5", "5e-1", "5E-01", '"0.5"', ".5", "0.5000", '"0,5"', "\u00a00.5", "50%", "50 %", "5e1%"],
)
def test_ways_to_write_a_number(read, text):
    assert read(f"submission,case,value\na,1,{text}\n")["value"].to_list() == [0.5]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5.", 5), ("−5", -5), ("1e3", 1000), ("inf", float("inf")), ("-Infinity", float("-inf")), ("1 234.5", 1234.5),
        ("1'234.5", 1234.5), ('"1,234.5"', 1234.5), ('"1.234,5"', 1234.5), ('"1.234.567,5"', 1234567.5),
        ("1\u202f234.5", 1234.5), ("1.234", 1.234), ("0.123", 0.123), ('"0,123"', 0.123),
    ],
)  # fmt: skip
def test_more_ways_to_write_a_number(read, text, number):
    assert read(f"submission,case,value\na,1,{text}\n")["value"].to_list() == [number]


@pytest.mark.parametrize("text", ["1_000", "0x1F", "٣", "1e", "e5", "..5", "1.2.3", '"1,23,456.5"', "5-", "%", "1/2"])
def test_ways_not_to_write_a_number(read, text):
    with pytest.raises(InputError, match=r"line 2 has .* where a number should be"):
        read(f"submission,case,value\na,1,{text}\n")


def test_windows_and_marks(read):
    assert read("\ufeff" + GOOD.replace("\n", "\r\n")).rows() == [("a", "1", 0.5), ("b", "1", 0.25)]


def test_gzip(tmp_path):
    path = tmp_path / "scores.csv.gz"
    path.write_bytes(gzip.compress(GOOD.encode()))
    assert read_scores(path)[0].height == 2


def test_other_names(read):
    text = "team,image,dice\na,1,0.5\n"
    names = {"submission": "team", "case": "image", "value": "dice"}
    assert read(text, columns=names).rows() == [("a", "1", 0.5)]


def test_a_column_may_take_the_place_of_another(read):
    """Of two candidates the one that was asked for; what is now the case is no task any more."""
    table = read("submission,team,case,value\nx,a,1,0.5\n", columns={"submission": "team"})
    assert table.rows() == [("a", "1", 0.5)]
    table = read("submission,task,value\na,1,0.5\n", columns={"case": "task"})
    assert table.columns == ["submission", "case", "value"]
    assert table.rows() == [("a", "1", 0.5)]
    swapped = read("submission,case,task,value\na,1,t,0.5\n", columns={"case": "task", "task": "case"})
    assert swapped.select("case", "task").rows() == [("t", "1")]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "not a CSV file"),
        (b"\x89PNG\xff\xfe,\x00\n1,2\n", {}, "not a CSV file|no column 'submission'"),
        ("submission,case\na,1\n", {}, "no column 'value'; found: submission, case"),
        ("submission:case:value\na:1:2\n", {}, "no column 'submission'; found: submission:case:value"),
        ("who,case,value\na,1,2\n", {}, "no column 'submission'.*--column submission=team"),
        (GOOD, {"columns": {"value": "dice"}}, "no column 'dice'"),
        (GOOD, {"columns": {"task": "organ"}}, "no column 'organ'"),
        (GOOD, {"columns": {"team": "submission"}}, "'team' is no column of scores.*submission, case, value"),
        (GOOD, {"columns": {"submission": "case"}}, "'case' cannot be two things at once"),
        (GOOD, {"columns": {"task": "value"}}, "'value' cannot be two things at once"),
        (GOOD + "c,1,good\n", {}, "line 4 has 'good' where a number should be.*NA"),
        (GOOD + 'c,1,"0,5"\nd,1,x\n', {}, "line 4 has '0,5' where a number should be, and 1 more"),
        (
            "submission,case,value\na,1,2,3\n",
            {},
            "not a CSV file .*line 2 has more fields, 4, than the first line, 3.*decimal comma",
        ),
    ],
)
def test_what_is_wrong_is_said(read, text, options, message):
    with pytest.raises(InputError, match=message):
        read(text, **options)


def test_the_file_is_named(read, tmp_path):
    with pytest.raises(InputError, match=r"scores\.csv"):
        read("x\n1\n")


def test_a_header_alone_is_an_empty_table(read):
    assert read("submission,case,value\n").is_empty()

"""Which group each case is in: from a file of its own, or from the table that is ranked."""

import pytest

from podium.io import read_groups
from podium.model import InputError


@pytest.fixture
def write(tmp_path):
    def write(text, name="groups.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_file_with_cases_and_a_column(write):
    path = write("case,centre,age\na,North,50\nb, South ,60\nc,,70\n")
    assert read_groups(f"{path}:centre") == ({"a": "North", "b": "South"}, "centre")
    assert read_groups(f"{path}:age")[0] == {"a": "50", "b": "60", "c": "70"}


def test_a_column_of_the_table_itself(write):
    path = write("team,patient,dice,site\nx,a,1,N\ny,a,2,N\nx,b,1,S\ny,b,2,S\n")
    assert read_groups("site", table=path, columns={"case": "patient"}) == ({"a": "N", "b": "S"}, "site")
    assert read_groups("stratum", table=path, columns={"case": "patient", "stratum": "site"})[1] == "site"


def test_cases_of_tasks_may_differ(write):
    path = write("task,submission,case,value,site\nliver,x,1,1,N\nlung,x,1,1,S\nlung,x,2,1,S\n")
    assert read_groups("site", table=path)[0] == {"liver/1": "N", "lung/1": "S", "lung/2": "S", "2": "S"}


def test_nothing_is_asked():
    assert read_groups(None) == (None, "group")


@pytest.mark.parametrize(
    ("text", "by", "words"),
    [
        ("case,centre\na,N\na,S\n", "{}:centre", "case a has two values in the column centre: 'N', 'S'"),
        ("case,centre\na,N\n", "{}:region", "there is no column 'region'; found: case, centre"),
        ("patient,centre\na,N\n", "{}:centre", "there is no column 'case'"),
        ("", "{}:centre", "this is not a CSV file"),
        ("case,centre\na,N\n", "nowhere.csv:centre", "there is no such file"),
        ("case,centre\na,N\n", "centre", "there is no column 'centre' here"),
    ],
)
def test_what_cannot_be_read_is_said(write, text, by, words):
    with pytest.raises(InputError, match=words):
        read_groups(by.format(write(text)))

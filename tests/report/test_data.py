"""What a report is made of, with real names and with letters."""

from collections.abc import Mapping

import numpy as np
import pytest
from reports import HOSTILE, synthetic_report, synthetic_run, table_ranking

from podium.model import Direction, InputError, Measure, Role
from podium.report.anonymity import letters, renamed_info, renamed_table, renamed_text
from podium.report.data import gather


def test_a_run_is_gathered_in_the_order_of_the_board():
    data = gather(synthetic_run(6, 8, baseline=True).rank(bootstrap=50))
    assert data.title == "KiTS21"
    assert data.submissions == tuple(entry.submission for entry in data.board.entries)
    assert data.submissions[-1] == "baseline"
    assert data.competitors == data.submissions[:-1]
    assert [data.places[name] for name in data.competitors] == sorted(data.places[name] for name in data.competitors)
    assert [measure.title for measure in data.measures][:2] == ["Dice kidney and mass", "Dice mass"]
    assert len(data.measures) == 6
    assert data.measures[0].label == "Dice kidney and mass ↑"
    assert data.assessment is not None
    assert data.assessment.stability.places.shape == (50, 6)
    assert data.names == {name: name for name in data.submissions}


def test_a_label_tells_the_unit_and_the_direction():
    assert Measure("hd95", "HD95", Direction.LOWER, "mm").label == "HD95, mm ↓"


def test_values_and_failures_follow_the_board():
    data = synthetic_report(4, 10, failing=0.3, bootstrap=0)
    measure = data.measures[1]
    values, failed = data.values(measure), data.failed(measure)
    assert values.shape == failed.shape == (4, 10)
    assert failed.any()
    assert (values[failed] == 0).all()  # the price of a failed case
    for row, name in enumerate(data.submissions):
        own = data.measurements.filter(submission=name, metric="dice", target="mass").sort("case")
        np.testing.assert_array_equal(values[row], own["value"].to_numpy())
        assert failed[row].tolist() == [status == "invalid" for status in own["status"]]
    one = (data.submissions[2],)
    np.testing.assert_array_equal(data.values(measure, one)[0], values[2])
    np.testing.assert_array_equal(data.failed(measure, one)[0], failed[2])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"bootstrap": 0}, "No resampling was asked for."),
        ({"cases": 1}, "There is only one case, so nothing can be drawn anew."),
        ({"everything_failed": True}, "Nobody is ranked."),
    ],
)
def test_where_nothing_can_be_drawn_anew_it_says_why(options, reason):
    data = synthetic_report(**({"bootstrap": 20} | options))
    assert data.assessment is None
    assert data.unassessed == reason


def test_people_are_found():
    data = synthetic_report(3, 6, people=True, bootstrap=0)
    assert data.people == ("raters",)
    assert data.looks["raters"].role is Role.REFERENCE


def test_an_unknown_submission_is_refused_with_those_that_are_alike():
    with pytest.raises(InputError, match=r"no submission called 'team 1'.*team 01"):
        synthetic_report(3, 4, submission="team 1")


def test_progress_is_told():
    told = []
    data = gather(synthetic_run(3, 6).rank(bootstrap=20, progress=lambda *what: told.append(what[0])))
    assert not told  # how sure a ranking is, is computed when somebody asks
    assert data.assessment.stability.places.shape == (20, 3)
    assert "resamples" in told


@pytest.fixture(scope="module")
def anonymous():
    return synthetic_report(5, 12, names=(*HOSTILE[:4], "AB", "plain team"), baseline=True, anonymise=True, failing=0.3)


def test_teams_become_letters_in_the_order_of_the_board(anonymous):
    assert anonymous.submissions == ("A", "B", "C", "D", "E", "F", "baseline")
    assert anonymous.assessment.stability.submissions == ("A", "B", "C", "D", "E", "F")
    assert set(anonymous.names.values()) == {*HOSTILE[:4], "AB", "plain team", "baseline"}
    assert set(anonymous.looks) == set(anonymous.submissions)


def texts(value):
    """Return every text inside of something, keys included."""
    if isinstance(value, Mapping):
        return [text for pair in value.items() for each in pair for text in texts(each)]
    if isinstance(value, list | tuple):
        return [text for each in value for text in texts(each)]
    return [str(value)]


def test_no_name_is_left_anywhere(anonymous):
    found = texts(anonymous.info) + texts(anonymous.roles) + texts(anonymous.rule.notes)
    found += [text for entry in anonymous.board.entries for text in (entry.submission, entry.remark)]
    for table in (anonymous.measurements, anonymous.failures):
        found += [text for column in ("submission", "case", "reason") for text in table[column].unique()]
    everything = "\n".join(found)
    for name in (*HOSTILE[:4], "plain team"):
        assert name not in everything
    assert "/case_00000.nii.gz" in everything  # what is no name stays
    letter = next(shown for shown, real in anonymous.names.items() if real == "plain team")
    assert anonymous.info["submissions"][letter] == {
        "path": f"/data/submissions/{letter}.zip",
        "relative": "",
        "sha256": {f"{letter}/case_00000.nii.gz": "11"},
    }
    assert anonymous.info["challenge"] == "kits21"


def test_letters_change_no_number():
    names = ["zeta", "alpha", "mike"]
    open_, hidden = (synthetic_report(names=names, cases=9, anonymise=each, bootstrap=60) for each in (False, True))
    assert [entry.place for entry in open_.board.entries] == [entry.place for entry in hidden.board.entries]
    assert [entry.values for entry in open_.board.entries] == [entry.values for entry in hidden.board.entries]
    for shown, real in zip(hidden.submissions, open_.submissions, strict=True):
        assert hidden.names[shown] == real
        index, other = hidden.rule.competitors.index(shown), open_.rule.competitors.index(real)
        np.testing.assert_array_equal(
            hidden.assessment.stability.places[:, index], open_.assessment.stability.places[:, other]
        )


def test_whom_the_report_is_about_keeps_its_name():
    data = synthetic_report(4, 6, anonymise=True, submission="team 03", bootstrap=0)
    assert data.focus == "team 03"
    assert sorted(data.submissions) == ["A", "B", "C", "team 03"]
    assert data.looks["team 03"].focus


def test_letters_change_no_number_of_a_table():
    ranking = table_ranking(names=["zeta", "alpha", "mike"], cases=9, lacking=0.05)
    real, hidden = gather(ranking), gather(ranking, anonymise=True)
    assert hidden.submissions == ("A", "B", "C")
    assert [hidden.names[letter] for letter in hidden.submissions] == list(real.submissions)
    assert [entry.values for entry in real.board.entries] == [entry.values for entry in hidden.board.entries]
    assert real.assessment.confidence.ranks == hidden.assessment.confidence.ranks
    for measure in real.measures:
        np.testing.assert_array_equal(real.values(measure), hidden.values(measure))
        np.testing.assert_array_equal(real.failed(measure), hidden.failed(measure))
    told = texts(hidden.info) + texts(hidden.board.notes) + hidden.failures["submission"].to_list()
    assert not {"zeta", "alpha", "mike"} & set(told)
    with pytest.raises(InputError, match=r"no submission called 'alfa'.*alpha"):
        gather(ranking, submission="alfa")
    assert gather(ranking, submission="alpha").looks["alpha"].focus


def test_letters_stay_in_order_beyond_the_alphabet():
    many = letters(30)
    assert many[:3] == ["AA", "AB", "AC"]
    assert many == sorted(many)
    assert letters(26)[-1] == "Z"
    assert letters(2, taken={"A"}) == ["B", "C"]
    assert letters(0) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/in/deepx.zip", "/in/A.zip"),
        ("/in/DeepX_final2.zip", "/in/A_final2.zip"),  # however it is written
        ("LVQUAN_deepx2024.mat", "LVQUAN_A2024.mat"),
        ("deepxray is another word", "deepxray is another word"),
        ("A said to B that ab is no name", "C said to B that ab is no name"),  # short ones only as they are
        ("AB2 is no name, AB is", "AB2 is no name, D is"),
        ("deepx-pro beats deepx", "B beats A"),  # the longest first
        ("a+b (v1.0)", "E"),  # signs with a meaning in patterns
    ],
)
def test_names_within_text(text, expected):
    names = {"deepx": "A", "deepx-pro": "B", "A": "C", "AB": "D", "a+b (v1.0)": "E"}
    assert renamed_text(text, names) == expected


def test_nothing_is_renamed_without_names():
    assert renamed_text("unchanged", {}) == renamed_text("unchanged", {"": "A"}) == "unchanged"


def test_a_team_called_like_the_challenge_changes_no_rule():
    info = {"challenge": "kits21", "roles": {"kits21": "competitor"}, "submissions": {"kits21": {"path": "/x/kits21"}}}
    assert renamed_info(info, {"kits21": "A"}) == {
        "challenge": "kits21",
        "roles": {"A": "competitor"},
        "submissions": {"A": {"path": "/x/A"}},
    }


def test_teams_called_like_the_keys_of_the_record_keep_their_files():
    names = ["path", "sha256", "relative", "truth", "competitor"]
    data = synthetic_report(names=names, cases=4, bootstrap=0, anonymise=True, failing=0.5)
    assert data.info["truth"] == {"path": "/data/truth", "relative": "", "sha256": {"case_00000.nii.gz": "00"}}
    assert set(data.info["roles"].values()) == {"competitor"}
    for letter, real in data.names.items():
        assert real in names
        assert data.info["submissions"][letter] == {
            "path": f"/data/submissions/{letter}.zip",
            "relative": "",
            "sha256": {f"{letter}/case_00000.nii.gz": "11"},
        }


def test_exchanged_names_are_exchanged_at_once():
    table = synthetic_run(names=["A", "B"], cases=2, failing=1.0).measurements
    renamed = renamed_table(table, {"A": "B", "B": "A"})
    assert renamed["submission"].to_list() == ["A" if name == "B" else "B" for name in table["submission"]]
    assert renamed["reason"][0].startswith(f"{renamed['submission'][0]}/")

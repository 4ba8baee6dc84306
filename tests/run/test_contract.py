"""The contract is enforced: planted faults in a challenge rank nobody, and price nobody but who alone causes them."""

import math
import sys
from typing import ClassVar

import polars as pl
import pytest
from plugin import write_landmarks
from sixth_challenge import DISTANCE, Landmarks, read_point
from typer.testing import CliRunner

import podium
from podium.cli import app
from podium.model import Case, Direction, InputError, Measure, Price, Status, Value
from podium.run import Breach, Contract
from podium.run.contract import Seal

TWO = Measure("second", "Second", Direction.LOWER, minimum=0, maximum=10, price=Price(10.0), targets=("a", "b"))


class Faulty(Landmarks):
    """A challenge whose measuring goes wrong: always, or only where a prediction asks for it."""

    measures: ClassVar[tuple[Measure, ...]] = (DISTANCE, TWO)
    fault: str = "none"
    """What goes wrong."""
    always: bool = True
    """Whether it goes wrong for every prediction, or only for those far away."""

    def load(self, case):
        """Read the true point, as something that could be changed."""
        return {"point": read_point(case.files[0])}

    def measure(self, case, truth, prediction):
        """Measure, and go wrong."""
        distance = math.dist(truth["point"], read_point(prediction))
        values = [Value(case.name, "distance", distance), *(Value(case.name, "second", 1.0, t) for t in "ab")]
        if not self.always and distance < 5:
            return values
        match self.fault:
            case "nothing":
                return None
            case "empty":
                return []
            case "a part":
                return values[:2]
            case "not a value":
                return [*values, 3.0]
            case "NaN marked ok":
                return [Value(case.name, "distance", math.nan), *values[1:]]
            case "no number marked ok":
                return [Value(case.name, "distance", None), *values[1:]]
            case "undeclared":
                return [*values, Value(case.name, "third", 1.0)]
            case "undeclared target":
                return [*values, Value(case.name, "second", 1.0, "c")]
            case "out of range":
                return [values[0], values[1], Value(case.name, "second", 11.0, "b")]
            case "below the range":
                return [Value(case.name, "distance", -1.0), *values[1:]]
            case "infinite":
                return [Value(case.name, "distance", math.inf), *values[1:]]
            case "another row":
                return [*values[:2], Value("other", "second", 1.0, "b")]
            case "twice":
                return [*values, values[0]]
            case "failed with a number":
                return [Value(case.name, "distance", 3.0, status=Status.INVALID, reason="why"), *values[1:]]
            case "failed without a reason":
                return [Value(case.name, "distance", None, status=Status.INVALID), *values[1:]]
            case "ZeroDivisionError":
                return 1 // int(distance * 0)
            case "undefined":
                return [Value(case.name, "distance", None, status=Status.UNDEFINED, reason="far away"), *values[1:]]
            case "measured is no number":
                return [Value(case.name, "distance", 1.0, measured=math.nan), *values[1:]]
            case "reason is no text":
                return [Value(case.name, "distance", 1.0, reason=5), *values[1:]]
            case "MemoryError":
                raise MemoryError
            case "SystemExit":
                sys.exit(3)
            case "RecursionError":
                return self.measure(case, truth, prediction)
            case "a panic":
                raise pl.exceptions.PanicException("index out of bounds")
            case "a file of its own is gone":
                return (prediction.parents[2] / "atlas" / "001.bin").read_bytes()
            case "changes the truth":
                truth["point"][0] += 1
        return values


FAULTS = {
    "nothing": "measure returned NoneType, not a list of values",
    "empty": "distance is not there",
    "a part": "second (b) is not there",
    "not a value": "measure returned float where a Value should be",
    "NaN marked ok": "distance is NaN and marked ok",
    "no number marked ok": "distance is None and marked ok",
    "undeclared": "third is not declared",
    "undeclared target": "second (c) is not declared",
    "out of range": "second (b) is 11, outside the declared range from 0 to 10",
    "below the range": "distance is -1, outside the declared range from 0 to inf",
    "infinite": "distance is infinite, which is not declared",
    "another row": "second (b) is of 'other', which is no row of this case",
    "twice": "distance is there twice",
    "failed with a number": "distance is invalid and yet 3.0",
    "failed without a reason": "distance is invalid without a reason",
    "ZeroDivisionError": "measure raised ZeroDivisionError: integer division or modulo by zero",
    "undefined": "distance is undefined, which is not declared",
    "measured is no number": "what was measured of distance is nan, no number",
    "reason is no text": "the reason of distance is 5, not text",
    "MemoryError": "measure raised MemoryError",
    "SystemExit": "measure raised SystemExit: 3",
    "RecursionError": "measure raised RecursionError",
    "a panic": "measure raised PanicException: index out of bounds",
    "a file of its own is gone": "measure raised FileNotFoundError",
    "changes the truth": "measure changed the truth",
}


@pytest.fixture
def folders(tmp_path):
    """Two good teams, and one that is far away in one case."""
    return write_landmarks(tmp_path, {"far": {"002": "8 0 0"}, "near": {}, "nearer": {"001": "0.5 0 0"}})


def evaluated(challenge, folders, out, **options):
    truth, submissions = folders
    return podium.evaluate(challenge, truth=truth, submissions=submissions, out=out, jobs=1, **options)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_challenge_ranks_nobody_and_prices_nobody(fault, folders, tmp_path):
    run = evaluated(Faulty(fault=fault), folders, tmp_path / "run")
    assert {(name, case) for name, case, _ in run.record.faults} == {
        (name, case) for name in ("far", "near", "nearer") for case in ("001", "002", "003", "004")
    }
    assert all(what.startswith(FAULTS[fault]) for *_, what in run.record.faults)
    assert run.measurements.is_empty()
    assert run.failures.is_empty()
    assert run.withheld.startswith(f"landmarks, 001, far: {FAULTS[fault]}")
    assert run.withheld.endswith("; and 11 more")
    assert not list((tmp_path / "run").glob("leaderboard.*"))
    for ask in (lambda: run.leaderboard, lambda: podium.load(tmp_path / "run", challenge=Faulty()).rank()):
        with pytest.raises(InputError, match="the leaderboard is withheld, as the challenge itself is at fault"):
            ask()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_prediction_that_alone_breaks_it_is_priced_and_named(fault, folders, tmp_path):
    run = evaluated(Faulty(fault=fault, always=False), folders, tmp_path / "run")
    assert run.record.faults == []
    failed = run.measurements.filter(pl.col("status") != "ok")
    assert set(failed.select("submission", "case").iter_rows()) == {("far", "002")}
    assert failed.select("metric", "target", "value").rows() == [
        ("distance", "", 100.0),
        ("second", "a", 10.0),
        ("second", "b", 10.0),
    ]
    ((name, case, status, reason),) = run.failures.rows()
    assert (name, case, status) == ("far", "002", "invalid")
    assert FAULTS[fault] in reason
    assert run.leaderboard.places == {"nearer": 1, "near": 2, "far": 3}


def test_what_is_measured_after_a_change_of_the_truth_is_measured_against_the_truth(folders, tmp_path):
    """Teams are measured in the order of their names, so `far` comes first and spoils what it can."""
    run = evaluated(Faulty(fault="changes the truth", always=False), folders, tmp_path / "run")
    near = run.measurements.filter((pl.col("submission") == "near") & (pl.col("metric") == "distance"))
    assert near["value"].to_list() == [1.0] * 4


class Offering(Faulty):
    """A faulty challenge whose truth is a prediction."""

    def truth_as_prediction(self, case):
        """Offer the true point."""
        return case.files[0]


def test_the_truth_as_a_prediction_tells_whose_fault_it_is(tmp_path):
    folders = write_landmarks(tmp_path, {"alone": {"002": "8 0 0"}})
    fault = {"fault": "ZeroDivisionError", "always": False}
    run = evaluated(Offering(**fault), folders, tmp_path / "offered")
    assert run.record.faults == []
    assert run.failures["submission"].to_list() == ["alone"]
    run = evaluated(Faulty(**fault), folders, tmp_path / "unknown")
    assert [(name, case) for name, case, _ in run.record.faults] == [("alone", "002")]
    run = evaluated(Offering(fault="ZeroDivisionError"), folders, tmp_path / "always")
    assert len(run.record.faults) == 4


def test_resuming_after_mending_measures_what_is_left(folders, tmp_path):
    """Nobody else measures cleanly on case 002 once all are far away there."""
    for team in ("near", "nearer"):
        (folders[1] / team / "002.txt").write_text("9 0 0")
    broken = Faulty(fault="ZeroDivisionError", always=False)
    run = evaluated(broken, folders, tmp_path / "run")
    assert {case for _, case, _ in run.record.faults} == {"002"}
    assert run.withheld
    mended = type("Mended", (Faulty,), {"measure": Faulty.measure})(fault="none")
    again = evaluated(mended.varied(fault="ZeroDivisionError", always=False), folders, tmp_path / "run", resume=True)
    assert again.withheld  # it is not mended by resuming alone
    monkey = type("Landmarks2", (Faulty,), {"measure": lambda self, *a: Faulty.measure(mended, *a)})
    again = evaluated(monkey(fault="ZeroDivisionError", always=False), folders, tmp_path / "run", resume=True)
    assert again.kept == 9
    assert {reason: dict(teams) for reason, teams in again.why.items()} == {
        "left unmeasured": {"far": 1, "near": 1, "nearer": 1}
    }
    assert again.leaderboard.places == {"far": 1, "nearer": 2, "near": 3}
    assert (tmp_path / "run" / "leaderboard.csv").is_file()


def test_a_truth_that_cannot_be_read_withholds_the_board_and_not_the_run(folders, tmp_path):
    (folders[0] / "003.txt").write_text("nothing")
    run = evaluated(Landmarks(), folders, tmp_path / "run")
    assert "003: the truth cannot be used" in run.withheld
    assert set(run.measurements["case"]) == {"001", "002", "004"}
    (folders[0] / "003.txt").write_text("0 0 0")
    assert not evaluated(Landmarks(), folders, tmp_path / "run", resume=True).withheld


def test_a_load_that_raises_is_the_challenges_fault(folders, tmp_path):
    class Raising(Landmarks):
        """Cannot load."""

        def load(self, case):
            """Fail."""
            raise IndexError(case.name)

    run = evaluated(Raising(), folders, tmp_path / "run")
    assert run.record.faults[0] == ("", "001", "load raised IndexError: 001")


def test_a_baseline_that_breaks_is_the_challenges_fault(folders, tmp_path):
    class WithBaseline(Landmarks):
        """Has a baseline that raises."""

        @property
        def built_in(self):
            """One baseline."""
            return {"origin": podium.model.Role.BASELINE}

    run = evaluated(WithBaseline(), folders, tmp_path / "run")
    assert {name for name, *_ in run.record.faults} == {"origin"}
    assert "KeyError" in run.withheld
    assert len(run.measurements) == 12  # the teams were measured all the same


def test_a_price_that_cannot_be_computed_is_the_challenges_fault(tmp_path):
    def price(truth, row, target):
        raise LookupError(row)

    class Priceless(Landmarks):
        """Has a price that raises."""

        measures: ClassVar = (Measure("distance", "D", Direction.LOWER, minimum=0, price=Price(price, "unknown")),)

    folders = write_landmarks(tmp_path, {"late": {"001": ""}, "good": {}})
    run = evaluated(Priceless(), folders, tmp_path / "run")
    assert ("late", "001", "the price of a failure raised LookupError: 001") in run.record.faults


def test_the_command_says_it_in_one_line(tmp_path, monkeypatch):
    folders = write_landmarks(tmp_path, {"near": {}})
    import podium.challenges.catalogue

    monkeypatch.setattr(podium.challenges.catalogue, "get_challenge", lambda name, **options: Faulty(fault="nothing"))
    arguments = ["evaluate", "landmarks", "--truth", folders[0], "--submissions", folders[1], "--out", tmp_path / "run"]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 1
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("error")]
    assert "landmarks, 001, near: measure returned NoneType, not a list of values; and 3 more" in line
    assert "--resume" in line


def test_a_failure_without_a_price_would_have_put_the_worst_first(tmp_path):
    """The team that failed 3 of 4 cases was first when a challenge's own `failed` returned nothing."""
    folders = write_landmarks(tmp_path, {"lazy": {"001": "", "002": "", "003": "x", "004": "0.1 0 0"}, "steady": {}})
    assert evaluated(Landmarks(), folders, tmp_path / "run").leaderboard.places == {"steady": 1, "lazy": 2}


def test_a_value_worse_than_the_price_counts_as_the_price_and_both_are_kept(tmp_path):
    folders = write_landmarks(tmp_path, {"astray": {"001": "300 0 0"}, "absent": {"001": ""}})
    run = evaluated(Landmarks(), folders, tmp_path / "run")
    first = run.measurements.filter(pl.col("case") == "001").select("submission", "value", "measured", "status").rows()
    assert first == [("absent", 100.0, None, "missing"), ("astray", 100.0, 300.0, "ok")]
    assert run.leaderboard.places == {"absent": 1, "astray": 1}


def test_rounding_may_leave_a_little_of_a_bound():
    contract = Contract(Faulty())
    values = [Value("1", "distance", -1e-12), Value("1", "second", 10 + 1e-10, "a"), Value("1", "second", 0.0, "b")]
    assert len(contract.held(("1",), None, values)) == 3
    values[0] = Value("1", "distance", -1e-6)
    with pytest.raises(Breach, match="outside the declared range"):
        contract.held(("1",), None, values)


def test_a_price_must_be_said_where_a_measure_decides():
    class Free(Landmarks):
        """Says no price."""

        measures: ClassVar = (Measure("distance", "Distance", Direction.LOWER),)

    with pytest.raises(InputError, match="does not say what a failed case costs in distance"):
        Free.made()


class _Thing:
    def __init__(self):
        self.numbers = [1, 2]
        self._cache = None


def test_a_seal_sees_changes_and_not_caches():
    import numpy as np

    thing = _Thing()
    truth = {"array": np.zeros(3), "thing": thing, "case": Case("1"), "set": {1}, "nan": math.nan}
    truth["itself"] = truth
    seal = Seal(truth)
    assert not seal.broken
    with pytest.raises(ValueError, match="read-only"):
        truth["array"][0] = 1
    thing._cache = {"computed": 1}
    assert not seal.broken
    thing.numbers.append(3)
    assert seal.broken
    thing.numbers.pop()
    assert not seal.broken
    truth["array"] = np.zeros(3)
    assert seal.broken


def test_a_prediction_that_failed_in_part_does_not_show_that_a_case_can_be_measured(tmp_path):
    """Else one half-broken file would let a faulty challenge rank everybody else."""

    class Half(Faulty):
        """Fails a part for those who are near, and breaks for all others."""

        def measure(self, case, truth, prediction):
            """Return a failed part, or break."""
            if math.dist(truth["point"], read_point(prediction)) < 5:
                failed = Value(case.name, "distance", None, status=Status.INVALID, reason="a part is missing")
                return [failed, *(Value(case.name, "second", 1.0, t) for t in "ab")]
            raise ZeroDivisionError

    folders = write_landmarks(tmp_path, {"half": {}, "far": dict.fromkeys(("001", "002", "003", "004"), "9 0 0")})
    run = evaluated(Half(), folders, tmp_path / "run")
    assert {name for name, *_ in run.record.faults} == {"far"}
    assert run.withheld


@pytest.mark.parametrize(
    ("price", "message"),
    [
        (Price(lambda *_: None, "nothing"), "the price of distance is None, which the measure does not allow"),
        (Price(lambda *_: math.nan, "nothing"), "the price of distance is nan, which the measure does not allow"),
        (Price(lambda *_: -5.0, "below the range"), "the price of distance is -5.0, which the measure does not allow"),
    ],
)
def test_a_price_must_keep_to_the_declaration(tmp_path, price, message):
    class Priced(Landmarks):
        """Has a price that is none."""

        measures: ClassVar = (Measure("distance", "D", Direction.LOWER, minimum=0, price=price),)

    folders = write_landmarks(tmp_path, {"late": {"001": ""}, "good": {}})
    run = evaluated(Priced(), folders, tmp_path / "run")
    assert message in run.withheld


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (Measure("d", "D", Direction.HIGHER, maximum=1, price=Price(2.0)), "the price of d is 2, outside its range"),
        (Measure("d", "D", Direction.LOWER, price=Price(2.0), optional=True), "which therefore cannot be optional"),
    ],
)
def test_declarations_that_cannot_hold_do_not_load(measure, message):
    kind = type("Wrong", (Landmarks,), {"measures": (measure,), "__annotations__": {"measures": ClassVar}})
    with pytest.raises(InputError, match=message):
        kind.made()


@pytest.mark.parametrize("rows", [(), ("1", "1"), (1,), None])
def test_rows_must_have_a_name_each(folders, tmp_path, rows):
    kind = type("Rows", (Landmarks,), {"rows": lambda *_: rows})
    run = evaluated(kind(), folders, tmp_path / "run")
    assert "the rows of a case have one name each" in run.withheld


def test_a_row_belongs_to_one_case(folders, tmp_path):
    members = {"rows": lambda *_: ("row",), "measure": lambda *_: [Value("row", "distance", 1.0)]}
    run = evaluated(type("Same", (Landmarks,), members)(), folders, tmp_path / "run")
    assert "row is a row of 001 as well" in run.withheld


def test_two_cases_of_one_name_and_cases_that_cannot_be_found_are_one_line(folders, tmp_path):
    twice = type("Twice", (Landmarks,), {"cases": lambda self, truth: Landmarks.cases(self, truth) * 2})
    with pytest.raises(InputError, match="Landmarks itself is at fault: two cases are called 001"):
        evaluated(twice(), folders, tmp_path / "run")
    broken = type("Broken", (Landmarks,), {"cases": lambda self, truth: 1 // 0})
    with pytest.raises(InputError, match="it cannot find its cases"):
        evaluated(broken(), folders, tmp_path / "run")


def test_a_score_that_raises_withholds_the_board_and_keeps_the_measurements(folders, tmp_path):
    broken = type("Broken", (Landmarks,), {"score": lambda *_: 1 // 0})
    run = evaluated(broken(), folders, tmp_path / "run")
    assert run.withheld.startswith("landmarks: scoring raised ZeroDivisionError")
    assert len(podium.load(tmp_path / "run", challenge=Landmarks()).measurements) == 12
    assert not (tmp_path / "run" / "leaderboard.csv").exists()
    again = evaluated(Landmarks(), folders, tmp_path / "run", resume=True)
    assert again.kept == 12
    assert not again.withheld

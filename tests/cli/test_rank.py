"""`podium rank`: from tables and runs to a ranking that tells how sure it is."""

import gzip
import json

import polars as pl
import pytest
from typer.testing import CliRunner

import podium
from podium.cli import app

pytestmark = pytest.mark.slow

CASES = ("1", "2", "10", "11", "12", "13", "14", "15")
VALUES = {
    "good": (0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97),
    "close": (0.89, 0.92, 0.91, 0.94, 0.93, 0.96, 0.95, 0.96),
    "poor": (0.50, 0.40, 0.60, 0.55, 0.45, 0.52, 0.61, 0.49),
}


def csv_of(values, header="submission,case,value"):
    lines = [f"{team},{case},{value}" for team, row in values.items() for case, value in zip(CASES, row, strict=False)]
    return "\n".join([header, *lines]) + "\n"


@pytest.fixture
def rank(tmp_path):
    """Return a function that writes a table and ranks it, or ranks what exists."""

    def rank(source, *arguments):
        if isinstance(source, str):
            (tmp_path / "table.csv").write_text(source)
            source = tmp_path / "table.csv"
        return CliRunner(env={"COLUMNS": "160"}).invoke(app, ["rank", str(source), *map(str, arguments)])

    return rank


@pytest.fixture(scope="module")
def kits21_run(kits21_demo, tmp_path_factory):
    out = tmp_path_factory.mktemp("rank") / "run"
    podium.evaluate(
        "kits21",
        truth=kits21_demo / "truth",
        submissions=kits21_demo / "submissions",
        out=out,
        baselines=["baseline"],
    )
    return out


def test_a_table_is_ranked_by_means_unless_told_otherwise(rank):
    result = rank(csv_of(VALUES), "--better", "higher")
    assert result.exit_code == 0, result.output
    assert [line.split()[:3] for line in result.stdout.splitlines()[-3:]] == [
        ["1", "good", "0.9350"],
        ["2", "close", "0.9325"],
        ["3", "poor", "0.5150"],
    ]


def test_the_other_direction_turns_the_table_around(rank):
    result = rank(csv_of(VALUES), "--better", "lower")
    assert [line.split()[1] for line in result.stdout.splitlines()[-3:]] == ["poor", "close", "good"]


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (("--scheme", "aggregate-then-rank", "--statistic", "median"), {"good": 0.935, "close": 0.935, "poor": 0.51}),
        (("--scheme", "aggregate-then-rank", "--statistic", "0"), {"good": 0.90, "close": 0.89, "poor": 0.40}),
        (("--scheme", "rank-then-aggregate"), {"good": 1.375, "close": 1.625, "poor": 3.0}),
        (("--scheme", "test-then-rank"), {"good": 1, "close": 1, "poor": 0}),
        (("--scheme", "test-then-rank", "--adjustment", "holm"), {"good": 1, "close": 1, "poor": 0}),
    ],
)
def test_every_scheme_is_at_hand(rank, arguments, values):
    result = rank(csv_of(VALUES), "--better", "higher", *arguments, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    found = {entry["submission"]: entry["values"]["value"] for entry in document["entries"]}
    assert found == pytest.approx(values)
    assert document["entries"][0]["place"] == 1


def test_a_bootstrap_is_told_in_words_and_written_as_tables(rank, tmp_path):
    out = tmp_path / "out"
    result = rank(csv_of(VALUES), "--better", "higher", "--bootstrap", 500, "--seed", 3, "--out", out)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "good is first, but close may truly be best." in lines
    assert "of 500 resamples; next is close, in " in result.stdout
    assert "; drawn with seed 3." in result.stdout
    assert "At 95 % confidence, nobody is truly first but good and close." in lines
    assert "other sensible rules" in result.stdout
    names = {"intervals", "leads", "left_out", "pairs", "place_shares", "places", "sensitivity", "leaderboard"}
    assert {path.stem for path in out.glob("*.csv")} == names
    places = {row["submission"]: row for row in pl.read_csv(out / "places.csv").to_dicts()}
    assert (places["poor"]["best"], places["poor"]["worst"]) == (3, 3)
    assert (places["good"]["best"], places["good"]["worst"]) == (1, 2)
    document = json.loads((out / "ranking.json").read_text())
    assert document["stability"]["resamples"] == 500
    assert document["leaderboard"]["entries"][0]["submission"] == "good"
    shares = pl.read_csv(out / "place_shares.csv").filter(pl.col("submission") == "good")
    assert shares["share"].sum() == pytest.approx(1)


def test_the_same_seed_gives_the_same_bytes_for_any_number_of_threads(rank, tmp_path):
    written = []
    for jobs in (1, 2, 3):
        out = tmp_path / f"out{jobs}"
        assert (
            rank(csv_of(VALUES), "--better", "higher", "--bootstrap", 600, "--jobs", jobs, "--out", out).exit_code == 0
        )
        written.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert written[0] == written[1] == written[2]
    other = rank(csv_of(VALUES), "--better", "higher", "--bootstrap", 600, "--seed", 2, "--json").stdout
    assert other.encode() != written[0]["ranking.json"]


def test_other_names_of_columns_tasks_and_compression(tmp_path):
    text = csv_of(VALUES, header="team,patient,dice").replace("team,patient,dice", "task,team,patient,dice")
    lines = text.splitlines()
    table = "\n".join([lines[0], *(f"{task},{line}" for task in ("liver", "lung") for line in lines[1:])])
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(table.encode()))
    named = ["--column", "submission=team", "--column", "case=patient", "--column", "value=dice"]
    result = CliRunner().invoke(app, ["rank", str(path), *named, "--better", "higher", "--json"])
    assert result.exit_code == 0, result.output
    columns = [column["name"] for column in json.loads(result.stdout)["columns"]]
    assert columns == ["average_rank", "liver", "liver_rank", "lung", "lung_rank"]
    result = CliRunner().invoke(app, ["rank", str(path), *named, "--better", "higher", "--task", "lung", "--json"])
    assert [column["name"] for column in json.loads(result.stdout)["columns"]] == ["lung"]
    result = CliRunner().invoke(app, ["rank", str(path), *named, "--better", "higher", "--task", "brain"])
    assert result.exit_code == 1
    assert "there is no task 'brain'. There are: liver, lung" in result.stderr


TASKS = "Team,Image,Dice,HD95\nA,1,0.9,5\nB,1,0.8,2\nC,1,0.7,3\nA,2,0.8,6\nB,2,0.7,1\nC,2,0.6,2\n"


def columns_of(result):
    assert result.exit_code == 0, result.output
    return [column["name"] for column in json.loads(result.stdout)["columns"] if not column["name"].endswith("rank")]


def places_of(result):
    assert result.exit_code == 0, result.output
    return {entry["submission"]: entry["place"] for entry in json.loads(result.stdout)["entries"]}


def test_tasks_have_a_direction_and_a_weight_each(rank):
    """Dice ranks 1 2 3, HD95 ranks 3 1 2: sums 4 3 5; with HD95 twice 7 4 7; with Dice thrice 6 7 11."""
    both = rank(TASKS, "--task", "Dice:higher", "--task", "HD95:lower", "--json")
    assert columns_of(both) == ["Dice", "HD95"]
    assert places_of(both) == {"A": 2, "B": 1, "C": 3}
    assert "Metrics are columns: Dice, HD95." in json.loads(both.stdout)["notes"]
    twice = rank(TASKS, "--better", "higher", "--task", "Dice", "--task", "HD95:lower:2", "--json")
    assert places_of(twice) == {"A": 2, "B": 1, "C": 2}
    thrice = rank(TASKS, "--better", "lower", "--task", "Dice:higher:3", "--task", "HD95", "--json")
    assert places_of(thrice) == {"A": 1, "B": 2, "C": 3}
    assert columns_of(rank(TASKS, "--task", "HD95:lower", "--json")) == ["HD95"]


def test_a_task_may_have_a_colon_in_its_name(rank):
    rows = [("A", "1", 1.0), ("B", "1", 2.0)]
    table = "submission,case,task,value\n" + "".join(
        f"{t},{c},{task},{v}\n" for task in ("a", "a:lower", "x:y") for t, c, v in rows
    )
    assert columns_of(rank(table, "--better", "higher", "--task", "a:lower", "--json")) == ["a:lower"]
    result = rank(table, "--task", "a:lower:higher", "--task", "x:y:lower:2", "--json")
    assert columns_of(result) == ["a:lower", "x:y"]
    assert places_of(result) == {"A": 1, "B": 2}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--task", "Dice", "--task", "HD95:lower"), "does not say which values are better in Dice"),
        ((), "--better lower, or for each task: --task Dice:higher"),
        (("--better", "higher", "--task", "HD95:lower"), "--better higher is for none. Name every task"),
        (("--task", "HD95:lower:2"), "the weight of a single task changes nothing. Name every task"),
        (("--task", "HD95:bigger"), "there is no task 'HD95:bigger'. There are: Dice, HD95"),
        (("--task", "HD95:lower:two", "--task", "Dice:higher"), "the weight of HD95 is 'two'"),
        (("--task", "HD95:lower:0", "--task", "Dice:higher"), "the weight of HD95 is 0"),
        (("--task", "HD95:lower", "--task", "HD95:higher"), "the task HD95 is named twice"),
        (("--better", "higher", "--range", "0:1"), "A has 5.0 in case HD95/1, outside the range 0 to 1"),
        (("--better", "higher", "--range", "DSC=0:1"), "there is no task 'DSC'"),
        (("--better", "higher", "--range", "0-1"), "--range 0-1 is not of the form LOW:HIGH"),
        (("--better", "higher", "--range", "low:high"), "--range low:high is not of the form LOW:HIGH"),
    ],
)
def test_what_is_unclear_about_tasks_is_said(rank, arguments, words):
    result = rank(TASKS, *arguments)
    assert result.exit_code == 1, result.output
    assert words in result.stderr


def test_a_range_is_declared(rank, tmp_path):
    arguments = ("--better", "higher", "--range", "Dice=0:1", "--range", "0:", "--out", tmp_path / "out")
    assert rank(TASKS, *arguments).exit_code == 0
    options = json.loads((tmp_path / "out" / "leaderboard.json").read_text())["options"]
    assert options["ranges"]["Dice"] == [0, 1]


def test_tables_of_other_kinds(rank, tmp_path):
    frame = pl.read_csv(csv_of(VALUES).encode())
    frame.write_parquet(tmp_path / "table.parquet")
    frame.write_excel(tmp_path / "table.xlsx")
    teams = tmp_path / "teams"
    teams.mkdir()
    for (team,), part in frame.group_by("submission"):
        part.drop("submission").write_csv(teams / f"{team}.csv")
    expected = {"good": 1, "close": 2, "poor": 3}
    for source in (tmp_path / "table.parquet", tmp_path / "table.xlsx", teams):
        assert places_of(rank(source, "--better", "higher", "--json")) == expected
    several = CliRunner().invoke(app, ["rank", *map(str, teams.iterdir()), "--better", "higher", "--json"])
    assert places_of(several) == expected
    german = csv_of(VALUES).replace(",", ";").replace(".", ",")
    shown = rank(german, "--better", "higher")
    assert "Columns are separated by semicolons." in shown.stdout
    assert "Numbers have decimal commas." in shown.stdout
    plain = rank(german, "--better", "higher", "--separator", ";", "--decimal", ",", "--encoding", "utf-8")
    assert "Numbers have decimal commas." not in plain.stdout
    assert places_of(rank(tmp_path / "table.xlsx", "--better", "higher", "--sheet", "1", "--json")) == expected
    wide = rank("case,good,close\n1,0.9,0.8\n2,0.9,0.7\n", "--better", "higher", "--layout", "wide", "--json")
    assert places_of(wide) == {"good": 1, "close": 2}


def test_an_empty_folder_and_what_is_missing(rank, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "not a run folder" in rank(tmp_path / "empty", "--better", "higher").stderr
    assert "there is no such run folder or table" in rank(tmp_path / "nowhere", "--better", "higher").stderr
    (tmp_path / "metrics.json").write_text("{}")
    assert "no table. podium gather makes a run of metrics" in rank(tmp_path / "metrics.json").stderr


def test_sensitivity_tells_of_other_prices_for_missing_values(rank, tmp_path):
    table = csv_of(VALUES).replace("good,1,0.9\n", "good,1,NA\n")
    result = rank(table, "--better", "higher", "--missing", "drop", "--bootstrap", 50, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "Leaving cases out raises good by" in result.stdout
    assert "missing values: worst" in pl.read_csv(tmp_path / "out" / "sensitivity.csv")["rule"].to_list()
    cheap = rank(table, "--better", "higher", "--missing", "0.6")
    assert "would cost 0.6, less than the 0.4 of poor in case 2" in cheap.stderr


GOOD = csv_of(VALUES)


@pytest.mark.parametrize(
    ("table", "arguments", "words"),
    [
        (GOOD, (), "a table does not say which values are better"),
        (GOOD, ("--better", "bigger"), "the direction 'bigger' is unknown"),
        (GOOD, ("--better", "higher", "--scheme", "mean"), "there is no scheme 'mean'. There are: aggregate-then-rank"),
        (GOOD, ("--better", "higher", "--statistic", "mode", "--scheme", "aggregate-then-rank"), "no statistic 'mode'"),
        (GOOD, ("--better", "higher", "--missing", "zero"), "no way 'zero' to treat missing values"),
        (GOOD, ("--better", "higher", "--metric", "dice"), "--metric and --option are for runs"),
        (GOOD, ("--better", "higher", "--column", "submission"), "is not of the form submission=NAME"),
        (GOOD, ("--better", "higher", "--column", "submission=team"), "there is no column 'team'"),
        (GOOD, ("--better", "higher", "--bootstrap", "1000000000"), "Ask for 1,000,000 at most; 1,000 are usual"),
        (GOOD, ("--better", "higher", "--bootstrap", "10", "--level", "95"), "must lie between 0 and 1"),
        (GOOD, ("--better", "higher", "--bootstrap", "10", "--interval", "exact"), "there is no interval 'exact'"),
        (GOOD + "good,1,0.5\n", ("--better", "higher"), "given more than once, for instance good, case 1"),
        (
            GOOD.replace("poor,1,0.5", "poor,1,half"),
            ("--better", "higher"),
            "line 18 has 'half' where a number should be",
        ),
        (
            GOOD.replace("poor,1,0.5", "poor,1,NA"),
            ("--better", "higher"),
            "1 of 24 values is missing, for instance poor in case 1",
        ),
        (GOOD.replace("value", "colour"), ("--better", "higher", "--layout", "long"), "there is no column 'value'"),
        ("submission,case,value\n", ("--better", "higher"), "the table has no rows"),
        ("", ("--better", "higher"), "not a CSV file"),
        ("submission,case,value\na,1,NA\nb,1,\n", ("--better", "higher", "--missing", "0"), "every value is missing"),
        ("submission,case,value\na,1,1\nb,1,2\n", ("--better", "higher", "--bootstrap", "10"), "only a single case"),
    ],
)
def test_bad_calls_and_tables_get_one_clear_line(rank, table, arguments, words):
    result = rank(table, *arguments)
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    assert words in line


def test_one_case_one_submission_and_equals_are_ranked_all_the_same(rank):
    assert rank("submission,case,value\na,1,1\nb,1,2\n", "--better", "higher").exit_code == 0
    result = rank("submission,case,value\na,1,1\na,2,2\na,3,5\n", "--better", "higher", "--bootstrap", "50")
    assert result.exit_code == 0, result.output
    assert "a is the only competitor." in result.stdout
    same = csv_of(dict.fromkeys(("a", "b", "c"), VALUES["good"]))
    result = rank(same, "--better", "higher", "--bootstrap", "50")
    assert "a, b and c would be first together in every one of 50 resamples." in result.stdout
    assert "is undefined: everybody shares one place" in result.stdout
    assert "nobody can be ruled out: a, b and c may each truly be first." in result.stdout


def test_no_share_and_no_level_is_rounded_to_certainty(rank):
    result = rank(csv_of(VALUES), "--better", "higher", "--bootstrap", 50, "--level", 0.999)
    assert result.exit_code == 0, result.output
    assert "At 99.9 % confidence, " in result.stdout
    assert result.stdout.count("99.9 %") > 1  # in the heading of true places as well
    assert "100" not in result.stdout
    assert result.stdout.count(" none ") == 1  # poor is first in no resample


def test_a_run_is_assessed_by_the_challenges_own_rules(rank, kits21_run):
    result = rank(kits21_run, "--bootstrap", 200)
    assert result.exit_code == 0, result.output
    assert "of 200 resamples" in result.stdout
    assert "Failed cases: unlucky (4 of 8)." in result.stdout
    rules = pl.read_csv(kits21_run / "sensitivity.csv")["rule"].to_list()
    assert {"published", "tolerance × 0.5", "without dice tumor", "weight of surface dice mass +50 %"} <= set(rules)
    assert json.loads((kits21_run / "ranking.json").read_text())["challenge"] == "kits21"


def test_a_general_scheme_on_a_run_leaves_its_leaderboard_alone(rank, kits21_run):
    before = (kits21_run / "leaderboard.json").read_bytes()
    result = rank(
        kits21_run, "--scheme", "aggregate-then-rank", "--statistic", "median", "--metric", "dice:tumor", "--json"
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["edition"] == "median then rank"
    assert [column["name"] for column in document["columns"]] == ["dice_tumor"]
    assert "baseline" not in {entry["submission"] for entry in document["entries"]}
    assert "baseline is not ranked: baseline." in document["notes"]
    assert (kits21_run / "leaderboard.json").read_bytes() == before


def test_tolerance_is_an_option_of_ranking(rank, kits21_run):
    usual = json.loads(rank(kits21_run, "--json").stdout)
    wide = json.loads(rank(kits21_run, "--option", "tolerance_scale=2", "--json").stdout)

    def tumour(document):
        return {e["submission"]: e["values"]["surface_dice_tumor"] for e in document["entries"]}

    assert tumour(wide)["noisy"] > tumour(usual)["noisy"]
    refused = rank(kits21_run, "--option", "tolerance_scale=3")
    assert refused.exit_code == 1
    assert "tolerance_scale" in refused.stderr


def test_another_ranking_has_a_folder_of_its_own_and_the_published_board_stays(rank, kits21_run):
    published = {path.name: path.read_bytes() for path in kits21_run.glob("leaderboard.*")}
    assert set(published) == {"leaderboard.csv", "leaderboard.json", "leaderboard.md"}
    result = rank(kits21_run, "--option", "tolerance_scale=0.5", "--bootstrap", 50)
    assert result.exit_code == 0, result.output
    folder = kits21_run / "rankings" / "tolerance_scale=0.5"
    assert str(folder) in "".join(result.output.split("\n"))
    assert {"leaderboard.csv", "leaderboard.json", "leaderboard.md", "ranking.json", "places.csv"} <= {
        path.name for path in folder.iterdir()
    }
    own = json.loads((folder / "leaderboard.json").read_text())
    assert own["options"]["tolerance_scale"] == 0.5
    assert own["entries"] != json.loads(published["leaderboard.json"])["entries"]
    assert {path.name: path.read_bytes() for path in kits21_run.glob("leaderboard.*")} == published


def test_no_general_ranking_is_written_over_a_run(rank, kits21_run):
    result = rank(kits21_run, "--scheme", "rank-then-aggregate", "--out", kits21_run)
    assert result.exit_code == 1
    assert "a run is here, whose own board stays" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--better", "higher"), "are for tables"),
        (("--metric", "dice:tumor"), "--metric, --missing and --consensus are for general schemes"),
        (
            ("--scheme", "test-then-rank", "--metric", "seconds"),
            "nothing can be ranked by seconds. There are: dice:kid",
        ),
    ],
)
def test_what_makes_no_sense_for_a_run_is_said(rank, kits21_run, arguments, words):
    result = rank(kits21_run, *arguments)
    assert result.exit_code == 1
    assert words in result.stderr


def test_lines_do_not_break_between_a_number_and_its_sign(tmp_path):
    (tmp_path / "table.csv").write_text(csv_of(VALUES))
    for width in (61, 70, 79, 88):
        arguments = ["rank", str(tmp_path / "table.csv"), "--better", "higher", "--bootstrap", "50", "--plan"]
        result = CliRunner(env={"COLUMNS": str(width)}).invoke(app, arguments)
        assert not [line for line in result.stdout.splitlines() if line.startswith("%") or line.endswith((" <", " >"))]


def test_what_needs_resamples_says_so(rank):
    assert "add --bootstrap 1000" in rank(csv_of(VALUES), "--better", "higher", "--level", 0.9).stderr
    assert "add --bootstrap" not in rank(csv_of(VALUES), "--better", "higher").stderr


def test_nothing_is_said_about_the_place_of_a_single_competitor(rank):
    result = rank(csv_of({"good": VALUES["good"]}), "--better", "higher", "--bootstrap", 50)
    assert "good is the only competitor." in result.stdout
    assert "true" not in result.stdout

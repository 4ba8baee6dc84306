"""TrackRAD 2025 with further observers: agreement, means over observers, one truth of many."""

import csv
import json
import math

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from podium.challenges import get_challenge
from podium.cli import app
from podium.io import write_label_map
from podium.metrics import SurfaceDistances
from podium.model import InputError, LabelMap, Role
from podium.ranking import leaderboard_of
from podium.raters import survey_raters
from podium.run import find_submissions, measure_all

pytestmark = pytest.mark.slow

METRICS = ("dice", "hd95", "masd", "centre_distance", "relative_d98")
ROWS, COLUMNS = 40, 36


def target(row, column, radius=6.0):
    rows, columns = np.ogrid[:ROWS, :COLUMNS]
    return (rows - row) ** 2 + (columns - column) ** 2 <= radius**2


def sequence(frames, *, row=0.0, column=0.0, radius=6.0):
    """Return a target that moves down, shape (frames, rows, columns), off by so much."""
    return np.stack([target(14 + k + row, 16 + column, radius) for k in range(frames)]).astype(np.uint8)


def write(path, masks):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_label_map(path, LabelMap.from_array(masks.transpose(0, 2, 1)))


@pytest.fixture
def folders(tmp_path):
    """Return truth and submissions: ten cases with three observers, of which the last case has one only."""
    truth, teams = tmp_path / "truth", tmp_path / "teams"
    for number in range(1, 11):
        case = f"A_{number:03d}"
        frames = 5 + number
        observers = {
            "": sequence(frames),
            "2": sequence(frames, row=1, radius=6 + 0.2 * number),
            "_expert": sequence(frames, column=1 + number % 2),
        }
        for name, masks in observers.items():
            if number < 10 or not name:
                write(truth / case / "targets" / f"{case}_labels{name}.mha", masks)
        write(truth / case / "targets" / f"{case}_first_label.mha", sequence(1))
        (truth / case / "scanned-region.json").write_text(json.dumps("abdomen"))
        write(teams / "close" / f"{case}.mha", sequence(frames, row=0.4, column=0.4))
        write(teams / "lost" / f"{case}.mha", sequence(frames, row=12 - number % 3))
    return truth, teams


def row_values(values):
    return {value.metric: value.value for value in values if not value.unit}


def test_observers_are_found_by_their_files(folders):
    truth, _ = folders
    cases = get_challenge("trackrad2025", references="observers").cases(truth)
    assert [path.name for path in cases[0].files] == [
        "A_001_labels.mha",
        "scanned-region.json",
        "A_001_labels2.mha",
        "A_001_labels_expert.mha",
    ]
    assert len(get_challenge("trackrad2025").cases(truth)[0].files) == 2
    challenge = get_challenge("trackrad2025", references="observers")
    assert challenge.load(cases[0]).names == ("labels", "labels2", "labels_expert")


@pytest.mark.parametrize("edition", ["document", "code"])
def test_the_mean_over_observers(folders, tmp_path, edition):
    """As if each observer in turn were the only one."""
    truth, teams = folders
    challenge = get_challenge("trackrad2025", edition=edition, references="observers")
    case = challenge.cases(truth)[1]
    found = row_values(challenge.measure(case, challenge.load(case), teams / "close" / "A_002.mha"))
    alone = get_challenge("trackrad2025", edition=edition)
    numbers = []
    for file in (case.files[0], *case.files[2:]):
        own = tmp_path / edition / file.stem / "A_002"
        (own / "targets").mkdir(parents=True)
        (own / "targets" / "A_002_labels.mha").write_bytes(file.read_bytes())
        (own / "scanned-region.json").write_text(json.dumps("abdomen"))
        (only,) = alone.cases(own.parent)
        numbers.append(row_values(alone.measure(only, alone.load(only), teams / "close" / "A_002.mha")))
    assert len({each["dice"] for each in numbers}) == 3
    for metric in METRICS:
        assert found[metric] == pytest.approx(np.mean([each[metric] for each in numbers]))
    assert found["frames"] == 7


def test_agreement_by_hand(folders):
    """Dice of two discs a pixel apart, in every frame the same; each observer in turn is the reference."""
    truth, _ = folders
    challenge = get_challenge("trackrad2025")
    case = challenge.rated_cases(truth)[0]
    found = challenge.agreement(case, challenge.panel(case), percentiles=(95.0, 100.0))
    assert found.panel.groups == ((0, 1, 2),)
    one, two = target(14, 16), target(15, 16, 6.2)
    expected = 2 * np.sum(one & two) / (one.sum() + two.sum())
    assert found.values["dice", ""][0] == pytest.approx(expected)
    distances = SurfaceDistances.between(one, two, boundary="voxel")
    tolerance = np.mean([each.linear_percentile(100) for each in distances.directed])
    assert found.tolerances["", 100.0][0] == pytest.approx(tolerance)
    assert set(found.values) == {(metric, "") for metric in METRICS}
    third = [*challenge.panel(case).truths][2]
    both = [
        row_values(challenge._values(case, a, b.sequence))["relative_d98"]
        for a, b in ((challenge.panel(case).truths[0], third), (third, challenge.panel(case).truths[0]))
    ]
    assert found.values["relative_d98", ""][1] == pytest.approx(np.mean(both))


def test_tolerance_runs_over_all_frames_together(folders):
    """The percentile of the boundary pixels of all frames; undefined if somebody sees no target where others do."""
    truth, _ = folders
    challenge = get_challenge("trackrad2025")
    case = challenge.rated_cases(truth)[0]
    masks = [sequence(6), sequence(6, row=2)]
    masks[1][3:] = masks[0][3:]
    for name, each in zip(("", "2"), masks, strict=True):
        write(truth / "A_001" / "targets" / f"A_001_labels{name}.mha", each)
    found = challenge.agreement(case, challenge.panel(case), percentiles=(90.0,))
    ways = [[], []]
    for one, two in zip(*masks, strict=True):
        for way, directed in zip(ways, SurfaceDistances.between(one, two, boundary="voxel").directed, strict=True):
            way.append(np.repeat(directed.distances, directed.counts))
    expected = np.mean([np.percentile(np.concatenate(way), 90) for way in ways])
    assert found.tolerances["", 90.0][0] == pytest.approx(expected)
    masks[1][2] = 0
    write(truth / "A_001" / "targets" / "A_001_labels2.mha", masks[1])
    found = challenge.agreement(case, challenge.panel(case), percentiles=(90.0,))
    assert math.isnan(found.tolerances["", 90.0][0])
    assert math.isnan(found.tolerance("", 90.0))


def test_other_metrics(folders):
    truth, _ = folders
    challenge = get_challenge("trackrad2025")
    case = challenge.rated_cases(truth)[0]
    found = challenge.agreement(
        case, challenge.panel(case), metrics=["intersection_over_union", "hausdorff_distance", "centre_distance"]
    )
    one, two = target(14, 16), target(15, 16, 6.2)
    assert found.values["intersection_over_union", ""][0] == pytest.approx(np.sum(one & two) / np.sum(one | two))
    assert ("hausdorff_distance", "") in found.values


def test_a_survey_counts_out_who_is_alone(folders):
    truth, _ = folders
    (truth / "A_002" / "targets" / "A_002_labels2.mha").write_bytes(b"damaged")
    write(truth / "A_003" / "targets" / "A_003_labels2.mha", sequence(3))
    found = survey_raters(get_challenge("trackrad2025"), truth=truth)
    assert [each.case for each in found.agreements] == ["A_001", *(f"A_{k:03d}" for k in range(4, 10))]
    assert list(found.counted_out) == ["A_002", "A_003", "A_010"]
    assert "A_002_labels2.mha" in found.counted_out["A_002"]
    assert "wrong frame count" in found.counted_out["A_003"]
    assert "one observer only" in found.counted_out["A_010"]


def test_people_on_the_leaderboard(folders):
    truth, teams = folders
    challenge = get_challenge("trackrad2025", references="observers")
    measured = measure_all(challenge, truth=truth, submissions=find_submissions(teams))
    assert measured.roles == {
        "close": Role.COMPETITOR,
        "lost": Role.COMPETITOR,
        "no-tracking": Role.BASELINE,
        "raters": Role.REFERENCE,
    }
    alone = measured.table.filter((pl.col("submission") == "raters") & (pl.col("case") == "A_010"))
    statuses = dict(alone.select("metric", "status").iter_rows())
    assert statuses == dict.fromkeys(METRICS, "undefined") | {"frames": "ok"}
    board = leaderboard_of(challenge, measured.table, roles=measured.roles)
    entries = {entry.submission: entry for entry in board.entries}
    agreements = survey_raters(challenge, truth=truth).agreements
    assert entries["raters"].place is None
    assert entries["raters"].values["dice"] == pytest.approx(np.mean([each.variability("dice") for each in agreements]))
    assert not any("raters" in note for note in board.notes)


def test_a_failed_case_costs_the_same(folders):
    truth, teams = folders
    (teams / "close" / "A_001.mha").unlink()
    tables = [
        measure_all(get_challenge("trackrad2025", **options), truth=truth, submissions=find_submissions(teams)).table
        for options in ({}, {"references": "observers"})
    ]
    failed = [
        table.filter((pl.col("submission") == "close") & (pl.col("case") == "A_001") & (pl.col("unit") == ""))
        for table in tables
    ]
    assert failed[0].equals(failed[1])


@pytest.mark.parametrize(
    ("references", "rule"),
    [
        ("majority", lambda votes: votes >= 2),
        ("intersection", lambda votes: votes == 3),
        ("union", lambda votes: votes >= 1),
    ],
)
def test_one_truth_of_many(folders, references, rule):
    truth, _ = folders
    challenge = get_challenge("trackrad2025", references=references)
    case = challenge.cases(truth)[0]
    votes = sequence(6).astype(int) + sequence(6, row=1, radius=6.2) + sequence(6, column=2)
    found = challenge.load(case).sequence
    np.testing.assert_array_equal([found.frame(k) for k in range(6)], rule(votes))
    assert challenge.built_in == {"no-tracking": Role.BASELINE}


def test_staple_lies_between_intersection_and_union(folders):
    truth, _ = folders
    loaded = {}
    for references in ("staple", "intersection", "union"):
        challenge = get_challenge("trackrad2025", references=references)
        found = challenge.load(challenge.cases(truth)[0]).sequence
        loaded[references] = np.stack([found.frame(k) for k in range(6)])
    assert np.all(loaded["intersection"] <= loaded["staple"])
    assert np.all(loaded["staple"] <= loaded["union"])


def test_without_further_observers(folders):
    truth, _ = folders
    for path in truth.glob("*/targets/*_labels?*.mha"):
        path.unlink()
    for references in ("observers", "majority"):
        with pytest.raises(InputError, match="needs further observers, and no case has any"):
            get_challenge("trackrad2025", references=references).cases(truth)
    assert len(get_challenge("trackrad2025").cases(truth)) == 10
    with pytest.raises(InputError, match=r"references is one of first, observers, .*, not 'all'"):
        get_challenge("trackrad2025", references="all")


@pytest.mark.slow
def test_the_command_line(folders, tmp_path):
    truth, teams = folders
    out = tmp_path / "run"
    given = {"--truth": truth, "--submissions": teams, "--out": out, "--references": "observers"}
    arguments = [str(part) for item in given.items() for part in item]
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["evaluate", "trackrad2025", *arguments])
    assert result.exit_code == 0, result.output
    assert "Left out where the raters or the submission have no value: A_010." in result.stdout
    with (out / "people.csv").open() as file:
        rows = {(row["submission"], row["metric"]): row for row in csv.DictReader(file)}
    assert rows["lost", "hd95"]["within"] == "no"
    assert float(rows["lost", "hd95"]["low"]) > 0
    assert ("close", "frames") not in rows
    result = CliRunner().invoke(app, ["raters", "trackrad2025", "--truth", str(truth), "--write-samples", str(out)])
    assert result.exit_code == 1
    assert "TrackRAD 2025 has no samples to write: its annotators each annotated a whole case" in result.stderr

"""`podium metrics`: every metric is listed, and each tells all that it declares."""

import json
import math

import pytest

from podium.metrics import metrics


def test_all_are_listed_by_family(run):
    lines = run("metrics").stdout.splitlines()
    rows = {line.split()[0]: number for number, line in enumerate(lines) if line.startswith("  ")}
    for metric in metrics():
        heading = next(number for number in range(rows[metric.name], -1, -1) if lines[number][:1].strip())
        assert lines[heading] == metric.family
        row = " ".join(lines[rows[metric.name]].split())
        assert row == " ".join(f"{metric.name} {metric.title} {metric.unit} {metric.direction.arrow}".split())


@pytest.mark.parametrize("metric", metrics(), ids=lambda metric: metric.name)
def test_one_tells_everything(run, metric):
    result = run("metrics", metric.name)
    assert result.exit_code == 0
    shown = " ".join(result.stdout.split())
    for word in (metric.title, f"family {metric.family}", f"direction {metric.direction.value}"):
        assert word in shown
    assert metric.formula
    for word in (*metric.formula.split(), *metric.empty, *metric.same_as, *" ".join(metric.same_as.values()).split()):
        assert word in shown
    assert " ".join(f"also called {', '.join(metric.also_called)}".split()) in shown or not metric.also_called
    assert ("same as no peer that was tried" in shown) == (not metric.same_as)
    if any(math.isnan(value) for value in metric.empty.values()):
        assert "undefined" in shown


def test_dice_in_words(run):
    shown = [" ".join(line.split()) for line in run("metrics", "dice").stdout.splitlines()]
    for line in (
        "dice Dice",
        "formula 2|R ∩ P| / (|R| + |P|)",
        "unit none",
        "range 0 to 1",
        "direction higher is better",
        "perfect 1",
        "symmetric yes",
        "empty 1 (both empty), 0 (reference empty), 0 (prediction empty)",
        "same as MedPy: dc, unless both are empty",
    ):
        assert line in shown
    assert "call podium.metrics.overlaps.dice(overlap: Overlap) -> float" in shown
    shown = run("metrics", "hausdorff_distance").stdout
    assert "0 to ∞" in shown
    assert "∞ (reference empty)" in shown


def test_programs_read_the_same(run):
    document = json.loads(run("metrics", "--json").stdout)
    assert list(document) == [metric.name for metric in metrics()]
    for metric in metrics():
        shown = document[metric.name]
        assert shown["title"] == metric.title
        assert shown["formula"] == metric.formula
        assert shown["direction"] == metric.direction.value
        assert shown["same_as"] == dict(metric.same_as)
        assert shown["also_called"] == list(metric.also_called)
        assert (shown["maximum"] is None) == math.isinf(metric.maximum)
        for case, value in metric.empty.items():
            expected = {"value": value} if math.isfinite(value) else {"value": None}
            assert expected.items() <= shown["empty"][case].items()
        if metric.perfect is None:
            assert shown["perfect"] == {"value": None, "status": "depends on the reference"}
        elif math.isinf(metric.perfect):
            assert shown["perfect"] == {"value": None, "status": "infinite"}
        else:
            assert shown["perfect"] == {"value": metric.perfect}
    assert json.loads(run("metrics", "dice", "--json").stdout) == {"dice": document["dice"]}
    assert document["hausdorff_distance"]["empty"]["reference"] == {"value": None, "status": "infinite"}
    assert document["sensitivity"]["empty"]["reference"] == {"value": None, "status": "undefined"}


def test_a_name_of_the_field_leads_to_the_metric(run):
    result = run("metrics", "cldice")
    assert result.exit_code == 1
    assert "Did you mean 'centreline_dice'?" in result.output
    assert run("metrics", "centreline_dice").exit_code == 0


def test_a_misspelt_name_is_recognised(run):
    result = run("metrics", "haussdorf_distance")
    assert result.exit_code == 1
    assert "Did you mean 'hausdorff_distance'?" in result.output

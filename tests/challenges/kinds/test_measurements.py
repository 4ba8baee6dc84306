"""What is said of measurements that look like a mistake."""

import numpy as np

import podium
from podium.io import write_label_map
from podium.model import LabelMap


def square(low, high, label=1):
    labels = np.zeros((24, 24), np.uint8)
    labels[low:high, low:high] = label
    return labels


def doubts(*arrays, **given):
    said = []
    measured = podium.measure(*arrays, metrics="dice", say=said.append, **given)
    assert tuple(said) == measured.said
    assert said == list(measured.doubts)
    return said


def test_labels_that_are_nowhere_are_told_though_their_dice_is_one():
    assert doubts(square(4, 12), square(4, 12), regions={"core": 9}) == [
        "core is in no reference and in no prediction, so that its values say nothing."
    ]


def test_labels_that_are_numbered_otherwise_are_told():
    cases = {"a": square(4, 12), "b": square(5, 14)}
    others = {"a": square(4, 12, 255), "b": square(5, 14, 255)}
    assert doubts(cases, others) == [
        "1 is in no prediction of prediction. Are labels numbered alike?",
        "255 is in no reference. Are labels numbered alike?",
    ]
    assert doubts(cases, cases, against={"other": others}, regions={"liver": 1}) == [
        "liver is in no prediction of other. Are labels numbered alike?"
    ]


def test_nothing_is_said_of_labels_that_some_cases_lack():
    cases = {"a": square(4, 12), "b": square(5, 14, 2)}
    assert doubts(cases, {"a": square(4, 13), "b": square(5, 15, 2)}) == []


def test_a_table_that_is_cut_short_still_has_the_means():
    summary = podium.measure(square(4, 12), square(4, 13), metrics="dice").summary
    assert summary.columns[:6] == ["prediction", "label", "metric", "mean", "low", "high"]
    assert summary.row(0, named=True)["mean"] == 2 * 64 / (64 + 81)
    assert summary.row(0, named=True)["values"] == 1


def test_a_line_says_what_was_measured():
    text = repr(podium.measure(square(4, 12), square(4, 13), metrics="dice"))
    assert text == "<Measurements of prediction: 1 case, 1 label; .summary has the means>"


def test_pictures_are_measured_in_pixels_and_that_is_said(tmp_path):
    for name, low in {"truth": 4, "guess": 5}.items():
        for number in range(3):
            (tmp_path / name).mkdir(exist_ok=True)
            write_label_map(tmp_path / name / f"{number}.png", LabelMap.from_array(square(low, 12 + number, 255)))
    measured = podium.measure(tmp_path / "truth", tmp_path / "guess")
    assert measured.labels == ("255",)
    assert "A PNG knows no size of pixels: what is called mm is counted in pixels." in measured.said
    arrays = podium.measure(
        *({str(n): square(low, 12 + n, 255) for n in range(3)} for low in (4, 5)), metrics="hausdorff_distance_95"
    )
    assert measured.cases["hausdorff_distance_95"].equals(arrays.cases["hausdorff_distance_95"])
    assert measured.challenge.title == "Measured against truth"
    files = [tmp_path / name / "0.png" for name in ("truth", "guess")]
    assert "A PNG knows no size" in podium.measure(*files, metrics="dice").said[1]

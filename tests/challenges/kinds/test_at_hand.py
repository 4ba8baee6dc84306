"""Arrays and label maps that are at hand."""

import numpy as np
import pytest

import podium
from podium.model import InputError


def square(low, high, size=24):
    labels = np.zeros((size, size), np.uint8)
    labels[low:high, low:high] = 1
    return labels


def dices(measured):
    return measured.cases["dice"].to_list()


def test_lists_of_arrays_are_cases_and_never_one_volume():
    references, predictions = [square(4, 12), square(4, 20)], [square(5, 12), square(4, 20)]
    measured = podium.measure(references, predictions, metrics="dice")
    assert measured.cases["case"].to_list() == ["1", "2"]
    by_name = podium.measure(dict(enumerate(references)), dict(enumerate(predictions)), metrics="dice")
    assert dices(measured) == dices(by_name)
    others = {"other": references}
    assert dices(podium.measure(references, predictions, against=others, metrics="dice"))[2:] == [1.0, 1.0]
    shapes = [square(4, 12), square(4, 12, size=30)]
    assert dices(podium.measure(shapes, shapes, metrics="dice")) == [1.0, 1.0]
    with pytest.raises(InputError, match="there are 2 references and 1 predictions"):
        podium.measure(references, predictions[:1])


def test_lists_of_numbers_are_one_array():
    measured = podium.measure(square(4, 12).tolist(), square(5, 12).tolist(), metrics="dice")
    assert dices(measured) == dices(podium.measure(square(4, 12), square(5, 12), metrics="dice"))


def test_what_is_no_label_map_fails_its_case_alone():
    references = {"one": square(4, 12), "two": square(4, 12)}
    measured = podium.measure(references, {"one": square(4, 12), "two": square(4, 12) / 3}, metrics="dice")
    assert measured.cases.select("case", "status", "dice").rows() == [("one", "ok", 1.0), ("two", "invalid", 0.0)]
    assert "whole numbers" in measured.failures["reason"][0]
    with pytest.raises(InputError, match=r"^two: labels must be whole numbers"):
        podium.measure({"two": square(4, 12) / 3}, references)
    with pytest.raises(InputError, match=r"^labels must be whole numbers"):
        podium.measure(square(4, 12), square(4, 12) / 3)


def test_paths_and_arrays_are_not_mixed(tmp_path):
    array = square(4, 12)
    for references, predictions, others in (
        (tmp_path, [tmp_path], {}),
        (tmp_path, array, {}),
        (tmp_path, tmp_path, {"other": array}),
        (array, tmp_path, {}),
    ):
        with pytest.raises(InputError, match="Give two of one kind"):
            podium.measure(references, predictions, against=others)


def test_what_cannot_be_asked_for_is_told_before_anything_is_measured(tmp_path):
    with pytest.raises(InputError, match="the level is 95, but must lie between 0 and 1"):
        podium.measure(square(4, 12), square(4, 12), level=95)
    with pytest.raises(InputError, match="no metric of label maps called '1'"):
        podium.measure(square(4, 12), square(4, 12), metrics=[1])


def test_metrics_may_be_one_text_and_labels_numbers():
    one, two = square(4, 12), square(5, 12)
    measured = podium.measure(one, two, metrics="dice, hausdorff_distance_95", labels=[1])
    assert [measure.name for measure in measured.deciding] == ["dice", "hausdorff_distance_95"]
    assert measured.labels == ("1",)
    with pytest.raises(InputError, match=r"'HD95'\. Did you mean 'hausdorff_distance_95'"):
        podium.measure(one, two, metrics="HD95")
    with pytest.raises(InputError, match=r"labels are 1\. Give names and numbers"):
        podium.measure(one, two, labels=1)
    with pytest.raises(InputError, match="whole numbers from 1"):
        podium.measure(one, two, labels={"liver": "1"})
    for tolerance in (-1.0, float("nan"), {"1": float("inf")}):
        with pytest.raises(InputError, match=r"^a tolerance is a length in mm from 0"):
            podium.measure(one, two, tolerances_mm=tolerance)

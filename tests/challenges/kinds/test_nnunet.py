"""nnU-Net's dataset.json."""

import json

import pytest

from podium.challenges.kinds.nnunet import dataset_near, read_dataset
from podium.model import InputError


def written(path, document):
    path.mkdir(parents=True, exist_ok=True)
    (path / "dataset.json").write_text(document if isinstance(document, str) else json.dumps(document))
    return path / "dataset.json"


@pytest.mark.parametrize(
    ("document", "regions", "ending"),
    [
        (
            {"labels": {"background": 0, "liver": 1, "tumor/big": 2}, "file_ending": ".nii.gz", "channel_names": {}},
            {"liver": (1,), "tumor-big": (2,)},
            ".nii.gz",
        ),
        (
            {"labels": {"background": 0, "whole": [3, 1, 2], "core": [2], "x": 3}},
            {"whole": (1, 2, 3), "core": (2,), "x": (3,)},
            "",
        ),
        ({"labels": {"0": "background", "1": "liver"}}, {"liver": (1,)}, ""),
        ({"liver": 1, "spleen": 2}, {"liver": (1,), "spleen": (2,)}, ""),
    ],
)
def test_labels_and_regions_are_read(tmp_path, document, regions, ending):
    labels = read_dataset(written(tmp_path, document))
    assert labels.regions == regions
    assert labels.ending == ending
    assert labels.ignored is None
    assert read_dataset(tmp_path) == labels


def test_a_label_to_ignore_is_noted(tmp_path):
    assert read_dataset(written(tmp_path, {"labels": {"background": 0, "liver": 1, "ignore": 2}})).ignored == 2


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "this is not JSON"),
        ("[" * 100000, "this is not JSON"),
        ([1], "it holds no labels"),
        ({"labels": {}}, "it holds no labels"),
        ({"labels": {"background": 0}}, "no labels but background"),
        ({"labels": {"liver": "one"}}, "label 'liver' is \"one\""),
        ({"labels": {"liver": -1}}, "label 'liver' is -1"),
        ({"labels": {"liver": True}}, "label 'liver' is true"),
        ({"labels": {"liver": []}}, "label 'liver' is"),
        ({"labels": {"whole": [0, 1]}}, "holds 0, which is background"),
    ],
)
def test_what_is_not_understood_is_said(tmp_path, document, message):
    with pytest.raises(InputError, match=message):
        read_dataset(written(tmp_path, document))


def test_it_is_looked_for_in_the_folders_and_beside_the_references(tmp_path):
    references, predictions = tmp_path / "data" / "labelsTs", tmp_path / "predictions"
    references.mkdir(parents=True)
    assert dataset_near(references, predictions) is None
    beside = written(references.parent, {})
    assert dataset_near(references, predictions) == beside
    own = written(predictions, {})
    assert dataset_near(references, predictions) == own

"""What the field calls a metric leads to it, and is no second name of it."""

import pytest

from podium.challenges.kinds.choices import chosen_quantities
from podium.metrics import declare, dice, get_metric, metrics
from podium.metrics.registry import meant_by
from podium.model import InputError, Metric

COMMON = {
    "acc": "accuracy",
    "asd": "mean_average_surface_distance",
    "assd": "average_symmetric_surface_distance",
    "auc": "area_under_roc",
    "auprc": "area_under_precision_recall",
    "auroc": "area_under_roc",
    "average precision": "area_under_precision_recall",
    "ccc": "concordance_correlation",
    "clDice": "centreline_dice",
    "cldice": "centreline_dice",
    "dsc": "dice",
    "ece": "expected_calibration_error",
    "f1": "f_beta",
    "F1-score": "macro_f1",
    "froc": "froc_score",
    "HD": "hausdorff_distance",
    "HD-95": "hausdorff_distance_95",
    "hd95": "hausdorff_distance_95",
    "icc": "intraclass_correlation",
    "iou": "intersection_over_union",
    "jaccard": "intersection_over_union",
    "kappa": "cohen_kappa",
    "mae": "mean_absolute_error",
    "map": "mean_average_precision",
    "masd": "mean_average_surface_distance",
    "mcc": "matthews_correlation",
    "npv": "negative_predictive_value",
    "nsd": "surface_dice",
    "ppv": "positive_predictive_value",
    "pq": "panoptic_quality",
    "psnr": "peak_signal_to_noise_ratio",
    "r2": "coefficient_of_determination",
    "recall": "sensitivity",
    "rmse": "root_mean_square_error",
    "ssim": "structural_similarity",
    "tre": "landmark_error",
    "Surface Dice": "surface_dice",
}


@pytest.mark.parametrize(("name", "metric"), COMMON.items())
def test_common_names_lead_to_the_metric(name, metric):
    with pytest.raises(InputError, match=rf"Did you mean .*'{metric}'.*\?$"):
        get_metric(name)


@pytest.mark.parametrize("metric", metrics(), ids=lambda metric: metric.name)
def test_every_other_name_leads_there_and_is_taken_by_none(metric):
    names = {other.name for other in metrics()}
    for name in metric.also_called:
        assert name == name.lower().strip()
        assert name not in names
        assert repr(metric.name) in meant_by(name, metrics())
        assert repr(metric.name) in meant_by(name.upper().replace("_", "-"), metrics())
    assert len(set(metric.also_called)) == len(metric.also_called)


def test_a_name_of_several_names_all():
    with pytest.raises(InputError, match=r"Did you mean 'f_beta', 'macro_f1', 'detection_f1' or 'dice'\?"):
        get_metric("f1")
    assert meant_by("f1", [dice]) == "Did you mean 'dice'?"
    assert meant_by("nonsense", metrics()) is None


def test_what_label_maps_are_measured_by_is_suggested_too():
    for name, metric in (("hd95", "hausdorff_distance_95"), ("f1", "dice"), ("cldice", "centreline_dice")):
        with pytest.raises(InputError, match=rf"no metric of label maps called '{name}'. Did you mean .*'{metric}'\?"):
            chosen_quantities([name], ["organ"])


def test_other_names_are_declared_beside_the_function():
    words = {word: getattr(dice, word) for word in declare.__annotations__ if word not in ("registry", "return")}
    planted = declare(**(words | {"also_called": ["overlap index"]}), registry={})(dice.function)
    assert isinstance(planted, Metric)
    assert planted.also_called == ("overlap index",)
    assert meant_by("Overlap-Index", [planted]) == "Did you mean 'dice'?"

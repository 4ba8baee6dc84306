"""Where peers give another number: every line of docs/metrics.md that says so is true, on the input that it names."""

import re

import numpy as np
import peers
import pytest
from scipy.ndimage import label
from shared_data import PROJECT

from podium import metrics as m

PAGE = PROJECT / "docs" / "metrics.md"
NONE = np.zeros((4, 5, 3), bool)
SOME = NONE.copy()
SOME[1:3, 1:3, 1] = True
CUBE = np.zeros((9, 9, 9), bool)
CUBE[1:8, 1:8, 1:8] = True
HOLLOW = CUBE.copy()
HOLLOW[4, 4, 4] = False
SHIFTED = np.roll(CUBE, 1, axis=0)
ONES = (1.0, 1.0, 1.0)


def overlap(metric, one, two):
    return m.get_metric(metric)(m.Overlap.between(one, two))


PEERS_BOUNDARY = "voxel"


def surface(metric, one, two, boundary=None, spacing=1.0, **options):
    distances = m.SurfaceDistances.between(one, two, spacing_mm=spacing, boundary=boundary or PEERS_BOUNDARY)
    return m.get_metric(metric)(distances, **options)


def slabs():
    """Return two slabs a voxel thick, three voxels apart."""
    one, two = np.zeros((2, 12, 6), bool)
    one[1] = two[4] = True
    return one, two


def far_points():
    one, two = np.zeros((2, 9, 9), bool)
    one[0, 0] = two[4, 3] = True
    return one, two


def wide_image():
    one, two = np.zeros((2, 5, 12), bool)
    one[2, 1] = two[2, 9] = True
    return one, two


def instances(metric, *maps):
    return m.get_metric(metric)(m.InstanceCounts.between(*maps))


def apart():
    one, two = np.zeros((2, 6, 6, 6), np.uint8)
    one[0, 0, 0] = two[5, 5, 5] = 1
    return one, two


def seven_of_ten():
    boxes = [[20 * k, 0, 20 * k + 10, 10] for k in range(10)]
    truth = [m.BoxSet(boxes, classes=np.zeros(10, int))]
    return truth, [m.BoxSet(boxes[:7], scores=np.linspace(0.9, 0.3, 7), classes=np.zeros(7, int))]


def both_found():
    return m.froc_score(m.Detections.of([m.ImageDetections(np.array([0.9, 0.5]), np.ones(2, bool), 2)]), rates=(1.0,))


def skeleton_voxels(mask):
    return int(peers.skimage_module("morphology").skeletonize(mask, method="lee").sum())


def corner():
    return np.eye(2, dtype=bool)


def images():
    return np.random.default_rng(0).random((2, 16, 16))


LEVEL = np.full((1, 3), 1 / 3)
THREE = {"task": "multiclass", "num_classes": 3, "average": "micro"}
SK, TM = peers.scikit_learn, peers.torchmetrics

# Metric, peer and input, as the page has them: what the peer says, and what Podium does.
DIFFERENCES = {
    ("dice", "MedPy", "both masks empty"): (lambda: peers.medpy().dc(NONE, NONE), lambda: overlap("dice", NONE, NONE)),
    ("dice", "MONAI", "reference empty, prediction not"): (
        lambda: peers.monai_dice(NONE, SOME),
        lambda: overlap("dice", NONE, SOME),
    ),
    ("dice", "SimpleITK", "both masks empty"): (
        lambda: peers.simpleitk_overlap(NONE, NONE).GetDiceCoefficient(),
        lambda: overlap("dice", NONE, NONE),
    ),
    ("precision", "MedPy", "both masks empty"): (
        lambda: peers.medpy().precision(NONE, NONE),
        lambda: overlap("precision", NONE, NONE),
    ),
    ("volume_similarity", "SimpleITK", "4 voxels, 12 predicted"): (
        lambda: peers.simpleitk_overlap(SOME, NONE | (np.arange(5) < 1)[:, None]).GetVolumeSimilarity(),
        lambda: overlap("volume_similarity", SOME, NONE | (np.arange(5) < 1)[:, None]),
    ),
    ("hausdorff_distance", "MedPy", "one mask empty"): (
        lambda: peers.medpy().hd(SOME, NONE, ONES),
        lambda: surface("hausdorff_distance", NONE, SOME),
    ),
    ("hausdorff_distance", "MONAI", "both masks empty"): (
        lambda: peers.monai(NONE, NONE, ONES)["hausdorff"],
        lambda: surface("hausdorff_distance", NONE, NONE),
    ),
    ("hausdorff_distance", "SimpleITK", 'a cube of 7 with a hole of one voxel, `boundary="voxel"`'): (
        lambda: peers.simpleitk_hausdorff(CUBE, HOLLOW)[0],
        lambda: surface("hausdorff_distance", CUBE, HOLLOW),
    ),
    ("hausdorff_distance", "scikit-image", 'a cube of 7 with a hole of one voxel, `boundary="voxel"`'): (
        lambda: peers.skimage_module("metrics").hausdorff_distance(CUBE, HOLLOW),
        lambda: surface("hausdorff_distance", CUBE, HOLLOW),
    ),
    ("hausdorff_distance", "TorchMetrics", "5 × 12 pixels, two of them 8 apart"): (
        lambda: peers.torchmetrics_hausdorff(*wide_image(), (1.0, 1.0)),
        lambda: surface("hausdorff_distance", *wide_image()),
    ),
    ("hausdorff_distance", "MONAI", "chessboard, 4 voxels of 2 mm apart"): (
        lambda: peers.monai(*far_points(), (2.0, 2.0), metric="chessboard")["hausdorff"],
        lambda: m.hausdorff_distance(
            m.normed_surface_distances(*far_points(), norm="chessboard", regions={"x": 1}, spacing_mm=2.0)["x"]
        ),
    ),
    ("average_symmetric_surface_distance", "SimpleITK", 'a cube of 7, shifted by a voxel, `boundary="voxel"`'): (
        lambda: peers.simpleitk_hausdorff(CUBE, SHIFTED)[1],
        lambda: surface("average_symmetric_surface_distance", CUBE, SHIFTED),
    ),
    ("surface_dice", "DeepMind surface-distance", "three voxels of 0.1 mm apart, tolerance 0.3 mm"): (
        lambda: peers.deepmind_surface_dice(peers.deepmind(*slabs(), (0.1, 0.1)), 0.3),
        lambda: surface("surface_dice", *slabs(), "surfel", 0.1, tolerance_mm=0.3),
    ),
    ("skeleton", "scikit-image", "voxels left of a cube of 2, Lee's method"): (
        lambda: skeleton_voxels(np.ones((2, 2, 2), bool)),
        lambda: m.skeleton(np.ones((2, 2, 2), bool)).sum(),
    ),
    ("components", "SciPy", "two pixels that share a corner"): (
        lambda: label(corner())[1],
        lambda: m.components(corner()).max(),
    ),
    ("panoptic_quality", "panoptica", "both maps empty"): (
        lambda: peers.panoptica((NONE.astype(np.uint8),) * 2)[0]["pq"],
        lambda: instances("panoptic_quality", NONE, NONE),
    ),
    ("segmentation_quality", "panoptica", "nothing matched"): (
        lambda: peers.panoptica(apart())[0]["sq"],
        lambda: instances("segmentation_quality", *apart()),
    ),
    ("mean_average_precision", "pycocotools", "7 of 10 boxes found, nothing false"): (
        lambda: peers.coco_precisions(*seven_of_ten())[0, :, 0].mean(),
        lambda: m.mean_average_precision(*seven_of_ten()),
    ),
    ("froc_score", "MONAI", "both references found, at one false positive"): (
        lambda: peers.monai_froc(np.zeros(0), np.array([0.9, 0.5]), targets=2, images=1, rates=(1.0,)),
        both_found,
    ),
    ("area_under_roc", "TorchMetrics", "only positives"): (
        lambda: TM().auroc([0.2, 0.3], [1, 1], task="binary"),
        lambda: m.area_under_roc([1, 1], [0.2, 0.3]),
    ),
    ("area_under_roc", "TorchMetrics", "scores 40, 60, 50, 70 for 0, 1, 0, 1"): (
        lambda: TM().auroc([40.0, 60.0, 50.0, 70.0], [0, 1, 0, 1], task="binary"),
        lambda: m.area_under_roc([0, 1, 0, 1], [40.0, 60.0, 50.0, 70.0]),
    ),
    ("area_under_precision_recall", "scikit-learn", "no positives"): (
        lambda: SK().average_precision_score([0, 0], [0.2, 0.3]),
        lambda: m.area_under_precision_recall([0, 0], [0.2, 0.3]),
    ),
    ("log_loss", "scikit-learn", "what happened had the probability 0"): (
        lambda: SK().log_loss([1, 1], [0.0, 0.0], labels=[0, 1]),
        lambda: m.log_loss([1, 1], [0.0, 0.0]),
    ),
    ("expected_calibration_error", "TorchMetrics", "0.95 for 1, 1.0 for 0, ten bins"): (
        lambda: TM().calibration_error([0.95, 1.0], [1, 0], task="binary", n_bins=10),
        lambda: m.expected_calibration_error([1, 0], [0.95, 1.0], bins=10),
    ),
    ("top_k_accuracy", "scikit-learn", "equal scores for three classes, the first is true"): (
        lambda: SK().top_k_accuracy_score([0], LEVEL, k=1, labels=[0, 1, 2]),
        lambda: m.top_k_accuracy([0], LEVEL),
    ),
    ("top_k_accuracy", "TorchMetrics", "equal scores for three classes, the first is true"): (
        lambda: TM().accuracy(LEVEL, [0], **THREE),
        lambda: m.top_k_accuracy([0], LEVEL),
    ),
    ("matthews_correlation", "scikit-learn", "all of one class, rightly called"): (
        lambda: SK().matthews_corrcoef([1, 1], [1, 1]),
        lambda: m.matthews_correlation([1, 1], [1, 1]),
    ),
    ("matthews_correlation", "TorchMetrics", "all of one class, rightly called"): (
        lambda: TM().matthews_corrcoef([1, 1], [1, 1], task="binary"),
        lambda: m.matthews_correlation([1, 1], [1, 1]),
    ),
    ("positive_likelihood_ratio", "scikit-learn", "no negative called positive"): (
        lambda: SK().class_likelihood_ratios([1, 1, 0], [1, 0, 0])[0],
        lambda: m.positive_likelihood_ratio(m.BinaryCounts.between([1, 1, 0], [1, 0, 0])),
    ),
    ("true_positive_rate", "scikit-learn", "no positives"): (
        lambda: SK().recall_score([0, 0], [0, 1]),
        lambda: m.true_positive_rate(m.BinaryCounts.between([0, 0], [0, 1])),
    ),
    ("f_beta", "scikit-learn", "nothing positive on either side"): (
        lambda: SK().f1_score([0, 0], [0, 0]),
        lambda: m.f_beta(m.BinaryCounts.between([0, 0], [0, 0])),
    ),
    ("macro_f1", "scikit-learn", "all right, of a third class nothing"): (
        lambda: SK().f1_score([0, 1], [0, 1], labels=[0, 1, 2], average="macro"),
        lambda: m.macro_f1([0, 1], [0, 1], classes=[0, 1, 2]),
    ),
    ("coefficient_of_determination", "scikit-learn", "constant reference, one value wrong"): (
        lambda: SK().r2_score([1, 1], [1, 2]),
        lambda: m.coefficient_of_determination([1, 1], [1, 2]),
    ),
    ("concordance_correlation", "TorchMetrics", "1, 2, 3 beside 2, 3, 4"): (
        lambda: TM().concordance_corrcoef(np.array([2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0])),
        lambda: m.concordance_correlation([1, 2, 3], [2, 3, 4]),
    ),
    ("structural_similarity", "scikit-image", "two random images, its defaults"): (
        lambda: peers.scikit_image().structural_similarity(*images(), data_range=1.0),
        lambda: m.structural_similarity(*images(), data_range=1.0),
    ),
}


def lines():
    """Return the rows of the page's table of differences: metric, peer and input, and both numbers."""
    text = PAGE.read_text().partition("## Where peers give another number")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:3] == "| `"]
    return {(metric.strip("`"), peer, given): (theirs, ours) for metric, peer, given, theirs, ours, why in rows if why}


def shown(value, nothing):
    if np.isnan(value):
        return nothing
    return "∞" if np.isinf(value) else f"{float(value):.4g}".replace("-", "−")


def test_every_difference_is_on_the_page():
    assert list(lines()) == list(DIFFERENCES)


@pytest.mark.slow
@pytest.mark.parametrize("difference", DIFFERENCES, ids=" ".join)
def test_a_peer_differs_as_the_page_says(difference):
    theirs, ours = DIFFERENCES[difference]
    try:
        said = shown(theirs(), "NaN")
    except RuntimeError:
        said = "an error"
    assert (said, shown(ours(), "undefined")) == lines()[difference]
    assert said != shown(ours(), "NaN")


def test_a_line_that_needs_another_boundary_than_the_default_says_so(monkeypatch):
    monkeypatch.setitem(globals(), "PEERS_BOUNDARY", "surfel")
    differing = set()
    for (metric, peer, given), (_, ours) in DIFFERENCES.items():
        by_default = shown(ours(), "undefined")
        if by_default != lines()[metric, peer, given][1]:
            assert 'boundary="voxel"' in given
            differing.add(by_default)
    assert differing == {"3", "0.3344"}
    paragraph = PAGE.read_text().partition("Surface distances of this table")[2].partition("\n\n")[0]
    assert all(re.search(rf"\b{re.escape(number)}\b", paragraph) for number in differing)


def test_a_region_in_neither_map_has_what_is_declared_for_nothing():
    maps = np.ones((2, 3, 3), np.uint8)
    absent = m.overlap(*maps, regions={"absent": 9})["absent"]
    assert absent.empty == "both"
    assert m.dice(absent) == m.dice.empty["both"] == 1
    page = " ".join(PAGE.read_text().split())
    assert "A region whose labels are in neither of two maps is empty on both sides" in page


def test_every_metric_is_on_the_page():
    page = PAGE.read_text()
    assert [metric.name for metric in m.metrics() if not re.search(rf"`{metric.name}`", page)] == []

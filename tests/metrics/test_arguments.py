"""What is no mask and no option is refused in words, by everything that prepares what metrics measure."""

import inspect
from pathlib import Path

import nibabel
import numpy as np
import pytest

import podium
import podium.metrics as m
from podium.metrics import (
    BoxSet,
    Detections,
    ImageDetections,
    InstanceCounts,
    InstanceOverlaps,
    LesionComparison,
    Overlap,
    SurfaceDistances,
    hausdorff_distance,
    mean_average_precision,
    surface_dice,
)
from podium.model import InputError, LabelMap

MASK = np.zeros((8, 9), bool)
MASK[1:4, 1:4] = MASK[5:7, 5:8] = True
OVERLAPS = InstanceOverlaps.between(MASK, MASK)
DATA = {
    "reference": MASK,
    "prediction": MASK,
    "mask": MASK,
    "target": MASK,
    "instances": MASK,
    "labels": MASK,
    "overlaps": OVERLAPS,
    "matching": OVERLAPS.match(),
    "images": [],
    "scores": [0.9, 0.8],
    "hits": [[True], [False]],
    "values": [[0.7], [0.2]],
    "points": [[1, 1]],
    "confusion": [[3, 1], [0, 2]],
    "detections": Detections.of([ImageDetections([0.9], [True], 1)]),
}
NEEDED = {"margin_mm": 1.0, "sigma_mm": 1.0, "spacing_mm": 1.0, "threshold": 0.5, "thresholds": [0.5], "edges_mm3": [5]}
"""What stands in for the data, by the name of an argument, and for options that must be given."""

NO_NUMBER = ("1", [1.0, 2.0, 3.0], True, (), 1j, np.nan, -1)
BAD = {
    "float": (*NO_NUMBER, None),
    "float | None": NO_NUMBER,
    "int": (*NO_NUMBER, None, 1.5),
    "int | None": (*NO_NUMBER, 1.5),
    "Spacing": (*NO_NUMBER, ("1", "2"), (True, 1), 1e-300, (1, 2, 3)),
    "Spacing | None": (*NO_NUMBER, ("1", "2"), (True, 1), 1e-300, (1, 2, 3)),
    "Sequence[float]": (1.0, "12", None, ["0.5"], [True], [np.nan], [[0.5]], []),
    "Boundary": ("nosuch", None, 3),
    "Method": ("nosuch", None, 3),
    "Similarity": ("nosuch", None, 3),
    "Touch": ("nosuch", None, 3),
    "Literal['linear', 'step']": ("nosuch", None, 3),
}
"""What no option of a type can be."""

FUNCTIONS = [m.components, m.expand, m.froc_sensitivities, m.gaussian_dose, m.mask_hits, m.match, OVERLAPS.match]


def makers():
    """Return all class methods of the public classes that make what metrics take, and such functions."""
    for name in m.__all__:
        for method, value in vars(getattr(m, name)).items() if isinstance(getattr(m, name), type) else ():
            if isinstance(value, classmethod) and not method.startswith("_"):
                yield getattr(getattr(m, name), method)
    yield from FUNCTIONS


def refuses_bad_options(maker):
    parameters = inspect.signature(maker).parameters
    data = [DATA[name] for name, parameter in parameters.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    options = {name: p for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    needed = {name: NEEDED[name] for name, p in options.items() if p.default is p.empty}
    for name, parameter in options.items():
        for value in BAD.get(parameter.annotation.replace('"', "'"), ()):
            if name == "threshold" and value == -1 and "values" in parameters and "lower_is_better" in parameters:
                continue  # of any table of values
            try:
                maker(*data, **(needed | {name: value}))
            except InputError:
                continue
            raise AssertionError(f"{name}={value!r} is taken")


@pytest.mark.parametrize("maker", [*makers()], ids=lambda maker: maker.__qualname__)
def test_options_that_make_no_sense_are_refused(maker):
    refuses_bad_options(maker)


def test_an_option_that_is_not_checked_is_noticed():
    def careless(reference: "Labels", *, threshold: "float" = 0.5):  # noqa: F821  # as modules write it
        return reference

    with pytest.raises(AssertionError, match="threshold='1' is taken"):
        refuses_bad_options(careless)


@pytest.mark.parametrize(("threshold", "advice"), [(50, r"Did you mean 0\.5\?"), (1.5, "not 1.5$"), (-1, "not -1$")])
def test_a_threshold_of_overlaps_is_a_share(threshold, advice):
    for call in (
        lambda: InstanceCounts.between(MASK, MASK, threshold=threshold),
        lambda: InstanceCounts.between(~MASK, MASK, by="dice", threshold=threshold),
        lambda: InstanceCounts.at_thresholds(OVERLAPS, thresholds=[0.5, threshold]),
        lambda: LesionComparison.by_matching(0 * MASK, 0 * MASK, threshold=threshold),
        lambda: ImageDetections.by_overlap([0.9], [[0.6]], threshold=threshold),
        lambda: ImageDetections.at_thresholds([], np.zeros((0, 2)), thresholds=[threshold]),
        lambda: mean_average_precision([], [], thresholds=[threshold]),
    ):
        with pytest.raises(InputError, match=f"from 0 to 1, .*{advice}"):
            call()
    if threshold > 0:
        assert InstanceCounts.between(MASK, MASK, by="centre_distance", threshold=threshold).matched_references == 2
        assert m.match([[60.0]], threshold=threshold).rows.size == 1


def test_tables_are_what_they_are_taken_for():
    with pytest.raises(InputError, match="a hit is one or not"):
        ImageDetections.by_hits([0.9], [[0.3]])
    with pytest.raises(InputError, match="a reference is ignored or not"):
        ImageDetections.by_hits([0.9], [[True]], ignored=[7])
    assert ImageDetections.by_hits([0.9], [[1]]).true.tolist() == [True]
    with pytest.raises(InputError, match="a share from 0 to 1"):
        ImageDetections.by_overlap([0.9], [[5.3]])


@pytest.mark.parametrize("percentile", [True, "95", None, [50, 95], 1j])
def test_a_percentile_is_a_number(percentile):
    distances = SurfaceDistances.between(MASK, MASK)
    for call in (
        lambda: hausdorff_distance(distances, percentile=percentile),
        lambda: m.landmark_error_percentile([[0, 0]], [[1, 1]], percentile=percentile),
    ):
        with pytest.raises(InputError, match="percentile is"):
            call()


@pytest.mark.parametrize("tolerance", [True, "1", None, [1], 1j])
def test_a_tolerance_is_a_number(tolerance):
    for call in (
        lambda: surface_dice(SurfaceDistances.between(MASK, ~MASK), tolerance_mm=tolerance),
        lambda: surface_dice(SurfaceDistances.between(0 * MASK, 0 * MASK), tolerance_mm=tolerance),
        lambda: m.lesion_wise_surface_dice(LesionComparison.by_contact(MASK, MASK), tolerance_mm=tolerance),
    ):
        with pytest.raises(InputError, match=r"tolerance.* is a"):
            call()


def test_several_are_given_in_a_list():
    counts, at_thresholds = InstanceCounts.between(MASK, MASK), InstanceCounts.at_thresholds(OVERLAPS)
    image, boxes = ImageDetections.by_hits([0.9], [[True]]), BoxSet([[0, 0, 1, 1]], scores=[1.0])
    for single in (
        lambda: InstanceCounts.pooled(counts),
        lambda: Detections.of(image),
        lambda: mean_average_precision(boxes, boxes),
    ):
        with pytest.raises(InputError, match=r"takes a list of .*Put a single one into a list: \[image\]"):
            single()
    for strange in (
        lambda: InstanceCounts.pooled([counts, 3]),
        lambda: Detections.of([[0.9]]),
        lambda: mean_average_precision([[[0, 0, 1, 1]]], [[[0, 0, 1, 1]]]),
    ):
        with pytest.raises(InputError, match=r"takes a list of (\w+), and \w+ is none. Make \1\(…\)"):
            strange()
    for nothing in (3, None):
        with pytest.raises(InputError, match="takes a list of ImageDetections, one for each image, not"):
            Detections.of(nothing)
    with pytest.raises(InputError, match=r"of one shape can be added up, not of .*\(10,\)"):
        InstanceCounts.pooled([counts, at_thresholds])


def test_metrics_are_asked_for_by_name():
    for name in (3, None, ["dice"], m.dice):
        with pytest.raises(InputError, match="asked for by its name"):
            m.get_metric(name)
    with pytest.raises(InputError, match=r"no family of metrics called 'nosuch'\. There are: boundary, .*, topology"):
        m.metrics(family="nosuch")
    with pytest.raises(InputError, match="Did you mean 'surface'"):
        m.metrics(family="surfaces")
    with pytest.raises(InputError, match=r"called 3\. There are"):
        m.metrics(family=3)


def test_a_hint_keeps_the_options_of_the_call():
    for call, hint in (
        (
            lambda: surface_dice(MASK, MASK, tolerance_mm=1, spacing_mm=(1, 2.5)),
            "surface_dice(SurfaceDistances.between(reference, prediction, spacing_mm=(1, 2.5)), tolerance_mm=1)",
        ),
        (
            lambda: surface_dice(reference=MASK, prediction=MASK, boundary="voxel", tolerance_mm=2.0),
            "surface_dice(SurfaceDistances.between(reference, prediction, boundary='voxel'), tolerance_mm=2.0)",
        ),
        (
            lambda: hausdorff_distance(distances=MASK, percentile=95),
            "hausdorff_distance(SurfaceDistances.between(reference, prediction), percentile=95)",
        ),
        (
            lambda: m.panoptic_quality(MASK, MASK, connectivity=4, nosuch=1),
            "panoptic_quality(InstanceCounts.between(reference, prediction, connectivity=4))",
        ),
        (
            lambda: m.froc_score([0.9], [[True]], weights=np.ones((3, 30))),
            "froc_score(Detections.of(images), weights=…)",
        ),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value).endswith(f"Call {hint}")


def _pairs():
    """Return everything that takes two masks, or one."""
    kinds = (Overlap, SurfaceDistances, m.Centres, m.BoundaryBands, m.CentreLines, m.Topology)
    both = [kind.between for kind in kinds]
    both += [InstanceCounts.between, LesionComparison.by_contact, LesionComparison.by_matching]
    alone = [m.components, m.skeleton, m.betti_numbers, LabelMap.from_array]
    return [lambda mask, take=take: take(mask, mask) for take in both] + alone


LABELS = LabelMap.from_array(MASK)
IMAGE = nibabel.Nifti1Image(np.ones((2, 2, 2), np.uint8), np.eye(4))


@pytest.mark.parametrize("take", _pairs())
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("case.nii.gz", r"not the name of a file. podium\.compare takes files; podium\.io\.read_label_map\(path\)"),
        (
            Path("case.nii.gz"),
            r"not the name of a file. podium\.compare takes files; podium\.io\.read_label_map\(path\)",
        ),
        (IMAGE, r"not Nifti1Image. Give its array: np\.asarray\(image\.dataobj\)"),
        (None, "labels must be numbers, not NoneType"),
        ({}, "labels must be numbers, not dict"),
        ([[1, 0], [1]], "NumPy makes no array of this list"),
        (np.array([["a", "b"]]), "labels must be numbers, not <U1"),
        (np.array([[0, np.nan], [1, 0]]), "found NaN$"),
        (np.array([[0, np.inf], [1, 0]]), "found 0 to inf$"),
        (np.array([[0, 0.7], [1, 0]]), "found 0 to 1. Compare probabilities with a threshold: array > 0.5"),
        (np.array(1), "a single number|not in 1-D|not 0-D|2 or 3 dimensions"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else None,
)
def test_what_is_no_mask_is_told_what_to_give(take, given, message):
    with pytest.raises(InputError, match=message):
        take(given)


@pytest.mark.parametrize("kind", [Overlap, SurfaceDistances, m.Centres, m.BoundaryBands, m.CentreLines, m.Topology])
def test_label_maps_are_told_of_regions(kind):
    with pytest.raises(
        InputError, match=r"not a LabelMap. Name the labels: overlap\(…, regions=\{…\}\).* \.array == label"
    ):
        kind.between(LABELS, LABELS)


def test_tensors_that_numpy_cannot_read():
    torch = pytest.importorskip("torch")
    mask = torch.from_numpy(MASK)
    assert Overlap.between(mask, mask.half()) == Overlap.between(MASK, MASK)
    for tensor in (mask.bfloat16(), mask.float().requires_grad_()):
        with pytest.raises(InputError, match=r"no array of this Tensor. Give .*tensor\.detach\(\)\.cpu\(\)\.float\(\)"):
            Overlap.between(tensor, tensor)
        assert Overlap.between(tensor.detach().cpu().float().numpy(), MASK).common == MASK.sum()


def test_compare_takes_files():
    for given in (MASK, IMAGE, LABELS, None):
        with pytest.raises(InputError, match=r"takes the names of two files, not \w+. podium\.metrics\.compare\("):
            podium.compare(given, given)


def test_one_word_and_one_tolerance_need_no_list():
    def names(**options):
        return [measured.name for measured in m.compare(MASK, MASK, regions={"x": 1}, **options)["x"].values]

    assert names(also="shape") == names(also=["shape"]) != names()
    assert "betti_error" in names(also="shape")
    assert "surface_dice@2.5mm" in names(tolerances_mm=2.5)
    for unknown in ("shapes", 3, ["shape", None]):
        with pytest.raises(InputError, match="'shape' or 'instances'"):
            names(also=unknown)
    for tolerance in ("1", None, [True], [-1]):
        with pytest.raises(InputError, match="a tolerance is a length from 0"):
            names(tolerances_mm=tolerance)


@pytest.mark.parametrize("spacing", [1e-300, (1e-300, 1), (1, 1e9), ("1", "2"), (True, 1), True, (b"1", 1)])
def test_a_spacing_is_told_its_limits(spacing):
    with pytest.raises(InputError, match=r"2 positive numbers in mm, each from 1e-06 to 1e\+06, not"):
        Overlap.between(MASK, MASK, spacing_mm=spacing)

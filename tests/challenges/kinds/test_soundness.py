"""What cannot be measured or ranked is refused before anybody pays for it, with the line."""

import pytest
from declared_challenges import lesion, write_labels

import podium
from podium.challenges.kinds import SegmentationChallenge, parse_challenge
from podium.model import InputError

HEAD = '[challenge]\nname = "c"\n'
BODIES = HEAD + '[files]\ntruth = "{c}.nii"\nprediction = "{c}.nii"\n[labels]\na = 1\nb = 2\n[[measure]]\n'
POINTS = HEAD + (
    'kind = "landmarks"\n[files]\ntruth = "{c}.csv"\nprediction = "{c}.csv"\n[points]\n'
    'names = ["a", "b"]\naxes = ["x", "y"]\n[[measure]]\nmetric = "landmark_error"\nfailed = 5\n'
)
NUMBERS = HEAD + (
    'kind = "regression"\n[files]\nprediction = "p.csv"\n[table]\ncolumns = ["a"]\n'
    '[[measure]]\nmetric = "mean_absolute_error"\nfailed = 5\n'
)
CLASSES = HEAD + (
    'kind = "classification"\n[files]\nprediction = "p.csv"\n[classes]\ncolumns = ["a"]\n'
    '[[measure]]\nfailed = "not ranked"\n'
)
FINDINGS = HEAD + (
    'kind = "detection"\n[files]\ntruth = "{c}.csv"\nprediction = "{c}.csv"\n[candidates]\nradius_mm = 3\n'
    '[[measure]]\nmetric = "froc_score"\nfailed = "worst"\n'
)
SHOWN = 'failed = 0\nmetric = "dice"\n[[measure]]\nmetric = "sensitivity"\ndecides = false\n'


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        # What is wrong in the only measure is told, and not that there is none.
        (BODIES + 'metric = "dice"\nfailed = true\n', 11, "a price is a number, not"),
        (BODIES + 'metric = "dice"\nfailed = 0\ndigits = 1.5\n', 12, "digits is a whole number, not 1.5"),
        (BODIES + 'failed = 3\nmetric = "hausdorff_distance"\npercentile = 101\n', 12, "between 0 and 100, not 101"),
        # Prices of what is only shown are shown, too.
        (BODIES + SHOWN + 'failed = "for nothing"\n', 15, "no price is called 'for nothing'"),
        (BODIES + SHOWN + "failed = 5\n", 15, "5 is no value of sensitivity"),
        # Options by which everybody would pay, however good.
        (BODIES + 'failed = 0\nmetric = "lesion_wise_dice"\ndilation = -3\n', 12, "from 0, not -3"),
        (BODIES + 'failed = 0\nmetric = "boundary_iou"\nwidth_mm = -1.0\n', 12, "a width is a length from 0"),
        (BODIES + 'failed = 0\nmetric = "lesion_wise_dice"\nconnectivity = 7\n', 12, "6, 18 or 26, not 7"),
        (BODIES + 'failed = 0\nmetric = "panoptic_quality"\nthreshold = 7.0\n', 12, "a share from 0 to 1, not 7"),
        (BODIES + 'failed = 0\nmetric = "panoptic_quality"\nthreshold = 1.0\n', 12, "perfect prediction would have 0"),
        (
            BODIES + 'failed = 0\nmetric = "segmentation_average_precision"\nthresholds = []\n',
            12,
            "not none at all",
        ),
        (FINDINGS + "rates = [-1.0]\n", 12, "rates of false positives are numbers from 0"),
        (CLASSES + 'metric = "expected_calibration_error"\nbins = 0\n', 11, "a whole number from 1, not 0"),
        # Names that mean two things.
        (NUMBERS + 'name = "reference"\n', 11, "'reference' is the name of another measure"),
        (FINDINGS + 'name = "found"\n', 12, "'found' is the name of another measure"),
        (FINDINGS + 'name = "average_rank"\n', 9, "two columns would be called 'average_rank'"),
        (NUMBERS.replace('["a"]', '["a", "A"]'), 7, "'A' is 'a', but for upper and lower case"),
        (POINTS.replace('["x", "y"]', '["x", "x"]'), 9, "'x' is there twice"),
        (POINTS.replace('["a", "b"]', '["a", "a_rank"]'), 10, "two columns would be called 'landmark_error_a_rank'"),
        (POINTS + "[time]\nweight = inf\n", 14, "finite"),
        # What the schema forbids, Podium does as well.
        (POINTS + "options = 3\n", 13, "there is no key 'options' here"),
        (POINTS + '[[editions.x.measure]]\nmetric = "landmark_error"\noptions = {}\n', 15, "there is no key 'options'"),
        (POINTS.replace('"c"', '"c"\ntitle = 0'), 3, "title is text, not 0"),
        (NUMBERS.replace('"p.csv"', "[]"), 5, "no name of a prediction is given"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, line, problem):
    with pytest.raises(InputError) as caught:
        parse_challenge(text)
    assert f"line {line}: " in str(caught.value)
    assert problem in str(caught.value)


def test_options_that_do_not_fit_images_are_no_fault_of_a_team(tmp_path):
    """A connectivity of 8 is right in 2-D; with volumes, the challenge is at fault, and nobody pays."""
    files = {"truth": "{case}.nii.gz", "prediction": "{case}.nii.gz"}
    measures = [{"metric": "lesion_wise_dice", "connectivity": 8, "failed": 0}]
    challenge = SegmentationChallenge(name="c", files=files, labels={"a": 1}, quantities=measures)
    for place in ("truth", "teams/exact"):
        write_labels(tmp_path / place / "one.nii.gz", lesion(0) > 0)
    run = podium.evaluate(challenge, truth=tmp_path / "truth", submissions=tmp_path / "teams", out=tmp_path / "run")
    assert not len(run.failures)
    ((team, _, fault),) = run.record.faults
    assert team == "exact"
    assert "in 3-D a connectivity is 6, 18 or 26, not 8" in fault

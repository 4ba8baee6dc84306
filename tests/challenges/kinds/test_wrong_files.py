"""Forty wrong challenge.toml files: each gets one line with the place, what is wrong, and what would be right."""

import random
import re

import pytest
from declared_challenges import TOML

from podium.challenges.kinds.toml_files import parse_challenge
from podium.model import InputError

GOOD = (TOML / "brain-lesions.toml").read_text()

# What is changed in the good file to what, the line that is wrong, and words of the message and of its advice.
WRONG = {
    "no TOML": ('name = "brain-lesions"', "name = brain lesions", 2, "not TOML", "text in quotes"),
    "an open text": ('title = "Brain lesions 2027"', 'title = "Brain lesions', 3, "not TOML", "key = value"),
    "a key twice": ("edema = 1", "edema = 1\nedema = 3", 12, "not TOML", "twice the same key"),
    "no [challenge]": (
        '[challenge]\nname = "brain-lesions"\ntitle = "Brain lesions 2027"\n',
        "",
        1,
        "no [challenge]",
        "Begin with",
    ),
    "no name": ('name = "brain-lesions"\n', "", 1, "'name' is missing", "Add it"),
    "a name of two words": ('"brain-lesions"', '"Brain Lesions"', 2, "small letters", "brain-lesions"),
    "a misspelt key": ("title =", "titel =", 3, "no key 'titel'", "'title'"),
    "a misspelt table": ("[labels]", "[label]", 10, "no table 'label'", "'labels'"),
    "a misspelt kind": ("title =", 'kind = "segmentaton"\ntitle =', 3, "no kind 'segmentaton'", "'segmentation'"),
    "a title that is a number": ('"Brain lesions 2027"', "2027", 3, "title is text, not 2027", ""),
    "no [files]": (re.compile(r"\[files\].*?\n\n", re.DOTALL), "", 1, "no [files]", "truth ="),
    "no truth": ('truth = "{subject}_{visit}_seg.nii.gz"\n', "", 5, "'truth' is missing", "Add it"),
    "a misspelt key of files": ("prediction =", "predictions =", 7, "no key 'predictions'", "'prediction'"),
    "an unknown part": (
        '"{subject}_{visit}.nii.gz"',
        '"{patient}_{visit}.nii.gz"',
        7,
        "{patient} is no part",
        "subject, visit",
    ),
    "a part that is lost": ('"{subject}_{visit}.nii.gz"', '"{subject}.nii.gz"', 7, "differ in {visit}", "every part"),
    "an unknown part of a cluster": ('"{subject}"', '"{clinic}"', 8, "{clinic} is no part", "subject, visit"),
    "an open brace": ('"{subject}"', '"{subject"', 8, "brace is left open", "{subject}"),
    "a wildcard": ('"{subject}_{visit}.nii.gz"', '"*_{visit}.nii.gz"', 7, "'*' is in", "{case}"),
    "a truth without parts": ('"{subject}_{visit}_seg.nii.gz"', '"truth.nii.gz"', 6, "no part", "{case}.nii.gz"),
    "a label of text": ("core = 2", 'core = "2"', 12, "core is a whole number", ""),
    "a label that is background": ("edema = 1", "edema = 0", 11, "from 1", ""),
    "a label twice": ("core = 2", "core = 1", 12, "both 1", "its own number"),
    "a region of an unknown label": ('["edema", "core"]', '["edema", "cor"]', 15, "no label 'cor'", "'core'"),
    "a region called like a label": ("whole = [", "core = [", 15, "a label already", "otherwise"),
    "a misspelt metric": ('"dice"', '"dise"', 18, "no metric called 'dise'", "'dice'"),
    "a metric by another name": ('"dice"', '"cldice"', 18, "no metric called 'cldice'", "'centreline_dice'"),
    "a metric of something else": ('metric = "dice"', 'metric = "area_under_roc"', 18, "not for segmentation", "dice"),
    "an unknown option": ("percentile = 95", "percentle = 95", 24, "no option 'percentle'", "'percentile'"),
    "an option of another metric": (
        "failed = 0",
        "failed = 0\ntolerance_mm = 2.0",
        21,
        "no option 'tolerance_mm'",
        "There are",
    ),
    "an option of the wrong type": ("percentile = 95", 'percentile = "95"', 24, "percentile is '95'", "number"),
    "an impossible threshold": ('"dice"', '"panoptic_quality"\nthreshold = 50', 19, "0 to 1, not 50", "mean 0.5"),
    "an impossible dilation": ('"dice"', '"lesion_wise_dice"\ndilation = -1', 19, "whole number of steps from 0", ""),
    "an impossible connectivity": ('"dice"', '"lesion_wise_dice"\nconnectivity = 7', 19, "6, 18 or 26, not 7", ""),
    "an impossible percentile": ("percentile = 95", "percentile = 195", 24, "195", ""),
    "an unknown target": (
        'of = ["whole", "core"]\nfailed = 0',
        'of = ["hole"]\nfailed = 0',
        19,
        "nothing called 'hole'",
        "'whole'",
    ),
    "no price": ("failed = 0\n", "", 17, "what a failed case costs", "failed = 0"),
    "a price that no value has": ("failed = 0", "failed = -1", 20, "no value of dice", "Write 0"),
    "a price that pays": ("failed = 0", "failed = 1", 20, "failing would pay", "Write 0"),
    "a price in mm of a share": ("failed = 0", 'failed = "image diagonal"', 20, "not measured in mm", "failed = 0"),
    "an unknown price": ('"image diagonal"', '"worst"', 26, "no price is called 'worst'", "image diagonal"),
    "a price for one target only": ("failed = 0", "failed = { whole = 0 }", 20, "left open for 'core'", "Add it"),
    "a metric best at zero": ('"dice"', '"volume_difference"', 18, "cancel out", "decides = false"),
    "a metric twice": ('"hausdorff_distance"\npercentile = 95', '"dice"', 23, "another measure", "name ="),
    "an unknown scheme": ('"mean rank"', '"mean ranks"', 29, "cannot be 'mean ranks'", "'mean rank'"),
    "a mean of shares and mm": (
        'scheme = "mean rank"\ntest = { alpha = 0.05, adjustment = "holm" }',
        'scheme = "weighted mean"',
        23,
        "different directions",
        "mean rank",
    ),
    "a test of a scheme without": ('"mean rank"', '"weighted mean"', 30, "makes no test", "mean rank"),
    "an impossible alpha": ("alpha = 0.05", "alpha = 5", 30, "alpha", "less than 1"),
    "an unknown adjustment": ('"holm"', '"hulm"', 30, "cannot be 'hulm'", "'holm'"),
    "an unknown column": ("[ranking]", '[ranking]\nties = ["dice_hole"]', 29, "no column 'dice_hole'", "'dice_whole'"),
    "a limit that nobody can reach": (
        "[ranking]",
        "[eligibility]\nat_least = { dice_whole = 90 }\n\n[ranking]",
        29,
        "90 is no value",
        "from 0 to 1",
    ),
    "a weight below zero": ("failed = 0", "failed = 0\nweight = -1", 21, "weight is a number from 0", ""),
    "a measure that is no list": ('[[measure]]\nmetric = "dice"', '[measure]\nmetric = "dice"', 22, "not TOML", ""),
    "two measures that are no list": (
        re.compile(r"\[\[measure\]\]"),
        "[measure]",
        22,
        "not TOML",
        "[[measure]], in two brackets",
    ),
    "typographic quotes": ('"brain-lesions"', "“brain-lesions”", 2, "not TOML", "plain quotes"),
    "a key with an umlaut": ("edema = 1", "ödem = 1", 11, "not TOML", '"ödem"'),
    "a cluster without braces": ('"{subject}"', '"subject"', 8, "for all cases alike", 'cluster = "{subject}"'),
    "a stratum without braces": (
        'cluster = "{subject}"',
        'stratum = "clinic"',
        8,
        "for all cases alike",
        'stratum = "{subject}"',
    ),
    "parts that nothing parts": ("{subject}_{visit}_seg", "{subject}{visit}_seg", 6, "{subject}{visit}", "join them"),
    "cases of which none counts": ('cluster = "{subject}"', "only = []", 8, "no case counts", "leave it out"),
    "a picture": ("{visit}.nii.gz", "{visit}.jpg", 7, "does not end like a label map", ".nii.gz"),
    "a label that no file can hold": ("edema = 1", "edema = 4294967296", 11, "from 1 to 4294967295", ""),
    "a region that is no list": ('["edema", "core"]', '"edema"', 15, "whole is a list", 'Write ["edema"]'),
    "a measure of nothing": ('["whole", "core"]', "[]", 19, "measured of nothing", "leave it out"),
    "a target twice": ('["whole", "core"]', '["core", "core"]', 19, "'core' is there twice", "once"),
    "a tolerance for one target only": (
        '"dice"',
        '"surface_dice"\ntolerance_mm = { whole = 1.0 }',
        19,
        "tolerance_mm is left open for 'core'",
        "Add it",
    ),
    "what a metric is usually called": ('"dice"', '"hd95"', 18, "no metric called 'hd95'", "'hausdorff_distance_95'"),
    "an unknown statistic": ("[ranking]", '[ranking]\nstatistic = "avg"', 29, "statistic cannot be 'avg'", "median"),
    "a title that is a date": ('"Brain lesions 2027"', "2027-01-01", 3, "title is text, not 2027-01-01", ""),
    "a label that is true": ("edema = 1", "edema = true", 11, "edema is a whole number, not true", ""),
    "a threshold on the wrong side": (
        "[ranking]",
        "[eligibility]\nat_most = { dice_whole = 0.5 }\n\n[ranking]",
        29,
        "refuse the better",
        "at_least",
    ),
    "better than nobody": (
        "[ranking]",
        '[eligibility]\nbetter_in = "all"\n\n[ranking]',
        29,
        "better than whom",
        "better_than",
    ),
    "words that are no pair": ("[ranking]", '[words]\nrow = ["scan"]\n\n[ranking]', 29, "row", ""),
}


def spoiled(old, new):
    text = old.sub(new, GOOD) if isinstance(old, re.Pattern) else GOOD.replace(old, new, 1)
    assert text != GOOD
    return text


def test_there_are_forty_and_the_good_one_is_good():
    assert len(WRONG) >= 40
    assert parse_challenge(GOOD).title == "Brain lesions 2027"


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_file_gets_line_problem_and_advice(what):
    old, new, line, problem, advice = WRONG[what]
    with pytest.raises(InputError) as error:
        parse_challenge(spoiled(old, new), path="here/challenge.toml")
    message = str(error.value)
    assert message.startswith(f"here/challenge.toml: line {line}: "), message
    assert "\n" not in message
    assert problem in message, message
    assert advice in message, message


# Of another file: which, what is changed to what, the line, and words of the message and of its advice.
OF_OTHER_KINDS = {
    "an encoding of no label": ("csv2026", "vessel = 255", "vesel = 255", 13, "no label 'vesel'", "'vessel'"),
    "a kind that is no word": ("chest", '"classification"', "['classification']", 4, "no kind", "classification"),
    "a label with a slash": ("kits21", "cyst = 3", 'cyst = 3\n"a/b" = 4', 17, "has a /", ""),
    "labels of a regression": (
        "bone-age",
        "[table]",
        "[labels]\na = 1\n\n[table]",
        11,
        "[labels] is for segmentation",
        "kind =",
    ),
    "no columns": ("bone-age", 'columns = ["months"]\n', "", 11, "'columns' is missing", "Add it"),
    "parts of a table": ("bone-age", '"predictions.csv"', '"{case}.csv"', 7, "one table holds all cases", "plain name"),
    "a cluster of nothing": (
        "bone-age",
        'cluster = "{child}"',
        'cluster = "{family}"',
        9,
        "{family} is no part",
        "child, hand",
    ),
    "a price of agreement": (
        "bone-age-agreement",
        '"not ranked"',
        "0",
        16,
        "one case has no pearson_correlation",
        "not ranked",
    ),
    "a price of an area": ("chest", '"wrong"', "0", 14, "one case has no area_under_roc", "wrong"),
    "an infinite loss": ("chest", "floor = 1e-6\n", "", 19, "is infinite", "floor = 1e-6"),
    "calibration that decides": ("chest", "decides = false", 'failed = "wrong"', 24, "may improve", "not ranked"),
    "areas case by case": (
        "chest",
        "[[measure]]",
        '[ranking]\nscheme = "rank then mean"\n\n[[measure]]',
        13,
        "one number for all cases",
        "mean rank",
    ),
    "a landmark that is none": ("heads", "sella = 80", "sela = 80", 17, "not measured of 'sela'", "'sella'"),
    "a cluster of all": ("bone-age", 'cluster = "{child}"', 'cluster = "child"', 9, "for all cases", '"{child}"'),
    "a limit of no time": ("tools", "limit_seconds = 30.0", "limit_seconds = 0", 24, "limit_seconds", "greater than 0"),
    "a radius of boxes": ("boxes", "overlap = 0.3", "radius_mm = 3", 12, "by overlap", "Leave it out"),
    "too large an overlap": ("boxes", "overlap = 0.3", "overlap = 30", 12, "overlap", "less than or equal to 1"),
    "a number for a scan": ("nodules", '"worst"', "0", 16, "one case has no froc_score", "worst"),
}


@pytest.mark.parametrize("what", OF_OTHER_KINDS)
def test_a_wrong_file_of_another_kind_gets_line_problem_and_advice(what):
    name, old, new, line, problem, advice = OF_OTHER_KINDS[what]
    good = (TOML / f"{name}.toml").read_text()
    assert old in good
    with pytest.raises(InputError) as error:
        parse_challenge(good.replace(old, new, 1))
    message = str(error.value)
    assert message.startswith(f"challenge.toml: line {line}: "), message
    assert problem in message, message
    assert advice in message, message


VALUES = [
    "1",
    "-1",
    "1.5",
    "nan",
    "inf",
    "true",
    '""',
    '"x"',
    '"a/b"',
    "[]",
    "{}",
    "[1]",
    '["x"]',
    "[[]]",
    "{ a = 1 }",
    "1979-05-27",
]


def mutated(text, generator):
    """Return a text with one or two values replaced, or a line left out, doubled, or moved."""
    lines = text.splitlines()
    for _ in range(generator.randint(1, 2)):
        place = generator.randrange(len(lines))
        line = lines[place]
        if " = " in line and generator.random() < 0.7:
            lines[place] = f"{line.split(' = ')[0]} = {generator.choice(VALUES)}"
        else:
            lines[place : place + 1] = generator.choice([[], [line, line], [line.replace("[", "[x.")]])
            lines = lines or [""]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", sorted(TOML.glob("*.toml")), ids=lambda path: path.stem)
def test_whatever_stands_in_a_file_is_read_or_told_with_its_line(path):
    generator = random.Random(path.stem)
    messages = []
    for _ in range(150):
        try:
            parse_challenge(mutated(path.read_text(), generator))
        except InputError as error:
            messages.append(str(error))
    assert [message for message in messages if not re.match(r"challenge\.toml: line \d+: ", message)] == []
    assert len(messages) > 50


def test_options_are_tried_together():
    """Five is no share, but a length in mm."""
    by_distance = '"panoptic_quality"\nby = "centre_distance"\nthreshold = 5.0'
    assert parse_challenge(GOOD.replace('"dice"', by_distance)).name == "brain-lesions"
    with pytest.raises(InputError, match="a share from 0 to 1, not 5"):
        parse_challenge(GOOD.replace('"dice"', by_distance.replace("centre_distance", "iou")))

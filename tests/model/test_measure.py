"""Measures and prices: what one declaration says, from a challenge to the heading of a column."""

import math

import numpy as np
import pytest

from podium.metrics import Overlap, SurfaceDistances, centre_distance, dice, hausdorff_distance, metrics, surface_dice
from podium.model import NOT_RANKED, SECONDS, Direction, Measure, Price, Purpose, shown_level, shown_number

HIGHER, LOWER, ZERO, NONE = Direction.HIGHER, Direction.LOWER, Direction.ZERO, Direction.NONE


def pair():
    """Return what is known of two rows of four voxels of 2 mm that have two in common, three each."""
    one, two = np.array([[1, 1, 1, 0]], bool), np.array([[0, 1, 1, 1]], bool)
    return {
        "overlap": Overlap.between(one, two, spacing_mm=(2.0, 2.0)),
        "surface": SurfaceDistances.between(one, two, spacing_mm=(2.0, 2.0), boundary="voxel"),
    }


def test_by_a_metric():
    """A direction, a unit and a range are stated once, by the metric."""
    measure = Measure.by(hausdorff_distance)
    assert (measure.name, measure.unit, measure.direction) == ("hausdorff_distance", "mm", LOWER)
    assert (measure.minimum, measure.maximum) == (0.0, math.inf)
    assert measure.title == hausdorff_distance.title
    assert measure.metric is hausdorff_distance
    assert (measure.targets, measure.price, measure.decides, measure.purpose) == (("",), None, True, Purpose.QUALITY)
    for metric in metrics():
        own = Measure.by(metric)
        declared = own.name, own.title, own.unit, own.direction, own.minimum, own.maximum
        names = ("name", "title", "unit", "direction", "minimum", "maximum")
        assert declared == tuple(getattr(metric, name) for name in names)


def test_what_is_declared_goes_before_what_the_metric_says():
    measure = Measure.by(
        surface_dice, name="surface_dice_half_tolerance", title="Half", direction=NONE, targets=("a", "b"), digits=2
    )
    assert (measure.name, measure.title, measure.direction) == ("surface_dice_half_tolerance", "Half", NONE)
    assert (measure.targets, measure.digits) == (("a", "b"), 2)
    assert (measure.minimum, measure.maximum) == (0.0, 1.0)
    assert not measure.judges
    with pytest.raises(TypeError, match="tolerance"):
        Measure.by(surface_dice, tolerance=3)


def test_a_measure_computes_by_its_metric():
    """2 · 2 / (3 + 3) in common; boundaries are whole masks in a row of one, 2 mm apart at their ends."""
    known = pair()
    assert Measure.by(dice)(known) == pytest.approx(4 / 6)
    assert Measure.by(hausdorff_distance)(known) == 2.0
    strict = Measure.by(surface_dice, targets=("near", "far"), options={"far": {"tolerance_mm": 2.0}})
    assert strict(known, "far") == 1.0
    assert strict(known, "near") == pytest.approx(4 / 6)  # the metric's own tolerance, 1 mm
    with pytest.raises(TypeError, match="score is computed by no single metric"):
        Measure("score", "Score")(known)
    with pytest.raises(KeyError, match="centres"):
        Measure.by(centre_distance)(known)


MASS = Measure("dice", "Dice", HIGHER, "", 0, 1, targets=("kidney_and_mass", "tumor"), price=Price(0.0))


def test_of_one_target():
    one = MASS.at("kidney_and_mass")
    assert (one.title, one.targets, one.name) == ("Dice kidney and mass", ("kidney_and_mass",), "dice")
    assert (one.direction, one.minimum, one.maximum, one.price) == (HIGHER, 0, 1, Price(0.0))
    assert MASS.targets == ("kidney_and_mass", "tumor")
    assert SECONDS.at("") == SECONDS  # nothing to add to the title


def test_each_target_by_itself():
    assert [measure.title for measure in MASS.each] == ["Dice kidney and mass", "Dice tumor"]
    assert MASS.each == (MASS.at("kidney_and_mass"), MASS.at("tumor"))
    assert SECONDS.each == (SECONDS,)


def test_key_and_name_of_a_column():
    assert MASS.at("tumor").key == ("dice", "tumor")
    assert MASS.at("tumor").column == "dice_tumor"
    assert (SECONDS.key, SECONDS.column) == (("seconds", ""), "seconds")
    for asked in (lambda: MASS.key, lambda: MASS.column, MASS.as_column):
        with pytest.raises(ValueError, match="too many values"):
            asked()


def test_as_a_column():
    """A column stands for one target, so that its name says which, and its targets do not."""
    column = MASS.at("tumor").as_column()
    assert (column.name, column.title, column.targets) == ("dice_tumor", "Dice tumor", ("",))
    assert (column.key, column.column) == (("dice_tumor", ""), "dice_tumor")
    assert column.as_column() == column
    assert (column.direction, column.price, column.digits) == (HIGHER, Price(0.0), 4)
    changed = MASS.at("tumor").as_column(name="tumour", title="Tumour", digits=1)
    assert (changed.name, changed.title, changed.digits) == ("tumour", "Tumour", 1)


@pytest.mark.parametrize(
    ("measure", "label"),
    [
        (Measure("hd", "Distance", LOWER, "mm"), "Distance, mm ↓"),
        (Measure("dice", "Dice", HIGHER), "Dice ↑"),
        (Measure("bias", "Bias", ZERO, "mm²"), "Bias, mm² →0"),
        (Measure("frames", "Frames"), "Frames"),
        (Measure("volume", "Volume", unit="mm³"), "Volume, mm³"),
        (MASS.at("tumor"), "Dice tumor ↑"),
        (SECONDS, "Time, s ↓"),
    ],
)
def test_labels(measure, label):
    assert measure.label == label


def test_the_rank_of_a_column():
    """It is a rank of that column, without decimals, and judges nothing by itself."""
    rank = Measure.rank_of(MASS.at("tumor").as_column())
    assert (rank.name, rank.title, rank.of) == ("dice_tumor_rank", "Dice tumor rank", "dice_tumor")
    assert (rank.purpose, rank.digits, rank.judges, rank.price) == (Purpose.RANK, 0, False, None)
    assert rank.label == "Dice tumor rank"
    assert rank.shown(2.0) == "2"


def test_measures_cannot_be_changed():
    with pytest.raises(AttributeError):
        MASS.title = "Other"


def test_a_price_in_words():
    assert [Price(amount).words for amount in (0.0, 1, 0.25, 1e7, math.inf)] == ["0", "1", "0.25", "1e+07", "inf"]
    assert Price(0.0, "nothing at all").words == "nothing at all"
    assert Price(0.0) == Price(0.0, "0", ranked=True, caps=True)


@pytest.mark.parametrize("amount", [None, lambda truth, row, target: 1.0])
def test_a_price_that_is_no_number_needs_words(amount):
    with pytest.raises(ValueError, match="needs words that a participant understands"):
        Price(amount)
    assert Price(amount, "the image's side").words == "the image's side"


def test_what_a_price_amounts_to():
    assert Price(0.5).of(None, "row", "target") == 0.5
    assert Price(None, "no number").of(None, "row", "target") is None
    price = Price(lambda truth, row, target: truth[row] * len(target), "the truth tells")
    assert price.of({"a": 2.0, "b": 3.0}, "b", "long") == 12.0


def test_the_price_that_nobody_pays():
    assert not NOT_RANKED.ranked
    assert NOT_RANKED.of(None, "row", "") is None
    assert "not ranked" in NOT_RANKED.words


def test_times():
    assert (SECONDS.minimum, SECONDS.maximum, SECONDS.direction) == (0.0, 1e7, LOWER)
    assert SECONDS.purpose is Purpose.TIME
    assert SECONDS.judges
    assert not SECONDS.decides


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (0.98765, 3, "0.988"),
        (0.98765, 0, "1"),
        (2, 1, "2.0"),
        (-1.25, 1, "−1.2"),  # to even
        (0.0, 2, "0.00"),
        (None, 3, "–"),
        (math.nan, 3, "–"),
        (math.inf, 3, "∞"),
        (-math.inf, 3, "−∞"),
    ],
)
def test_numbers_for_people(value, digits, shown):
    assert shown_number(value, digits) == shown
    assert Measure("m", "M", digits=digits).shown(value) == shown


def test_numbers_with_unit_and_sign():
    assert shown_number(2.5, 1, "mm") == "2.5 mm"
    assert shown_number(math.inf, 1, "mm") == "∞ mm"
    assert shown_number(None, 1, "mm") == "–"
    assert shown_number(2.5, 1, sign=True) == "+2.5"
    assert shown_number(-2.5, 1, "s", sign=True) == "−2.5 s"
    assert shown_number(0.0, 1, sign=True) == "+0.0"
    assert shown_number(-math.inf, 1, sign=True) == "−∞"


def test_a_level_is_never_rounded_to_certainty():
    levels = {0.8: "80 %", 0.975: "97.5 %", 0.999: "99.9 %", 0.9999: "99.99 %", 0.99999: "> 99.99 %"}
    assert [shown_level(level) for level in levels] == list(levels.values())

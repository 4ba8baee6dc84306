"""Laws that every metric must obey, whatever it measures; each raises AssertionError where a metric breaks it.

A family of metrics says what its data are and how they may be changed without changing the value (`families`). A law is
then the same for all families.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
from families import FAMILIES, SPACING, Family

from podium.metrics import Detections, ImageDetections
from podium.model import Direction, InputError, Metric

UNITS = {"": 0, "dB": 0, "mm": 1, "mm³": None}
"""The power of a length that a unit is; a volume has that of the axes."""


def declares_everything(metric: Metric) -> None:
    assert metric.title.strip(), "it has no title"
    assert metric.formula.strip(), "it has no formula"
    assert metric.unit in UNITS, f"{metric.unit!r} is no unit"
    assert metric.minimum < metric.maximum, f"its range is [{metric.minimum}, {metric.maximum}]"
    assert isinstance(metric.direction, Direction), f"{metric.direction!r} is no direction"
    best = {Direction.HIGHER: metric.maximum, Direction.LOWER: metric.minimum, Direction.ZERO: 0.0}
    if metric.perfect is not None:
        assert metric.perfect == best[metric.direction], f"the perfect {metric.perfect} is not the best of its range"
    for peer, call in metric.same_as.items():
        assert peer.strip(), "a peer has no name"
        assert call.strip(), f"it is not said what to call of {peer}"


def _same(one: float, two: float) -> bool:
    return (math.isnan(one) and math.isnan(two)) or math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-12)


def _cases(metric: Metric) -> Iterator[tuple[Family, Any, Any]]:
    for family in FAMILIES[metric.family]:
        for reference, prediction in family.pairs():
            yield family, reference, prediction


def stays_in_range(metric: Metric) -> None:
    for family, reference, prediction in _cases(metric):
        value = family.measure(metric, reference, prediction)
        assert metric.minimum <= value <= metric.maximum, f"{value} is outside [{metric.minimum}, {metric.maximum}]"


def knows_the_perfect(metric: Metric) -> None:
    if metric.perfect is None:
        return
    for family, reference, _ in _cases(metric):
        value = family.measure(metric, reference, reference)
        assert _same(value, metric.perfect), f"{value} for a perfect prediction, {metric.perfect} is declared"


def is_symmetric_where_declared(metric: Metric) -> None:
    same = [
        _same(family.measure(metric, reference, prediction), family.measure(metric, prediction, reference))
        for family, reference, prediction in _cases(metric)
        if family.exchangeable
    ]
    symmetric = bool(same) and all(same)
    assert symmetric == metric.symmetric, f"symmetric: {symmetric}, declared: {metric.symmetric}"


def does_not_depend_on_orientation_or_order(metric: Metric) -> None:
    for family, reference, prediction in _cases(metric):
        value = family.measure(metric, reference, prediction)
        for equivalent in family.equivalents(reference, prediction):
            assert _same(family.measure(metric, *equivalent), value), f"{value} changes with the order of the data"


def follows_its_unit(metric: Metric) -> None:
    power = UNITS[metric.unit]
    for family, reference, prediction in _cases(metric):
        if family.scaled is None:
            continue
        exponent = reference.ndim if power is None else power
        options = {"tolerance_mm": 2.0} if _has_tolerance(metric) else {}
        bare = {"tolerance_mm": 1.0} if _has_tolerance(metric) else {}
        value = family.measure(metric, reference, prediction, **bare)
        twice = family.scaled(metric, reference, prediction, 2.0, **options)
        assert _same(twice, value * 2**exponent), f"{value} becomes {twice} when lengths double"


def gives_what_it_declares_for_nothing(metric: Metric) -> None:
    for family in FAMILIES[metric.family]:
        assert set(metric.empty) <= set(family.nothing), "an empty case is declared that cannot occur"
        for case, declared in metric.empty.items():
            value = family.measure(metric, *family.nothing[case])
            assert _same(value, declared), f"{value} for {case!r}, {declared} is declared"
            assert math.isnan(declared) or metric.minimum <= declared <= metric.maximum
        for case in set(family.nothing) - set(metric.empty):
            value = family.measure(metric, *family.nothing[case])
            assert metric.minimum <= value <= metric.maximum, f"{value} for {case!r}, of which nothing is declared"


def only_rises_with_tolerance(metric: Metric) -> None:
    if not _has_tolerance(metric):
        return
    for family, reference, prediction in _cases(metric):
        values = [family.measure(metric, reference, prediction, tolerance_mm=t) for t in (0, 0.5, 1, 2, 4, 8, 16)]
        assert values == sorted(values), f"{values} falls as the tolerance grows"


def takes_weights_as_repetitions(metric: Metric) -> None:
    generator = np.random.default_rng(8)
    for family, reference, prediction in _cases(metric):
        if not family.weighted:
            continue
        weights = generator.integers(0, 3, (4, 1, len(reference)))
        weights[0] = 0
        values = family.measure(metric, reference, prediction, weights=weights)
        assert np.shape(values) == (4, 1), f"{np.shape(values)} values for 4 × 1 sets of weights"
        for value, weight in zip(np.ravel(values), weights[:, 0], strict=True):
            repeated = family.measure(metric, *(np.repeat(side, weight, axis=0) for side in (reference, prediction)))
            assert _same(float(value), float(repeated)), f"{value} with weights, {repeated} with repeated rows"


BAD: dict[str, Any] = {
    "beta": 0.0,
    "bins": 0,
    "classes": (1, 1),
    "data_range": 0.0,
    "differences": "forward",
    "disagreement": "cubic",
    "floor": 1.0,
    "form": "4,1",
    "interpolation": "nearest",
    "k": 0,
    "mask": np.ones((1, 2, 3, 4, 5), bool),
    "most": 0,
    "percentile": 0.95,
    "price_mm": -1.0,
    "rates": (-1.0,),
    "scaling": np.eye(3),
    "shape": (0, 5),
    "sigma": 0.0,
    "spacing_mm": {1.0, 2.0},
    "threshold": 1.0,
    "thresholds": (np.nan,),
    "tolerance_mm": -1.0,
    "width": 0,
}
"""A value of each option that no metric can use. Of a yes or no there is none."""


def refuses_bad_options(metric: Metric) -> None:
    parameters = inspect.signature(metric.function).parameters.values()
    options = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.annotation != "bool"]
    for family in FAMILIES[metric.family]:
        for pair in (next(family.pairs()), *family.nothing.values()):
            for option in options:
                value = BAD[option] if option != "weights" else np.ones(len(pair[0]) + 7)
                try:
                    family.measure(metric, *pair, **{option: value})
                except InputError:
                    continue
                raise AssertionError(f"{option}={value} is taken, of {pair}")


HOSTILE: dict[str, Any] = {
    "text": "1",
    "bytes": b"1",
    "nothing": None,
    "lists of unequal length": [[1.0], [1.0, 2.0]],
    "NaN": math.nan,
    "a complex number": 1j,
    "a date": np.datetime64("2026-01-01"),
    "a mapping": {"a": 1},
    "an object": object(),
}
"""Values that no option can have, whatever it is; but nothing, where its type says so."""


def refuses_hostile_options(metric: Metric) -> None:
    parameters = inspect.signature(metric.function).parameters.values()
    for family in FAMILIES[metric.family]:
        for pair in (next(family.pairs()), *family.nothing.values()):
            for option in (p for p in parameters if p.kind is p.KEYWORD_ONLY):
                for what, value in HOSTILE.items():
                    if value is not None or "None" not in str(option.annotation):
                        _refused(f"{what} as {option.name}", family, metric, *pair, **{option.name: value})


HOSTILE_ARRAYS = {
    "complex numbers": lambda array: array + 1j,
    "dates": lambda array: array.astype(np.int64).astype("datetime64[D]"),
    "durations": lambda array: array.astype(np.int64).astype("timedelta64[D]"),
    "text on one side": lambda array: array.astype(str),
    "objects": lambda array: np.where(np.arange(array.size).reshape(array.shape) > 0, array.astype(object), None),
    "NaN": lambda array: np.where(np.arange(array.size).reshape(array.shape) > 0, array, np.nan),
    "infinity": lambda array: np.where(np.arange(array.size).reshape(array.shape) > 0, array, np.inf),
    "lists of unequal length": lambda array: [*array.tolist(), [array.tolist()]],
    "records": lambda array: array.astype([("a", float)]),
}
"""Arrays of what cannot be measured, of the shape of those that can."""


def refuses_hostile_arrays(metric: Metric) -> None:
    for family in FAMILIES[metric.family]:
        if not family.values:
            continue
        reference, prediction = list(family.pairs())[-1]
        for what, changed in HOSTILE_ARRAYS.items():
            _refused(f"a reference of {what}", family, metric, changed(reference), prediction)
            _refused(f"a prediction of {what}", family, metric, reference, changed(prediction))
            if "one side" not in what:
                _refused(f"{what} on both sides", family, metric, changed(reference), changed(prediction))


def has_its_samples_along_the_last_axis(metric: Metric) -> None:
    """Axes before the last are sets; a column is no set of single samples, and refused with its cure."""
    for family, reference, prediction in _cases(metric):
        if not family.values or reference.ndim != 1 or len(reference) == 1:
            continue
        column = reference[:, None]
        for sides in ((column, prediction), (column, column), (column, prediction.reshape(len(column), -1))):
            _refused("a column", family, metric, *sides, saying=".ravel()")
        if prediction.ndim != 1:
            continue
        _refused("a column", family, metric, reference, prediction[:, None], saying=".ravel()")
        sets = np.stack([reference, reference[::-1]]), np.stack([prediction, prediction])
        values = family.measure(metric, *sets)
        assert np.shape(values) == (2,), f"{np.shape(values)} values for 2 sets of samples"
        for value, *sides in zip(values, *sets, strict=True):
            alone = family.measure(metric, *sides)
            assert _same(float(value), float(alone)), f"{value} of a set among others, {alone} alone"
        _refused("2 sets beside 3", family, metric, sets[0], np.stack([prediction] * 3))


def _refused(what: str, family: Family, metric: Metric, *sides: Any, saying: str = "", **options: Any) -> None:
    """Check that a call is refused in one line of Podium's own, which says something."""
    try:
        value = family.measure(metric, *sides, **options)
    except InputError as error:
        refusal = str(error)
    except Exception as error:
        raise AssertionError(f"{what} ends in {type(error).__name__}: {error}") from error
    else:
        raise AssertionError(f"{what} gives {value}")
    assert "\n" not in refusal, f"{what} is refused in several lines"
    assert saying in refusal, f"{what} is refused without a word of {saying}: {refusal}"


LAYOUTS = (
    np.asfortranarray,
    lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    lambda array: np.flip(np.flip(array).copy()),
    lambda array: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape),  # read-only
)


def does_not_depend_on_layout_threads_or_calls(metric: Metric) -> None:
    for family in FAMILIES[metric.family]:
        reference, prediction = next(family.pairs())
        value = family.measure(metric, reference, prediction)
        with ThreadPoolExecutor(3) as threads:
            again = list(threads.map(lambda _: family.measure(metric, reference, prediction), range(6)))  # noqa: B023
        assert again == [value] * 6, f"{value} becomes {again} when called again, in threads"
        for layout in LAYOUTS:
            other = family.measure(metric, layout(reference), layout(prediction))
            assert _same(float(other), float(value)), f"{value} becomes {other} in another layout of memory"


FORMS = (np.uint8, np.int64, np.float32, lambda mask: mask * np.uint8(255), lambda mask: 7.0 * mask, np.ndarray.tolist)


def reads_a_mask_alike_in_any_form(metric: Metric) -> None:
    """See that a mask of numbers is that mask, or is refused: it is never something else."""
    for family, *pair in _cases(metric):
        if not family.masks:
            return
        masks = [side != 0 for side in pair]
        value = family.measure(metric, *masks)
        for form, sides in product(FORMS, ((True, True), (True, False), (False, True))):
            given = [form(mask) if changed else mask for mask, changed in zip(masks, sides, strict=True)]
            try:
                other = family.measure(metric, *given, SPACING[: masks[0].ndim])
            except InputError:
                continue
            assert _same(float(other), float(value)), f"{value} becomes {other} where a mask is stored as {form}"


def counts_only_what_can_be(metric: Metric) -> None:
    """See that numbers which no pair can have are refused when put together, and that others give what is in range."""
    makes, most = _counted(metric)
    if makes is None:
        return
    for numbers in product((-1, 0, 1, 2, 3, math.nan, math.inf), repeat=most) if most < 4 else _draws(most):
        try:
            counted = makes(*numbers)
        except InputError:
            continue
        assert all(0 <= number < math.inf for number in numbers), f"{numbers} are taken for counts"
        value = float(np.squeeze(metric(counted)))
        inside = math.isnan(value) or metric.minimum <= value <= metric.maximum
        assert inside, f"{value} of {counted} is outside [{metric.minimum}, {metric.maximum}]"


def _draws(size: int) -> Iterator[tuple[float, ...]]:
    generator = np.random.default_rng(12)
    for numbers in generator.integers(-1, 4, (1000, size)):
        yield tuple(numbers.tolist())
    for place, strange in product(range(size), (-1, math.nan, math.inf)):
        yield (*(3,) * place, strange, *(3,) * (size - place - 1))


def _counted(metric: Metric) -> tuple[Any, int]:
    """Return what makes the counts that a metric takes out of numbers, and how many; None where it takes others."""
    parameter = next(iter(inspect.signature(metric.function).parameters.values()))
    names = getattr(metric.function, "__globals__", {})
    kind = names.get(parameter.annotation) if isinstance(parameter.annotation, str) else parameter.annotation
    if kind is Detections:
        return _found, 1
    fields = inspect.get_annotations(kind).values() if isinstance(kind, type) else ()
    types = [getattr(t, "__forward_arg__", getattr(t, "__name__", t)) for t in fields]  # names, as they are written
    if not types or not {*types} <= {"int", "float", "Floats"}:
        return None, 0
    if "Floats" in types:  # along an axis
        return lambda *numbers: kind(*(np.array([number], float) for number in numbers)), len(types)
    return kind, len(types)


def _found(references: float) -> Detections:
    return Detections.of([ImageDetections([0.9, 0.8, 0.7], [True, False, True], references)])


def _has_tolerance(metric: Metric) -> bool:
    return "tolerance_mm" in inspect.signature(metric.function).parameters


LAWS = (
    declares_everything,
    stays_in_range,
    knows_the_perfect,
    is_symmetric_where_declared,
    does_not_depend_on_orientation_or_order,
    follows_its_unit,
    gives_what_it_declares_for_nothing,
    only_rises_with_tolerance,
    takes_weights_as_repetitions,
    refuses_bad_options,
    refuses_hostile_options,
    refuses_hostile_arrays,
    has_its_samples_along_the_last_axis,
    does_not_depend_on_layout_threads_or_calls,
    reads_a_mask_alike_in_any_form,
    counts_only_what_can_be,
)

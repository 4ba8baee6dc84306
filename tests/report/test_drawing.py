"""Everything that a challenge can show is drawn, also where there is next to nothing to be seen."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from reports import HOSTILE

from podium.model import Agreement, Curves, Line, Panel, Paths, Slices
from podium.report.drawing import draw, outlines
from podium.report.figures import as_bytes
from podium.report.style import drawing

pytestmark = pytest.mark.slow

REFERENCE, PREDICTION = "#0072b2", "#d55e00"
NAN, INF = math.nan, math.inf


def rendered(figure):
    """Return a figure all parts of which have found their place; nothing may warn on the way."""
    figure.set_dpi(60)
    with drawing():
        FigureCanvasAgg(figure).draw()
    return figure


# Outlines


def area(line):
    """Return the area inside a closed line, clockwise on the page positive."""
    x, y = line.T
    return 0.5 * float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))


def test_a_pixel_has_four_corners():
    (line,) = outlines(np.array([[0, 0], [0, 1]], bool))
    assert line.tolist() == [[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]


def test_a_hole_has_an_outline_of_its_own():
    ring = np.ones((3, 4), bool)
    ring[1, 1:3] = False
    outer, inner = outlines(ring)
    assert outer.tolist() == [[0, 0], [4, 0], [4, 3], [0, 3], [0, 0]]
    assert (area(outer), area(inner)) == (12, -2)
    assert sorted(map(tuple, inner[:-1].tolist())) == [(1, 1), (1, 2), (3, 1), (3, 2)]


def test_nothing_has_no_outline():
    assert outlines(np.zeros((3, 3), bool)) == []


@given(arrays.arrays(bool, st.tuples(st.integers(1, 7), st.integers(1, 7))))
def test_outlines_are_the_edges_between_inside_and_outside(mask):
    """Every edge once and no other; closed; turning at every corner; enclosing as many pixels as there are."""
    padded = np.pad(mask, 1)
    expected = {((j, i - 1), (j, i)) for i, j in np.argwhere(padded[:, 1:] != padded[:, :-1]).tolist()}
    expected |= {((j - 1, i), (j, i)) for i, j in np.argwhere(padded[1:] != padded[:-1]).tolist()}
    found = []
    for line in outlines(mask):
        assert (line[0] == line[-1]).all()
        for (x, y), (to_x, to_y) in zip(line[:-1].astype(int).tolist(), line[1:].astype(int).tolist(), strict=True):
            assert (x == to_x) != (y == to_y)
            steps = max(abs(to_x - x), abs(to_y - y))
            points = [(x + (to_x - x) * k // steps, y + (to_y - y) * k // steps) for k in range(steps + 1)]
            found += [tuple(sorted(pair)) for pair in pairwise(points)]
        moves = np.sign(np.diff(line, axis=0))
        assert (moves[1:] != moves[:-1]).any(axis=1).all()
    assert sorted(found) == sorted(expected)
    assert sum(map(area, outlines(mask))) == mask.sum()


# Slices


def panel(reference, prediction=None, caption="slice", **options):
    reference = np.asarray(reference, np.uint8)
    prediction = reference if prediction is None else np.asarray(prediction, np.uint8)
    return Panel(caption, reference, prediction, **options)


SQUARE = np.pad(np.ones((4, 6), np.uint8), 3)


def contours(axes):
    """Return the contours by colour: the lines of each."""
    found = {}
    for each in axes.collections:
        assert isinstance(each, LineCollection)
        if each.get_segments():
            found.setdefault(to_hex(each.get_color()[0]), []).extend(each.get_segments())
    return found


def test_contours_follow_the_pixels_in_millimetres():
    moved = np.roll(SQUARE, 2, axis=1)
    figure = draw(Slices("a case", (panel(SQUARE, moved, pixel_mm=(2.0, 0.5)),), {1: "kidney"}))
    (axes,) = figure.axes
    found = contours(axes)
    assert set(found) == {REFERENCE, PREDICTION}
    np.testing.assert_allclose(found[REFERENCE][0], [(1.5, 6), (4.5, 6), (4.5, 14), (1.5, 14), (1.5, 6)])
    np.testing.assert_allclose(found[PREDICTION][0][:, 0], [2.5, 5.5, 5.5, 2.5, 2.5])
    rendered(figure)
    assert axes.get_aspect() == 1
    assert axes.get_xlim() == (0, 6)
    assert axes.get_ylim() == (20, 0)  # the first row is on top


def test_grey_values_are_shown_as_they_are():
    grey = np.linspace(0, 1, SQUARE.size, dtype=np.float32).reshape(SQUARE.shape)
    (axes,) = draw(Slices("", (panel(SQUARE, image=grey),), {1: "x"})).axes
    (image,) = axes.images
    np.testing.assert_array_equal(image.get_array(), grey)
    assert image.get_clim() == (0, 1)
    assert len(contours(axes)) == 2


def test_without_an_image_labels_have_tints():
    labels = SQUARE.copy()
    labels[4, 4] = 2
    (axes,) = draw(Slices("", (panel(labels, 0 * labels),), {1: "kidney", 2: "tumor"})).axes
    tints = np.asarray(axes.images[0].get_array())
    assert len({tuple(tints[labels == label][0]) for label in (0, 1, 2)}) == 3
    assert set(contours(axes)) == {REFERENCE}


def test_the_legend_and_remarks_cover_nothing():
    remarks = ("Without the image: " + "a rather long reason " * 8,)
    view = Slices("a case", (panel(SQUARE), panel(SQUARE.T)), {1: "kidney", 2: "tumor", 3: "cyst"}, remarks)
    figure = rendered(draw(view))
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert [text.get_text() for text in legend.get_texts()] == ["reference", "prediction", "kidney", "tumor", "cyst"]
    assert "Without the image" in legend.get_title().get_text()
    for axes in figure.axes:
        assert not box.overlaps(axes.get_tightbbox())
    assert box.x1 <= figure.bbox.x1


@pytest.mark.parametrize(
    "view",
    [
        Slices("no panel", ()),
        Slices("no panel, but a reason", (), {1: "x"}, ("Because.",)),
        Slices("empty masks", (panel(np.zeros((5, 5))),), {1: "x"}),
        Slices("one pixel", (panel([[1]]),), {1: "x"}),
        Slices("no labels", (panel(SQUARE),)),
        Slices("very wide", (panel(np.ones((2, 400))), panel(np.ones((400, 2)))), {1: "x"}),
        Slices("everything", (panel(np.ones((9, 9))),), {1: "x"}),
        Slices("constant image", (panel(SQUARE, image=np.zeros(SQUARE.shape, np.float32)),), {1: "x"}),
        Slices("many labels", (panel(np.arange(36).reshape(6, 6) % 7),), {n: f"label {n}" for n in range(1, 7)}),
        Slices("only the prediction", (panel(0 * SQUARE, SQUARE),), {1: "x"}),
    ],
    ids=lambda view: view.title,
)
def test_odd_slices_are_drawn(view):
    rendered(draw(view))


# Curves


def line(points, kind="prediction", name="predicted"):
    return Line(name, np.asarray(points, np.float64).reshape(-1, 2), kind)


def curves(*lines):
    return Curves("traces", "time, s", "mm", lines)


def test_lines_have_the_colour_of_what_they_are():
    view = curves(line([(0, 1), (1, 2)], "reference", "true"), line([(0, 2), (1, 3)]), line([(0, 0), (1, 0)], "other"))
    (axes,) = draw(view).axes
    shown = [each for each in axes.lines if len(each.get_xdata())]
    assert [to_hex(each.get_color()) for each in shown][:2] == [REFERENCE, PREDICTION]
    np.testing.assert_array_equal(shown[0].get_ydata(), [1, 2])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time, s", "mm")
    assert shown[0].get_linewidth() > shown[1].get_linewidth()  # seen also where both run together


def test_gaps_stay_gaps_and_lonely_points_are_dots():
    (axes,) = draw(curves(line([(0, 1), (1, 2), (2, NAN), (3, 5), (4, INF), (5, 3), (6, 3)]))).axes
    through, dots = axes.lines
    np.testing.assert_array_equal(through.get_ydata(), [1, 2, NAN, 5, NAN, 3, 3])
    assert (dots.get_xdata().tolist(), dots.get_ydata().tolist()) == ([3], [5])
    assert dots.get_marker() == "o"


def test_the_legend_of_curves_lies_below_them():
    figure = rendered(draw(curves(line([(0, 1), (1, 2)]), line([(0, 2), (1, 1)], "reference", "true"))))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["true", "predicted"]
    assert not legend.get_window_extent().overlaps(figure.axes[0].get_tightbbox())


@pytest.mark.parametrize(
    "lines",
    [
        (),
        [line([])],
        [line([(1, 2)])],
        [line([(NAN, NAN)] * 3)],
        [line([(0, 5), (1, 5)])],
        [line([(0, 1e-300), (1, 0)])],
    ],
    ids=["no line", "no point", "one point", "no number", "constant", "tiny"],
)
def test_odd_curves_are_drawn(lines):
    figure = rendered(draw(curves(*lines)))
    seen = any(np.isfinite(np.asarray(each.get_ydata(), float)).any() for each in figure.axes[0].lines)
    assert [text.get_text() for text in figure.axes[0].texts] == ([] if seen else ["nothing to draw"])


# Paths


def path(points, kind="prediction", name="predicted"):
    return Line(name, np.asarray(points, np.float64).reshape(-1, 3), kind)


def test_paths_are_drawn_in_space_and_from_two_sides():
    corners = np.array([(0, 0, 0), (10, 0, 0), (10, 5, 2)])
    view = Paths("trajectory", "mm", (path(corners, "reference", "true"), path(corners + 1), path(corners + 2)))
    figure = rendered(draw(view))
    space, front, side = figure.axes
    np.testing.assert_array_equal(np.asarray(space.lines[0].get_data_3d()).T, corners)
    np.testing.assert_array_equal(front.lines[0].get_xydata(), corners[:, [0, 2]])
    np.testing.assert_array_equal(side.lines[0].get_xydata(), corners[:, [1, 2]])
    assert (space.get_xlabel(), front.get_xlabel(), side.get_ylabel()) == ("x, mm", "x, mm", "z, mm")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["true", "predicted"]  # each name once
    assert not any(legend.get_window_extent().overlaps(axes.bbox) for axes in figure.axes)


def test_millimetres_are_as_long_in_every_direction():
    space, front, side = rendered(draw(Paths("", "mm", (path([(0, 0, 0), (40, 20, 80)]),)))).axes
    extents = np.ptp([space.get_xlim(), space.get_ylim(), space.get_zlim()], axis=1)
    np.testing.assert_allclose(extents / extents[0], space._box_aspect / space._box_aspect[0])
    assert front.get_aspect() == side.get_aspect() == 1


def test_long_paths_are_thinned_from_end_to_end():
    points = np.column_stack([np.arange(5000)] * 3)
    (drawn,) = draw(Paths("", "mm", (path(points),))).axes[0].lines
    thinned = np.asarray(drawn.get_data_3d()).T
    assert len(thinned) == 400
    assert thinned[[0, -1], 0].tolist() == [0, 4999]


@pytest.mark.parametrize(
    "lines",
    [
        (),
        [path([])],
        [path([(1, 2, 3)])],
        [path([(1, 2, 3)] * 4)],
        [path([(NAN, 0, 0)] * 3)],
        [path([(0, 0, 0), (NAN, 1, 1), (2, 2, INF), (3, 3, 3)])],
        [path([(0, 0, 5), (100, 0, 5)])],
    ],
    ids=["no line", "no point", "one frame", "no motion", "no number", "gaps", "flat"],
)
def test_odd_paths_are_drawn(lines):
    rendered(draw(Paths("odd", "", tuple(lines))))


# Agreement


def agreement(reference, prediction, **options):
    return Agreement("A1", "mm²", np.asarray(reference, np.float64), np.asarray(prediction, np.float64), **options)


def test_agreement_shows_pairs_differences_and_limits():
    view = agreement([1, 2, 4], [2, 2, 6], correlation=0.97, bias=1.0, limits=(-0.96, 2.96))
    figure = rendered(draw(view))
    left, right = figure.axes
    np.testing.assert_array_equal(left.lines[0].get_xydata(), [(1, 2), (2, 2), (4, 6)])
    np.testing.assert_array_equal(right.lines[0].get_xydata(), [(1.5, 1), (2, 0), (5, 2)])
    heights = [each.get_ydata()[0] for each in right.lines[1:]]
    assert heights == [0, 2.96, 1.0, -0.96]
    assert [text.get_text() for text in right.texts] == ["+1.96 SD\n2.96", "bias\n1", "−1.96 SD\n−0.96"]
    assert left.get_title(loc="left") == "3 values, r = 0.970"
    assert left.get_xlabel() == "true value, mm²"
    assert left.get_xlim() == left.get_ylim()
    for text in right.texts:  # beside the data, not on it
        assert text.get_window_extent().x0 >= right.bbox.x1


def test_what_is_no_number_is_left_out():
    left, _ = draw(agreement([1, NAN, 3, 4], [1, 2, INF, 5])).axes
    np.testing.assert_array_equal(left.lines[0].get_xydata(), [(1, 1), (4, 5)])
    assert left.get_title(loc="left") == "2 values"


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [([], []), ([1], [2]), ([2, 2, 2], [2, 2, 2]), ([0, 0], [0, 0]), ([NAN], [1]), ([1, 2, 3], [5, 5, 5])],
    ids=["nothing", "one", "constant", "zero", "no number", "constant prediction"],
)
def test_odd_agreements_are_drawn(reference, prediction):
    rendered(draw(agreement(reference, prediction, bias=0.0 if reference else NAN)))


def test_clouds_of_many_points_stay_small():
    values = np.random.default_rng(1).normal(size=(2, 20_000))
    assert len(as_bytes(draw(agreement(*values)), "svg")) < 300_000


# Text is data


def views_called(name):
    return [
        Slices(name, (panel(SQUARE, caption=name),), {1: name, 2: name}, (name,)),
        Curves(name, name, name, (line([(0, 1), (1, 2)], name=name), line([(0, 1)], "reference", name + "2"))),
        Paths(name, name, (path([(0, 0, 0), (1, 1, 1)], name=name),)),
        Agreement(name, name, np.arange(3.0), np.arange(3.0)),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4), ids=["slices", "curves", "paths", "agreement"])
def test_all_formats_can_be_written(number):
    figure = draw(views_called("a name")[number])
    starts = {form: as_bytes(figure, form)[:4] for form in ("svg", "pdf", "png")}
    assert starts == {"svg": b"<?xm", "pdf": b"%PDF", "png": b"\x89PNG"}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE[:3], ids=range(3))
def test_names_are_shown_as_they_are(name):
    for view in views_called(name)[:2]:
        rendered(draw(view))


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_are_shown_as_they_are_in_every_view(name):
    slices, *others = (draw(view) for view in views_called(name))
    assert as_bytes(slices, "pdf")
    for figure in (slices, *others):
        assert as_bytes(figure, "svg")


def test_a_dollar_is_no_formula():
    figure = draw(curves(line([(0, 1), (1, 2)], name="$x_1$"), line([(0, 1), (1, 2)], "reference", "b")))
    assert b"$x_1$" in as_bytes(figure, "svg")


def test_the_same_view_gives_the_same_bytes():
    view = Slices("a case", (panel(SQUARE),), {1: "kidney"})
    assert as_bytes(draw(view), "svg") == as_bytes(draw(view), "svg")


@pytest.mark.parametrize("number", range(4))
def test_the_order_in_which_files_are_written_changes_none_of_them(number):
    """Formats were a set: their order, and with it the layout, differed from call to call."""
    forms = ("svg", "pdf", "png")
    one, other = (draw(views_called("a case")[number]) for _ in range(2))
    forwards = {form: as_bytes(one, form) for form in forms}
    assert {form: as_bytes(other, form) for form in forms[::-1]} == forwards


def test_settings_of_the_user_are_left_alone():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    rendered(draw(curves(line([(0, 1), (1, 2)]))))
    assert dict(mpl.rcParams) == before

"""Colours that everybody can tell apart, and names that fit."""

import re
import threading
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from podium.model import Role
from podium.report import page
from podium.report.figures import THEMED
from podium.report.short_names import cleaned, shortened
from podium.report.style import INK, OTHERS, PALETTE, SOFT, drawing, looks

# What full dichromacy makes of linear RGB: Machado, Oliveira and Fernandes 2009, IEEE TVCG 15(6), severity 1.
VISION = {
    "trichromacy": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(colour):
    share = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ np.clip(rgb, 0, 1)
    x, y, z = (
        np.cbrt(each) if each > 0.008856 else 7.787 * each + 16 / 116 for each in xyz / np.array([0.9505, 1.0, 1.089])
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def smallest_difference(colours, vision):
    seen = [lab(np.array(VISION[vision]) @ linear(colour)) for colour in colours]
    return min(np.linalg.norm(one - two) for one, two in combinations(seen, 2))


@pytest.mark.parametrize("vision", VISION)
def test_colours_are_told_apart_with_any_colour_vision(vision):
    assert smallest_difference(PALETTE, vision) > 15
    assert smallest_difference([*PALETTE[:5], OTHERS], vision) > 15  # where many are grey


def test_colours_that_are_not_told_apart_are_noticed():
    assert smallest_difference(["#d55e00", "#7a8b00"], "deuteranopia") < 15


@pytest.mark.parametrize("colour", [INK, SOFT])
def test_text_stands_out_from_paper(colour):
    luminance = linear(colour) @ [0.2126, 0.7152, 0.0722]
    assert 1.05 / (luminance + 0.05) > 4.5  # WCAG 2.1, contrast of text


def dark_page():
    """Return the colours of submissions on a dark page, and its own."""
    style = (Path(page.__file__).parent / "templates" / "page.css").read_text()
    dark = dict(re.findall(r"(--[\w-]+): (#\w{6})", style.partition('[data-theme="dark"] {')[2].partition("}")[0]))
    return [dark[THEMED[colour]] if colour in THEMED else colour for colour in PALETTE], dark["--paper"]


@pytest.mark.parametrize("vision", VISION)
def test_colours_stand_out_and_are_told_apart_in_the_dark(vision):
    colours, paper = dark_page()
    luminance = [linear(colour) @ [0.2126, 0.7152, 0.0722] for colour in (paper, *colours)]
    assert min((own + 0.05) / (luminance[0] + 0.05) for own in luminance[1:]) > 3  # WCAG 2.1, contrast of graphics
    assert smallest_difference(colours, vision) > 15


def test_few_competitors_each_have_a_colour_and_a_marker():
    found = looks([f"t{k}" for k in range(7)])
    assert len({look.colour for look in found.values()}) == len({look.marker for look in found.values()}) == 7
    assert [look.place for look in found.values()] == [1, 2, 3, 4, 5, 6, 7]


def test_forty_competitors_each_have_a_look_of_their_own():
    shown = looks([f"t{k}" for k in range(40)])
    assert len({(look.colour, look.marker) for look in shown.values()}) == 40
    assert OTHERS not in {look.colour for look in shown.values()}
    assert [look.index for look in shown.values()] == list(range(40))


def test_of_many_only_the_first_and_the_one_in_focus_are_named_where_room_is_short():
    found = looks([f"t{k}" for k in range(60)], focus="t30")
    assert [name for name, look in found.items() if look.highlighted] == ["t0", "t1", "t2", "t3", "t4", "t30"]
    assert found["t30"].focus


def test_baselines_and_people_take_no_colour():
    roles = {"base": Role.BASELINE, "raters": Role.REFERENCE}
    found = looks(["a", "base", "b", "raters"], places={"a": 1, "b": 2}, roles=roles)
    assert (found["a"].colour, found["b"].colour) == PALETTE[:2]
    assert (found["base"].colour, found["raters"].colour) == (SOFT, INK)
    assert found["base"].place is None


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("plain", "plain"),
        ("two\nlines", "two lines"),
        ("bell\x07", "bell\ufffd"),
        ("\u202etxt", "\ufffdtxt"),
        ("half \udcff", "half \ufffd"),
        ("\ufffe", "\ufffd"),
        ("$x_1$", "$x_1$"),
    ],
)
def test_harmful_signs_are_replaced(name, seen):
    assert cleaned(name) == seen


def test_long_names_keep_their_ends():
    assert shortened("x" * 200) == "x" * 17 + "…" + "x" * 8
    assert shortened("word " * 3 + "end") == "word word word end"
    assert shortened("") == shortened("\n") == "–"
    assert len(shortened("深" * 100)) == 8 + 1 + 4  # each is two columns wide


def test_settings_of_the_user_neither_count_nor_change():
    mpl.rcParams["font.size"] = 33
    try:
        with drawing():
            assert mpl.rcParams["font.size"] == 8.5
            assert not mpl.rcParams["text.parse_math"]
        assert mpl.rcParams["font.size"] == 33
    finally:
        mpl.rcdefaults()


def test_one_thread_draws_at_a_time():
    inside, worst = [], []

    def work():
        for _ in range(20):
            with drawing():
                inside.append(1)
                worst.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(worst) == 1

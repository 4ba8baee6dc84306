"""What a page holds of scenes: what was packed is what is unpacked, held upright, as finely as there is room."""

import base64
import io
import itertools
import zlib
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from podium.model import Course, Film, InputError, LabelMap, Sweep, Volume
from podium.model.planes import Plane
from podium.report import packing
from podium.report.packing import packed_case, runs, size_of, stored, upright


def inflated(text):
    return zlib.decompress(base64.b64decode(text), -zlib.MAX_WBITS)


def unrolled(content, shape):
    """Read runs back, byte by byte, as the page does."""
    place = iter(content)

    def number():
        value, shift = 0, 0
        while True:
            byte = next(place)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    labels = [next(place) for _ in range(number())]
    array = np.repeat(np.array(labels, np.uint8), [number() for _ in labels])
    assert next(place, None) is None
    return array.reshape(shape)


def layer(scene, name="reference"):
    text = scene["reference"] if name == "reference" else scene["layers"][name]
    return unrolled(inflated(text), scene["shape"])


def pack(scene, *others, room=10**9):
    store = stored(scene)
    for number, own in enumerate((scene, *others)):
        store.add(number, own)
    scenes = packed_case([store], room)
    return None if scenes is None else scenes[0]


def label_map(array, direction=None, spacing=(1.0, 1.0, 1.0)):
    made = LabelMap.from_array(np.asarray(array), spacing=spacing)
    return made if direction is None else replace(made, direction=direction)


def blob(seed=0, shape=(9, 12, 15)):
    generator = np.random.default_rng(seed)
    array = np.zeros(shape, np.uint8)
    array[3:7, 4:9, 5:11] = generator.integers(0, 4, (4, 5, 6))
    return array


@pytest.mark.parametrize("size", [0, 1, 2, 127, 128, 300, 16384, 3_000_000])
def test_runs_of_any_length_are_read_back(size):
    generator = np.random.default_rng(size)
    codes = np.repeat(np.array([0, 7, 0, 255, 1], np.uint8), generator.multinomial(size, [0.2] * 5))
    np.testing.assert_array_equal(unrolled(runs(codes), codes.shape), codes)
    noise = generator.integers(0, 3, min(size, 500), dtype=np.uint8)
    np.testing.assert_array_equal(unrolled(runs(noise), noise.shape), noise)


WAYS = [
    (order, signs) for order in itertools.permutations(range(3)) for signs in itertools.product((1.0, -1.0), repeat=3)
]


@pytest.mark.parametrize(("order", "signs"), WAYS)
def test_volumes_are_held_as_the_pictures_hold_them(order, signs):
    """The three planes that the page cuts are those that `Plane` holds up, slice by slice, with their numbers."""
    direction = np.zeros((3, 3))
    for axis, (way, sign) in enumerate(zip(order, signs, strict=True)):
        direction[way, axis] = sign
    reference = label_map(blob(), tuple(map(tuple, direction)), spacing=(1.0, 2.0, 3.0))
    scene = pack(Volume("", reference, reference, {1: "a", 2: "b", 3: "c"}))
    codes = layer(scene)
    assert np.count_nonzero(codes) == np.count_nonzero(reference.array)
    own_axes, _ = upright(reference.direction)
    # As the page cuts: the head on top, the left on the right, the front on top or to the left.
    cuts = (lambda k: codes[k], lambda k: codes[::-1, k], lambda k: codes[::-1, :, k])
    for stored_axis, (axis, cut) in enumerate(zip(own_axes, cuts, strict=True)):
        assert scene["mm"][stored_axis] == reference.spacing[axis]
        assert scene["of"][stored_axis] == reference.shape[axis]
        for k in range(scene["shape"][stored_axis]):
            number = scene["first"][stored_axis] + scene["step"][stored_axis] * k
            plane = Plane.of(reference, axis=axis, index=number - 1)
            assert plane.name == ("axial", "coronal", "sagittal")[stored_axis]
            whole = plane.cut(reference.array)
            rows, columns = (np.flatnonzero(whole.any(axis=other)) for other in (1, 0))
            shown = cut(k)
            assert np.count_nonzero(shown) == np.count_nonzero(whole)
            if rows.size:
                seen = shown[np.ix_(shown.any(axis=1), shown.any(axis=0))]
                np.testing.assert_array_equal(seen, whole[np.ix_(whole.any(axis=1), whole.any(axis=0))])
                assert columns.size >= seen.shape[1]


def test_every_layer_lies_on_one_grid_around_all_of_them():
    one, other = blob(), np.zeros((9, 12, 15), np.uint8)
    other[0, 0, 14] = 2
    reference, far = label_map(one), label_map(other)
    scene = pack(Volume("", reference, far, {1: "a", 2: "b", 3: "c"}), Volume("", reference, reference, {}))
    np.testing.assert_array_equal(layer(scene), layer(scene, 1))
    guess = layer(scene, 0)
    assert np.count_nonzero(guess) == 1
    assert scene["shape"] == [13, 12, 9]  # the header's axes go to the left, to the back and to the head
    assert guess[-1, 0, 0] == 2
    assert scene["labels"] == ["a", "b", "c"]
    assert scene["note"] == ""


def test_labels_without_a_name_are_background_and_numbers_may_be_large():
    array = blob().astype(np.uint32)
    array[array == 3] = 70_000
    labels = label_map(array)
    codes = layer(pack(Volume("", labels, labels, {70_000: "far", 1: "one"})))
    assert np.count_nonzero(codes == 1) == np.count_nonzero(array == 70_000)
    assert np.count_nonzero(codes == 2) == np.count_nonzero(array == 1)
    assert codes.max() == 2


def test_nothing_labelled_is_no_problem():
    empty = label_map(np.zeros((9, 12, 15), np.uint8))
    scene = pack(Volume("", empty, empty, {1: "a"}))
    assert not layer(scene).any()
    assert layer(pack(Film("", np.zeros((3, 8, 8), np.uint8), np.zeros((3, 8, 8), np.uint8)))).shape[0] == 3


def noisy(shape=(40, 40, 12), seed=0):
    return np.random.default_rng(seed).integers(0, 2, shape, dtype=np.uint8)


def test_what_does_not_fit_is_thinned_out_where_it_is_finest_and_says_so():
    labels = label_map(noisy(), spacing=(0.5, 0.5, 3.0))
    scene = Volume("", labels, labels, {1: "a"})
    fine = pack(scene)
    assert (fine["shape"], fine["note"]) == ([12, 40, 40], "")
    coarse = pack(scene, room=size_of([fine]) - 1)
    assert coarse["shape"] == [12, 20, 20]
    assert coarse["mm"] == [3.0, 1.0, 1.0]
    assert coarse["note"] == "To keep the page small, shown is every 2nd row and column."
    np.testing.assert_array_equal(layer(coarse), layer(fine)[:, ::2, ::2])
    assert pack(scene, room=100) is None


def test_more_than_a_browser_holds_is_thinned_out(monkeypatch):
    monkeypatch.setattr(packing, "MOST_VOXELS", 12 * 20 * 20)
    labels = label_map(noisy(), spacing=(0.5, 0.5, 3.0))
    assert pack(Volume("", labels, labels, {1: "a"}))["shape"] == [12, 20, 20]


def test_frames_of_a_film_are_thinned_out_in_time():
    frames = noisy((20, 9, 9))
    course = Course("Dice", np.append(np.arange(19) / 19, np.nan))
    film = Film("", frames, frames, {1: "target"}, pixel_mm=(1.0, 2.0), rate=4.0, course=course)
    fine = pack(film)
    assert (fine["rate"], fine["mm"], fine["shape"][0]) == (4.0, [0.0, 1.0, 2.0], 20)
    assert fine["course"]["values"][0][-1] is None
    coarse = pack(film, room=size_of([fine]) - 1)
    assert (coarse["rate"], coarse["shape"][0]) == (2.0, 10)
    assert coarse["course"]["values"][0] == fine["course"]["values"][0][::2]
    assert coarse["note"] == "To keep the page small, shown is every 2nd frame."


def test_images_lie_below_where_there_is_room():
    array = blob(shape=(9, 12, 15))
    labels = label_map(array)
    image = np.full(array.shape, 200, np.uint8)
    image[array > 0] = 20
    scene = Volume("", labels, labels, {1: "a", 2: "b", 3: "c"}, image)
    fine = pack(scene)
    address, columns = fine["image"]["address"], fine["image"]["columns"]
    with Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))) as opened:
        sheet = np.asarray(opened.convert("L"))
    count, rows, width = fine["shape"]
    tiles = [sheet[k // columns * rows :, k % columns * width :][:rows, :width] for k in range(count)]
    dark = np.array(tiles) < 110
    assert np.mean(dark == (layer(fine) > 0)) > 0.95  # as far as a compressed picture tells
    without = pack(scene, room=size_of([fine]) - 10)
    assert "image" not in without
    assert without["note"] == "There is no room for the image."


def test_points_are_read_back_within_their_scale():
    generator = np.random.default_rng(4)
    truth = generator.normal(0, 40, (50, 4, 3)).cumsum(axis=0)
    guess = truth + generator.normal(0, 1, truth.shape)
    scene = pack(Sweep("Corners", truth, guess, course=Course("error", np.arange(50.0), "mm")))
    read = {}
    for name in ("reference", 0):
        text = scene["reference"] if name == "reference" else scene["layers"][name]
        steps = np.frombuffer(inflated(text), "<i2").reshape(12, 50)
        read[name] = (steps.cumsum(axis=1, dtype=np.int16) * scene["scale"]).T.reshape(50, 4, 3)
    centre = truth.reshape(-1, 3).mean(axis=0)
    assert np.abs(read["reference"] - (truth - centre)).max() <= 0.51 * scene["scale"]
    assert np.abs(read[0] - (guess - centre)).max() <= 0.51 * scene["scale"]
    assert pack(Sweep("Corners", truth, guess), room=size_of([scene]) // 2)["step"] > 1


def test_layers_of_another_shape_are_refused():
    store = stored(Sweep("", np.zeros((3, 4, 3)), np.zeros((3, 4, 3))))
    with pytest.raises(InputError, match="another shape"):
        store.add(0, Sweep("", np.zeros((3, 4, 3)), np.zeros((2, 4, 3))))
    film = Film("", np.zeros((3, 4, 4), np.uint8), np.zeros((3, 4, 5), np.uint8))
    with pytest.raises(InputError, match="another shape"):
        stored(film).add(0, film)

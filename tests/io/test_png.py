"""PNG label maps: every depth and filter, as Pillow writes them, and damaged ones."""

import struct
import zlib
from contextlib import suppress

import numpy as np
import pytest

from podium.io import read_label_map, write_label_map
from podium.model import InputError, LabelMap

Image = pytest.importorskip("PIL.Image")
GENERATOR = np.random.default_rng(5)


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(rows, *, width=7, height=5, depth=8, colour=0, interlaced=0, after=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    pieces = [chunk(b"IHDR", header), chunk(b"tEXt", b"x" * 10), chunk(b"IDAT", zlib.compress(rows)), after]
    return b"\x89PNG\r\n\x1a\n" + b"".join(pieces) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(1, 1), (3, 17), (40, 33)])
@pytest.mark.parametrize("mode", ["1", "L", "P", "I;16"])
def test_what_pillow_writes_is_read(tmp_path, mode, size):
    most = {"1": 2, "L": 256, "P": 21, "I;16": 60_000}[mode]
    array = GENERATOR.integers(0, most, size).astype(np.uint16 if mode == "I;16" else np.uint8)
    image = Image.fromarray(array * 255 if mode == "1" else array)
    if mode == "1":
        image = image.convert("1")
    elif mode == "P":
        image.putpalette(bytes(range(256)) * 3)
    image.save(tmp_path / "a.png")
    labels = read_label_map(tmp_path / "a.png")
    assert np.array_equal(labels.array, array)
    assert (labels.spacing, labels.shape) == ((1.0, 1.0), size)
    with Image.open(tmp_path / "a.png") as written:
        assert written.mode == mode


@pytest.mark.parametrize("smooth", [True, False])
def test_every_filter_is_undone(tmp_path, smooth):
    """Each row has another filter, applied by hand as the standard says."""
    height, width = 25, 31
    array = GENERATOR.integers(0, 256, (height, width))
    if smooth:
        array = np.add.outer(np.arange(height) * 3, np.arange(width) * 2) % 256
    padded = np.pad(array, ((1, 0), (1, 0)))
    left, above, corner, own = padded[1:, :-1], padded[:-1, 1:], padded[:-1, :-1], padded[1:, 1:]
    estimate = left + above - corner
    near = [np.abs(estimate - other) for other in (left, above, corner)]
    paeth = np.choose(np.argmin(near, axis=0), [left, above, corner])
    guesses = [0 * own, left, above, (left + above) // 2, paeth]
    rows = bytearray()
    for row in range(height):
        rows += bytes([row % 5]) + ((own - guesses[row % 5]) % 256)[row].astype(np.uint8).tobytes()
    (tmp_path / "a.png").write_bytes(png(bytes(rows), width=width, height=height))
    assert np.array_equal(read_label_map(tmp_path / "a.png").array, array)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), array)


@pytest.mark.parametrize("most", [2, 256, 65536])
def test_what_is_written_is_read_again_by_anybody(tmp_path, most):
    array = GENERATOR.integers(0, most, (9, 14))
    array[0, 0] = most - 1
    write_label_map(tmp_path / "a.png", LabelMap.from_array(array))
    assert np.array_equal(read_label_map(tmp_path / "a.png").array, array)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), array)
    with pytest.raises(InputError, match="two axes"):
        write_label_map(tmp_path / "b.png", LabelMap.from_array(np.ones((2, 2, 2), int)))
    assert not (tmp_path / "b.png").exists()


ROWS = bytes(5 * 8)
WRONG = {
    "no PNG": (b"GIF89a" * 20, "this is not PNG"),
    "nothing": (b"", "this is not PNG"),
    "a header alone": (png(ROWS)[:40], "ends too early"),
    "an end that is missing": (png(ROWS)[:-12], "ends too early"),
    "colours": (png(ROWS, colour=2), "this PNG has colours, and not labels. Save one number a pixel"),
    "transparency": (png(ROWS, colour=4), "grey with transparency"),
    "an odd depth": (png(ROWS, depth=3), "its header is none"),
    "no pixels": (png(ROWS, width=0), "its header is none"),
    "interlaced": (png(ROWS, interlaced=1), "interlaced"),
    "too few rows": (png(ROWS[:-1]), "promises 40 bytes of pixels, the file holds 39"),
    "a bomb": (png(bytes(10**7)), "the file holds more than 40"),
    "a huge promise": (png(ROWS, width=2**31 - 1, height=2**31 - 1), "more than the limit"),
    "a long piece": (png(ROWS, after=struct.pack(">I", 2**31 - 1) + b"IDAT"), "more than its header promises"),
    "an unknown filter": (png(b"\7" * 40), "unknown filter"),
    "a wrong checksum": (png(ROWS).replace(b"x" * 10, b"x" * 9 + b"y"), "checksum"),
    "damaged data": (png(ROWS).replace(zlib.compress(ROWS), b"\0" * len(zlib.compress(ROWS))), "checksum"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_damaged_file_is_one_clear_line(tmp_path, what):
    content, message = WRONG[what]
    path = tmp_path / "a.png"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_label_map(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


def test_random_damage_is_told_or_harmless(tmp_path):
    content, path = png(GENERATOR.integers(0, 5, 40).astype(np.uint8).tobytes()), tmp_path / "a.png"
    for _ in range(300):
        damaged = bytearray(content)
        for place in GENERATOR.integers(0, len(content), 2):
            damaged[place] = GENERATOR.integers(0, 256)
        path.write_bytes(bytes(damaged))
        with suppress(InputError):
            assert read_label_map(path).shape[0]


def test_three_axes_cannot_be_asked_for(tmp_path):
    (tmp_path / "a.png").write_bytes(png(ROWS))
    with pytest.raises(InputError, match="a PNG has two axes"):
        read_label_map(tmp_path / "a.png", dimensions=3)

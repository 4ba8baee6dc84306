"""Kernels that find the boundaries of up to eight regions in two label maps, or in the channels of two stacks of masks.

The lattice of a pair is cut to the box around all labels, which is found on the device, and lies in memory tile by
tile. Whatever has boundary in a tile is listed one after the other, so that a tile is also a group of neighbours.

A voxel is known by its region bits: through a table of labels, or one bit from each channel.
"""

from __future__ import annotations

import triton
import triton.language as tl

IMAGE = (
    "reference_item", "reference_channel", "rz", "ry", "rx",
    "prediction_item", "prediction_channel", "pz", "py", "px", "depth", "height", "width", "table_size",
    "marks_size", "tiles_most", "places_most",
)  # fmt: skip
"""Numbers that kernels take as they are: to be compiled anew for every kind of number would take seconds."""


@triton.jit
def bits_at(
    image, channel_step, step_z, step_y, step_x, z, y, x, size_z, size_y, size_x, mask, table, table_size,
    CHANNELS: tl.constexpr,
):  # fmt: skip
    """Return the region bits of voxels in a box of that size, which begins where the image points; none are beyond."""
    within = mask & (z >= 0) & (z < size_z) & (y >= 0) & (y < size_y) & (x >= 0) & (x < size_x)
    at = z * step_z + y * step_y + x * step_x
    if CHANNELS == 0:
        values = tl.load(image + at, mask=within, other=0)
        if values.dtype.is_floating():
            values = values.to(tl.float32)  # in half precision, a number and the next are compared as equal
        known = (values > 0) & (values < table_size)
        bits = tl.load(table + values.to(tl.int32), mask=known, other=0).to(tl.int32)
    else:
        bits = at * 0
        for channel in tl.static_range(CHANNELS):
            inside = tl.load(image + channel * channel_step + at, mask=within, other=0) != 0
            bits = bits | (inside.to(tl.int32) << channel)
    return bits


@triton.jit
def anything_at(
    image, channel_step, step_z, step_y, step_x, z, y, x, size_z, size_y, size_x, mask, CHANNELS: tl.constexpr
):
    """Return which voxels in a box of that size are not zero in any channel; none are beyond."""
    within = mask & (z >= 0) & (z < size_z) & (y >= 0) & (y < size_y) & (x >= 0) & (x < size_x)
    at = z * step_z + y * step_y + x * step_x
    some = tl.load(image + at, mask=within, other=0) != 0
    for channel in tl.static_range(1, max(CHANNELS, 1)):
        some = some | (tl.load(image + channel * channel_step + at, mask=within, other=0) != 0)
    return some


@triton.jit
def is_wrong(values):
    """Return where values are no labels: negative, fractional, or no number."""
    if values.dtype.is_floating():
        single = values.to(tl.float64)
        wrong = (single < 0) | (single != tl.floor(single)) | (single > 4294967295.0)
    else:
        wrong = values < 0
        if values.dtype.primitive_bitwidth == 64:
            wrong = wrong | (values > 4294967295)
    return wrong


@triton.jit(do_not_specialize=IMAGE[2:5] + IMAGE[7:13])
def bounds(
    reference, prediction, reference_item, reference_channel, rz, ry, rx,
    prediction_item, prediction_channel, pz, py, px,
    depth, height, width, boxes, wrong_labels,
    CHANNELS: tl.constexpr, CONTIGUOUS: tl.constexpr, WORD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Find a box around all that is not zero in a pair: size - lower, then upper, of each axis; zeros at first.

    Where rows are whole words of several voxels, words are read, `width` is in words, and so is the box along x.
    """
    item = tl.program_id(1)
    reference += item.to(tl.int64) * reference_item
    prediction += item.to(tl.int64) * prediction_item
    reference_step = item.to(tl.int64) * 0 + reference_channel  # channels may lie further apart than 32 bits count
    prediction_step = item.to(tl.int64) * 0 + prediction_channel
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < depth * height * width
    if CONTIGUOUS:
        reference_at = index
        prediction_at = index
    else:
        x = index % width
        y = index // width % height
        z = index // width // height
        reference_at = z * rz + y * ry + x * rx
        prediction_at = z * pz + y * py + x * px
    some = tl.zeros([BLOCK], tl.int1)
    for channel in tl.static_range(max(CHANNELS, 1)):
        one = tl.load(reference + channel * reference_step + reference_at, mask=inside, other=0)
        two = tl.load(prediction + channel * prediction_step + prediction_at, mask=inside, other=0)
        some = some | (one != 0) | (two != 0)
    if tl.max(some.to(tl.int32), 0) != 0:
        if WORD == 1:
            for channel in tl.static_range(max(CHANNELS, 1)):
                one = tl.load(reference + channel * reference_step + reference_at, mask=inside, other=0)
                two = tl.load(prediction + channel * prediction_step + prediction_at, mask=inside, other=0)
                wrong = tl.max((is_wrong(one) | is_wrong(two)).to(tl.int32), 0)
                if wrong != 0:
                    tl.atomic_or(wrong_labels + item, wrong, sem="relaxed")
        column = index % width
        row = index // width % height
        plane = index // width // height
        boxes += item * 6
        tl.atomic_max(boxes, tl.max(tl.where(some, depth - plane, 0), 0), sem="relaxed")
        tl.atomic_max(boxes + 1, tl.max(tl.where(some, height - row, 0), 0), sem="relaxed")
        tl.atomic_max(boxes + 2, tl.max(tl.where(some, width - column, 0), 0) * WORD, sem="relaxed")
        tl.atomic_max(boxes + 3, tl.max(tl.where(some, plane + 1, 0), 0), sem="relaxed")
        tl.atomic_max(boxes + 4, tl.max(tl.where(some, row + 1, 0), 0), sem="relaxed")
        tl.atomic_max(boxes + 5, tl.max(tl.where(some, column + 1, 0), 0) * WORD, sem="relaxed")


@triton.jit
def one_side(
    side, reference, prediction, reference_item, reference_channel, rz, ry, rx,
    prediction_item, prediction_channel, pz, py, px, depth, height, width, boxes, item,
):  # fmt: skip
    """Return where the box of a pair begins in the image of one side, that image's steps, and the size of the box."""
    image = tl.where(side == 0, reference, prediction)
    step_z, step_y, step_x = tl.where(side == 0, rz, pz), tl.where(side == 0, ry, py), tl.where(side == 0, rx, px)
    low_z = depth - tl.load(boxes + item * 6)
    low_y = height - tl.load(boxes + item * 6 + 1)
    low_x = width - tl.load(boxes + item * 6 + 2)
    size_z = tl.load(boxes + item * 6 + 3) - low_z
    size_y = tl.load(boxes + item * 6 + 4) - low_y
    size_x = tl.load(boxes + item * 6 + 5) - low_x
    image += item.to(tl.int64) * tl.where(side == 0, reference_item, prediction_item)
    if size_z > 0:
        image += low_z * step_z + low_y * step_y + low_x * step_x
    channel_step = tl.where(side == 0, reference_channel, prediction_channel).to(tl.int64)
    return image, channel_step, step_z, step_y, step_x, size_z, size_y, size_x


@triton.jit(do_not_specialize=IMAGE)
def surfaces(
    reference, prediction, reference_item, reference_channel, rz, ry, rx,
    prediction_item, prediction_channel, pz, py, px,
    depth, height, width, table, table_size, boxes, marks, marks_size, tiles, tiles_most, places, places_most,
    counters, present,
    CHANNELS: tl.constexpr, REGIONS: tl.constexpr, SURFEL: tl.constexpr, FLAT: tl.constexpr,
    TZ: tl.constexpr, TY: tl.constexpr, TX: tl.constexpr,
):  # fmt: skip
    """Mark the boundary of every region on the lattice, tile by tile, and list what tiles have of it.

    `tiles` gets four numbers for each tile with boundary: which it is, where its places start in `places` (-1 where
    they have no room there), how many they are, and their regions. `counters` has the number of such tiles in its
    upper 24 bits and that of places in its lower 40.
    """
    side, item = tl.program_id(1), tl.program_id(2)
    own = item * 2 + side
    image, channel_step, step_z, step_y, step_x, size_z, size_y, size_x = one_side(
        side, reference, prediction, reference_item, reference_channel, rz, ry, rx,
        prediction_item, prediction_channel, pz, py, px, depth, height, width, boxes, item,
    )  # fmt: skip
    marks += own.to(tl.int64) * marks_size
    tiles += own.to(tl.int64) * 4 * tiles_most
    places += own.to(tl.int64) * places_most
    planes, rows, columns = size_z + (1 if SURFEL and not FLAT else 0), size_y + SURFEL, size_x + SURFEL
    across, down = tl.cdiv(columns, TX), tl.cdiv(rows, TY)
    count = tl.cdiv(planes, TZ) * down * across
    if size_z <= 0:
        count = 0
    local = tl.arange(0, TZ * TY * TX)
    for tile in range(tl.program_id(0), count, tl.num_programs(0)):
        z = tile // across // down * TZ + local // (TX * TY)
        y = tile // across % down * TY + local // TX % TY
        x = tile % across * TX + local % TX
        valid = (z < planes) & (y < rows) & (x < columns)
        edge = local * 0
        if SURFEL:
            anything = local < 0
            for corner in tl.static_range(4 if FLAT else 8):
                anything = anything | anything_at(
                    image, channel_step, step_z, step_y, step_x, z + ((corner >> 2) - (0 if FLAT else 1)),
                    y + ((corner >> 1 & 1) - 1), x + ((corner & 1) - 1), size_z, size_y, size_x, valid, CHANNELS,
                )  # fmt: skip
            if tl.max(anything.to(tl.int32), 0) != 0:
                some = local * 0
                every = local * 0 + 255
                for corner in tl.static_range(4 if FLAT else 8):
                    bits = bits_at(
                        image, channel_step, step_z, step_y, step_x, z + ((corner >> 2) - (0 if FLAT else 1)),
                        y + ((corner >> 1 & 1) - 1), x + ((corner & 1) - 1), size_z, size_y, size_x, valid,
                        table, table_size, CHANNELS,
                    )  # fmt: skip
                    some = some | bits
                    every = every & bits
                edge = some & ~every
        else:
            middle = bits_at(
                image, channel_step, step_z, step_y, step_x, z, y, x, size_z, size_y, size_x, valid,
                table, table_size, CHANNELS,
            )  # fmt: skip
            if tl.max(middle, 0) != 0:
                inner = middle
                for face in tl.static_range(4 if FLAT else 6):
                    step = (face % 2) * 2 - 1
                    inner = inner & bits_at(
                        image, channel_step, step_z, step_y, step_x, z + (step if face // 2 == 2 else 0),
                        y + (step if face // 2 == 1 else 0), x + (step if face // 2 == 0 else 0),
                        size_z, size_y, size_x, valid, table, table_size, CHANNELS,
                    )  # fmt: skip
                edge = middle & ~inner
        edge = tl.where(valid, edge, 0)
        tl.store(marks + tile * (TZ * TY * TX) + local, edge.to(tl.uint8))
        marked = (edge != 0).to(tl.int32)
        number = tl.sum(marked, 0)
        if number != 0:
            regions = 0
            for region in tl.static_range(REGIONS):
                regions = regions | (tl.max(edge >> region & 1, 0) << region)
            before = tl.atomic_add(counters + own, (1 << 40) + number.to(tl.int64), sem="relaxed")
            slot = (before >> 40).to(tl.int32)
            start = before & ((1 << 40) - 1)
            room = start + number <= places_most
            tl.store(places + start + tl.cumsum(marked, 0) - 1, local.to(tl.int16), mask=(marked != 0) & room)
            tl.store(tiles + 4 * slot, tile)
            tl.store(tiles + 4 * slot + 1, tl.where(room, start, -1).to(tl.int32))
            tl.store(tiles + 4 * slot + 2, number)
            tl.store(tiles + 4 * slot + 3, regions)
            tl.atomic_or(present + own, regions, sem="relaxed")


@triton.jit(do_not_specialize=IMAGE[:14])
def common(
    reference, prediction, reference_item, reference_channel, rz, ry, rx,
    prediction_item, prediction_channel, pz, py, px,
    depth, height, width, table, table_size, boxes, counts,
    CHANNELS: tl.constexpr, REGIONS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Count the voxels of every region in both, in the reference, and in the prediction, within the box of the pair."""
    item = tl.program_id(1)
    one, one_channel, one_z, one_y, one_x, planes, rows, columns = one_side(
        0, reference, prediction, reference_item, reference_channel, rz, ry, rx,
        prediction_item, prediction_channel, pz, py, px, depth, height, width, boxes, item,
    )  # fmt: skip
    two, two_channel, two_z, two_y, two_x, planes, rows, columns = one_side(
        1, reference, prediction, reference_item, reference_channel, rz, ry, rx,
        prediction_item, prediction_channel, pz, py, px, depth, height, width, boxes, item,
    )  # fmt: skip
    size = planes * rows * columns
    if planes <= 0:
        size = 0
    regions = tl.arange(0, 8)
    totals = tl.zeros([8], tl.int64)
    of_reference = tl.zeros([8], tl.int64)
    of_prediction = tl.zeros([8], tl.int64)
    for start in range(tl.program_id(0) * BLOCK, size, tl.num_programs(0) * BLOCK):
        index = start + tl.arange(0, BLOCK)
        inside = index < size
        x = index % columns
        y = index // columns % rows
        z = index // columns // rows
        first = bits_at(
            one, one_channel, one_z, one_y, one_x, z, y, x, planes, rows, columns, inside, table, table_size, CHANNELS
        )
        second = bits_at(
            two, two_channel, two_z, two_y, two_x, z, y, x, planes, rows, columns, inside, table, table_size, CHANNELS
        )
        for region in tl.static_range(REGIONS):
            chosen = regions == region
            totals += tl.where(chosen, tl.sum(first & second & (1 << region), 0) >> region, 0)
            of_reference += tl.where(chosen, tl.sum(first & (1 << region), 0) >> region, 0)
            of_prediction += tl.where(chosen, tl.sum(second & (1 << region), 0) >> region, 0)
    counts += item * REGIONS * 3
    within = (regions < REGIONS) & (size > 0)
    tl.atomic_add(counts + regions * 3, totals, mask=within, sem="relaxed")
    tl.atomic_add(counts + regions * 3 + 1, of_reference, mask=within, sem="relaxed")
    tl.atomic_add(counts + regions * 3 + 2, of_prediction, mask=within, sem="relaxed")

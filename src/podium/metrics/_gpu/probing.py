"""Kernels for exact distances from every element of one boundary to the nearest of the other.

First the other boundary is probed at all lattice offsets in order of their length: the first mark met is the nearest.
What meets none goes, in groups of neighbours, through the tiles of the other boundary: bounds on the distance between
two boxes tell which tiles can matter, the nearest come first, and a tile that begins beyond the best so far is passed
over. Near distances are counted by (region, distance, kind of element) in whole numbers, so that no order of threads
shows in the result; far ones are kept one by one.
"""

from __future__ import annotations

import triton
import triton.language as tl

from podium.metrics._gpu.outlines import IMAGE, bits_at, one_side


@triton.jit
def element_kinds(
    image, channel_step, step_z, step_y, step_x, z, y, x, size_z, size_y, size_x, mask, table, table_size, kinds,
    regions, CHANNELS: tl.constexpr, SURFEL: tl.constexpr, FLAT: tl.constexpr,
):  # fmt: skip
    """Return of which kind elements are in every region, shape (elements, regions): what size their code stands for."""
    code = z[:, None] * 0 + regions[None, :] * 0
    if SURFEL:
        for corner in tl.static_range(4 if FLAT else 8):
            bits = bits_at(
                image, channel_step, step_z, step_y, step_x, z + ((corner >> 2) - (0 if FLAT else 1)),
                y + ((corner >> 1 & 1) - 1), x + ((corner & 1) - 1), size_z, size_y, size_x, mask, table, table_size,
                CHANNELS,
            )  # fmt: skip
            code = code | ((bits[:, None] >> regions[None, :] & 1) << corner)
        if FLAT:
            code = code * 17
        code = tl.load(kinds + code).to(tl.int32)
    return code


@triton.jit
def group_of(tiles, slot, chunk, places, GROUP: tl.constexpr, TILE: tl.constexpr):
    """Return some elements of a tile: which of its places they are, and which of them are there."""
    start = tl.load(tiles + 4 * slot + 1)
    listed = start >= 0
    number = tl.where(listed, tl.load(tiles + 4 * slot + 2), TILE)
    index = chunk + tl.arange(0, GROUP)
    there = index < number
    local = tl.load(places + start + index, mask=there & listed, other=0).to(tl.int32)
    return tl.where(listed, local, index), there


@triton.jit(do_not_specialize=(*IMAGE, "kind_count", "step_count", "bin_count"))
def near(
    reference, prediction, reference_item, reference_channel, rz, ry, rx,
    prediction_item, prediction_channel, pz, py, px,
    depth, height, width, table, table_size, boxes, marks, marks_size, tiles, tiles_most, places, places_most,
    counters, present, kinds, kind_count, steps, step_count, histogram, bin_count,
    groups, group_regions, group_counters,
    CHANNELS: tl.constexpr, REGIONS: tl.constexpr, WIDE: tl.constexpr, SURFEL: tl.constexpr, FLAT: tl.constexpr,
    TZ: tl.constexpr, TY: tl.constexpr, TX: tl.constexpr,
    GROUP: tl.constexpr, AT_ONCE: tl.constexpr, COPIES: tl.constexpr,
):  # fmt: skip
    """Probe from every element in the order of `steps`: 16 bits each for z, y, x, and 8 for the bin of the distance.

    The last bin is for what is infinitely far, as the other has no such region. Groups of elements that have one
    without a mark in reach are listed in `groups`: the tile's slot and the group's number in it, and its regions.
    """
    side, item = tl.program_id(1), tl.program_id(2)
    own, other = item * 2 + side, item * 2 + 1 - side
    image, channel_step, step_z, step_y, step_x, size_z, size_y, size_x = one_side(
        side, reference, prediction, reference_item, reference_channel, rz, ry, rx,
        prediction_item, prediction_channel, pz, py, px, depth, height, width, boxes, item,
    )  # fmt: skip
    own_marks = marks + own.to(tl.int64) * marks_size
    other_marks = marks + other.to(tl.int64) * marks_size
    tiles += own.to(tl.int64) * 4 * tiles_most
    places += own.to(tl.int64) * places_most
    groups += own.to(tl.int64) * tiles_most * (TZ * TY * TX // GROUP)
    group_regions += own.to(tl.int64) * tiles_most * (TZ * TY * TX // GROUP)
    planes, rows, columns = size_z + (1 if SURFEL and not FLAT else 0), size_y + SURFEL, size_x + SURFEL
    across, down = tl.cdiv(columns, TX), tl.cdiv(rows, TY)
    planes, rows, columns = planes.to(tl.uint32), rows.to(tl.uint32), columns.to(tl.uint32)
    count = (tl.load(counters + own) >> 40).to(tl.int32)
    regions = tl.arange(0, WIDE)
    there_too = tl.load(present + other)
    copy = tl.program_id(0) % COPIES
    histogram += ((copy * tl.num_programs(2) + item) * 2 + side).to(tl.int64) * REGIONS * bin_count * kind_count
    for slot in range(tl.program_id(0), count, tl.num_programs(0)):
        tile = tl.load(tiles + 4 * slot)
        number = tl.load(tiles + 4 * slot + 2)
        if tl.load(tiles + 4 * slot + 1) < 0:
            number = TZ * TY * TX
        for chunk in range(0, number, GROUP):
            local, there = group_of(tiles, slot, chunk, places, GROUP, TZ * TY * TX)
            z = tile // across // down * TZ + local // (TX * TY)
            y = tile // across % down * TY + local // TX % TY
            x = tile % across * TX + local % TX
            bits = tl.load(own_marks + tile * (TZ * TY * TX) + local, mask=there, other=0).to(tl.int32)
            asking = bits & there_too
            lower = asking * 0  # a byte for the bin of each of four regions
            upper = asking * 0
            step = 0
            while (step < step_count) & (tl.max(asking, 0) != 0):
                for more in tl.static_range(AT_ONCE):
                    packed = tl.load(steps + step + more)
                    to_z = (z + (packed >> 48).to(tl.int32)).to(tl.uint32)
                    to_y = (y + (packed << 16 >> 48).to(tl.int32)).to(tl.uint32)
                    to_x = (x + (packed << 32 >> 48).to(tl.int32)).to(tl.uint32)
                    inside = (to_z < planes) & (to_y < rows) & (to_x < columns)
                    row = (to_z // TZ).to(tl.int32) * down + (to_y // TY).to(tl.int32)
                    place = (row * across + (to_x // TX).to(tl.int32)) * (TZ * TY * TX)
                    place += ((to_z % TZ * TY + to_y % TY) * TX + to_x % TX).to(tl.int32)
                    hit = asking & tl.load(other_marks + place, mask=inside, other=0).to(tl.int32)
                    asking = asking ^ hit
                    bin_of = (packed & 0xFF).to(tl.int32)
                    lower = lower | ((hit & 15) * 0x00204081 & 0x01010101) * bin_of
                    if REGIONS > 4:
                        upper = upper | ((hit >> 4) * 0x00204081 & 0x01010101) * bin_of
                step += AT_ONCE
            kind = element_kinds(
                image, channel_step, step_z, step_y, step_x, z, y, x, size_z, size_y, size_x, there, table, table_size,
                kinds, regions, CHANNELS, SURFEL, FLAT,
            )  # fmt: skip
            shift = (regions & 3) * 8
            half = tl.where((regions < 4)[None, :], lower[:, None], upper[:, None])
            bins = half >> shift[None, :] & 255
            bins = tl.where((there_too >> regions & 1 != 0)[None, :], bins, bin_count - 1)
            met = ((bits ^ asking)[:, None] >> regions[None, :] & 1) != 0
            at = (regions[None, :] * bin_count + bins) * kind_count + kind
            tl.atomic_add(histogram + at, 1, mask=met, sem="relaxed")
            if tl.max(asking, 0) != 0:
                unmet = tl.sum(tl.max(asking[:, None] >> regions[None, :] & 1, 0) << regions, 0)
                entry = tl.atomic_add(group_counters + own, 1, sem="relaxed")
                tl.store(groups + entry, slot * (TZ * TY * TX // GROUP) + chunk // GROUP)
                tl.store(group_regions + entry, unmet.to(tl.uint8))


@triton.jit
def box_of(slot, tiles, across, down, TZ: tl.constexpr, TY: tl.constexpr, TX: tl.constexpr):
    """Return where the box of a listed tile begins."""
    tile = tl.load(tiles + 4 * slot)
    return tile // across // down * TZ, tile // across % down * TY, tile % across * TX


@triton.jit
def gap_square(z, y, x, there_z, there_y, there_x, dz, dy, dx, TZ: tl.constexpr, TY: tl.constexpr, TX: tl.constexpr):
    """Return how far places are from the box of a tile, squared; rounding never makes it more than to what is in it."""
    along_z = tl.maximum(tl.maximum(there_z - z, z - there_z - (TZ - 1)), 0).to(tl.float64) * dz
    along_y = tl.maximum(tl.maximum(there_y - y, y - there_y - (TY - 1)), 0).to(tl.float64) * dy
    along_x = tl.maximum(tl.maximum(there_x - x, x - there_x - (TX - 1)), 0).to(tl.float64) * dx
    return along_z * along_z + along_y * along_y + along_x * along_x


@triton.jit
def nearest_in_tile(
    best, z, y, x, slot, bit, tiles, places, marks, across, down, dz, dy, dx,
    TZ: tl.constexpr, TY: tl.constexpr, TX: tl.constexpr, OTHERS: tl.constexpr,
):  # fmt: skip
    """Return the least squared distances of elements, given those so far, with the elements of one more tile."""
    tile = tl.load(tiles + 4 * slot)
    number = tl.load(tiles + 4 * slot + 2)
    if tl.load(tiles + 4 * slot + 1) < 0:
        number = TZ * TY * TX
    for chunk in range(0, number, OTHERS):
        local, there = group_of(tiles, slot, chunk, places, OTHERS, TZ * TY * TX)
        mark = tl.load(marks + tile * (TZ * TY * TX) + local, mask=there, other=0).to(tl.int32)
        to_z = tile // across // down * TZ + local // (TX * TY)
        to_y = tile // across % down * TY + local // TX % TY
        to_x = tile % across * TX + local % TX
        along_z = (z[:, None] - to_z[None, :]).to(tl.float64) * dz
        along_y = (y[:, None] - to_y[None, :]).to(tl.float64) * dy
        along_x = (x[:, None] - to_x[None, :]).to(tl.float64) * dx
        square = along_z * along_z + along_y * along_y + along_x * along_x
        square = tl.where(((mark & bit) != 0)[None, :], square, float("inf"))
        best = tl.minimum(best, tl.min(square, 1))
    return best


@triton.jit(do_not_specialize=(*IMAGE, "kind_count", "records_most"))
def far(
    reference, prediction, reference_item, reference_channel, rz, ry, rx,
    prediction_item, prediction_channel, pz, py, px,
    depth, height, width, table, table_size, boxes, marks, marks_size, tiles, tiles_most, places, places_most,
    counters, kinds, kind_count, groups, group_regions, group_counters, spacing, reach,
    records, owners, records_most, record_counters,
    farthest,
    CHANNELS: tl.constexpr, REGIONS: tl.constexpr, WIDE: tl.constexpr, SURFEL: tl.constexpr, FLAT: tl.constexpr,
    TZ: tl.constexpr, TY: tl.constexpr, TX: tl.constexpr,
    GROUP: tl.constexpr, OTHERS: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """Find the nearest for groups that probing left, and keep every distance beyond the square of its `reach`.

    A record is a distance in mm; its owner says region and kind. `farthest` has the bits of the largest distance of a
    region, as positive numbers have the order of their bits.
    """
    side, item = tl.program_id(1), tl.program_id(2)
    own, other = item * 2 + side, item * 2 + 1 - side
    count = tl.load(group_counters + own).to(tl.int32)
    if count == 0:
        return
    image, channel_step, step_z, step_y, step_x, size_z, size_y, size_x = one_side(
        side, reference, prediction, reference_item, reference_channel, rz, ry, rx,
        prediction_item, prediction_channel, pz, py, px, depth, height, width, boxes, item,
    )  # fmt: skip
    own_marks = marks + own.to(tl.int64) * marks_size
    other_marks = marks + other.to(tl.int64) * marks_size
    own_tiles = tiles + own.to(tl.int64) * 4 * tiles_most
    other_tiles = tiles + other.to(tl.int64) * 4 * tiles_most
    own_places = places + own.to(tl.int64) * places_most
    other_places = places + other.to(tl.int64) * places_most
    groups += own.to(tl.int64) * tiles_most * (TZ * TY * TX // GROUP)
    group_regions += own.to(tl.int64) * tiles_most * (TZ * TY * TX // GROUP)
    records += own.to(tl.int64) * records_most
    owners += own.to(tl.int64) * records_most
    across, down = tl.cdiv(size_x + SURFEL, TX), tl.cdiv(size_y + SURFEL, TY)
    tile_count = (tl.load(counters + other) >> 40).to(tl.int32)
    dz, dy, dx = tl.load(spacing), tl.load(spacing + 1), tl.load(spacing + 2)
    short_z, short_y, short_x = dz.to(tl.float32), dy.to(tl.float32), dx.to(tl.float32)
    square_reach = tl.load(reach)
    all_regions = tl.arange(0, WIDE)
    for entry in range(tl.program_id(0), count, tl.num_programs(0)):
        group = tl.load(groups + entry)
        unmet = tl.load(group_regions + entry).to(tl.int32)
        slot = group // (TZ * TY * TX // GROUP)
        chunk = group % (TZ * TY * TX // GROUP) * GROUP
        tile = tl.load(own_tiles + 4 * slot)
        local, there = group_of(own_tiles, slot, chunk, own_places, GROUP, TZ * TY * TX)
        z = tile // across // down * TZ + local // (TX * TY)
        y = tile // across % down * TY + local // TX % TY
        x = tile % across * TX + local % TX
        bits = tl.load(own_marks + tile * (TZ * TY * TX) + local, mask=there, other=0).to(tl.int32)
        kind = element_kinds(
            image, channel_step, step_z, step_y, step_x, z, y, x, size_z, size_y, size_x, there, table, table_size,
            kinds, all_regions, CHANNELS, SURFEL, FLAT,
        )  # fmt: skip
        for region in range(REGIONS):
            if unmet >> region & 1 != 0:
                bit = 1 << region
                asking = (bits & bit) != 0
                low_z, high_z = tl.min(tl.where(asking, z, 1 << 30), 0), tl.max(tl.where(asking, z, 0), 0)
                low_y, high_y = tl.min(tl.where(asking, y, 1 << 30), 0), tl.max(tl.where(asking, y, 0), 0)
                low_x, high_x = tl.min(tl.where(asking, x, 1 << 30), 0), tl.max(tl.where(asking, x, 0), 0)
                # A tile of the other has an element somewhere in its box: no element of the group is farther from it
                # than the farthest corners of the two boxes.
                bound = float("inf")
                first = 0
                for start in range(0, tile_count, TILES):
                    slots = start + tl.arange(0, TILES)
                    some = slots < tile_count
                    which = tl.load(other_tiles + 4 * slots, mask=some, other=0)
                    some = some & ((tl.load(other_tiles + 4 * slots + 3, mask=some, other=0) & bit) != 0)
                    tile_z = which // across // down * TZ
                    tile_y = which // across % down * TY
                    tile_x = which % across * TX
                    away_z = tl.maximum(tile_z + TZ - 1 - low_z, high_z - tile_z).to(tl.float32) * short_z
                    away_y = tl.maximum(tile_y + TY - 1 - low_y, high_y - tile_y).to(tl.float32) * short_y
                    away_x = tl.maximum(tile_x + TX - 1 - low_x, high_x - tile_x).to(tl.float32) * short_x
                    square = away_z * away_z + away_y * away_y + away_x * away_x
                    square = tl.where(some, square, float("inf"))
                    least = tl.min(square, 0)
                    if least < bound:
                        bound = least
                        first = start + tl.argmin(square, 0)
                bound = bound * 1.00001
                best = tl.full([GROUP], float("inf"), tl.float64)
                best = nearest_in_tile(
                    best, z, y, x, first, bit, other_tiles, other_places, other_marks, across, down, dz, dy, dx,
                    TZ, TY, TX, OTHERS,
                )  # fmt: skip
                worst = tl.max(tl.where(asking, best, 0.0), 0).to(tl.float32) * 1.00001
                bound = tl.minimum(bound, worst)
                for start in range(0, tile_count, TILES):
                    slots = start + tl.arange(0, TILES)
                    some = (slots < tile_count) & (slots != first)
                    which = tl.load(other_tiles + 4 * slots, mask=some, other=0)
                    some = some & ((tl.load(other_tiles + 4 * slots + 3, mask=some, other=0) & bit) != 0)
                    tile_z = which // across // down * TZ
                    tile_y = which // across % down * TY
                    tile_x = which % across * TX
                    away_z = tl.maximum(tl.maximum(tile_z - high_z, low_z - tile_z - (TZ - 1)), 0)
                    away_y = tl.maximum(tl.maximum(tile_y - high_y, low_y - tile_y - (TY - 1)), 0)
                    away_x = tl.maximum(tl.maximum(tile_x - high_x, low_x - tile_x - (TX - 1)), 0)
                    along_z = away_z.to(tl.float32) * short_z
                    along_y = away_y.to(tl.float32) * short_y
                    along_x = away_x.to(tl.float32) * short_x
                    square = along_z * along_z + along_y * along_y + along_x * along_x
                    square = tl.where(some, square, float("inf"))
                    least = tl.min(square, 0)
                    while least < bound:
                        place = tl.argmin(square, 0)
                        there_z, there_y, there_x = box_of(start + place, other_tiles, across, down, TZ, TY, TX)
                        gap = gap_square(z, y, x, there_z, there_y, there_x, dz, dy, dx, TZ, TY, TX)
                        if tl.max((asking & (gap < best)).to(tl.int32), 0) != 0:
                            best = nearest_in_tile(
                                best, z, y, x, start + place, bit, other_tiles, other_places, other_marks,
                                across, down, dz, dy, dx, TZ, TY, TX, OTHERS,
                            )  # fmt: skip
                            worst = tl.max(tl.where(asking, best, 0.0), 0).to(tl.float32) * 1.00001
                            bound = tl.minimum(bound, worst)
                        square = tl.where(tl.arange(0, TILES) == place, float("inf"), square)
                        least = tl.min(square, 0)
                kept = asking & (best > square_reach)
                distance = tl.sqrt(best)
                of_region = tl.sum(tl.where(all_regions[None, :] == region, kind, 0), 1)
                number = tl.sum(kept.to(tl.int32), 0)
                before = tl.atomic_add(record_counters + own, number.to(tl.int64), sem="relaxed")
                at = before + tl.cumsum(kept.to(tl.int32), 0) - 1
                kept = kept & (at < records_most)
                tl.store(records + at, distance, mask=kept)
                tl.store(owners + at, region * kind_count + of_region, mask=kept)
                longest = tl.max(tl.where(asking & (best > square_reach), distance, 0.0), 0)
                tl.atomic_max(farthest + own * REGIONS + region, longest.to(tl.int64, bitcast=True), sem="relaxed")

"""The nearest marked place, however far: of all if they are few, by blocks, or by a transform where many ask.

Marked places are sorted into blocks, and whole blocks are passed over. A block is a box of a few voxels, about as long
in mm along every axis; 8 × 8 × 8 of them are an area. Places that ask are sorted into the same blocks, since those of
one block have nearly the same neighbours: the distance from the middle of a block and the triangle inequality tell
which other blocks can matter to any place in it, and of those each place looks only into the blocks that begin nearer
than what it has met.

The transform goes axis by axis: how far each place is from a mark along z, from there along y, and from there along x,
the last two by the lower envelope of parabolas (Felzenszwalb and Huttenlocher 2012). It costs the same for every
distance, and needs the z distances of all places but only one plane of the others.

Every distance and every bound is computed by `_square` from whole numbers of steps. Rounding keeps its order, so that
a bound is never above what it bounds, and the result is the least that this formula gives for any marked place; the
transform may take one that is longer by a rounding, where two are as far.
"""

from __future__ import annotations

import numpy as np

from podium._jit import kernel

_SLACK = 1 + 1e-9  # for the rounding of the triangle inequality


@kernel
def sort_by_block(places, shape, blocks_z, blocks_y, blocks_x, starts, positions, order):
    """Sort places of a flattened array into blocks, whose number is the sum of what each coordinate stands for.

    Writes z, y and x of each place to `positions`, shape (3, places), and which place that is to `order`. `starts`, all
    zero and longer by two than there are blocks, becomes where the places of each block start, with an end.
    """
    for k in range(places.size):
        row, x = divmod(places[k], shape[2])
        z, y = divmod(row, shape[1])
        starts[blocks_z[z] + blocks_y[y] + blocks_x[x] + 2] += 1
    for block in range(2, starts.size):
        starts[block] += starts[block - 1]
    for k in range(places.size):
        row, x = divmod(places[k], shape[2])
        z, y = divmod(row, shape[1])
        block = blocks_z[z] + blocks_y[y] + blocks_x[x] + 1
        at = starts[block]
        starts[block] += 1
        positions[0, at], positions[1, at], positions[2, at] = z, y, x
        order[at] = k


@kernel
def _square(z, y, x, along_z, along_y, along_x):
    """Return the squared length of a step in mm², summed from the first axis to the last."""
    a, b, c = z * along_z, y * along_y, x * along_x
    return a * a + b * b + c * c


@kernel
def _gap(apart, half):
    """Return how far two intervals lie apart, from the distance of their middles and the sum of their halves."""
    rest = abs(apart) - half
    return 0.5 * (rest + abs(rest))


@kernel
def _away(z, y, x, half_z, half_y, half_x, boxes, start, squares, along_z, along_y, along_x):
    """Write how far a box is from others, squared; boxes are their middles and half lengths along z, y and x."""
    boxes = boxes[:, start : start + squares.size]
    for k in range(squares.size):
        squares[k] = _square(
            _gap(z - boxes[0, k], half_z + boxes[3, k]),
            _gap(y - boxes[1, k], half_y + boxes[4, k]),
            _gap(x - boxes[2, k], half_x + boxes[5, k]),
            along_z,
            along_y,
            along_x,
        )


@kernel
def _least(z, y, x, others, start, end, along_z, along_y, along_x):
    """Return the least squared distance from one position to some others.

    Positive numbers have the order of their bits, and only the least of whole numbers is found by a vector loop.
    """
    least = np.float64(np.inf).view(np.int64)
    others_z, others_y, others_x = others[0, start:end], others[1, start:end], others[2, start:end]
    for k in range(others_z.size):
        square = _square(z - others_z[k], y - others_y[k], x - others_x[k], along_z, along_y, along_x)
        least = min(least, np.float64(square).view(np.int64))
    return np.int64(least).view(np.float64)


@kernel
def compare_all(places, marked, shape, spacing, distances):
    """Write the distance from each place of a flattened array to the nearest of the marked ones, in mm."""
    others = np.empty((3, marked.size))
    for k in range(marked.size):
        row, x = divmod(marked[k], shape[2])
        z, y = divmod(row, shape[1])
        others[0, k], others[1, k], others[2, k] = z, y, x
    dz, dy, dx = spacing
    for k in range(places.size):
        row, x = divmod(places[k], shape[2])
        z, y = divmod(row, shape[1])
        least = _least(np.float64(z), np.float64(y), np.float64(x), others, 0, marked.size, dz, dy, dx)
        distances[k] = np.sqrt(least)


@kernel
def _choose(z, y, x, half_z, half_y, half_x, enough, boxes, areas, area_boxes, away, chosen, dz, dy, dx):
    """Choose the blocks, of areas, that are not farther than enough from a box; return how many."""
    count = 0
    for area in range(areas.size - 1):
        _away(z, y, x, half_z, half_y, half_x, area_boxes, area, away[:1], dz, dy, dx)
        if away[0] <= enough:
            start, end = areas[area], areas[area + 1]
            _away(z, y, x, half_z, half_y, half_x, boxes, start, away[: end - start], dz, dy, dx)
            for block in range(start, end):
                if away[block - start] <= enough:
                    chosen[count] = block
                    count += 1
    return count


@kernel
def search(asking, order, groups, group_boxes, others, starts, boxes, areas, area_boxes, spacing, distances):
    """Write the distance from each position that asks to the nearest of the others, in mm.

    Both are sorted by block, shape (3, positions). `groups` and `starts` say where each block starts, `group_boxes` and
    `boxes` its bounds as middles and half lengths, shape (6, blocks); `areas` at which of the others' blocks an area
    starts, with its bounds; `order` whose distance is whose.
    """
    dz, dy, dx = spacing
    chosen, away = np.empty(starts.size, np.int64), np.empty(starts.size)
    near = np.empty((6, starts.size))
    was_z = was_y = was_x = 0.0
    reach = np.inf
    for group in range(groups.size - 1):
        half_z, half_y, half_x = group_boxes[3, group], group_boxes[4, group], group_boxes[5, group]
        z, y, x = group_boxes[0, group], group_boxes[1, group], group_boxes[2, group]
        moved = np.sqrt(_square(z - was_z, y - was_y, x - was_x, dz, dy, dx))
        was_z, was_y, was_x = z, y, x
        best = (reach + moved) ** 2 * _SLACK
        count = _choose(z, y, x, 0.0, 0.0, 0.0, best, boxes, areas, area_boxes, away, chosen, dz, dy, dx)
        for candidate in range(count):
            block = chosen[candidate]
            best = min(best, _least(z, y, x, others, starts[block], starts[block + 1], dz, dy, dx))
        reach = np.sqrt(best)
        enough = (reach + np.sqrt(_square(half_z, half_y, half_x, dz, dy, dx))) ** 2 * _SLACK
        count = _choose(z, y, x, half_z, half_y, half_x, enough, boxes, areas, area_boxes, away, chosen, dz, dy, dx)
        for side in range(6):
            for candidate in range(count):
                near[side, candidate] = boxes[side, chosen[candidate]]
        nearest = 0
        for k in range(groups[group], groups[group + 1]):
            z, y, x = asking[0, k], asking[1, k], asking[2, k]
            _away(z, y, x, 0.0, 0.0, 0.0, near, 0, away[:count], dz, dy, dx)
            away[nearest] = 0.0  # where the one before found its nearest is a good place to begin
            candidate, best = nearest, np.inf
            ahead = 0
            while ahead <= count:
                if away[candidate] < best:
                    block = chosen[candidate]
                    least = _least(z, y, x, others, starts[block], starts[block + 1], dz, dy, dx)
                    away[candidate] = np.inf
                    if least < best:
                        best = least
                        nearest = candidate
                candidate = ahead
                ahead += 1
            distances[order[k]] = np.sqrt(best)


@kernel
def along_first_axis(marks, bit, far):
    """Return how many steps along the first axis each place is from one that has a bit; `far` if there is none."""
    steps = np.empty(marks.shape, np.uint16)
    planes, sheets = marks.reshape(marks.shape[0], -1), steps.reshape(marks.shape[0], -1)
    for k in range(planes.shape[1]):
        sheets[0, k] = np.uint16(0) if planes[0, k] & bit else far
    for z in range(1, planes.shape[0]):
        here, there = sheets[z], sheets[z - 1]
        for k in range(planes.shape[1]):
            on = there[k] + np.uint16(there[k] < far)
            here[k] = np.uint16(0) if planes[z, k] & bit else np.uint16(on)
    for z in range(planes.shape[0] - 2, -1, -1):
        here, there = sheets[z], sheets[z + 1]
        for k in range(planes.shape[1]):
            on = there[k] + np.uint16(there[k] < far)
            here[k] = min(here[k], np.uint16(on))
    return steps


@kernel
def _envelope(heights, along, inverses, corners, bends, result):
    """Write for each position k the least of (k - j)² · along² + heights[j] over all j.

    The parabolas whose minimum is the result are kept in `corners`, and from where each is the least in `bends`;
    `inverses` are 1 / (2 n) for every n. Returns whether any height is finite.
    """
    scale = 1 / (along * along)
    last = -1
    for j in range(heights.size):
        if heights[j] == np.inf:
            continue
        bend = -np.inf
        while last >= 0:
            i = corners[last]
            bend = ((heights[j] - heights[i]) * scale + (j - i) * (j + i)) * inverses[j - i]
            if bend > bends[last]:
                break
            last -= 1
            bend = -np.inf
        last += 1
        corners[last] = j
        bends[last] = bend
    if last < 0:
        return False
    bends[last + 1] = np.inf
    at = 0
    for k in range(heights.size):
        while bends[at + 1] < k:
            at += 1
        step = (k - corners[at]) * along
        result[k] = heights[corners[at]] + step * step
    return True


@kernel
def transform(places, steps, far, spacing, inverses, distances):
    """Write the distance from each place, ascending, to the nearest mark, in mm; `steps` are `along_first_axis`."""
    height, width = steps.shape[1:]
    longest = max(height, width)
    corners, bends = np.empty(longest, np.int64), np.empty(longest + 1)
    column, result = np.empty(longest), np.empty(longest)
    sheet = np.empty((height, width))
    k = 0
    while k < places.size:
        z = places[k] // (height * width)
        for x in range(width):
            for y in range(height):
                step = steps[z, y, x] * spacing[0]
                column[y] = step * step if steps[z, y, x] != far else np.inf
            if _envelope(column[:height], spacing[1], inverses, corners, bends, result):
                for y in range(height):
                    sheet[y, x] = result[y]
            else:
                sheet[:, x] = np.inf
        while k < places.size and places[k] < (z + 1) * height * width:
            row = places[k] // width
            _envelope(sheet[row - z * height], spacing[2], inverses, corners, bends, result)
            while k < places.size and places[k] < (row + 1) * width:
                distances[k] = np.sqrt(result[places[k] - row * width])
                k += 1


@kernel
def tally(values, sizes, counts, keys, key_sizes, key_counts):
    """Add up sizes and counts by value in a hash table, whose empty keys are negative; return how many were taken in.

    It stops where more than half of the table is in use: it must grow first.
    """
    mask = np.uint64(keys.size - 1)
    used = 0
    for k in range(keys.size):
        used += keys[k] >= 0
    for k in range(values.size):
        mixed = np.float64(values[k]).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        at = (mixed >> np.uint64(32)) & mask
        while keys[at] >= 0 and keys[at] != values[k]:
            at = (at + np.uint64(1)) & mask
        if keys[at] < 0:
            if 2 * used >= keys.size:
                return k
            keys[at] = values[k]
            used += 1
        key_sizes[at] += sizes[k]
        key_counts[at] += counts[k]
    return values.size

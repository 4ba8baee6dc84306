"""One pass over label maps: boxes, sums, and how often each pair of labels meets."""

from __future__ import annotations

import numpy as np

from podium._jit import kernel

_BLOCK_BYTES = 512


@kernel
def _any(values):
    """Return whether any value is not zero, by a vector loop."""
    bits = values.dtype.type(0)
    for k in range(values.size):
        bits |= values[k]
    return bits != 0


@kernel
def only_label(values):
    """Return the one value that occurs besides zero; zero if there is none, or a second."""
    nothing = values.dtype.type(0)
    only = nothing
    for k in range(values.size):
        if values[k] != nothing and values[k] != only:
            if only != nothing:
                return nothing
            only = values[k]
    return only


@kernel
def bounding_box(array):
    """Return the bounds, lower and upper, of what is not zero in a C-contiguous 3-D array; upper is 0 if nothing is.

    Blocks of zeros, most of a mask, are passed over as 64-bit words.
    """
    depth, height, width = array.shape
    lower = np.array([depth, height, width])
    upper = np.zeros(3, np.int64)
    values = array.reshape(-1)
    block_values = _BLOCK_BYTES // values.itemsize
    whole = values.size // block_values
    blocks = values[: whole * block_values].view(np.uint64).reshape(whole, _BLOCK_BYTES // 8)
    for block in range((values.size + block_values - 1) // block_values):
        if block < whole:
            any_bit = np.uint64(0)
            for word in range(blocks.shape[1]):
                any_bit |= blocks[block, word]
            if any_bit == 0:
                continue
        at = block * block_values
        end = min(at + block_values, values.size)
        while at < end:
            row = at // width
            stop = min((row + 1) * width, end)
            z, y = row // height, row % height
            left = min(max(row * width + lower[2], at), stop)
            right = max(min(row * width + upper[2], stop), at)
            if _any(values[at:left]) or _any(values[right:stop]):
                first, last = at, stop - 1
                while values[first] == 0:
                    first += 1
                while values[last] == 0:
                    last -= 1
                lower[2], upper[2] = min(lower[2], first - row * width), max(upper[2], last + 1 - row * width)
                some = True
            else:  # a look at the rest only where it can tell something
                inside = lower[0] <= z < upper[0] and lower[1] <= y < upper[1]
                some = not inside and _any(values[left:right])
            if some:
                lower[0], upper[0] = min(lower[0], z), max(upper[0], z + 1)
                lower[1], upper[1] = min(lower[1], y), max(upper[1], y + 1)
            at = stop
    return lower, upper


@kernel
def joint_counts(reference, prediction, lower, upper, table, counts):
    """Count, inside a box, how often class i of the reference meets class j of the prediction.

    The table turns labels into classes. Rows without any label are passed over, others are taken in runs, so that
    `counts[0, 0]` is not complete.
    """
    for z in range(lower[0], upper[0]):
        for y in range(lower[1], upper[1]):
            one = reference[z, y, lower[2] : upper[2]]
            two = prediction[z, y, lower[2] : upper[2]]
            any_bit = one[0] & 0
            for x in range(one.size):
                any_bit |= one[x] | two[x]
            if any_bit == 0:
                continue
            start = 0
            for x in range(1, one.size):
                if one[x] != one[x - 1] or two[x] != two[x - 1]:
                    counts[table[one[start]], table[two[start]]] += x - start
                    start = x
            counts[table[one[start]], table[two[start]]] += one.size - start


@kernel
def moments(labels, lower, upper, table, sums):
    """Add up, for each class, the number of voxels inside a box and their z, y and x coordinates."""
    for z in range(lower[0], upper[0]):
        for y in range(lower[1], upper[1]):
            line = labels[z, y, lower[2] : upper[2]]
            any_bit = line[0] & 0
            for x in range(line.size):
                any_bit |= line[x]
            if any_bit == 0:
                continue
            for x in range(line.size):
                kind = table[line[x]]
                if kind != 0:
                    sums[kind, 0] += 1
                    sums[kind, 1] += z
                    sums[kind, 2] += y
                    sums[kind, 3] += x + lower[2]


@kernel
def find_runs(labels, lower, upper, table, bit, shift, shape, runs, sums):
    """Find the runs of voxels inside a box, along the last axis, whose label has a bit set in the table.

    A run is its first place and the place after its last in a flattened image of that shape, in which voxel 0 of the
    labels lies at the shift. Adds up the number of voxels and their z, y and x coordinates in that image. Returns the
    runs (a longer copy where there was no room), shape (runs, 2), and how many were found.
    """
    run_count = 0
    for z in range(lower[0], upper[0]):
        for y in range(lower[1], upper[1]):
            line = labels[z, y, lower[2] : upper[2]]
            any_bit = line[0] & 0
            for x in range(line.size):
                any_bit |= line[x]
            if any_bit == 0:
                continue
            if run_count + line.size // 2 + 1 > len(runs):
                longer = np.empty((2 * (run_count + line.size), 2), np.int64)
                longer[:run_count] = runs[:run_count]
                runs = longer
            row = ((z + shift[0]) * shape[1] + y + shift[1]) * shape[2] + lower[2] + shift[2]
            x = 0
            while x < line.size:
                if not table[line[x]] & bit:
                    x += 1
                    continue
                start = x
                while x < line.size and table[line[x]] & bit:
                    x += 1
                runs[run_count, 0], runs[run_count, 1] = row + start, row + x
                run_count += 1
                count = x - start
                sums[0] += count
                sums[1] += count * (z + shift[0])
                sums[2] += count * (y + shift[1])
                sums[3] += count * (2 * (lower[2] + shift[2]) + start + x - 1) // 2
    return runs, run_count


@kernel
def common_voxels(one, two):
    """Return how many voxels two ascending lists of runs have in common."""
    total = i = j = 0
    while i < len(one) and j < len(two):
        first, last = max(one[i, 0], two[j, 0]), min(one[i, 1], two[j, 1])
        if first < last:
            total += last - first
        if one[i, 1] < two[j, 1]:
            i += 1
        else:
            j += 1
    return total

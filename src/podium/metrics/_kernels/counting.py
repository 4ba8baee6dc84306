"""One pass over label maps: boxes, sums, and how often each pair of labels meets."""

from __future__ import annotations

import numpy as np

from podium._jit import kernel


@kernel
def bounding_box(array):
    """Return the bounds, lower and upper, of what is not zero in a C-contiguous 3-D array; upper is 0 if nothing is."""
    depth, height, width = array.shape
    lower = np.array([depth, height, width])
    upper = np.zeros(3, np.int64)
    for z in range(depth):
        for y in range(height):
            row = array[z, y]
            any_bit = row[0] & 0
            for x in range(width):
                any_bit |= row[x]
            if any_bit == 0:
                continue
            lower[0] = min(lower[0], z)
            upper[0] = z + 1
            lower[1] = min(lower[1], y)
            upper[1] = max(upper[1], y + 1)
            first = 0
            while row[first] == 0:
                first += 1
            lower[2] = min(lower[2], first)
            last = width
            while row[last - 1] == 0:
                last -= 1
            upper[2] = max(upper[2], last)
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

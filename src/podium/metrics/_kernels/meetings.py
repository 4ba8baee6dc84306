"""One pass over two instance maps: what each instance is, and how often each pair of them meets."""

from __future__ import annotations

import numpy as np

from podium._jit import kernel

COUNT, SUMS, LOWER, UPPER = 0, slice(1, 4), slice(4, 7), slice(7, 10)
"""Columns that describe an instance: voxels, the sums of their z, y and x, and the box around them."""


@kernel
def describe(labels, about):
    """Describe every instance of a C-contiguous 3-D map: a row of `about` for each label, counts starting at zero."""
    for z in range(labels.shape[0]):
        for y in range(labels.shape[1]):
            line = labels[z, y]
            any_bit = line[0] & 0
            for x in range(line.size):
                any_bit |= line[x]
            if any_bit == 0:
                continue
            x = 0
            while x < line.size:
                label = line[x]
                start = x
                x += 1
                while x < line.size and line[x] == label:
                    x += 1
                if label != 0:
                    own = about[label]
                    count = x - start
                    if own[0] == 0:
                        own[4], own[5], own[6] = z, y, start
                        own[7], own[8], own[9] = z + 1, y + 1, x
                    own[0] += count
                    own[1] += count * z
                    own[2] += count * y
                    own[3] += count * (start + x - 1) // 2
                    own[5], own[6] = min(own[5], y), min(own[6], start)
                    own[7], own[8], own[9] = z + 1, max(own[8], y + 1), max(own[9], x)


@kernel
def meet(reference, prediction, columns):
    """Count how often each label of one map meets each of the other, background aside.

    Returns the meetings, as `label of the reference · columns + label of the prediction`, and their counts, both in an
    open hash table where a count of 0 is a free place.
    """
    keys, counts = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    used = 0
    for z in range(reference.shape[0]):
        for y in range(reference.shape[1]):
            one, two = reference[z, y], prediction[z, y]
            any_bit = one[0] & 0
            for x in range(one.size):
                any_bit |= one[x]
            if any_bit == 0:
                continue
            x = 0
            while x < one.size:
                first, second = one[x], two[x]
                start = x
                x += 1
                if first == 0:
                    while x < one.size and one[x] == 0:
                        x += 1
                    continue
                while x < one.size and one[x] == first and two[x] == second:
                    x += 1
                if second == 0:
                    continue
                key = np.int64(first) * columns + np.int64(second)
                place = _place(keys, counts, key)
                if counts[place] == 0:
                    keys[place] = key
                    used += 1
                counts[place] += x - start
                if 2 * used > keys.size:
                    wider_keys, wider_counts = np.zeros(4 * keys.size, np.int64), np.zeros(4 * keys.size, np.int64)
                    for old in range(keys.size):
                        if counts[old] != 0:
                            new = _place(wider_keys, wider_counts, keys[old])
                            wider_keys[new], wider_counts[new] = keys[old], counts[old]
                    keys, counts = wider_keys, wider_counts
    return keys, counts


@kernel
def _place(keys, counts, key):
    """Return where a key lies in an open hash table, or the free place where it belongs."""
    mask = keys.size - 1
    place = ((key * 0x9E3779B97F4A7C1) >> 20) & mask
    while counts[place] != 0 and keys[place] != key:
        place = (place + 1) & mask
    return place

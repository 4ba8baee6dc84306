"""One pass over two instance maps: what each instance is, and how often each pair of them meets."""

from __future__ import annotations

import numpy as np

from podium._jit import kernel

COUNT, SUMS, LOWER, UPPER = 0, slice(1, 4), slice(4, 7), slice(7, 10)
"""Columns that describe an instance: voxels, the sums of their z, y and x, and the box around them."""


@kernel
def meet(reference, prediction, about_reference, about_prediction):
    """Describe every instance of two C-contiguous 3-D maps, and count how often each pair of them meets.

    Fills the tables, a row for each label, which must be zero. Returns the meetings and their counts, both in an open
    hash table where a count of 0 is a free place. A meeting is the label of the reference times the rows of the
    prediction's table, plus the label of the prediction.
    """
    keys, counts = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    used = 0
    for z in range(reference.shape[0]):
        for y in range(reference.shape[1]):
            one, two = reference[z, y], prediction[z, y]
            any_bit = one[0] & 0
            for x in range(one.size):
                any_bit |= one[x] | two[x]
            if any_bit == 0:
                continue
            x = 0
            while x < one.size:
                first, second = one[x], two[x]
                start = x
                x += 1
                while x < one.size and (one[x] ^ first) | (two[x] ^ second) == 0:
                    x += 1
                if first != 0:
                    _extend(about_reference[first], z, y, start, x)
                if second != 0:
                    _extend(about_prediction[second], z, y, start, x)
                if first == 0 or second == 0:
                    continue
                key = np.int64(first) * len(about_prediction) + np.int64(second)
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
def _extend(about, z, y, start, stop):
    """Add a run of voxels to the description of an instance."""
    count = stop - start
    if about[0] == 0:
        about[4], about[5], about[6] = z, y, start
        about[7], about[8], about[9] = z + 1, y + 1, stop
    about[0] += count
    about[1] += count * z
    about[2] += count * y
    about[3] += count * (start + stop - 1) // 2
    about[5], about[6] = min(about[5], y), min(about[6], start)
    about[7], about[8], about[9] = z + 1, max(about[8], y + 1), max(about[9], stop)


@kernel
def _place(keys, counts, key):
    """Return where a key lies in an open hash table, or the free place where it belongs."""
    mask = keys.size - 1
    place = ((key * 0x9E3779B97F4A7C1) >> 20) & mask
    while counts[place] != 0 and keys[place] != key:
        place = (place + 1) & mask
    return place

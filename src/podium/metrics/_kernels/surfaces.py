"""Finding the boundary of up to eight regions in one pass, and exact distances between two boundaries.

A boundary is a list of places and, beside it, the marks: a padded array of bytes in which bit r of a place says that
region r has its boundary there. The list is walked, the marks are probed.

The voxels of one plane become region bits in a buffer with the same row length as the marks, so that a whole plane is
one long loop over neighbouring bytes, which the compiler turns into vector instructions however short the rows are.
Row length is a multiple of eight, so that the marks can be scanned as 64-bit words.
"""

from __future__ import annotations

import numpy as np

from podium._jit import kernel

_LOW_BITS = np.uint64(0x0101010101010101)
_GATHER = np.uint64(0x0102040810204080)
_PATIENCE = 32


@kernel
def _look_up(labels, z, lower, upper, table, column, bits, dirty):
    """Write the region bits of one plane of voxels, voxel (y, x) to row y + 1 and column x + `column`.

    `dirty` remembers which rows hold anything. Returns the first of them and the last + 1.
    """
    width = upper[2] - lower[2]
    top, bottom = upper[1] - lower[1], 0
    for y in range(upper[1] - lower[1]):
        row = bits[y + 1, column : column + width]
        any_bit = labels[0, 0, 0] & 0
        line = labels[min(z, upper[0] - 1), y + lower[1], lower[2] : upper[2]]
        if z < upper[0]:
            for x in range(width):
                any_bit |= line[x]
        if any_bit == 0:
            if dirty[y]:
                row[:] = 0
                dirty[y] = False
            continue
        for x in range(width):
            row[x] = table[line[x]]
        dirty[y] = True
        top = min(top, y)
        bottom = y + 1
    return top, bottom


@kernel
def _countable(edge, words, before, most):
    """Return how much room the marks of a plane may take after so many before them; -1 if they exceed the most."""
    room = before + 8 * np.count_nonzero(words)
    if room > most:
        room = before + np.count_nonzero(edge)
    return room if room <= most else -1


@kernel
def _with_room(array, size):
    """Return the array, or a copy at least twice as long if it is shorter than `size`."""
    if size <= array.size:
        return array
    larger = np.empty(2 * size, array.dtype)
    larger[: array.size] = array
    return larger


@kernel
def surfels(labels, lower, upper, table, flat, pad, marks, places, corners, first, enough, most):
    """Find the lattice points whose 2 × 2 × 2 voxels are not all inside or all outside a region.

    Writes the region bits to `marks`, which must be zero; collects the places in the flattened marks, and their
    corners: eight bytes, one per voxel, each with the region bits of that voxel; byte 4·dz + 2·dy + dx for the voxel at
    offset (dz, dy, dx). If `flat`, the array is one 2-D plane, and both halves of the corners are that plane. Begins at
    the `first` layer and ends after the one with which there are enough. Returns places, corners (longer copies where
    there was no room), how many were found: -1 as soon as they are more than `most`, before any of that plane is
    kept; the layer to go on with, or 0 if all are done; and the bits of all regions met.
    """
    depth, height = upper[0] - lower[0], upper[1] - lower[1]
    stride = marks.shape[2]
    bits = np.zeros((2, height + 3, stride), np.uint8)
    dirty = np.zeros((2, height), np.bool_)
    rows = np.zeros((2, 2), np.int64)
    surfel_count, met = 0, np.uint8(0)
    if first > 0:
        back = (first + 1) % 2
        rows[back] = _look_up(labels, lower[0] + first - 1, lower, upper, table, pad[2] + 1, bits[back], dirty[back])
    for layer in range(first, 1 if flat else depth + 1):
        if surfel_count >= enough:
            return places, corners, surfel_count, layer, met
        back, front = (layer + 1) % 2, layer % 2
        rows[front] = _look_up(labels, lower[0] + layer, lower, upper, table, pad[2] + 1, bits[front], dirty[front])
        if flat:
            back = front
        top, bottom = min(rows[back, 0], rows[front, 0]), max(rows[back, 1], rows[front, 1])
        if layer == 0:
            top, bottom = rows[front, 0], rows[front, 1]
        if bottom == 0:
            continue
        count = (bottom + 1 - top) * stride
        a = bits[back].reshape(-1)[top * stride :]
        c = bits[front].reshape(-1)[top * stride :]
        b, d = a[stride:], c[stride:]
        start = ((layer + pad[0]) * marks.shape[1] + top + pad[1]) * stride
        edge = marks.reshape(-1)[start : start + count]
        for k in range(count):
            some = a[k] | a[k + 1] | b[k] | b[k + 1] | c[k] | c[k + 1] | d[k] | d[k + 1]
            every = a[k] & a[k + 1] & b[k] & b[k + 1] & c[k] & c[k + 1] & d[k] & d[k + 1]
            edge[k] = some & ~every
        words = edge.view(np.uint64)
        room = _countable(edge, words, surfel_count, most)
        if room < 0:
            return places, corners, room, 0, met
        places = _with_room(places, room)
        corners = _with_room(corners, room)
        for word in range(words.size):
            if words[word] == 0:
                continue
            for k in range(word * 8, word * 8 + 8):
                if edge[k] != 0:
                    places[surfel_count] = start + k
                    corners[surfel_count] = (
                        np.uint64(a[k])
                        | np.uint64(a[k + 1]) << np.uint64(8)
                        | np.uint64(b[k]) << np.uint64(16)
                        | np.uint64(b[k + 1]) << np.uint64(24)
                        | np.uint64(c[k]) << np.uint64(32)
                        | np.uint64(c[k + 1]) << np.uint64(40)
                        | np.uint64(d[k]) << np.uint64(48)
                        | np.uint64(d[k + 1]) << np.uint64(56)
                    )
                    surfel_count += 1
                    met |= edge[k]
    return places, corners, surfel_count, 0, met


@kernel
def voxels(labels, lower, upper, table, flat, pad, marks, places, corners, first, enough, most):
    """Find the voxels of each region that have a face-neighbour outside it; the image border counts as outside.

    Returns the same as `surfels`; the region bits stand in the first of the eight bytes.
    """
    depth, height = upper[0] - lower[0], upper[1] - lower[1]
    stride = marks.shape[2]
    bits = np.zeros((3, height + 3, stride), np.uint8)
    dirty = np.zeros((3, height), np.bool_)
    rows = np.zeros((3, 2), np.int64)
    voxel_count, met = 0, np.uint8(0)
    for layer in range(max(first - 1, 0), first + 1):
        at = layer % 3
        rows[at] = _look_up(labels, lower[0] + layer, lower, upper, table, pad[2], bits[at], dirty[at])
    for layer in range(first, depth):
        if voxel_count >= enough:
            return places, corners, voxel_count, layer, met
        behind, here, ahead = (layer + 2) % 3, layer % 3, (layer + 1) % 3
        rows[ahead] = _look_up(labels, lower[0] + layer + 1, lower, upper, table, pad[2], bits[ahead], dirty[ahead])
        if flat:
            behind = ahead = here
        top, bottom = rows[here]
        if bottom == 0:
            continue
        count = (bottom - top) * stride
        line = bits[here].reshape(-1)[(top + 1) * stride - 1 :]
        above, below = bits[here].reshape(-1)[top * stride :], bits[here].reshape(-1)[(top + 2) * stride :]
        back, front = bits[behind].reshape(-1)[(top + 1) * stride :], bits[ahead].reshape(-1)[(top + 1) * stride :]
        start = ((layer + pad[0]) * marks.shape[1] + top + pad[1]) * stride
        edge = marks.reshape(-1)[start : start + count]
        for k in range(count):
            inner = line[k] & line[k + 2] & above[k] & below[k] & back[k] & front[k]
            edge[k] = line[k + 1] & ~inner
        words = edge.view(np.uint64)
        room = _countable(edge, words, voxel_count, most)
        if room < 0:
            return places, corners, room, 0, met
        places = _with_room(places, room)
        corners = _with_room(corners, room)
        for word in range(words.size):
            if words[word] == 0:
                continue
            for k in range(word * 8, word * 8 + 8):
                if edge[k] != 0:
                    places[voxel_count] = start + k
                    corners[voxel_count] = edge[k]
                    voxel_count += 1
                    met |= edge[k]
    return places, corners, voxel_count, 0, met


@kernel
def _code(corners, region):
    """Return which of eight voxels are in a region, as one byte."""
    return (((corners >> np.uint64(region)) & _LOW_BITS) * _GATHER) >> np.uint64(56)


@kernel
def measure(places, corners, region, areas, marks, steps, bins, sizes, counts, unmet, unmet_sizes):
    """Measure from every element of one region's boundary to the nearest marked place of the other boundary.

    `steps` lead from a place to its neighbours in order of their distance, so the first mark met is the nearest. Adds
    each element's size (area) and number to the bin of its distance. Elements that met no mark are listed; after many
    in a row only the nearest steps are tried, since the boundaries are evidently far apart here. Returns how many.
    """
    bit = np.uint8(1 << region)
    far = in_a_row = 0
    for k in range(places.size):
        code = _code(corners[k], region)
        if code == 0 or code == 255:
            continue
        place = places[k]
        tried = steps.size if in_a_row < _PATIENCE else min(_PATIENCE, steps.size)
        for step in range(tried):
            if marks[place + steps[step]] & bit:
                sizes[bins[step]] += areas[code]
                counts[bins[step]] += 1
                in_a_row = 0
                break
        else:
            unmet[far] = place
            unmet_sizes[far] = areas[code]
            far += 1
            in_a_row += 1
    return far


@kernel
def elements(places, corners, region, areas):
    """Return the places of one region's boundary elements, and their size in all."""
    chosen = np.empty(places.size, np.int64)
    count, size = 0, 0.0
    for k in range(places.size):
        code = _code(corners[k], region)
        if code != 0 and code != 255:
            chosen[count] = places[k]
            size += areas[code]
            count += 1
    return chosen[:count], size


@kernel
def separate(places, corners, region, shape, shift):
    """Return the boundary elements of one region: positions, shape (elements, 3), and corners with that region alone.

    A position is the place in an array of that shape, as z, y and x, plus a shift; the region's bit becomes the lowest.
    Then follow the bounds of the positions, lower and upper.
    """
    count = 0
    for k in range(places.size):
        code = _code(corners[k], region)
        if code != 0 and code != 255:
            count += 1
    positions = np.empty((count, 3), np.int32)
    chosen = np.empty(count, np.uint64)
    lower, upper = np.full(3, np.iinfo(np.int64).max), np.zeros(3, np.int64)
    at = 0
    for k in range(places.size):
        code = _code(corners[k], region)
        if code != 0 and code != 255:
            row, x = divmod(places[k], shape[2])
            z, y = divmod(row, shape[1])
            positions[at, 0] = z + shift[0]
            positions[at, 1] = y + shift[1]
            positions[at, 2] = x + shift[2]
            for axis in range(3):
                lower[axis] = min(lower[axis], positions[at, axis])
                upper[axis] = max(upper[axis], positions[at, axis] + 1)
            chosen[at] = (corners[k] >> np.uint64(region)) & _LOW_BITS
            at += 1
    return positions, chosen, lower, upper


@kernel
def settle(positions, shift, shape):
    """Return the places of positions, moved by a shift, in a flattened array of that shape."""
    places = np.empty(positions.shape[0], np.int64)
    for k in range(places.size):
        z, y, x = positions[k, 0] + shift[0], positions[k, 1] + shift[1], positions[k, 2] + shift[2]
        places[k] = (z * shape[1] + y) * shape[2] + x
    return places


@kernel
def mark(places, marks, value):
    """Write a value to every place."""
    for k in range(places.size):
        marks[places[k]] = value

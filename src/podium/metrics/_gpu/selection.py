"""Kernels that make numbers of counted distances: totals, shares within tolerances, means, and percentiles.

A percentile is looked for among the near distances, which are bins in order, and then among the far ones, which are
not: three times the range in which it must lie is cut into many parts, of which one is chosen. Everything is counted
in whole numbers by kind of element, and multiplied by sizes at the end, always in the same order.
"""

from __future__ import annotations

import triton
import triton.language as tl

FINENESS = tl.constexpr(4503599627370496.0)  # 2**52: of a sum of distances in whole numbers
HALF = tl.constexpr(26)
LOWER_HALF = tl.constexpr(67108863)


@triton.jit
def near_counts(
    histogram, segment, segments, weights, bin_count, kind_count,
    COPIES: tl.constexpr, BINS: tl.constexpr, KINDS: tl.constexpr,
):  # fmt: skip
    """Return the weight in every bin of a segment: one direction of one region of one pair."""
    bins, kinds = tl.arange(0, BINS), tl.arange(0, KINDS)
    inside = (bins < bin_count)[:, None] & (kinds < kind_count)[None, :]
    total = tl.zeros([BINS, KINDS], tl.int32)
    for copy in tl.static_range(COPIES):
        at = (copy * segments + segment).to(tl.int64) * bin_count * kind_count
        total += tl.load(histogram + at + bins[:, None] * kind_count + kinds[None, :], mask=inside, other=0)
    weight = tl.load(weights + kinds, mask=kinds < kind_count, other=0.0)
    return tl.sum(total.to(tl.float64) * weight[None, :], 1)


@triton.jit
def target_of(total, percentile, query, LINEAR: tl.constexpr):
    """Return how much must lie within a percentile: of sizes, or of elements below (query 0) or above (query 1) it."""
    if LINEAR:
        rank = percentile / 100.0 * (total - 1.0)
        lower = tl.floor(rank)
        target = tl.where(query == 0, lower, lower + (rank > lower).to(tl.float64)) + 0.5
    else:
        target = percentile / 100.0 * total * (1.0 - 1e-12)
    return target


@triton.jit
def part_of(distance, lowest, highest, level, DIGITS: tl.constexpr):
    """Return into which part of its range a distance falls at a level, and all the parts before."""
    most = 1 << (3 * DIGITS)
    share = (distance - lowest) / (highest - lowest) * most
    number = tl.minimum(tl.maximum(share, 0.0), most - 1.0).to(tl.int64)
    shift = DIGITS * (2 - level)
    return (number >> shift & ((1 << DIGITS) - 1)).to(tl.int32), number >> (shift + DIGITS)


@triton.jit(do_not_specialize=("records_most", "bin_count", "kind_count", "tolerance_count", "level"))
def select(
    records, owners, records_most, record_counters, farthest, lowest, histogram, weights, bin_count, kind_count,
    percentile, tolerances, tolerance_count, sums, within, parts, values, chosen, prefixes, befores, tickets, level,
    REGIONS: tl.constexpr, QUERIES: tl.constexpr, LINEAR: tl.constexpr, COPIES: tl.constexpr,
    BINS: tl.constexpr, KINDS: tl.constexpr, DIGITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Cut the range of far distances once more, and choose; the last program to count is the one that chooses."""
    PARTS: tl.constexpr = 1 << DIGITS
    side, item = tl.program_id(1), tl.program_id(2)
    own = item * 2 + side
    count = tl.load(record_counters + own)
    if count == 0:
        return
    count = tl.minimum(count, records_most)
    records += own.to(tl.int64) * records_most
    owners += own.to(tl.int64) * records_most
    low = tl.load(lowest)
    for start in range(tl.program_id(0) * BLOCK, count, tl.num_programs(0) * BLOCK):
        index = start + tl.arange(0, BLOCK)
        there = index < count
        distance = tl.load(records + index, mask=there, other=0.0)
        owner = tl.load(owners + index, mask=there, other=0)
        region, kind = owner // kind_count, owner % kind_count
        segment = own * REGIONS + region
        high = tl.load(farthest + segment, mask=there, other=0).to(tl.float64, bitcast=True) * (1.0 + 1e-12)
        high = tl.where(there, high, low * 2.0)
        part, before = part_of(distance, low, high, level, DIGITS)
        for query in tl.static_range(QUERIES):
            at = segment * QUERIES + query
            same = there & (before == tl.load(prefixes + at, mask=there, other=0))
            tl.atomic_add(parts + (at.to(tl.int64) * kind_count + kind) * PARTS + part, 1, mask=same, sem="relaxed")
            if level == 2:
                bits = distance.to(tl.int64, bitcast=True)
                tl.atomic_max(values + at.to(tl.int64) * PARTS + part, bits, mask=same, sem="relaxed")
        if level == 0:
            whole = (distance / high * FINENESS).to(tl.int64)
            at = (segment * kind_count + kind) * 3
            tl.atomic_add(sums + at, whole >> HALF, mask=there, sem="relaxed")
            tl.atomic_add(sums + at + 1, whole & LOWER_HALF, mask=there, sem="relaxed")
            tl.atomic_add(sums + at + 2, tl.full([BLOCK], 1, tl.int64), mask=there, sem="relaxed")
            for tolerance in range(tolerance_count):
                near_enough = there & (distance <= tl.load(tolerances + tolerance))
                at = (segment * tolerance_count + tolerance) * kind_count + kind
                tl.atomic_add(within + at, tl.full([BLOCK], 1, tl.int64), mask=near_enough, sem="relaxed")
    tl.debug_barrier()
    if tl.atomic_add(tickets + own * 3 + level, 1) == tl.num_programs(0) - 1:
        places = tl.arange(0, PARTS)
        kinds = tl.arange(0, KINDS)
        for region in range(REGIONS):
            segment = own * REGIONS + region
            near_ones = near_counts(
                histogram, segment, tl.num_programs(1) * tl.num_programs(2) * REGIONS, weights, bin_count, kind_count,
                COPIES, BINS, KINDS,
            )  # fmt: skip
            numbers = tl.load(sums + (segment * kind_count + kinds) * 3 + 2, mask=kinds < kind_count, other=0)
            weight = tl.load(weights + kinds, mask=kinds < kind_count, other=0.0)
            near_total = tl.sum(near_ones, 0)
            total = near_total + tl.sum(numbers.to(tl.float64) * weight, 0)
            for query in tl.static_range(QUERIES):
                at = segment * QUERIES + query
                before = near_total
                if level > 0:
                    before = tl.load(befores + at)
                target = target_of(total, tl.load(percentile), query, LINEAR) - before
                amount = tl.zeros([PARTS], tl.float64)
                for kind in range(kind_count):
                    cut = parts + (at.to(tl.int64) * kind_count + kind) * PARTS + places
                    amount += tl.load(cut, cache_modifier=".cg").to(tl.float64) * tl.load(weights + kind)
                    tl.store(cut, tl.zeros([PARTS], tl.int32))
                amounts = tl.cumsum(amount, 0)
                # Rounding may leave the last part short of the target by a trifle.
                fits = (amounts >= target) & (amount > 0)
                last = tl.max(tl.where(amount > 0, places, 0), 0)
                part = tl.minimum(tl.min(tl.where(fits, places, PARTS), 0), last)
                prefix = tl.load(prefixes + at)
                tl.store(prefixes + at, prefix * PARTS + part)
                tl.store(befores + at, before + tl.sum(tl.where(places < part, amount, 0.0), 0))
                if level == 2:
                    bits = tl.load(values + at.to(tl.int64) * PARTS + part, cache_modifier=".cg")
                    tl.store(chosen + at, bits.to(tl.float64, bitcast=True))


@triton.jit
def one_way(
    own, region, segments, farthest, histogram, distances, weights, sizes, bin_count, kind_count,
    percentile, sums, chosen,
    REGIONS: tl.constexpr, QUERIES: tl.constexpr, LINEAR: tl.constexpr, COPIES: tl.constexpr,
    BINS: tl.constexpr, KINDS: tl.constexpr,
):  # fmt: skip
    """Return of one direction: size within each bin, size in all, sum of distance · size, largest, and percentile."""
    segment = own * REGIONS + region
    bins, kinds = tl.arange(0, BINS), tl.arange(0, KINDS)
    distance = tl.load(distances + bins, mask=bins < bin_count, other=0.0)
    size = tl.load(sizes + kinds, mask=kinds < kind_count, other=0.0)
    near_sizes = near_counts(histogram, segment, segments, sizes, bin_count, kind_count, COPIES, BINS, KINDS)
    near_weights = near_sizes
    weight = size
    if LINEAR:
        near_weights = near_counts(histogram, segment, segments, weights, bin_count, kind_count, COPIES, BINS, KINDS)
        weight = tl.load(weights + kinds, mask=kinds < kind_count, other=0.0)
    at = (segment * kind_count + kinds) * 3
    upper = tl.load(sums + at, mask=kinds < kind_count, other=0).to(tl.float64)
    lower = tl.load(sums + at + 1, mask=kinds < kind_count, other=0).to(tl.float64)
    numbers = tl.load(sums + at + 2, mask=kinds < kind_count, other=0).to(tl.float64)
    high = tl.load(farthest + segment).to(tl.float64, bitcast=True)
    occurring = near_weights > 0
    farthest_near = tl.max(tl.where(occurring, distance, 0.0), 0)
    total_size = tl.sum(near_sizes, 0) + tl.sum(numbers * size, 0)
    total_weight = tl.sum(near_weights, 0) + tl.sum(numbers * weight, 0)
    far_sum = tl.sum((upper * 67108864.0 + lower) / FINENESS * size, 0) * (high * (1.0 + 1e-12))
    summed = tl.sum(tl.where(occurring, distance, 0.0) * near_sizes, 0) + far_sum
    amounts = tl.cumsum(near_weights, 0)
    wanted = tl.load(percentile)
    value = farthest_near
    for query in tl.static_range(QUERIES):
        fits = (amounts >= target_of(total_weight, wanted, query, LINEAR)) & occurring
        inside = tl.max(fits.to(tl.int32), 0) != 0
        near_value = tl.min(tl.where(fits, distance, float("inf")), 0)
        far_value = tl.load(chosen + segment * QUERIES + query)
        here = tl.where(inside, near_value, tl.where(high > 0, far_value, farthest_near))
        if query == 0:
            value = here
        else:
            rank = wanted / 100.0 * (total_weight - 1.0)
            between = (tl.where(value == here, 0.0, here) - tl.where(value == here, 0.0, value)) * (
                rank - tl.floor(rank)
            )
            value = value + between
    return near_sizes, total_size, summed, tl.maximum(farthest_near, high), value


@triton.jit(do_not_specialize=("records_most", "bin_count", "kind_count", "tolerance_count"))
def finish(
    record_counters, records_most, farthest, histogram, distances, weights, sizes, bin_count, kind_count, percentile,
    tolerances, tolerance_count, sums, within, chosen, wrong_labels, results,
    REGIONS: tl.constexpr, QUERIES: tl.constexpr, LINEAR: tl.constexpr, COPIES: tl.constexpr,
    BINS: tl.constexpr, KINDS: tl.constexpr,
):  # fmt: skip
    """Write of one region of one pair: percentile and largest distance, ASSD, MASD, both means, surface Dice at all.

    Where one boundary is empty, distances are infinite and shares 0; where both are, 0 and 1. What could not be
    measured, as labels were wrong or far distances had no room, is no number.
    """
    region, item = tl.program_id(0), tl.program_id(1)
    segments = tl.num_programs(1) * 2 * REGIONS
    one_sizes, one_size, one_sum, one_largest, one_value = one_way(
        item * 2, region, segments, farthest, histogram, distances, weights, sizes, bin_count,
        kind_count, percentile, sums, chosen, REGIONS, QUERIES, LINEAR, COPIES, BINS, KINDS,
    )  # fmt: skip
    two_sizes, two_size, two_sum, two_largest, two_value = one_way(
        item * 2 + 1, region, segments, farthest, histogram, distances, weights, sizes, bin_count,
        kind_count, percentile, sums, chosen, REGIONS, QUERIES, LINEAR, COPIES, BINS, KINDS,
    )  # fmt: skip
    complete = (tl.load(wrong_labels + item) == 0) & (tl.load(record_counters + item * 2) <= records_most)
    complete = complete & (tl.load(record_counters + item * 2 + 1) <= records_most)
    nothing = (one_size == 0) & (two_size == 0)
    apart = ((one_size == 0) | (two_size == 0)) & ~nothing
    undefined, infinity = tl.full([], float("nan"), tl.float64), tl.full([], float("inf"), tl.float64)
    zero, unit = tl.zeros([], tl.float64), tl.full([], 1.0, tl.float64)
    instead = tl.where(apart, infinity, zero)
    measured = ~apart & ~nothing
    one_mean = tl.where(measured, one_sum / tl.where(measured, one_size, unit), instead)
    two_mean = tl.where(measured, two_sum / tl.where(measured, two_size, unit), instead)
    both = tl.where(nothing, unit, one_size + two_size)
    results += (item * REGIONS + region).to(tl.int64) * (6 + tolerance_count)
    value = tl.where(measured, tl.maximum(one_value, two_value), instead)
    tl.store(results, tl.where(complete, value, undefined))
    largest = tl.where(measured, tl.maximum(one_largest, two_largest), instead)
    tl.store(results + 1, tl.where(complete, largest, undefined))
    tl.store(results + 2, tl.where(complete, tl.where(measured, (one_sum + two_sum) / both, instead), undefined))
    tl.store(results + 3, tl.where(complete, (one_mean + two_mean) / 2, undefined))
    tl.store(results + 4, tl.where(complete, one_mean, undefined))
    tl.store(results + 5, tl.where(complete, two_mean, undefined))
    bins, kinds = tl.arange(0, BINS), tl.arange(0, KINDS)
    distance = tl.load(distances + bins, mask=bins < bin_count, other=0.0)
    size = tl.load(sizes + kinds, mask=kinds < kind_count, other=0.0)
    instead = tl.where(apart, zero, unit)
    for tolerance in range(tolerance_count):
        reached = (distance <= tl.load(tolerances + tolerance)) & (bins < bin_count)
        share = tl.sum(tl.where(reached, one_sizes + two_sizes, 0.0), 0)
        at = (item * 2 * REGIONS + region) * tolerance_count + tolerance
        far_ones = tl.load(within + at * kind_count + kinds, mask=kinds < kind_count, other=0)
        at += REGIONS * tolerance_count
        far_ones += tl.load(within + at * kind_count + kinds, mask=kinds < kind_count, other=0)
        share += tl.sum(far_ones.to(tl.float64) * size, 0)
        share = tl.where(measured, share / both, instead)
        tl.store(results + 6 + tolerance, tl.where(complete, share, undefined))

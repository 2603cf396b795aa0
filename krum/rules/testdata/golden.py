#!/usr/bin/env python3
"""Writes golden.txt: python3 golden.py > golden.txt

An independent implementation of what golden_test.go hashes, in Python's unbounded integers and from the definitions: mixtures
are formed, columns sorted. Each value is hashed as a little-endian signed 64-bit integer.
"""
import functools
import hashlib
import struct
from math import isqrt

MASK = (1 << 64) - 1


class SplitMix64:
    def __init__(self, seed):
        self.s = seed

    def next(self):
        self.s = (self.s + 0x9E3779B97F4A7C15) & MASK
        z = self.s
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return z ^ z >> 31


def generate(n, d, spread, seed):
    r = SplitMix64(seed)
    return [[r.next() % (2 * spread + 1) - spread for _ in range(d)] for _ in range(n)]


def distances(vs):
    return [[sum((x - y) ** 2 for x, y in zip(a, b)) for b in vs] for a in vs]


def nearest(sq, i, q, floor):
    return [j for _, j in sorted((max(x, floor), j) for j, x in enumerate(sq[i]) if j != i)[:q]]


def select(vs, n, f, m, unsquared, floor):
    """Returns what was selected, scores, neighbours and the margin."""
    sq = distances(vs)
    exact, shown, neighbours = [], [], []
    for i in range(len(vs)):
        near = nearest(sq, i, n - f - 2, floor)
        neighbours.append(near)
        xs = [max(sq[i][j], floor) for j in near]
        exact.append(sum(isqrt(x << 2000) for x in xs) if unsquared else sum(xs))
        shown.append(sum(isqrt(x << 48) for x in xs) >> 24 if unsquared else sum(xs))
    tie = 1 << 100 if unsquared else 1

    def compare(i, j):
        gap = exact[i] - exact[j]
        return i - j if abs(gap) < tie else gap

    order = sorted(range(len(vs)), key=functools.cmp_to_key(compare))
    margin = max(0, shown[order[m]] - shown[order[m - 1]]) if m < len(vs) else -1
    return order[:m], shown, neighbours, margin


def columns(points, f):
    return [f(sorted(column)) for column in zip(*points)]


def aggregate(rule, vs, n, f, unsquared, floor):
    """Returns numerators, denominator, selected, scores, neighbours and the margin."""
    k = len(vs)
    everybody, size, points, members = list(range(k)), 1, vs, None
    if rule.startswith("nnm+"):
        rule, size, sq = rule[4:], k - f, distances(vs)
        members = [[i] + nearest(sq, i, size - 1, floor) for i in range(k)]
        points = [columns([vs[j] for j in near], sum) for near in members]
        floor = 0
    if rule in ("krum", "multi-krum"):
        m = 1 if rule == "krum" else min(n - f, k)
        selected, scores, neighbours, margin = select(points, n, f, m, unsquared, floor)
        num = columns([points[i] for i in selected], sum)
        if members:
            selected, neighbours = sorted({j for i in selected for j in members[i]}), members
        return num, m * size, selected, scores, neighbours, margin
    if rule == "mean":
        lo, hi = 0, k
    elif rule == "median":
        lo, hi = (k - 1) // 2, k // 2 + 1
    else:
        lo, hi = f, k - f
    return columns(points, lambda column: sum(column[lo:hi])), (hi - lo) * size, everybody, [], members or [], -1


RULES = ("krum", "mean", "median", "multi-krum", "trimmed-mean")
print("# SHA-256 of exact results on the vectors of splitmix64; made by golden.py, not by the code under test.")
for rule in sorted(RULES + tuple("nnm+" + rule for rule in RULES)):
    for n, k, d, f, spread in (
        (4, 4, 1970, 1, 127),
        (7, 6, 333, 2, 3),
        (10, 10, 1200, 3, 16383),
        (14, 12, 2, 3, 1),
    ):
        vs = generate(k, d, spread, n << 32 | d)
        for unsquared in (False, True):
            for floor in (0, distances(vs[:2])[0][1]):
                num, den, selected, scores, neighbours, margin = aggregate(rule, vs, n, f, unsquared, floor)
                xs = num + [den] + selected + scores + [j for near in neighbours for j in near] + [margin]
                h = hashlib.sha256(struct.pack("<%dq" % len(xs), *xs)).hexdigest()
                at = "rule=%s/n=%d/included=%d/d=%d/f=%d" % (rule, n, k, d, f)
                print("%s/unsquared=%s/floor=%d %s" % (at, str(unsquared).lower(), floor, h))

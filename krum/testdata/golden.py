#!/usr/bin/env python3
"""Writes golden.txt: python3 golden.py > golden.txt

An independent implementation of what golden_test.go hashes, in Python's unbounded integers. Each value is hashed as a
little-endian signed 64-bit integer. A root is
rounded down to a multiple of 2^-24.
"""
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


def select(sq, n, f, m, unsquared, floor):
    q = n - f - 2
    scores, neighbours = [], []
    for i, row in enumerate(sq):
        near = sorted((max(x, floor), j) for j, x in enumerate(row) if j != i)[:q]
        neighbours.append([j for _, j in near])
        scores.append(sum(isqrt(x << 48) if unsquared else x for x, _ in near))
    order = sorted(range(n), key=lambda i: (scores[i], i))
    margin = scores[order[m]] - scores[order[m - 1]] if m < n else -1
    return order[:m] + scores + [j for near in neighbours for j in near] + [margin]


print("# SHA-256 of exact results on the vectors of splitmix64; made by golden.py, not by the code under test.")
for n, d, spread, f in ((4, 1970, 127, 1), (7, 500, 3, 2), (10, 7850, 32, 3), (12, 3, 1, 3), (23, 333, 127, 7)):
    vs = generate(n, d, spread, n << 32 | d)
    sq = [[sum((x - y) ** 2 for x, y in zip(a, b)) for b in vs] for a in vs]
    for unsquared in (False, True):
        for floor in (0, sq[0][1]):
            for m in (1, n - f, n):
                xs = select(sq, n, f, m, unsquared, floor)
                h = hashlib.sha256(struct.pack("<%dq" % len(xs), *xs)).hexdigest()
                print("n=%d/d=%d/f=%d/m=%d/unsquared=%s/floor=%d %s" % (n, d, f, m, str(unsquared).lower(), floor, h))

#!/usr/bin/env python3
"""Writes golden.txt: python3 golden.py > golden.txt

An independent implementation of what golden_test.go hashes, in Python's unbounded integers. Each value is hashed as a
little-endian signed 64-bit integer.
"""
import hashlib
import struct

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


def generate(top, n, d, seed):
    r = SplitMix64(seed)
    return [[r.next() % (2 * top + 1) - top for _ in range(d)] for _ in range(n)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))


def sign(x):
    return (x > 0) - (x < 0)


def quantise(width, top, d):
    r = SplitMix64(d)
    step = 0.3 / width
    out, saturated = [], 0
    for _ in range(d):
        z = r.next()
        z -= (z >> 63) << 64
        q = round(float(z >> 11) / (1 << 52) * 40 / step)  # half to even
        saturated += abs(q) > top
        out.append(max(-top, min(top, q)))
    return [saturated] + out


print("# SHA-256 of exact results on the vectors of splitmix64; made by golden.py, not by the code under test.")
for width, top in ((1, 127), (2, 16383)):
    for n, d in ((1, 1), (4, 1970), (7, 333), (10, 7850), (23, 2049)):
        vs = generate(top, n, d, n << 32 | d)
        mean = [sum(column) for column in zip(*vs)]
        payload = b"".join(struct.pack("<%d%s" % (d, " bh"[width]), *v) for v in vs)
        values = {
            "payload": list(payload),
            "distances": [distance(a, b) for a in vs for b in vs],
            "dots": [x for v in vs for x in (dot(vs[0], v), dot(v, v), distance(vs[0], v), sign(dot(v, mean)))],
            "mean": mean,
            "quantised": quantise(width, top, d),
        }
        for what, xs in values.items():
            h = hashlib.sha256(struct.pack("<%dq" % len(xs), *xs)).hexdigest()
            print("%s/width=int%d/n=%d/d=%d %s" % (what, 8 * width, n, d, h))

#!/usr/bin/env python3
"""Writes golden.txt: python3 golden.py > golden.txt

An independent implementation of what golden_test.go hashes, in Python's unbounded integers and from the definitions: mixtures
and buckets are formed, columns sorted. Each value is hashed as a little-endian signed 64-bit integer. A rule that refuses has no
hash.

A new rule is a name in RULES, a branch in aggregate, and in feasible where it takes other than 2f+1 included gradients or more.
"""
import hashlib
import itertools
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
    scores, neighbours = [], []
    for i in range(len(vs)):
        near = nearest(sq, i, n - f - 2, floor)
        neighbours.append(near)
        xs = [max(sq[i][j], floor) for j in near]
        scores.append(sum(isqrt(x << 48) if unsquared else x for x in xs))
    order = sorted(range(len(vs)), key=lambda i: (scores[i], i))
    margin = scores[order[m]] - scores[order[m - 1]] if m < len(vs) else -1
    return order[:m], scores, neighbours, margin


def columns(points, f):
    return [f(sorted(column)) for column in zip(*points)]


def near_median(points, take):
    def total(column):
        middle = column[(len(column) - 1) // 2] + column[len(column) // 2]
        return sum(sorted(column, key=lambda x: (abs(2 * x - middle), x))[:take])

    return columns(points, total)


def squares_from(points, rows, weights):
    """Squared distances of the points from the weighted mean of rows, times the square of the sum of the weights."""
    total = sum(weights)
    place = [sum(w * x for w, x in zip(weights, column)) for column in zip(*rows)]
    return [sum((total * x - y) ** 2 for x, y in zip(point, place)) for point in points], total**2


def ratio_root(num, den, bits):
    return 1 << bits if num >= den else isqrt((num << 2 * bits) // den)


def shares_mean(rows, weights, rest_to_first=False):
    """Numerators of the mean with weights brought to sum 2^20."""
    total = sum(weights)
    shares = [(w << 20) // total for w in weights]
    by_loss = sorted(range(len(weights)), key=lambda i: (-((weights[i] << 20) % total), i))
    if rest_to_first:
        shares[0] += (1 << 20) - sum(shares)
    for i in by_loss[: (1 << 20) - sum(shares)]:
        shares[i] += 1
    return [sum(c * x for c, x in zip(shares, column)) for column in zip(*rows)]


def geometric_median(points, size):
    weights = [1] * len(points)
    for _ in range(32):
        squares, unit = squares_from(points, points, weights)
        squares = [max(sq, unit * size**2) for sq in squares]
        weights = [ratio_root(min(squares), sq, 30) for sq in squares]
    squares, unit = squares_from(points, points, weights)
    return shares_mean(points, weights), [isqrt(sq // (unit * size**2)) for sq in squares]


def centered_clipping(points, size):
    k = len(points)
    median = columns(points, lambda column: column[(k - 1) // 2] + column[k // 2])
    points = [[2 * x for x in point] for point in points]
    rows, weights, radius = [median] + points, [1 << 40] + [0] * k, None
    for _ in range(10):
        squares, unit = squares_from(points, rows, weights)
        if radius is None:
            radius, radius_unit = sorted(squares)[(k - 1) // 2], unit
        factors = [ratio_root(radius * unit, sq * radius_unit, 30) for sq in squares]
        rest, total = (k << 30) - sum(factors), sum(weights)
        weights = [(w * rest + total * l) // (k << 30) for w, l in zip(weights, [0] + factors)]
    squares, unit = squares_from(points, rows, weights)
    num = shares_mean(rows, weights, rest_to_first=True)
    if k % 2 == 1:
        num = [x // 2 for x in num]
    return num, [isqrt(sq // (unit * (2 * size) ** 2)) for sq in squares]


def cut(v, bits):
    """Shifts a vector so that its entry of the most bits has so many."""
    by = max(abs(x).bit_length() for x in v) - bits
    return [x >> by if by > 0 else x << -by for x in v]


def clear(v, found):
    """Takes from a vector its components along others."""
    for u in found:
        v = cut(v, 20)
        along, square = sum(x * y for x, y in zip(u, v)), sum(x * x for x in u) >> 20
        share = abs(along) // square * (1 if along >= 0 else -1)
        v = [y - (share * x >> 20) for x, y in zip(u, v)]
    return v


def agnostic_mean(points, f, floor):
    """Shares of the points, which add up to 2^20."""
    k, d = len(points), len(points[0])
    sq = distances(points)
    right = max(0, max(map(max, sq)).bit_length() + 2 * k.bit_length() - 60)
    sq = [[x >> right for x in row] for row in sq]
    rows = [sum(row) for row in sq]
    gram = [[k * (rows[i] + rows[j]) - k * k * sq[i][j] - sum(rows) for j in range(k)] for i in range(k)]
    excess = max(0, max(abs(x) for row in gram for x in row).bit_length() - 30)
    gram = [[x >> excess for x in row] for row in gram]
    weights, found = [(1 << 30) // k] * k, []
    for _ in range(min(f, 8)):
        at = max(range(k), key=lambda i: (gram[i][i], -i))
        v = cut(clear(cut(gram[at], 20), found), 20)
        for _ in range(64):
            v = cut(clear([sum(x * y for x, y in zip(row, v)) for row in gram], found), 20)
        if not any(v):
            break
        square = sum(x * x for x in v)
        rayleigh = sum(v[i] * gram[i][j] * v[j] for i in range(k) for j in range(k)) << right + excess
        # rayleigh / square / 2k^2 > 7/12 floor (1 + sqrt(k/d))^2
        if 12 * rayleigh << 40 <= square * 2 * k * k * 7 * floor * ((1 << 20) + isqrt((k << 40) // d)) ** 2:
            break
        found.append(v)
        middle = sum(sorted(v)[f : k - f])
        weights = [w + (middle * x << 30) // (square * (k - 2 * f)) for w, x in zip(weights, v)]
    weights = [max(0, w) for w in weights]
    shares = [(w << 20) // sum(weights) for w in weights]
    by_loss = sorted(range(k), key=lambda i: (-((weights[i] << 20) % sum(weights)), i))
    for i in by_loss[: (1 << 20) - sum(shares)]:
        shares[i] += 1
    return shares


def mda(points, f, floor):
    k = len(points)
    sq = [[max(x, floor) if i != j else 0 for j, x in enumerate(row)] for i, row in enumerate(distances(points))]
    selected = min(itertools.combinations(range(k), k - f), key=lambda s: (max(sq[i][j] for i in s for j in s), s))
    scores = [max(sq[i][j] for j in selected) for i in range(k)]
    outside = [scores[i] for i in range(k) if i not in selected]
    return list(selected), scores, max(0, min(outside) - max(scores[i] for i in selected)) if outside else -1


def bulyan(points, n, f, unsquared, floor):
    theta, left, selected = min(n - 2 * f, len(points)), list(range(len(points))), []
    for step in range(theta):
        q = max(1, n - step - f - 2)
        chosen, scores, near, _ = select([points[i] for i in left], q + 2, 0, 1, unsquared, floor)
        if step == 0:
            shown, neighbours = scores, near
        selected.append(left.pop(chosen[0]))
    return near_median([points[i] for i in selected], theta - 2 * f), selected, shown, neighbours, theta - 2 * f


def bucket_order(seed, k):
    return sorted(range(k), key=lambda i: hashlib.sha256(b"spdl bucketing" + seed + struct.pack("<I", i)).digest())


def feasible(rule, n, f, k):
    if rule.startswith("bucketing+"):
        n, k, rule = (n + 1) // 2, (k + 1) // 2, rule[10:]
        if f >= n:
            return False
    rule = rule.removeprefix("nnm+")
    if rule in ("krum", "multi-krum", "bulyan"):
        return n >= f + 3 and k >= n - f - 1 and (rule != "bulyan" or n > 4 * f)
    return k > 2 * f or rule in ("mean", "median", "geometric-median", "centered-clipping") or rule == "cge" and k > f


def aggregate(rule, vs, n, f, unsquared, floor, seed):
    """Returns numerators, denominator, selected, scores, neighbours and the margin."""
    points, size, members, buckets = vs, 1, None, False
    if rule.startswith("nnm+"):
        rule, size, sq = rule[4:], len(vs) - f, distances(vs)
        members = [[i] + nearest(sq, i, size - 1, floor) for i in range(len(vs))]
        floor = 0
    elif rule.startswith("bucketing+"):
        rule, size, order, n, buckets = rule[10:], 2, bucket_order(seed, len(vs)), (n + 1) // 2, True
        members = [[order[i], order[min(i + 1, len(vs) - 1)]] for i in range(0, len(vs), 2)]
        floor *= 2
    if members:
        points = [columns([vs[j] for j in near], sum) for near in members]
    k = len(points)
    selected, scores, neighbours, margin = list(range(k)), [], [], -1
    if rule in ("krum", "multi-krum"):
        m = 1 if rule == "krum" else min(n - f, k)
        selected, scores, neighbours, margin = select(points, n, f, m, unsquared, floor)
        num, den = columns([points[i] for i in selected], sum), m
    elif rule == "mda":
        selected, scores, margin = mda(points, f, floor)
        num, den = columns([points[i] for i in selected], sum), k - f
    elif rule == "cge":
        scores = [sum(x * x for x in point) for point in points]
        order = sorted(range(k), key=lambda i: (scores[i], i))
        selected = order[: k - f]
        margin = scores[order[k - f]] - scores[order[k - f - 1]] if f else -1
        num, den = columns([points[i] for i in selected], sum), k - f
    elif rule == "bulyan":
        num, selected, scores, neighbours, den = bulyan(points, n, f, unsquared, floor)
    elif rule == "geometric-median":
        (num, scores), den = geometric_median(points, size), 1 << 20
    elif rule == "centered-clipping":
        (num, scores), den = centered_clipping(points, size), (2 - k % 2) << 20
    elif rule == "agnostic-mean":
        shares, den = agnostic_mean(points, f, floor), 1 << 20
        num = [sum(c * x for c, x in zip(shares, column)) for column in zip(*points)]
        selected, scores = [i for i in range(k) if shares[i]], [max(0, (1 << 20) // k - c) for c in shares]
    elif rule == "mean-around-median":
        num, den = near_median(points, k - f), k - f
    else:
        lo, hi = {"mean": (0, k), "median": ((k - 1) // 2, k // 2 + 1), "trimmed-mean": (f, k - f)}[rule]
        num, den = columns(points, lambda column: sum(column[lo:hi])), hi - lo
    if members:
        selected, neighbours = sorted({j for i in selected for j in members[i]}), members
    if buckets:
        of = [next(b for b, near in enumerate(members) if i in near) for i in range(len(vs))]
        scores = [scores[b] for b in of] if scores else []
        neighbours = [[i] + [j for j in set(members[b]) if j != i] for i, b in enumerate(of)]
    return num, den * size, selected, scores, neighbours, margin


RULES = (
    "agnostic-mean", "bulyan", "centered-clipping", "cge", "geometric-median", "krum", "mda", "mean", "mean-around-median", "median",
    "multi-krum", "trimmed-mean",
)  # fmt: skip
print("# SHA-256 of exact results on the vectors of splitmix64; made by golden.py, not by the code under test.")
for rule in sorted(before + rule for before in ("", "nnm+", "bucketing+") for rule in RULES):
    for n, k, d, f, spread in (
        (4, 4, 1970, 1, 127),
        (7, 6, 333, 2, 3),
        (10, 10, 1200, 3, 16383),
        (14, 12, 2, 3, 1),
    ):
        vs = generate(k, d, spread, n << 32 | d)
        for unsquared in (False, True):
            for floor in (0, distances(vs[:2])[0][1]):
                at = "rule=%s/n=%d/included=%d/d=%d/f=%d" % (rule, n, k, d, f)
                at += "/unsquared=%s/floor=%d" % (str(unsquared).lower(), floor)
                if not feasible(rule, n, f, k):
                    print(at, "refused")
                    continue
                out = aggregate(rule, vs, n, f, unsquared, floor, bytes([n]))
                num, den, selected, scores, neighbours, margin = out
                xs = num + [den] + selected + scores + [j for near in neighbours for j in near] + [margin]
                print(at, hashlib.sha256(struct.pack("<%dq" % len(xs), *xs)).hexdigest())

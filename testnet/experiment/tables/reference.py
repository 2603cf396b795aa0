"""The references of the recognised tables, in NumPy: a test oracle that shares no code with SPDL.

Usage: reference.py FOLDER SCHEMAS: CSV on standard output, three seeds, for each table and N
logistic regression without privacy, central DP-SGD (Poisson batches, clipped gradients, Gaussian noise,
as Opacus does it) at epsilon 1, 2 and 4, and the mean over members that train alone, without privacy.
Reading, levels and test split are written from docs/MODELS.md.
"""
import csv, hashlib, json, math, os, sys
import numpy as np

ROUNDS, RATE, DELTA, CLIP = 100, 0.3, 1e-6, 1.0


def levels(text, column):
    text = text.strip()
    if "values" in column:
        assert text in column["values"] or column.get("others"), (column, text)
        return [255 if text == v else 128 for v in column["values"]]
    fill, missing = column.get("missing"), text in ("", "NA")
    x = fill["fill"] if missing else float(text)
    low, high = column["low"], column["high"]
    out = [math.floor((min(max(x, low), high) - low) / (high - low) * 255 + 0.5)]
    return out + ([255 if missing else 128] if fill and fill.get("indicator") else [])


def read(path, schema):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    x = np.array([sum((levels(r[c["name"]], c) for c in schema["columns"]), []) for r in rows], np.uint8)
    y = np.array([schema["classes"].index(r[schema["label"]].strip()) for r in rows])
    if "group" in schema:
        groups = np.array([r[schema["group"]].strip() for r in rows])
        keys = [b"spdl/group/v1" + g.encode() for g in groups]
    else:
        groups = np.arange(len(rows))
        keys = [b"spdl/table/v2" + "".join(f"{n}\0{r[n].strip()}\0" for n in sorted(r)).encode() for r in rows]
    test = np.array([int.from_bytes(hashlib.sha256(k).digest()[:8], "big") % 5 == 0 for k in keys])
    x = np.c_[(x - 127.5) / 127.5, np.ones(len(x))]
    return (x[~test], y[~test], groups[~test]), (x[test], y[test])


def probability(w, x):
    return 1 / (1 + np.exp(-np.clip(x @ w, -40, 40)))


def regression(x, y, ridge=1e-2):
    w = np.zeros(x.shape[1])
    for _ in range(30):
        p = probability(w, x)
        hessian = x.T @ (x * (p * (1 - p))[:, None]) + ridge * np.eye(len(w))
        w -= np.linalg.solve(hessian, x.T @ (p - y) + ridge * w)
    return w


def epsilon(z, q, steps, delta):
    """RDP of the sampled Gaussian mechanism at integer orders (Mironov et al. 2019, section 3.3)."""
    best = math.inf
    for a in list(range(2, 64)) + [80, 128, 256]:
        terms = [math.lgamma(a + 1) - math.lgamma(k + 1) - math.lgamma(a - k + 1) + k * math.log(q)
                 + (a - k) * math.log1p(-q) + k * (k - 1) / (2 * z * z) for k in range(a + 1)]
        top = max(terms)
        rdp = steps * (top + math.log(sum(math.exp(t - top) for t in terms))) / (a - 1)
        best = min(best, rdp + math.log1p(-1 / a) - math.log(delta * a) / (a - 1))
    return best


def noise(target):
    low, high = 0.3, 100.0
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if epsilon(middle, RATE, ROUNDS, DELTA) > target else (low, middle)
    return high


def dpsgd(x, y, groups, z, rng):
    _, unit = np.unique(groups, return_inverse=True)
    units = unit.max() + 1
    w, velocity, tail = np.zeros(x.shape[1]), 0.0, []
    for step in range(ROUNDS):
        drawn = rng.random(units) < RATE
        picked = drawn[unit]
        each = (probability(w, x[picked]) - y[picked])[:, None] * x[picked]
        sums = np.zeros((units, x.shape[1]))
        np.add.at(sums, unit[picked], each)
        norm = np.linalg.norm(sums, axis=1)
        total = (sums * np.minimum(1, CLIP / np.maximum(norm, 1e-12))[:, None]).sum(0)
        gradient = (total + rng.normal(0, z * CLIP, len(w))) / (RATE * units)
        velocity = 0.9 * velocity + gradient
        w = w - 0.5 * velocity
        if step >= ROUNDS // 2:
            tail.append(w)
    return np.mean(tail, axis=0)  # of the last half: post-processing


def auc(y, p):
    order = np.argsort(p, kind="stable")
    ranks = np.empty(len(p))
    values, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    n1 = y.sum()
    return (ranks[y == 1].sum() - n1 * (n1 + 1) / 2) / (n1 * (len(y) - n1))


def measures(w, x, y):
    p = probability(w, x)
    return auc(y, p), ((p > 0.5) == y).mean(), ((p - y) ** 2).mean()


def show(name, n, epsilon, reference, rows):
    mean, spread = np.mean(rows, 0), np.std(rows, 0, ddof=1) if len(rows) > 1 else np.zeros(3)
    print(",".join([name, str(n), str(epsilon), reference] + [f"{v:.4f}" for pair in zip(mean, spread) for v in pair]), flush=True)


def main(folder, schemas, *names):
    print("table,N,epsilon,reference,auc,auc_sd,accuracy,accuracy_sd,brier,brier_sd")
    for name in names or ["breast-cancer", "pima", "credit", "flchain", "nafld-5", "nafld"]:
        with open(os.path.join(schemas, name.removesuffix("-5") + ".json")) as file:
            schema = json.load(file)
        (x, y, groups), test = read(os.path.join(folder, name + ".csv"), schema)
        show(name, "", "", "majority", [(0.5, max(test[1].mean(), 1 - test[1].mean()), test[1].mean() * (1 - test[1].mean()))])
        show(name, "", "", "not private", [measures(regression(x, y), *test)])
        for target in (1, 2, 4):
            z = noise(target)
            show(name, "", target, "central DP-SGD",
                 [measures(dpsgd(x, y, groups, z, np.random.default_rng(seed)), *test) for seed in (1, 2, 3)])
        for n in (4, 10):
            runs = []
            for seed in (1, 2, 3):
                _, unit = np.unique(groups, return_inverse=True)
                share = np.random.default_rng(seed).permutation(unit.max() + 1)[unit] % n
                runs.append(np.mean([measures(regression(x[share == i], y[share == i]), *test) for i in range(n)], 0))
            show(name, n, "", "alone (not private)", runs)


main(*sys.argv[1:])

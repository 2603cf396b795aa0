"""The references of the recognised tables, in NumPy: a test oracle that shares no code with SPDL.

Usage: reference.py FOLDER SCHEMAS: CSV on standard output, three seeds, for each table and N
what guessing the rate gives, logistic regression without privacy whose ridge is cross-validated, the same
of members that train alone on their N-th, and central DP-SGD (clipped gradients, Gaussian noise, exact
accounting by mu) at epsilon 1, 2 and 4 with the steps of docs/TABLES.md.
Reading, levels and test split are written from docs/MODELS.md.
"""
import csv, hashlib, json, math, os, sys
import numpy as np

DELTA = 1e-6


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


def centre(column):
    """A typical row, in inputs."""
    no = 0.5 / 127.5
    if "values" in column:
        k = len(column["values"])
        return [no + share * (1 - no) for share in column.get("shares", [1 / k] * k)]
    low, high, fill = column["low"], column["high"], column.get("missing", {})
    typical = column.get("typical", fill.get("fill", (low + high) / 2))
    return [2 * (typical - low) / (high - low) - 1] + ([no + fill.get("share", 0) * (1 - no)] if fill.get("indicator") else [])


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
    c = np.concatenate([centre(column) for column in schema["columns"]])
    x = np.c_[(x - 127.5) / 127.5 - c, np.full(len(x), 0.6)]
    _, groups = np.unique(groups, return_inverse=True)
    return (x[~test], y[~test], groups[~test]), (x[test], y[test])


def probability(w, x):
    return 1 / (1 + np.exp(-np.clip(x @ w, -40, 40)))


def regression(x, y, ridge):
    w = np.zeros(x.shape[1])
    for _ in range(30):
        p = probability(w, x)
        hessian = x.T @ (x * (p * (1 - p))[:, None]) + ridge * np.eye(len(w))
        w -= np.linalg.solve(hessian, x.T @ (p - y) + ridge * w)
    return w


def tuned(x, y, groups, rng):
    """Logistic regression whose ridge is chosen by five folds of its own groups."""
    fold = rng.permutation(groups.max() + 1)[groups] % 5

    def loss(ridge):
        total = 0.0
        for k in range(5):
            p = np.clip(probability(regression(x[fold != k], y[fold != k], ridge), x[fold == k]), 1e-9, 1 - 1e-9)
            total -= np.log(np.where(y[fold == k] == 1, p, 1 - p)).sum()
        return total

    return regression(x, y, min(10.0 ** np.arange(-2, 3.5, 0.5), key=loss))


def gaussian(epsilon):
    """The mu of Gaussian differential privacy whose epsilon at delta is the given one (Dong et al. 2019)."""
    def phi(t):
        return 0.5 * math.erfc(-t / math.sqrt(2))

    low, high = 1e-4, 50.0
    for _ in range(100):
        mu = (low + high) / 2
        ok = phi(-epsilon / mu + mu / 2) - math.exp(epsilon) * phi(-epsilon / mu - mu / 2) <= DELTA
        low, high = (mu, high) if ok else (low, mu)
    return low


def dpsgd(x, y, groups, rate, mu, rng, clips=1.0, times=1.0, steps=1.0):
    """Gradient descent on the means of groups, clipped, with Gaussian noise: the steps of docs/TABLES.md for one
    party that trusts itself, or with another clip norm, length of the training or of a step, as multiples."""
    d, (_, unit, rows) = x.shape[1] - 1, np.unique(groups, return_inverse=True, return_counts=True)
    radius = 0.45 * math.sqrt(d + 0.36)
    clip = clips * (0.4 + 0.4 * max(0, 1 - 4 * min(rate, 1 - rate))) * radius
    curvature = 0.15 * max(0.3, 4 * rate * (1 - rate)) * radius ** 2
    time, step = times * 0.9 * mu * len(rows) / (clip / clips * radius), steps * 1.6 / curvature
    rounds = int(min(max(math.ceil(time / step), 8), 64))
    w = np.zeros(d + 1)
    w[-1] = math.log(rate / (1 - rate)) / 0.6
    for _ in range(rounds):
        means = np.zeros((len(rows), d + 1))
        np.add.at(means, unit, (probability(w, x) - y)[:, None] * x)
        means /= rows[:, None]
        norm = np.linalg.norm(means, axis=1)
        total = (means * np.minimum(1, clip / np.maximum(norm, 1e-12))[:, None]).sum(0)
        w -= min(step, time / rounds) * (total + rng.normal(0, clip * math.sqrt(rounds) / mu, d + 1)) / len(rows)
    return w


def auc(y, p):
    order = np.argsort(p, kind="stable")
    ranks = np.empty(len(p))
    values, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    n1 = y.sum()
    return (ranks[y == 1].sum() - n1 * (n1 + 1) / 2) / (n1 * (len(y) - n1))


def measures(p, y):
    bins = np.minimum(9, (p * 10).astype(int))
    ece = sum(abs((p - y)[bins == k].sum()) for k in range(10)) / len(y)
    return auc(y, p), ((p > 0.5) == y).mean(), ((p - y) ** 2).mean(), ece


def show(name, n, epsilon, reference, rows):
    mean, spread = np.mean(rows, 0), np.std(rows, 0, ddof=1) if len(rows) > 1 else np.zeros(4)
    print(",".join([name, str(n), str(epsilon), reference] + [f"{v:.4f}" for pair in zip(mean, spread) for v in pair]), flush=True)


def main(folder, schemas, *names):
    print("table,N,epsilon,reference,auc,auc_sd,accuracy,accuracy_sd,brier,brier_sd,ece,ece_sd")
    for name in names or ["breast-cancer", "pima", "credit", "flchain", "nafld-5", "nafld", "rotterdam", "churn", "nwtco", "colon",
                          "stackoverflow"]:
        with open(os.path.join(schemas, name.removesuffix("-5") + ".json")) as file:
            schema = json.load(file)
        (x, y, groups), (xt, yt) = read(os.path.join(folder, name + ".csv"), schema)
        _, groups = np.unique(groups, return_inverse=True)

        def of(w):
            return measures(probability(w, xt), yt)

        show(name, "", "", "rate", [(0.5, max(yt.mean(), 1 - yt.mean()), yt.mean() * (1 - yt.mean()), abs(y.mean() - yt.mean()))])
        show(name, "", "", "not private", [of(tuned(x, y, groups, np.random.default_rng(1)))])
        for epsilon in (1, 2, 4):
            show(name, "", epsilon, "central DP-SGD", [of(dpsgd(x, y, groups, schema["rate"], gaussian(epsilon), np.random.default_rng(seed)))
                                                       for seed in (1, 2, 3)])
        for n in (4, 10):
            runs = []
            for seed in (1, 2, 3):
                rng = np.random.default_rng(seed)
                share = rng.permutation(groups.max() + 1)[groups] % n
                mine = [share == i for i in range(n)]
                runs.append(np.mean([of(tuned(x[m], y[m], np.unique(groups[m], return_inverse=True)[1], rng)) for m in mine], 0))
            show(name, n, "", "alone (not private)", runs)


if __name__ == "__main__":
    main(*sys.argv[1:])

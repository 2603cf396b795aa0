"""What a member's own step is worth beside the model that the member makes alone, and which models cannot be told from a
calibrated one: a test oracle in NumPy for docs/MODELS.md "A member's own step".

Usage: own.py FOLDER SCHEMAS [FIRST SEEDS MEMBERS [TABLES]]: CSV on standard output. The common model is that of
bound.py's preset, with nobody attacking. Own step is what spdl model adapt writes, at each of the first members; its
differences to alone are paired by member, with the standard error of their mean. ECE is beside that which labels drawn
from the model's own probabilities would give: mean and 95th percentile of 200 draws, on average over the models.
"""
import itertools, json, math, os, sys
import numpy as np
from reference import dpsgd, gaussian, measures, probability, read, tuned

LAMBDAS, HELD = [1000, 300, 100, 30, 10, 3, 1, 0.3, 0.1, 0.03, 0.01], 1e9


def loss(w, x, y):
    return np.logaddexp(0, np.where(y == 1, -1, 1) * (x @ w)).sum()


def fit(x, y, centre, pull, w):
    """Logistic regression that is drawn to a centre in a metric, by Newton's method from w."""
    def value(v):
        return loss(v, x, y) + (v - centre) @ pull @ (v - centre) / 2

    while True:
        p = probability(w, x)
        slope = x.T @ (p - y) + pull @ (w - centre)
        step, at = np.linalg.solve(x.T @ (x * (p * (1 - p))[:, None]) + pull, slope), value(w)
        if slope @ step / 2 <= 1e-8 * (1 + at):
            return w
        size = next((s for s in 0.5 ** np.arange(30) if value(w - s * step) < at), 0)
        if size == 0:
            return w
        w = w - size * step


def ladder(x, y, centre, metric):
    fits = [centre]
    for ridge in LAMBDAS:
        fits.append(fit(x, y, centre, metric + ridge * np.diag(np.append(np.ones(len(centre) - 1), 0.1)), fits[-1]))
    return fits[1:]


def scaled(x, y, w, strength):
    """The model with the slope and the intercept of its log odds that fit the rows."""
    a, b = fit(np.c_[x @ w, x[:, -1]], y, np.array([1.0, 0]), np.diag([strength, 0.001]), np.array([1.0, 0]))
    return np.append(a * w[:-1], a * w[-1] + b)


def fits(w, x, y):
    """The fits of each way: its model is the best of them by the folds or, of adapted, the mean by their likelihood."""
    near = scaled(x, y, w, 1.01)
    p = probability(near, x)
    none, curve = np.zeros((len(w), len(w))), x.T @ (x * (p * (1 - p))[:, None])
    return {"shared": [w], "intercept": [scaled(x, y, w, HELD)], "alone": ladder(x, y, 0 * w, none),
            "adapted": ladder(x, y, w, none) + ladder(x, y, near, curve)}


def ways(w, x, y, groups, rng):
    """The model of each way with its loss in five folds."""
    fold = rng.permutation(groups.max() + 1)[groups] % 5
    left = [(x[fold == k], y[fold == k], fits(w, x[fold != k], y[fold != k])) for k in range(5)]
    out = {}
    for name, whole in fits(w, x, y).items():
        sums = np.array([[loss(v, a, b) for v in f[name]] for a, b, f in left]).sum(0)
        weights = np.exp((sums.min() - sums) * (1 if name == "adapted" else HELD))
        weights /= weights.sum()
        out[name] = (sum(loss(weights @ f[name], a, b) for a, b, f in left), weights @ whole)
    return out


def judged(w, x, y, rng):
    """Measures, and the ECE of labels that are drawn from the probabilities: mean and 95th percentile."""
    p = probability(w, x)
    chance = [measures(p, rng.random(len(p)) < p)[3] for _ in range(200)]
    return [*measures(p, y), np.mean(chance), np.quantile(chance, 0.95)]


def main(folder, schemas, first=100, seeds=5, members=4, *names):
    print("table,N,epsilon,model,auc,accuracy,brier,ece,by chance,95 %,auc to alone,error,brier to alone,error")
    for name in names or ["breast-cancer", "pima", "credit", "flchain", "rotterdam", "churn", "nwtco"]:
        with open(os.path.join(schemas, name + ".json")) as file:
            schema = json.load(file)
        (x, y, groups), test = read(os.path.join(folder, name + ".csv"), schema)
        chance = np.random.default_rng(7)

        def show(n, epsilon, model, rows, alone=None):
            apart = np.array(rows) - (rows if alone is None else alone)
            error = apart.std(0, ddof=1) / math.sqrt(len(rows)) if len(rows) > 1 else 0 * apart[0]
            print(",".join([name, str(n), str(epsilon), model] + [f"{v:.3f}" for v in np.mean(rows, 0)]
                           + [f"{v:+.4f},{e:.4f}" for v, e in list(zip(apart.mean(0), error))[0:3:2]]), flush=True)

        show("", "", "not private", [judged(tuned(x, y, groups, np.random.default_rng(1)), *test, chance)])
        for n, epsilon in itertools.product((4, 10), (1, 2)):
            common, alone, adapted, own = [], [], [], []
            for seed in range(int(first), int(first) + int(seeds)):
                rng = np.random.default_rng(seed)
                w = dpsgd(x, y, groups, schema["rate"], gaussian(epsilon) / math.sqrt(n), rng)
                member = rng.permutation(groups.max() + 1)[groups] % n
                for i in range(int(members)):
                    mine = member == i
                    found = ways(w, x[mine], y[mine], np.unique(groups[mine], return_inverse=True)[1], rng)
                    common.append(judged(w, *test, chance))
                    alone.append(judged(found["alone"][1], *test, chance))
                    adapted.append(judged(found["adapted"][1], *test, chance))
                    own.append(judged(min(found.values(), key=lambda way: way[0])[1], *test, chance))
            for model, rows in (("common", common), ("alone", alone), ("adapted", adapted), ("own step", own)):
                show(n, epsilon, model, rows, alone)


main(*sys.argv[1:])

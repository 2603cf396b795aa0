"""How near to central DP-SGD a consortium can come by any choice of clip norm, training length and step, and what the
members' own step at home adds.

Usage: bound.py FOLDER SCHEMAS [SEEDS [TABLES]]: CSV on standard output. Each of N members adds the noise of its own
epsilon, so their mean has sqrt(N) times central noise: with nobody attacking and the rule mean a consortium is
central DP-SGD at mu/sqrt(N). Besides the steps of docs/TABLES.md (preset) 31 others are tried, and that which is nearest
to central in the worst of AUC, accuracy and Brier score is chosen on the test rows: no honest choice among them is
nearer. Own step is the preset's model after what spdl model adapt chooses at each of the first four members, ece that
of the preset's model and after the own step.
"""
import itertools, json, math, os, sys
import numpy as np
from reference import dpsgd, gaussian, measures, probability, read

LAMBDAS, HELD = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000], 1e9


def fit(x, y, centre, ridge):
    """Logistic regression that is drawn to a centre, its intercept a tenth as strongly; with HELD the intercept alone."""
    w, pull = centre.copy(), np.append(np.full(len(centre) - 1, ridge), 1e-4 if ridge == HELD else 0.1 * ridge)
    for _ in range(30):
        p = probability(w, x)
        w = w - np.linalg.solve(x.T @ (x * (p * (1 - p))[:, None]) + np.diag(pull), x.T @ (p - y) + pull * (w - centre))
    return w


def own_step(w, x, y, groups, rng):
    """The model of least log loss in five folds: the common one, with an own intercept, or fitted to the rows."""
    fold = rng.permutation(groups.max() + 1)[groups] % 5

    def loss(ridge):
        total = 0.0
        for k in range(5):
            v = w if ridge is None else fit(x[fold != k], y[fold != k], w, ridge)
            p = np.clip(probability(v, x[fold == k]), 1e-9, 1 - 1e-9)
            total -= np.log(np.where(y[fold == k] == 1, p, 1 - p)).sum()
        return total

    best = min([None, HELD] + LAMBDAS, key=loss)
    return w if best is None else fit(x, y, w, best)


def main(folder, schemas, seeds="40", *names):
    print("table,N,epsilon,central,preset,gap,nearest,gap,clip,time,step,own step,gap,ece")
    for name in names or ["breast-cancer", "pima", "credit", "flchain", "nafld-5"]:
        with open(os.path.join(schemas, name.removesuffix("-5") + ".json")) as file:
            schema = json.load(file)
        (x, y, groups), (xt, yt) = read(os.path.join(folder, name + ".csv"), schema)

        def models(first, mu, *choice):
            return [dpsgd(x, y, groups, schema["rate"], mu, np.random.default_rng(first + seed), *choice) for seed in range(int(seeds))]

        def of(all):
            return np.mean([measures(probability(w, xt), yt) for w in all], 0)

        for epsilon, n in itertools.product((1, 2), (4, 10)):
            mu = gaussian(epsilon)
            central = of(models(100, mu))

            def gap(got):
                return max(central[0] - got[0], central[1] - got[1], got[2] - central[2])

            tried = {}
            for choice in itertools.product((1.0, 0.7, 1.5, 2.2), (1.0, 0.5, 2.0, 4.0), (1.0, 2.0)):
                tried[choice] = of(models(200, mu / math.sqrt(n), *choice))
            nearest, stepped = min(tried, key=lambda choice: gap(tried[choice])), []
            for seed, w in enumerate(models(200, mu / math.sqrt(n))[:10]):
                rng = np.random.default_rng(seed)
                member = rng.permutation(groups.max() + 1)[groups] % n
                for i in range(4):
                    mine = member == i
                    stepped.append(own_step(w, x[mine], y[mine], np.unique(groups[mine], return_inverse=True)[1], rng))
            preset, own = tried[1.0, 1.0, 1.0], of(stepped)
            said = [" ".join(f"{v:.3f}" for v in row[:3]) + f",{gap(row):.4f}" for row in (preset, tried[nearest], own)]
            print(",".join([name, str(n), str(epsilon), " ".join(f"{v:.3f}" for v in central[:3]), said[0], said[1],
                            *map(str, nearest), said[2], f"{preset[3]:.3f} {own[3]:.3f}"]), flush=True)


main(*sys.argv[1:])

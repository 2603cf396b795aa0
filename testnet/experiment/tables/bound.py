"""How near to central DP-SGD a consortium can come by any choice of clip norm, training length and step.

Usage: bound.py FOLDER SCHEMAS [SEEDS [TABLES]]: CSV on standard output. Each of N members adds the noise of its own
epsilon, so their mean has sqrt(N) times central noise: with nobody attacking and the rule mean a consortium is
central DP-SGD at mu/sqrt(N). The steps of docs/TABLES.md are taken, and 31 others, of which the one that is nearest to
central in the worst of AUC, accuracy and Brier score is chosen on the test rows: no real choice does better.
"""
import itertools, json, math, os, sys
import numpy as np
from reference import dpsgd, gaussian, measures, probability, read


def main(folder, schemas, seeds="40", *names):
    print("table,N,epsilon,central,preset,preset gap,nearest,nearest gap,clip,time,step")
    for name in names or ["breast-cancer", "pima", "credit", "flchain", "nafld-5"]:
        with open(os.path.join(schemas, name.removesuffix("-5") + ".json")) as file:
            schema = json.load(file)
        (x, y, groups), (xt, yt) = read(os.path.join(folder, name + ".csv"), schema)

        def trained(first, mu, *choice):
            runs = [dpsgd(x, y, groups, schema["rate"], mu, np.random.default_rng(first + seed), *choice) for seed in range(int(seeds))]
            return np.mean([measures(probability(w, xt), yt) for w in runs], 0)[:3]

        for epsilon, n in itertools.product((1, 2), (4, 10)):
            mu = gaussian(epsilon)
            central = trained(100, mu)
            tried = []
            for choice in itertools.product((1.0, 0.7, 1.5, 2.2), (1.0, 0.5, 2.0, 4.0), (1.0, 2.0)):
                got = trained(200, mu / math.sqrt(n), *choice)
                tried.append((max(central[0] - got[0], central[1] - got[1], got[2] - central[2]), choice, got))
            gap, choice, got = min(tried, key=lambda t: t[0])
            said = [" ".join(f"{v:.3f}" for v in row) for row in (central, tried[0][2], got)]
            print(f"{name},{n},{epsilon},{said[0]},{said[1]},{tried[0][0]:.4f},{said[2]},{gap:.4f}," + ",".join(map(str, choice)), flush=True)


main(*sys.argv[1:])

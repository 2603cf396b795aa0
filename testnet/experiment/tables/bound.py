"""How near to central DP-SGD a consortium can come by any choice of clip norm, training length and step.

Usage: bound.py FOLDER SCHEMAS [SEEDS [TABLES]]: CSV on standard output. Each of N members adds the noise of its own
epsilon, so their mean has sqrt(N) times central noise: with nobody attacking and the rule mean a consortium is
central DP-SGD at mu/sqrt(N). Besides the steps of docs/TABLES.md (preset) 31 others are tried, and that which is nearest
to central in the worst of AUC, accuracy and Brier score is chosen on the test rows: no honest choice among them is
nearer. What the members' own step at home adds is in own.py.
"""
import itertools, json, math, os, sys
import numpy as np
from reference import dpsgd, gaussian, measures, probability, read


def main(folder, schemas, seeds="40", *names):
    print("table,N,epsilon,central,preset,gap,nearest,gap,clip,time,step")
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
            nearest = min(tried, key=lambda choice: gap(tried[choice]))
            preset = tried[1.0, 1.0, 1.0]
            said = [" ".join(f"{v:.3f}" for v in row[:3]) + f",{gap(row):.4f}" for row in (preset, tried[nearest])]
            print(",".join([name, str(n), str(epsilon), " ".join(f"{v:.3f}" for v in central[:3]), *said, *map(str, nearest)]), flush=True)


main(*sys.argv[1:])

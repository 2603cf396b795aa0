"""The accuracy of a study of spdl new by its learning rate: the mean of noised clipped gradients, without the rule, on
batches that keep it quick. Means of three seeds; docs/LAB.md, "Models of one's own".

    python3 rates.py STUDY [RATE ...]   # by default 0.2 0.5 1 2 4 and that of params.json
"""
import array
import json
import os
import sys

import numpy as np
from central import drawn, study

MEMBERS, BATCH, SEEDS = 4, 1500, (21, 22, 23)


def accuracy(s, p, rate, seed):
    q, random = p["privacy"], np.random.default_rng(seed)
    x, std = drawn(p["model"]["tensors"], random), q["noise_multiplier"] * q["clip"] * MEMBERS ** 0.5 / s.examples
    for _ in range(int(p["training"]["rounds"])):
        batch = random.choice(s.examples, min(BATCH, s.examples), replace=False).tolist()
        total = np.asarray(s.clipped_sum(array.array("d", x.tolist()), batch, q["clip"]), float)
        x -= rate * (total / len(batch) + random.normal(0, std, len(x)))
    return s.evaluate(array.array("d", x.tolist()))[1]


def main(folder, *rates):
    with open(os.path.join(folder, "params.json"), encoding="utf-8") as f:
        p = json.load(f)
    s = study(os.path.abspath(folder), p, p["privacy"]["clip"])
    for rate in sorted({*(map(float, rates) if rates else (0.2, 0.5, 1, 2, 4)), p["training"]["learning_rate"]}):
        print("%g: %.3f" % (rate, np.mean([accuracy(s, p, rate, seed) for seed in SEEDS])), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The accuracy of a study of spdl new by its learning rate: the mean of noised clipped gradients, without the rule, on
batches that keep it quick. Of two classes also the mean probability of the second less its rate, and the Brier score.
Means of three seeds; docs/LAB.md, "Models of one's own".

    python3 rates.py STUDY [RATE ...]   # by default 0.2 0.5 1 2 4 and that of params.json
    python3 rates.py STUDY 1.23@1 0.355@3.47   # rates with clip norms of their own
"""
import array
import json
import os
import sys

import numpy as np
from central import drawn, study

MEMBERS, BATCH, SEEDS = 4, 1500, (21, 22, 23)


def measured(s, p, rate, clip, seed):
    q, random = p["privacy"], np.random.default_rng(seed)
    x, std = drawn(p["model"]["tensors"], random), q["noise_multiplier"] * clip * MEMBERS ** 0.5 / s.examples
    for _ in range(int(p["training"]["rounds"])):
        batch = random.choice(s.examples, min(BATCH, s.examples), replace=False).tolist()
        total = np.asarray(s.clipped_sum(array.array("d", x.tolist()), batch, clip), float)
        x -= rate * (total / len(batch) + random.normal(0, std, len(x)))
    x = array.array("d", x.tolist())
    chance = np.asarray(s.probabilities(x, s.x_test))
    if chance.shape[1] > 2:
        return [s.evaluate(x)[1]]
    y = np.asarray(s.y_test)
    return [s.evaluate(x)[1], chance[:, 1].mean() - y.mean(), np.square(chance[:, 1] - y).mean()]


def main(folder, *rates):
    with open(os.path.join(folder, "params.json"), encoding="utf-8") as f:
        p = json.load(f)
    clip = p["privacy"]["clip"]
    s = study(os.path.abspath(folder), p, clip)
    asked = [tuple(map(float, r.split("@"))) for r in rates or ("0.2", "0.5", "1", "2", "4")]
    for rate, *own in sorted({*asked, (p["training"]["learning_rate"],)}):
        norm = own[0] if own else clip
        mean = np.mean([measured(s, p, rate, norm, seed) for seed in SEEDS], 0)
        two = ", mean probability %+.3f, Brier score %.4f" % tuple(mean[1:]) if len(mean) > 1 else ""
        print("%g, clip norm %g: %.3f%s" % (rate, norm, mean[0], two), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

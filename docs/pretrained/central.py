"""A study of spdl new, trained by one party that has all rows: the reference for a chain's accuracy. The steps are those
of params.json; the mean is of all rows' gradients.

    python3 central.py STUDY private [SEED]  # clipped, with the noise of the same epsilon: central DP
    python3 central.py STUDY clipped         # without noise
    python3 central.py STUDY plain           # neither: the same model without privacy
"""
import array
import json
import os
import runpy
import sys

import numpy as np


def study(folder, p, clip):
    """What train.py serves, for all rows."""
    sys.path[:0] = [folder]
    import spdl_trainer
    made = []
    spdl_trainer.serve = made.append
    runpy.run_path(os.path.join(folder, "train.py"), run_name="__main__")
    m = p["model"]
    size = sum(int(np.prod(t["shape"])) for t in m["tensors"])
    said = {"dimension": size, "clip": clip, "clipping": "sum", "tensors": m["tensors"], "config": m.get("config", ""),
            "share": {"data": "", "part": 0, "parts": 1, "partition": "iid", "alpha": 1, "seed": 0}}
    return made[0](spdl_trainer.Hello(said, folder))


def drawn(tensors, random):
    """The first model, by the rules of genesis."""
    out = []
    for t in tensors:
        shape = t["shape"]
        inputs, outputs = int(np.prod(shape[1:])), shape[0]
        out.append({"zeros": lambda: np.zeros(shape),
                    "normal": lambda: random.normal(0, (2 / inputs) ** 0.5, shape),
                    "glorot": lambda: random.uniform(-1, 1, shape) * (6 / (inputs + outputs)) ** 0.5}[t["init"]]().ravel())
    return np.concatenate(out)


def main(folder, how, seed="1"):
    folder, random = os.path.abspath(folder), np.random.default_rng(int(seed))
    with open(os.path.join(folder, "params.json"), encoding="utf-8") as f:
        p = json.load(f)
    q, t = p["privacy"], p["training"]
    clip = {"private": q["clip"], "clipped": q["clip"], "plain": 0}[how]
    s = study(folder, p, clip)
    x = drawn(p["model"]["tensors"], random)
    for step in range(1, int(t["rounds"]) + 1):
        total = np.asarray(s.clipped_sum(array.array("d", x.tolist()), range(s.examples), clip), float)
        if how == "private":
            total += random.normal(0, q["noise_multiplier"] * clip, len(x))
        x -= t["learning_rate"] * total / s.examples
        if step % 5 == 0 or step == t["rounds"]:
            print("round %d: loss %.4f, accuracy %.4f on %d rows" % (step, *s.evaluate(array.array("d", x.tolist()))),
                  flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

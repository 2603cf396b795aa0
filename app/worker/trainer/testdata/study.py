#!/usr/bin/env python3
"""A linear model in pure Python, right or wrong in one way: python3 study.py MODE."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../python"))
import spdl_trainer as spdl

MODE = sys.argv[1]
N, D = 50, 6


def norm(v):
    return sum(x * x for x in v) ** 0.5


class Study:
    def __init__(self, hello):
        if MODE == "crash-at-start":
            raise RuntimeError("no data")
        if MODE == "denied":
            raise PermissionError(13, "Permission denied: ../emb.npz")
        if MODE == "import-late":
            import no_such_module
        if MODE == "tensors":
            self.shapes = {"weight": (2, 3)}
        if MODE == "share":
            print("share", hello.share, hello.config, hello.tensors[0]["name"])
        self.examples = N
        if MODE == "data":
            with open(hello.share["data"]) as f:
                print("data", f.readline().strip(), len(f.readlines()), os.path.basename(f.name))
        if MODE == "restart":  # other data after a restart
            marker = sys.argv[2]
            self.examples = N + os.path.exists(marker)
            open(marker, "w").close()
        self.calls = 0
        if MODE != "no-groups":
            self.groups = ["patient %d" % (i // 4 if MODE != "alone" else i) for i in range(N)]
        self.x = [[((7 * i + 3 * j) % 11) / 5 - 1 for j in range(D)] for i in range(N)]
        self.y = [i % 3 - 1.0 for i in range(N)]

    def rows(self, parameters, indices):
        out = []
        for i in indices:
            error = sum(p * x for p, x in zip(parameters, self.x[i])) - self.y[i]
            out.append([3 * error * x for x in self.x[i]])
        return out

    def gradients(self, parameters, indices):
        self.calls += 1
        if MODE == "slow":
            time.sleep(60)
        if MODE == "slow-once" and indices and not os.path.exists(sys.argv[2]):
            open(sys.argv[2], "w").close()
            time.sleep(60)
        if MODE == "deaf":
            import signal
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(60)
        if MODE == "crash":
            os._exit(3)
        if MODE == "exception":
            raise ValueError("bad batch")
        if MODE == "indices":
            indices = range(len(indices))
        rows = self.rows(parameters, indices)
        if MODE == "batch-norm" and rows:
            mean = [sum(c) / len(rows) for c in zip(*rows)]
            rows = [[v - m for v, m in zip(r, mean)] for r in rows]
        if MODE == "nan":
            rows[0][0] = float("nan")
        if MODE == "length":
            rows = [r[:-1] for r in rows]
        if MODE == "batch-mean" and rows:
            return [sum(c) / len(rows) for c in zip(*rows)]
        if MODE == "order":
            rows = [[v * (1 + k) for v in r] for k, r in enumerate(rows)]
        if MODE == "random":
            import random
            rows = [[v * random.random() for v in r] for r in rows]
        return rows

    def clipped_sum(self, parameters, indices, clip):
        rows = self.gradients(parameters, indices)
        if MODE != "clip":
            rows = [[v * min(1, clip * 0.999999 / max(norm(r), 1e-9)) for v in r] for r in rows]
        total = [sum(c) for c in zip(*rows)]
        if MODE == "sum-length":
            total.append(0)
        if MODE == "momentum":
            total = [t * 0.9 ** self.calls for t in total]
        return total


    def clipped_group_sum(self, parameters, groups, clip):
        total = [0.0] * D
        for g in groups:
            rows = self.rows(parameters, g)
            if MODE == "first":
                rows = rows[:1]
            if MODE in ("clip-rows", "clip-both") and clip:
                rows = [[v * min(1, clip / max(norm(r), 1e-9)) for v in r] for r in rows]
            one = [sum(c) for c in zip(*rows)]
            if MODE != "add":
                one = [v / len(rows) for v in one]
            factor = min(1, clip * 0.999999 / max(norm(one), 1e-9)) if clip and MODE != "clip-rows" else 1
            total = [t + v * factor for t, v in zip(total, one)]
        return total


class Measured(Study):
    def evaluate(self, parameters):
        return 1.5, 0.25 if MODE == "measured" else 7, 8


class Predicting(Study):
    y, y_test = [0, 1], [1, 1, 0]
    x, x_test = [0.5, 0.75], [0.25, 0.125, 2 if MODE == "mispredicted" else 0]

    def __init__(self, hello):
        super().__init__(hello)
        self.x, self.y = Predicting.x, Predicting.y

    def probabilities(self, parameters, x):
        return [[1 - v, v] for v in x]


if MODE == "leak":  # what a trainer without spdl_trainer.py may do
    print("epoch 1 of 10, loss 0.5", flush=True)
    time.sleep(60)
if MODE == "import":
    import no_such_module
if MODE == "huge":
    sys.stdout.buffer.write(b"H\xff\xff\xff\xff")
    sys.stdout.buffer.flush()
    time.sleep(60)
spdl.serve({"measured": Measured, "mismeasured": Measured, "predicted": Predicting, "mispredicted": Predicting}.get(
    MODE, Study))

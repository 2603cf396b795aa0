#!/usr/bin/env python3
"""Softmax regression on a CSV file, in NumPy. Replace load and gradients by your own."""
from __future__ import annotations

import os
from typing import Any, Sequence, Tuple

import numpy as np

from spdl_trainer import Hello, for_testing, serve
from spdl_trainer.loaded import classes_of

HERE = os.path.dirname(os.path.abspath(__file__))


def load(path: str, label: str, classes: int) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a CSV file with a header the numbers, the column of labels, 0 to classes-1, and whether a row
    is for testing. Another label is an error at the start."""
    with open(path) as f:
        names = f.readline().strip().split(",")
        rows = np.array([line.split(",") for line in f], dtype=float)
    at = names.index(label)
    tested = np.array([for_testing(row) for row in rows], dtype=bool)
    return np.delete(rows, at, axis=1), classes_of(os.path.basename(path), rows[:, at], classes), tested


class Study:
    def __init__(self, hello: Hello) -> None:
        self.hello = hello
        path = os.path.join(HERE, hello.config["file"])
        classes = next(t["shape"][0] for t in hello.tensors if t["name"] == "weight")
        x, y, tested = load(path, hello.config["label"], classes)
        # About a fifth is the test set of all; the rest is dealt out.
        self.test = x[tested], y[tested]
        x, y = x[~tested], y[~tested]
        mine = hello.part(len(x))
        self.x, self.y = x[mine], y[mine]
        self.examples = len(mine)
        # Where a person has several rows and privacy.unit is "group": self.groups, the person of each row.

    def probabilities(self, parameters: Any, x: np.ndarray) -> np.ndarray:
        w = self.hello.unpack(np.frombuffer(parameters))
        z = x @ w["weight"].T + w["bias"]
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def gradients(self, parameters: Any, indices: Sequence[int]) -> np.ndarray:
        x, y = self.x[indices], self.y[indices]
        delta = self.probabilities(parameters, x)  # of the cross-entropy by the logits
        delta[np.arange(len(y)), y] -= 1
        weight = delta[:, :, None] * x[:, None, :]
        return np.concatenate([weight.reshape(len(y), -1), delta], axis=1)

    def evaluate(self, parameters: Any) -> Tuple[float, float, int]:
        x, y = self.test
        p = self.probabilities(parameters, x)
        loss = -np.log(np.maximum(p[np.arange(len(y)), y], 1e-30)).mean()
        return loss, (p.argmax(axis=1) == y).mean(), len(y)


if __name__ == "__main__":
    serve(Study)

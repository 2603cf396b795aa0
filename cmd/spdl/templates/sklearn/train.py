#!/usr/bin/env python3
"""An estimator in the manner of scikit-learn, with NumPy alone: standardisation by public bounds,
then logistic regression with one weight vector a class. fit is SPDL's; predict is yours."""
from __future__ import annotations

import os
from typing import Any, Sequence, Tuple

import numpy as np

from spdl_trainer import Hello, for_testing, serve
from spdl_trainer.loaded import classes_of

HERE = os.path.dirname(os.path.abspath(__file__))


class LogisticRegression:
    """The parameters have scikit-learn's names and shapes: coef_ (classes x features) and
    intercept_ (classes)."""

    def __init__(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        self.coef_, self.intercept_ = coef, intercept

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        z = x @ self.coef_.T + self.intercept_
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.predict_proba(x).argmax(axis=1)

    def score(self, x: np.ndarray, y: np.ndarray) -> float:
        return (self.predict(x) == y).mean()


class Study:
    def __init__(self, hello: Hello) -> None:
        self.hello = hello
        rows = np.loadtxt(os.path.join(HERE, hello.config["file"]), delimiter=",", skiprows=1)
        # Bounds from the configuration and not from the data: a mean of the data is not private.
        classes = next(t["shape"][0] for t in hello.tensors if t["name"] == "coef_")
        x, y = rows[:, :-1] / hello.config["scale"], classes_of(hello.config["file"], rows[:, -1], classes)
        tested = np.array([for_testing(row) for row in rows], dtype=bool)
        self.x_test, self.y_test = x[tested], y[tested]
        x, y = x[~tested], y[~tested]
        mine = hello.part(len(x))
        self.x, self.y = x[mine], y[mine]
        self.examples = len(mine)
        # Where a person has several rows and privacy.unit is "group": self.groups, the person of each row.

    def estimator(self, parameters: Any) -> LogisticRegression:
        w = self.hello.unpack(np.frombuffer(parameters))
        return LogisticRegression(w["coef_"], w["intercept_"])

    def gradients(self, parameters: Any, indices: Sequence[int]) -> np.ndarray:
        x, y = self.x[indices], self.y[indices]
        delta = self.estimator(parameters).predict_proba(x)
        delta[np.arange(len(y)), y] -= 1
        return np.concatenate([(delta[:, :, None] * x[:, None, :]).reshape(len(y), -1), delta], axis=1)

    def evaluate(self, parameters: Any) -> Tuple[float, float, int]:
        e = self.estimator(parameters)
        p = e.predict_proba(self.x_test)[np.arange(len(self.y_test)), self.y_test]
        return -np.log(np.maximum(p, 1e-30)).mean(), e.score(self.x_test, self.y_test), len(self.y_test)


if __name__ == "__main__":
    serve(Study)

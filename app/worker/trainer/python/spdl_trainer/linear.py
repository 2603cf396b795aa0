"""Softmax regression in NumPy, for linear models of NumPy and scikit-learn."""
from __future__ import annotations

import array
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from .data import Array, Data, made, readable
from .hello import Hello
from .loaded import Loaded
from .tensors import Tensor, Unsuitable

ROWS = 32  # that are made up

def names(model: Any) -> Optional[Tuple[str, str]]:
    """The names of the weights and the biases of a linear model, or None for another. A dict of NumPy
    arrays names them itself: of two dimensions, and of one."""
    if type(model).__name__ == "LogisticRegression" and getattr(model, "fit_intercept", False):
        return "coef_", "intercept_"
    if isinstance(model, dict) and sorted(np.ndim(a) for a in model.values()) == [1, 2]:
        first, second = model
        return (first, second) if np.ndim(model[first]) == 2 else (second, first)
    return None


class LinearStudy:
    """Multinomial logistic regression with the cross-entropy, without a penalty. The inputs are the
    data's, flattened. Errors about the data begin with their source."""

    def __init__(self, hello: Hello, model: Any, data: Data, source: str = "the data") -> None:
        self.hello = hello
        loaded = Loaded(source, data)
        self.x_test, self.y_test = loaded.x_test.reshape(len(loaded.x_test), -1), loaded.y_test
        mine = hello.part(len(loaded.x), loaded.groups)
        if loaded.groups is not None:
            self.groups = [loaded.groups[i] for i in mine]
        self.x, self.y = loaded.x.reshape(len(loaded.x), -1)[mine], loaded.y[mine]
        self.examples = len(mine)
        named = names(model)
        assert named is not None
        self.weight, self.bias = named
        inputs, seen = self.x.shape[1], 1 + int(loaded.y.max())
        classes, because = self._classes(model, seen)
        self.shapes = {self.weight: (classes, inputs), self.bias: (classes,)}
        for name, shape in self.shapes.items():
            if isinstance(model, dict) and np.shape(model[name]) != shape:
                raise Unsuitable("array %s has shape %s, and the data have %d inputs and %d classes: want %s"
                                 % (name, list(np.shape(model[name])), inputs, seen,
                                    [max(seen, classes), *shape[1:]]))
        loaded.within(classes, because)

    def _classes(self, model: Any, seen: int) -> Tuple[int, str]:
        """The number of classes, and what decides it: the model, or the chain, because one participant may have
        no row of the last class, or else the labels."""
        if isinstance(model, dict):
            return len(model[self.weight]), "array %s has %d rows" % (self.weight, len(model[self.weight]))
        for t in self.hello.tensors:
            if t["name"] == self.weight:
                return int(t["shape"][0]), "the chain has %d classes" % t["shape"][0]
        return seen, "the greatest of y is %d" % (seen - 1)

    def tensors(self) -> List[Tensor]:
        """The tensors of the model for genesis."""
        return [{"name": name, "shape": list(shape), "init": "zeros"} for name, shape in self.shapes.items()]

    def trial(self) -> None:
        """Computes the first examples' gradients."""
        self.gradients(array.array("d", bytes(8 * self.hello.dimension)), range(min(2, self.examples)))

    def norm(self) -> float:
        """The median norm of the gradients of a described table's rows that are made up, at the start, where all classes
        are alike, and 0 without a table (steps.norm)."""
        config = self.hello.config or {}
        if "table" not in config:
            return 0
        x = made(config["table"], config.get("centred", False), ROWS)
        share = 1 / self.shapes[self.bias][0]
        return readable(float(np.median(np.sqrt((1 - share) * (1 + (x.astype(float) ** 2).sum(1))))))

    def probabilities(self, parameters: Any, x: Array) -> Array:
        w = self.hello.unpack(np.frombuffer(parameters))
        z = x @ w[self.weight].T + w[self.bias]
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def gradients(self, parameters: Any, indices: Sequence[int]) -> Array:
        x, y = self.x[indices], self.y[indices]
        delta = self.probabilities(parameters, x)  # of the cross-entropy by the logits
        delta[np.arange(len(y)), y] -= 1
        parts = {self.weight: (delta[:, :, None] * x[:, None, :]).reshape(len(y), -1), self.bias: delta}
        return np.concatenate([parts[t["name"]] for t in self.hello.tensors], axis=1)

    def clipped_sum(self, parameters: Any, indices: Sequence[int], clip: float) -> Array:
        return _clipped(self.gradients(parameters, indices), clip).sum(axis=0)

    def clipped_group_sum(self, parameters: Any, groups: Sequence[Sequence[int]], clip: float) -> Array:
        rows = self.gradients(parameters, [i for g in groups for i in g])
        starts = np.cumsum([0] + [len(g) for g in groups[:-1]])
        means = np.add.reduceat(rows, starts, axis=0) / np.array([[len(g)] for g in groups])
        return _clipped(means, clip).sum(axis=0)

    def evaluate(self, parameters: Any) -> Tuple[float, float, int]:
        p, y = self.probabilities(parameters, self.x_test), self.y_test
        loss = -np.log(np.maximum(p[np.arange(len(y)), y], 1e-30)).mean()
        return float(loss), float((p.argmax(axis=1) == y).mean()), len(y)


def _clipped(rows: Array, clip: float) -> Array:
    """Rows of at most norm clip each; 0 does not clip."""
    if clip > 0:
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows * np.minimum(1, clip * (1 - 1e-6) / np.maximum(norms, 1e-30))
    return rows

"""Heads for features, in PyTorch: softmax regression, or one hidden layer."""
from __future__ import annotations

from typing import Any, Dict

import torch
from torch import nn

from .data import Data
from .features import STATISTICS, public
from .hello import Hello
from .tensors import Unsuitable
from .weights import of

CONSTANT = 0.3  # stands beside each row of norm 1; its weight is the intercept


class Head(nn.Module):
    """Outputs for rows of features, each first centred, divided by scale or multiplied by the matrix map, and scaled
    to norm 1. These statistics are public, and constants of the chain."""

    pins_buffers = True  # a member's own file need not have them

    def __init__(self, inputs: int, classes: int, hidden: int, statistics: Dict[str, Any]) -> None:
        super().__init__()
        self.known = frozenset(statistics)
        for name, a in statistics.items():
            if a.shape[:1] != (inputs,) or a.ndim != 1 + (name == "map"):
                raise Unsuitable("%s has shape %s, and the features are %d" % (name, list(a.shape), inputs))
            self.register_buffer(name, torch.from_numpy(a.astype("float32")))
        inputs = statistics["map"].shape[1] if "map" in statistics else inputs
        self.hidden = nn.Linear(inputs + 1, hidden) if hidden else None
        self.output = nn.Linear(hidden or inputs + 1, classes, bias=bool(hidden))
        nn.init.zeros_(self.output.weight)
        self.norm = 0.0 if hidden else (1 + CONSTANT ** 2) ** 0.5  # of the inputs of softmax regression

    def forward(self, x: Any) -> Any:
        x = x - self.centre if "centre" in self.known else x
        x = x / self.scale if "scale" in self.known else x
        x = x @ self.map if "map" in self.known else x
        x = x / x.norm(dim=1, keepdim=True).clamp(min=1e-9)
        x = torch.cat([x, torch.full_like(x[:, :1], CONSTANT)], 1)
        return self.output(torch.tanh(self.hidden(x)) if self.hidden else x)


def build(hello: Hello, data: Data, hidden: int) -> Head:
    """The head for these features, with the classes of the chain: a participant may lack rows of one."""
    x, y = data[0], data[1]
    if x.ndim != 2:
        raise Unsuitable("x has shape %s, want rows of numbers" % list(x.shape))
    classes = next((t["shape"][0] for t in hello.tensors if t["name"] == "output.weight"), int(y.max()) + 1)
    if hello.tensors:  # in the weights file, which fills the buffers
        return Head(x.shape[1], classes, hidden, {n: a for n, a in of(hello).items() if n in STATISTICS})
    statistics = public(hello.data)
    if "scale" in statistics:
        statistics["scale"][statistics["scale"] == 0] = 1  # of a feature that is constant
    return Head(x.shape[1], classes, hidden, statistics)

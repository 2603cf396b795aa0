"""Tensors by name and shape, and what is wrong with a model's."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

Tensor = Dict[str, Any]  # name, shape, init
Shapes = Mapping[str, Sequence[int]]


class Unsuitable(Exception):
    """A model that SPDL cannot train. The text says why, and what to do."""


class Mismatch(Exception):
    """A model whose tensors are not those of HELLO. The text names the first that differs."""


def size(shape: Sequence[int]) -> int:
    """The number of parameters of a tensor."""
    n = 1
    for side in shape:
        n *= side
    return n


def difference(model: Shapes, tensors: Sequence[Tensor]) -> Optional[str]:
    """The first difference between a model's tensors and those of HELLO, or None. The order is that
    of HELLO: the model's may be another."""
    for t in tensors:
        name, shape = t["name"], list(t["shape"])
        if name not in model:
            return "tensor %s of the parameters, of shape %s, is not in the model" % (name, shape)
        if list(model[name]) != shape:
            return "tensor %s has shape %s in the model and %s in the parameters" % (name, list(model[name]), shape)
    known = {t["name"] for t in tensors}
    for name, shape_ in model.items():
        if name not in known:
            return "tensor %s of the model, of shape %s, is not in the parameters" % (name, list(shape_))
    return None


def described(model: Shapes) -> List[Tensor]:
    """The names and shapes of a model's tensors, as JSON has them."""
    return [{"name": name, "shape": list(shape)} for name, shape in model.items()]

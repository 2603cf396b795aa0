"""The study of a model that a function of the user's builds."""
from __future__ import annotations

import sys
from typing import Any, Callable

from .hello import Hello
from .tensors import Unsuitable


def make(hello: Hello, build: Callable[[], Any]) -> Any:
    """The study of the model that build returns: a PyTorch module, or a linear model of NumPy or
    scikit-learn. The data are those of load(hello) in build's file, if it has this function, or of
    data.load: (x, y, x_test, y_test), with the groups of x as a fifth if these are the unit of privacy.
    All participants of a localnet get the same data, and share it."""
    from . import data
    load = getattr(sys.modules[build.__module__], "load", data.load)
    model = build()
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from .pytorch import ModuleStudy
        return ModuleStudy(hello, model, _arrays(load(hello)))
    from .linear import LinearStudy, names
    if names(model) is None:
        raise Unsuitable("build returns a %s, want a torch.nn.Module, a dict of two NumPy arrays (weights of classes x "
                         "inputs, biases) or a LogisticRegression of scikit-learn" % type(model).__name__)
    return LinearStudy(hello, model, _arrays(load(hello)))


def _arrays(loaded: Any) -> Any:
    """What load returned, if it has as many values as a study takes."""
    n = len(loaded) if hasattr(loaded, "__len__") else 1
    if n not in (4, 5):
        raise Unsuitable("load returns %d value%s, want x, y, x_test, y_test and optionally groups"
                         % (n, "" if n == 1 else "s"))
    return loaded

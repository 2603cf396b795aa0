"""A model of spdl model export, back in the module of its study."""
from __future__ import annotations

import inspect
import os
import sys
from array import array
from typing import Any, Callable, Dict, Tuple

from .hello import Hello
from .tensors import Unsuitable, difference, size


def read(model: str, path: str = "", folder: str = "") -> Tuple[Hello, Any]:
    """HELLO of a member who has all rows of the file path, and the parameters as an array of float64. Raises Unsuitable
    if the model is not external."""
    from .weights import card, decode  # NumPy, which serve does without
    with open(model, "rb") as f:
        content = f.read()
    said, tensors = card(content, model)["model"], decode(content, model)
    if said.get("kind") != "external":
        raise Unsuitable("%s is a model of kind %s and of no study: predict.py gives its probabilities, and spdl model "
                         "gain measures it" % (model, said.get("kind")))
    if path and os.path.isfile(path):
        with open(path, "rb") as f:
            if f.read(4) == b"PAR1":
                raise Unsuitable("%s is a Parquet file: spdl trainer csv %s OUT.csv writes it as CSV"
                                 % (path, path))
    hello = Hello({"dimension": sum(size(t["shape"]) for t in said["tensors"]), "clip": 0, "clipping": "rows",
                   "tensors": said["tensors"], "config": said.get("config", ""),
                   "share": {"data": path and os.path.abspath(path), "part": 0, "parts": 1, "seed": 0}}, folder or None)
    return hello, array("d", b"".join(tensors[t["name"]].astype("<f8").tobytes() for t in said["tensors"]))


def rebuild(build: Callable[..., Any], model: str, data: str = "") -> Any:
    """The module that build returns, with the parameters of the file model and the constants of weights.safetensors
    beside build's file. A build that takes hello and the data gets those of the file data; without one, of a table
    with a schema, one row of its lower bounds, and otherwise the study's. A linear model is a dict of NumPy arrays.
    Raises Unsuitable if the module is not that of the model. Verify model first (spdl verify model)."""
    file = sys.modules[build.__module__]
    hello, flat = read(model, data, os.path.dirname(os.path.abspath(file.__file__ or "")))
    takes = inspect.signature(build).parameters
    module = build(hello, _data(hello, getattr(file, "load", None))) if takes else build()
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(module, torch.nn.Module):
        import numpy as np
        return dict(hello.unpack(np.frombuffer(flat)))
    from .constants import Constants
    from .weights import of
    constants = Constants(hello, module, of(hello))
    if differs := difference(constants.shapes, hello.tensors):
        raise Unsuitable("%s is not of this module: %s" % (model, differs))
    trained = constants.trained(hello.unpack(torch.frombuffer(flat, dtype=torch.float64)))
    module.load_state_dict(constants.whole(trained), strict=False)  # buffers are in the module
    return module


def _data(hello: Hello, own: Any) -> Any:
    from . import data
    table: Dict[str, Any] = hello.config.get("table", {})
    if own or hello.share["data"] or not table:
        return (own or data.load)(hello)
    return data.one(table, hello.config.get("centred", False))

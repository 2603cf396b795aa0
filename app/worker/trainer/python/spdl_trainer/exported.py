"""A model of spdl model export, back in the module of its study."""
from __future__ import annotations

import inspect
import os
import sys
import warnings
from array import array
from typing import Any, Callable, Dict, List, Tuple

from .hello import Hello
from .tensors import Unsuitable, difference, size


def read(model: str, path: str = "", folder: str = "") -> Tuple[Hello, Any]:
    """HELLO of a member who has all rows of the file path, and the parameters as an array of float64. Raises Unsuitable
    if the model is not external."""
    from .weights import card, decode  # NumPy, which serve does without
    if not isinstance(model, (str, os.PathLike)):
        raise Unsuitable("model is %r, want the path of a file of spdl model export" % (model,))
    with open(model, "rb") as f:
        content = f.read()
    about, tensors = card(content, model), decode(content, model)
    said = about["model"]
    if said.get("kind") != "external":
        raise Unsuitable("%s is a model of kind %s and of no study: predict.py gives its probabilities, and spdl model "
                         "gain measures it" % (model, said.get("kind")))
    hello = Hello({"dimension": sum(size(t["shape"]) for t in said["tensors"]), "clip": 0, "clipping": "rows",
                   "tensors": said["tensors"], "config": said.get("config", ""),
                   "share": {"data": path and os.path.abspath(path), "part": 0, "parts": 1, "seed": 0}}, folder or None)
    hello.odds = (about.get("adapted") or {}).get("odds")
    if differs := difference({name: a.shape for name, a in tensors.items() if name != "card"}, said["tensors"]):
        raise Unsuitable("%s is damaged: %s" % (model, differs))
    return hello, array("d", b"".join(tensors[t["name"]].astype("<f8").tobytes() for t in said["tensors"]))


def classes(model: str) -> List[str]:
    """The names of the classes of the file model, in the order of its probabilities: those of its table, which a
    study has if spdl new was given --schema or --label. Raises Unsuitable if it has none, or is no model of a study."""
    config = read(model)[0].config
    named = config.get("table", {}).get("classes") if isinstance(config, dict) else None
    if not named:
        raise Unsuitable("%s has no table that names classes: probabilities are in the order of the labels, from 0"
                         % model)
    return list(named)


def adapted(p: Any, odds: Any) -> Any:
    """The probabilities of two classes, a row for each, that a model of spdl model adapt gives: of the second class the
    log odds times the slope and plus the intercept. Without odds they are those of the model."""
    import numpy as np
    if not odds:
        return p
    x = np.clip(np.asarray(p, float)[:, 1], 1e-7, 1 - 1e-7)  # as spdl model gain reads them
    second = 1 / (1 + np.exp(-(odds[0] * np.log(x / (1 - x)) + odds[1])))
    return np.stack([1 - second, second], 1)


def rebuild(build: Callable[..., Any], model: str, data: str = "") -> Any:
    """The module that build returns, with the parameters of the file model and the constants of weights.safetensors
    beside build's file, or of the study that this package is in. A build that takes hello and the data gets those of
    the file data; without one, of a table with a schema, one row of its lower bounds, and otherwise the study's. A
    linear model is a dict of NumPy arrays. Of a file of spdl model adapt it is the chain's module, and a warning has the
    slope and the intercept, which probabilities applies. Raises Unsuitable if the module is not that of the model.
    Verify model first (spdl verify model)."""
    hello, module = _rebuilt(build, model, data)
    if hello.odds:
        warnings.warn("%s is adapted, and the module is not: its log odds times %.4g and plus %.4g are, as probabilities "
                      "gives them" % (model, *hello.odds), stacklevel=2)
    return module


def probabilities(build: Callable[..., Any], model: str, rows: Any, comma: bool = True) -> Any:
    """The probability of each class that the file model gives to rows, a row of a NumPy array for each: of a DataFrame,
    a row of one, a dict or a list of these, with the columns of a study's schema, where None and NaN are missing, in
    texts with comma a comma is a decimal point, and texts that are no category and numbers beyond their bounds warn; or
    of inputs as load gives them. classes names the columns. Of a file of spdl model adapt they are the adapted
    probabilities. build and errors are those of rebuild."""
    import numpy as np
    if isinstance(rows, (str, os.PathLike)):
        raise Unsuitable("rows is the path %s, want a DataFrame or inputs: python3 train.py predict takes a file" % rows)
    if rows is None:
        raise Unsuitable("rows is None, want a DataFrame, a list of dicts by column, or inputs as an array")
    from .loaded import numbers
    from .predict import absent, records
    hello, module = _rebuilt(build, model, "")
    own = hasattr(sys.modules[build.__module__], "load") or "table" not in (hello.config or {})
    if (named := records(rows)) is not None:
        from .data import of_records
        if own:
            raise Unsuitable("no schema says what the inputs of a DataFrame are: give rows as load makes them, an array")
        if hasattr(rows, "columns"):  # of no row the columns are the frame's
            absent(hello.config["table"]["columns"], list(rows.columns))
        rows = of_records(named, hello.config["table"], hello.config.get("centred", False), comma)
    rows = numbers("rows", rows, Unsuitable, 0)
    if not own:
        from .data import one
        want = one(hello.config["table"], hello.config.get("centred", False))[0].shape[1:]
        if rows.shape[1:] != want:
            raise Unsuitable("rows has shape %s, want [%d, %d], the inputs of the schema's columns"
                             % (list(rows.shape), len(rows) if rows.ndim > 1 else 1, *want))
    if isinstance(module, dict):
        from .linear import names
        weight, bias = names(module) or ("", "")
        x, width = rows.reshape(len(rows), -1) if len(rows) else rows, module[weight].shape[1]
        if x.shape[1:] != (width,):
            raise Unsuitable("rows has shape %s, want %d inputs in a row" % (list(rows.shape), width))
        z = x @ module[weight].T + module[bias]
    else:
        from .pytorch import predicted
        z = predicted(module, rows)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return adapted(e / e.sum(axis=1, keepdims=True), hello.odds)


def _rebuilt(build: Callable[..., Any], model: str, data: str) -> Tuple[Hello, Any]:
    from .weights import NAME
    if not callable(build) or not hasattr(build, "__module__"):
        raise Unsuitable("build is %r, want the function that --module names, as my.build" % (build,))
    file = sys.modules[build.__module__]
    folder = os.path.dirname(os.path.abspath(file.__file__ or ""))
    if not os.path.exists(os.path.join(folder, NAME)):  # build's file may be that of which the study has a copy
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    hello, flat = read(model, data, folder)
    takes = inspect.signature(build).parameters
    module = build(hello, _data(hello, getattr(file, "load", None))) if takes else build()
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(module, torch.nn.Module):
        import numpy as np
        return hello, dict(hello.unpack(np.frombuffer(flat)))
    from .constants import Constants
    from .weights import of
    constants = Constants(hello, module, of(hello))
    if differs := difference(constants.shapes, hello.tensors):
        raise Unsuitable("%s is not of this module: %s" % (model, differs))
    trained = constants.trained(hello.unpack(torch.frombuffer(flat, dtype=torch.float64)))
    module.load_state_dict(constants.whole(trained), strict=False)  # buffers are in the module
    return hello, module


def _data(hello: Hello, own: Any) -> Any:
    from . import data
    table: Dict[str, Any] = hello.config.get("table", {})
    if own or hello.share["data"] or not table:
        return (own or data.load)(hello)
    return data.one(table, hello.config.get("centred", False))

"""The study of a model that a function of the user's builds."""
from __future__ import annotations

import inspect
import os
import sys
from typing import Any, Callable

from .hello import Hello
from .tensors import Unsuitable


def make(hello: Hello, build: Callable[..., Any]) -> Any:
    """The study of the model that build returns: a PyTorch module, or a linear model of NumPy or
    scikit-learn. The data are those of load(hello) in build's file, if it has this function, or of
    data.load: (x, y, x_test, y_test), with the groups of x as a fifth if these are the unit of privacy.
    All participants of a localnet get the same data, and share it. A build that takes arguments gets hello and the
    data."""
    from . import data
    module = sys.modules[build.__module__]
    own = getattr(module, "load", None)
    takes = inspect.signature(build).parameters
    model = None if takes else built(hello, build)
    loaded = (own or data.load)(hello)
    if takes:
        model = built(hello, build, hello, loaded)
    if hello.adapt is not None:
        def begins(module: Any) -> Any:
            from .adapt import begin
            return begin(module, build(hello, loaded) if takes else build(), hello.adapt or "")
        hello.begins = begins
    source = "load of " + os.path.basename(module.__file__ or "") if own else os.path.basename(hello.data)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from .pytorch import ModuleStudy
        return ModuleStudy(hello, model, loaded, source=source)
    from .linear import LinearStudy, names
    if names(model) is None:
        raise Unsuitable("build returns a %s, want a torch.nn.Module, a dict of two NumPy arrays (weights of classes x "
                         "inputs, biases) or a LogisticRegression of scikit-learn" % type(model).__name__)
    return LinearStudy(hello, model, loaded, source)


def built(hello: Hello, build: Callable[..., Any], *arguments: Any) -> Any:
    """What build returns. Where it opens a file that a trainer cannot read, Unsuitable says how weights come in."""
    try:
        return build(*arguments)
    except (FileNotFoundError, PermissionError) as e:
        if hello.adapt is not None:  # spdl new, where the file is wanted
            raise
        raise Unsuitable(
            "%s opens %s, which a trainer cannot read: pretrained values come from the weights file of the study, that spdl "
            "new made of what %s filled. Load yours only where spdl new runs: by a path from __file__, and only if "
            "os.path.exists(path); then make the study again"
            % (build.__name__, e.filename or e, build.__name__)) from e

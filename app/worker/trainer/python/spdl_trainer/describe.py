"""Describes what a function builds, for genesis: python3 -m spdl_trainer.describe my.py:build.

The answer is JSON on standard output. A model that SPDL cannot train gives exit code 3 and the
reason on standard error."""
from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import sys
import sysconfig
import traceback
from numbers import Real
from typing import Any, Callable, Dict, List

from .groups import numbered
from .hello import Hello
from .study import make
from .tensors import Unsuitable, size

UNSUITABLE = 3  # exit code


def describe(source: str, config: str, folder: str, most: int, adapt: str = "", participants: int = 1,
             batch: int = 0) -> Dict[str, Any]:
    """The tensors of the model that FILE.py:FUNCTION builds, the number of its examples, or of their
    groups if they have some, whether they have groups, whether they come from the data of the
    configuration, the files beside it that it imports, what is probably wrong with the model, the bound on the
    learning rate, 0 for none, the typical norm of a gradient at the start, 0 where it is not known, whether the
    file has a load, and how long gradients take (steps.pace).
    most bounds the parameters. Constants are written to the weights file in folder, which the answer names for
    the configuration. adapt is "", "bias" or "lora:rank=4". The file and the function run in the file's folder,
    where the names of pretrained files are looked for."""
    path, _, name = source.rpartition(":")
    path, folder = os.path.abspath(path), os.path.abspath(folder)
    if not os.path.exists(path):
        raise Unsuitable("there is no file %s" % path)
    sys.path.insert(0, os.path.dirname(path))
    module = _inside(os.path.dirname(path), _load)(path)
    build = getattr(module, name, None)
    if not callable(build):
        raise Unsuitable("%s has no function %s" % (path, name))
    build = _inside(os.path.dirname(path), build)
    hello = Hello({"dimension": 0, "clip": 1, "clipping": "rows", "tensors": [], "config": config,
                   "share": {"data": "", "part": 0, "parts": 1, "partition": "iid", "alpha": 1, "seed": 0}}, folder)
    hello.adapt = adapt
    study = make(hello, build)
    arrays = getattr(study, "arrays", {})
    if adapt and not arrays:
        raise Unsuitable("--adapt %s: it is for a torch.nn.Module" % adapt)
    hello.tensors = study.tensors()
    hello.dimension = sum(size(t["shape"]) for t in hello.tensors)
    if hello.dimension > most:
        largest = max(hello.tensors, key=lambda t: size(t["shape"]))
        raise Unsuitable("the model has %d parameters, at most %d: the largest tensor is %s with %d"
                         % (hello.dimension, most, largest["name"], size(largest["shape"])))
    study.trial()
    groups = getattr(study, "groups", None)
    weights = None
    if arrays:
        from .weights import write
        weights = write(folder, arrays)
    step, gradient, told, patience, loads = 0.0, 0.0, "", "", hasattr(module, "load")
    if hasattr(study, "norm") and not loads:
        gradient = study.norm()
    if hasattr(study, "per_example"):
        from . import steps
        gradient = 0.0 if loads else steps.norm(study)
        hello.clip = max(hello.clip, 2 * gradient)  # the most that the preset makes of it
        step = steps.longest(study)
        told, slow, patience = steps.pace(study, participants, batch)
        if slow:
            study.warnings, patience = study.warnings + [slow], 'patience = "%s" # two steps and more\n' % patience
    norm = getattr(getattr(study, "module", None), "norm", 0)
    examples = study.examples if groups is None else len(set(numbered(groups)))
    return {"tensors": hello.tensors, "examples": examples, "groups": groups is not None, "reads": hello.asked,
            "files": _beside(path), "warnings": getattr(study, "warnings", []), "about": getattr(study, "about", ""),
            "weights": weights, "step": step, "gradient": gradient, "loads": loads, "pace": told, "patience": patience,
            "norm": float(norm) if isinstance(norm, Real) else 0}  # a module may have a layer of that name


def _inside(folder: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which runs with folder as the working directory."""
    @functools.wraps(function)
    def moved(*args: Any) -> Any:
        before = os.getcwd()
        os.chdir(folder)
        try:
            return function(*args)
        finally:
            os.chdir(before)
    return moved


def _load(path: str) -> Any:
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Unsuitable("%s is no Python file" % path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _beside(path: str) -> List[str]:
    """The files that were imported from the folder of path and are of no installed package."""
    folder = os.path.dirname(path)
    installed = tuple(p + os.sep for p in sysconfig.get_paths().values()) + (os.path.dirname(__file__) + os.sep,)
    found = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py"):
            file = os.path.abspath(file)
            inside = file.startswith(folder + os.sep) and not file.startswith(installed)
            if inside and not {"site-packages", "dist-packages"} & set(file.split(os.sep)):
                found.add(os.path.relpath(file, folder))
    return sorted(found)


def _failure(e: BaseException, source: str) -> str:
    """The traceback of an error from its first frame on that is in a file of the source's folder: the frames before it
    are not the user's. The last line has the innermost of these places."""
    folder, frames = os.path.dirname(os.path.abspath(source)), traceback.extract_tb(e.__traceback__)
    mine = [i for i, f in enumerate(frames) if os.path.dirname(os.path.abspath(f.filename)) == folder]
    lines = traceback.format_list(frames[mine[0]:]) if mine else []
    words = traceback.format_exception_only(type(e), e)
    place = "%s:%s: " % (os.path.basename(frames[mine[-1]].filename), frames[mine[-1]].lineno) if mine else ""
    if isinstance(e, SyntaxError) and os.path.dirname(os.path.abspath(e.filename or "")) == folder:
        place = "%s:%s: " % (os.path.basename(e.filename or ""), e.lineno)
    return "".join(lines + words) + place + words[-1].strip()


def main() -> None:
    p = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    p.add_argument("source", metavar="FILE.py:FUNCTION")
    p.add_argument("--config", default="", help="the configuration of the chain's model, JSON")
    p.add_argument("--folder", default=".", help="the folder from which the configuration names the data")
    p.add_argument("--adapt", default="", help="bias or lora:rank=4: what is trained of a pretrained module")
    p.add_argument("--most", type=int, default=1 << 21, help="the bound on the number of parameters")
    p.add_argument("--participants", type=int, default=1, help="the participants, who share the examples")
    p.add_argument("--batch", type=int, default=0, help="the examples of a step (default: all of a participant)")
    o = p.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the model's file prints is no answer
    try:
        json.dump(describe(o.source, o.config, o.folder, o.most, o.adapt, o.participants, o.batch), out)
    except Unsuitable as e:
        print(e, file=sys.stderr)
        sys.exit(UNSUITABLE)
    except ModuleNotFoundError:
        raise
    except Exception as e:
        print(_failure(e, o.source), file=sys.stderr)
        sys.exit(1)
    out.close()


if __name__ == "__main__":
    main()

"""Tests of spdl_trainer: python3 -m unittest, in the folder above."""
import importlib.util


def has(module: str) -> bool:
    """Whether a module is installed."""
    return importlib.util.find_spec(module) is not None


def hello(tensors=(), clipping="rows", config="", part=0, parts=1, folder=None, unit=""):
    """A Hello of these tensors."""
    from spdl_trainer import Hello
    from spdl_trainer.tensors import size
    share = {"data": "", "part": part, "parts": parts, "partition": "iid", "alpha": 1, "seed": 5}
    return Hello({"protocol": 1, "dimension": sum(size(t["shape"]) for t in tensors), "clip": 1, "clipping": clipping,
                  "tensors": list(tensors), "config": config, "share": share, "unit": unit}, folder)

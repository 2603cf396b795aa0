"""The trainer's side of SPDL in Python: serve answers SPDL's questions with what a study computes.

protocol, hello and split need the standard library alone, data and linear NumPy, pytorch PyTorch.
"""
from .exported import classes, probabilities, rebuild
from .hello import Hello
from .protocol import serve
from .split import for_testing, group_for_testing
from .tensors import Mismatch, Unsuitable
from .study import make

__all__ = ["Hello", "Mismatch", "Unsuitable", "classes", "for_testing", "group_for_testing", "make", "probabilities",
           "rebuild", "serve"]

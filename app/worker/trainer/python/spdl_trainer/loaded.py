"""What load returned: whether a study can train and test on it."""
from __future__ import annotations

from typing import Any, Callable, Hashable, List

import numpy as np

from .data import Array
from .tensors import Unsuitable

NAMES = ("x", "y", "x_test", "y_test", "groups")
ROWS = 4096  # that are searched at once, which bounds the memory


def classes_of(source: str, labels: Array, classes: int) -> Array:
    """The column of labels of a whole table as whole numbers. Raises Unsuitable unless each is one from 0 to
    classes-1; the error names the first wrong row, counted from 1 below the header, and no label: labels are
    private."""
    bad = np.flatnonzero(~((labels >= 0) & (labels < classes) & (labels == np.floor(labels))))
    if len(bad):
        raise Unsuitable("%s: the label of row %d below the header is no whole number from 0 to %d, as the chain has "
                         "%d classes; %d of %d labels are outside"
                         % (source, bad[0] + 1, classes - 1, classes, len(bad), len(labels)))
    return labels.astype(np.int64)


def numbers(name: str, a: Any, wrong: Callable[[str], Unsuitable], least: int = 1) -> Array:
    """An array of finite numbers with that many rows at least, of what may be one; wrong makes the error of a text."""
    try:
        a = np.asarray(a.detach().cpu().numpy() if hasattr(a, "detach") else a)  # PyTorch's has detach
    except (TypeError, ValueError) as e:
        raise wrong("%s is no array: %s" % (name, str(e).split("\n")[0])) from e
    if a.dtype.kind not in "biuf":
        raise wrong("%s is of type %s, want numbers" % (name, a.dtype))
    if a.ndim == 0 or len(a) < least:
        raise wrong("%s has shape %s, want %s" % (name, list(a.shape), "at least one row" if least else "rows"))
    for at in range(0, len(a) if a.dtype.kind == "f" else 0, ROWS):
        bad = np.argwhere(~np.isfinite(a[at:at + ROWS]))
        if len(bad):
            index = (at + int(bad[0][0]), *map(int, bad[0][1:]))
            raise wrong("%s[%s] is %s, want a finite number" % (name, ", ".join(map(str, index)), a[index]))
    return np.ascontiguousarray(a, a.dtype.newbyteorder("="))  # PyTorch takes no other order of bytes


class Loaded:
    """The arrays that load returned, in NumPy, of which each row has been checked. Every error is Unsuitable
    and names the source, as "load of my.py", the array, the row and the bound, but no label: labels are private,
    and the error is in logs."""

    def __init__(self, source: str, returned: Any, classified: bool = True) -> None:
        """classified says that labels are positions of classes, which cross-entropy takes; a loss of its own
        takes any y with a value for each row of x."""
        self.source = source
        n = len(returned) if isinstance(returned, (tuple, list)) else 1
        if n not in (4, 5):
            raise Unsuitable("%s returns %d value%s, want x, y, x_test, y_test and optionally groups"
                             % (source, n, "" if n == 1 else "s"))
        self.x, self.y, self.x_test, self.y_test = (self._array(*named) for named in zip(NAMES, returned[:4]))
        if self.x.shape[1:] != self.x_test.shape[1:]:
            raise self.wrong("a row of x_test has shape %s, want %s, the shape of a row of x"
                             % (list(self.x_test.shape[1:]), list(self.x.shape[1:])))
        for name, labels, rows in (("y", self.y, self.x), ("y_test", self.y_test, self.x_test)):
            if len(labels) != len(rows):
                raise self.wrong("%s has %d rows, want %d, the rows of %s"
                                 % (name, len(labels), len(rows), name.replace("y", "x")))
            if classified:
                self._whole(name, labels)
        if classified:
            self.y, self.y_test = self.y.astype(np.int64), self.y_test.astype(np.int64)
        self.groups = self._groups(returned[4]) if n == 5 else None

    def within(self, classes: int, because: str) -> None:
        """Raises Unsuitable unless every label is from 0 to classes-1. because says what decides the bound."""
        for name, labels in (("y", self.y), ("y_test", self.y_test)):
            bad = np.flatnonzero((labels < 0) | (labels >= classes))
            if len(bad):
                raise self.wrong("%s[%d] is no label from 0 to %d, as %s; %d of %d labels are outside%s"
                                 % (name, bad[0], classes - 1, because, len(bad), len(labels), "" if classes > 1 else
                                    ": two classes want two outputs, as of nn.Linear(8, 2)"))

    def wrong(self, text: str) -> Unsuitable:
        """The error that the text describes."""
        return Unsuitable("%s: %s" % (self.source, text))

    def _array(self, name: str, a: Any) -> Array:
        return numbers(name, a, self.wrong)

    def _whole(self, name: str, labels: Array) -> None:
        if labels.ndim != 1:
            raise self.wrong("%s has shape %s, want [%d], one label for each row"
                             % (name, list(labels.shape), len(labels)))
        if labels.dtype.kind in "iu":
            return
        broken = np.flatnonzero(labels != np.floor(labels)) if labels.dtype.kind == "f" else []
        remedy = "; %s[%d] is none" % (name, broken[0]) if len(broken) else ": %s.astype(int)" % name
        raise self.wrong("%s is of type %s, want whole numbers, the positions of the classes from 0%s"
                         % (name, labels.dtype, remedy))

    def _groups(self, groups: Any) -> List[Any]:
        names = [g.item() if getattr(g, "ndim", 1) == 0 else g for g in groups]  # NumPy's and PyTorch's as Python's
        if len(names) != len(self.x):
            raise self.wrong("groups has %d rows, want %d, the rows of x" % (len(names), len(self.x)))
        for i, name in enumerate(names):
            nameless = not isinstance(name, Hashable) or hasattr(name, "ndim") or name is None or name == ""
            if nameless or name != name:  # NaN is not itself
                raise self.wrong("groups[%d] is %r, want the name of the group of row %d" % (i, name, i))
        return names

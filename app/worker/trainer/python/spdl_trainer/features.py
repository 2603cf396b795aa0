"""Features that were computed elsewhere, in an npz file or a CSV file, and heads for them, which need PyTorch.

An npz file has x (rows of numbers), y (labels from 0) and perhaps groups, and x_test and y_test; without these a fifth
of the rows is for testing, by a hash of the row or of its group. Rows are read in blocks. centre, scale and map, arrays
of the npz that a study is made of, are statistics of public data, and become constants of the model: see whitened.
A CSV or Parquet file has the columns y, perhaps groups, and those of x: x[0], x[1] and so on
if a list x of Parquet became them, and otherwise all others."""
from __future__ import annotations

import csv
import zipfile
from itertools import islice, repeat
from typing import Any, Dict, Iterator, List, Tuple

import numpy as np

from .data import Array, Data, filled
from .hello import Hello
from .predict import opened
from .split import for_testing, group_for_testing
from .tensors import Unsuitable

STATISTICS = ("centre", "scale", "map")
BLOCK = 4096  # rows that are read at once
Blocks = Iterator[Tuple[Array, Array, Array]]  # x, y, groups or an empty array


def load(hello: Hello) -> Data:
    """The features of hello.data. A row's length does not matter to a head, so nothing is scaled here."""
    path, parts, at = hello.data, [], 0  # type: str, List[Tuple[Array, ...]], int
    tested: List[bool] = []
    labels: List[Array] = []
    own = _test(path)
    for x, y, groups in _blocks(path, hello.predicting):
        bad = np.flatnonzero(~np.isfinite(x.reshape(len(x), -1)).all(1))
        if len(bad):  # here, as behind the split rows have other numbers than in the file
            raise Unsuitable("x[%d] of %s has a number that is not finite" % (at + bad[0], path))
        at += len(x)
        test = np.zeros(len(x), bool) if own else np.array(
            [group_for_testing(str(g)) for g in groups] if len(groups) else [for_testing(r) for r in x], bool)
        tested += test.tolist()
        labels.append(y)
        parts.append((x[~test], y[~test], x[test], y[test], groups[~test] if len(groups) else groups))
    if not parts:
        raise Unsuitable("%s has no rows" % path)
    x, y, x_test, y_test, groups = (np.concatenate(p) for p in zip(*parts))
    hello.tested = None if own else np.array(tested)
    if hello.predicting and not own:
        hello.labels = ["" if label < 0 else str(int(label)) for label in np.concatenate(labels)]
        return filled(x, np.maximum(y, 0), x_test, np.maximum(y_test, 0))
    both = (x, y, *(own or (x_test, y_test)))
    return both + (groups,) if len(groups) else both


def _member(path: str, name: str) -> Iterator[Array]:
    """Blocks of the rows of an array of an npz file, in its own type."""
    with zipfile.ZipFile(path) as z, z.open(name + ".npy") as f:
        version = np.lib.format.read_magic(f)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(f)
        if dtype.hasobject or not shape:
            raise Unsuitable("array %s of %s is of shape %s and type %s, want rows, and no objects"
                             % (name, path, list(shape), dtype))
        if fortran:  # columns stand together, so all are read
            whole = np.load(path)[name]
            yield from (np.ascontiguousarray(whole[at:at + BLOCK]) for at in range(0, shape[0], BLOCK))
            return
        row = int(np.prod(shape[1:], dtype=int))
        for at in range(0, shape[0], BLOCK):
            n = min(BLOCK, shape[0] - at)
            yield np.frombuffer(f.read(n * row * dtype.itemsize), dtype).reshape((n, *shape[1:]))


def _csv(path: str, predicting: bool) -> Blocks:
    with opened(path) as f:
        rows = csv.reader(f)
        names = [name.strip() for name in next(rows, [])]
        if "y" not in names and not predicting:
            raise Unsuitable("%s has columns %s, want y, and perhaps groups" % (path, ", ".join(names[:16])))
        inputs = [i for i, n in enumerate(names) if n not in ("y", "groups")]
        inputs = [i for i in inputs if names[i].startswith("x[")] or inputs
        label, group = (names.index(n) if n in names else None for n in ("y", "groups"))
        while block := list(islice(filter(None, rows), BLOCK)):
            try:  # an error without the value, which is private
                x = np.array([[float(row[i]) for i in inputs] for row in block], np.float32)
                y = np.array([-1 if label is None else int(row[label]) for row in block], np.int64)
            except (IndexError, ValueError):
                raise Unsuitable("%s: in lines %d to %d a value of x is no number, or one of y no class from 0"
                                 % (path, rows.line_num - len(block) + 1, rows.line_num)) from None
            yield x, y, np.zeros(0) if group is None else np.array([row[group].strip() for row in block])


def _names(path: str) -> List[str]:
    if path.endswith((".csv", ".parquet")):
        return []
    try:
        with zipfile.ZipFile(path) as z:
            return [n[:-len(".npy")] for n in z.namelist()]
    except zipfile.BadZipFile as e:
        raise Unsuitable("%s is no npz file: %s" % (path, e)) from e


def _blocks(path: str, predicting: bool = False) -> Blocks:
    """The rows of a file. Where rows are only predicted a label of -1 is none."""
    if path.endswith((".csv", ".parquet")):
        yield from _csv(path, predicting)
        return
    names = _names(path)
    if not {"x", "y"} - ({"y"} if predicting else set()) <= set(names):
        raise Unsuitable("%s has arrays %s, want x and y, and perhaps groups, x_test and y_test"
                         % (path, ", ".join(names)))
    groups: Iterator[Array] = _member(path, "groups") if "groups" in names else repeat(np.zeros(0))
    labels: Iterator[Any] = _member(path, "y") if "y" in names else repeat(None)
    for x, y, g in zip(_member(path, "x"), labels, groups):
        yield x.astype(np.float32), np.full(len(x), -1) if y is None else y, g


def _test(path: str) -> Any:
    if not {"x_test", "y_test"} <= set(_names(path)):
        return None
    return (np.concatenate([b.astype(np.float32) for b in _member(path, "x_test")]),
            np.concatenate(list(_member(path, "y_test"))))


def public(path: str) -> Dict[str, Array]:
    """The statistics of public data that the file has."""
    names = _names(path)
    return {n: np.concatenate(list(_member(path, n))).astype(np.float32) for n in STATISTICS if n in names}


def whitened(x: Array, share: float = 1e-3) -> Dict[str, Array]:
    """The statistics of features of public data: their centre, and a matrix after which no direction is longer than
    another, but for those with less than a share of the largest variance. Gradient descent then needs few steps."""
    centre = x.mean(0, dtype=np.float64)
    variance, directions = np.linalg.eigh(np.cov((x - centre).T))
    map_ = directions / np.sqrt(variance.clip(0) + share * variance[-1])
    return {"centre": centre.astype(np.float32), "map": map_.astype(np.float32)}

"""The data of a study as (x, y, x_test, y_test): images and tables, in NumPy."""
from __future__ import annotations

import csv
import functools
import gzip
import os
import struct
import sys
import warnings
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from .hello import Hello
from .predict import ABSENT, BEYOND, UNKNOWN, absent, inputs, odd, opened
from .split import group_for_testing, text_for_testing

Array = Any  # numpy.ndarray, or a tensor of PyTorch
Data = Tuple[Array, ...]  # x, y, x_test, y_test, and if there are groups that of each row of x


def load(hello: Hello) -> Data:
    """The data of hello.data: a folder of images, or a table, which the configuration describes."""
    if os.path.isdir(hello.data):
        return images(hello.data)
    if "table" not in hello.config:
        raise ValueError(f"{hello.data} is a table, and the configuration does not say which column is the label: "
                         "give --label COLUMN or --schema FILE where the study is made")
    return table(hello.data, hello.config["table"], hello.config.get("centred", False), hello)


def images(folder: str) -> Data:
    """The images of a folder of IDX files as float32 in [-1, 1], of shape (1, height, width) each,
    their labels, and the groups that its file train-groups.csv names, if there is one."""
    train, test = "train", "t10k"
    images = (_idx(folder, train + "-images-idx3-ubyte"), _idx(folder, train + "-labels-idx1-ubyte"),
              _idx(folder, test + "-images-idx3-ubyte"), _idx(folder, test + "-labels-idx1-ubyte"))
    path = os.path.join(folder, "train-groups.csv")
    return images + (_groups(path, len(images[0])),) if os.path.exists(path) else images


def _groups(path: str, n: int) -> Array:
    """The group of each of n images, by the lines "image,group" of a CSV file."""
    groups = [""] * n
    with open(path, newline="", encoding="utf-8-sig") as f:
        rows = csv.reader(f)
        if [name.strip() for name in next(rows, [])] != ["image", "group"]:
            raise ValueError("%s line 1: the header is not image,group" % path)
        for row in filter(None, rows):
            image, group = (row[0].strip(), row[1].strip()) if len(row) == 2 else ("", "")
            if not (image.isascii() and image.isdigit() and int(image) < n):
                raise ValueError("%s line %d: image %r, want the index of one of the %d images, and its group"
                                 % (path, rows.line_num, image, n))
            if not group or groups[int(image)]:
                raise ValueError("%s line %d: image %s %s" % (path, rows.line_num, image, "has a group already" if group
                                                              else "has an empty group"))
            groups[int(image)] = group
    if "" in groups:
        raise ValueError("%s: image %d has no line" % (path, groups.index("")))
    return np.array(groups)


def _idx(folder: str, name: str) -> Array:
    path = os.path.join(folder, name)
    with (open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz")) as f:
        magic, n = struct.unpack(">II", f.read(8))
        if magic == 0x801:
            return np.frombuffer(f.read(), np.uint8).astype(np.int64)
        rows, cols = struct.unpack(">II", f.read(8))
        pixels = np.frombuffer(f.read(), np.uint8).reshape(n, 1, rows, cols)
        return pixels.astype(np.float32) / 127.5 - 1


def _separator(line: str) -> str:
    """The mark that stands most often in a line, outside of quotes; a comma wins a tie."""
    return max(",;\t|", key="".join(line.split('"')[::2]).count)


def _cached(column: Dict[str, Any], comma: bool, new: bool) -> Any:
    """predict.inputs of a column's texts, each of which is read once."""
    return functools.lru_cache(1 << 16)(lambda text: inputs(text, column, comma, new))


def one(described: Dict[str, Any], centred: bool) -> Data:
    """A row of a table's lower bounds and first categories, to train and to test on: as many inputs as the rows of
    table have."""
    x = _made(described, centred, [[c["values"][0] if c.get("values") else c["low"] for c in described["columns"]]])
    y = np.zeros(1, np.int64)
    return (x, y, x, y, np.array([""])) if described.get("group") else (x, y, x, y)


def made(described: Dict[str, Any], centred: bool, n: int) -> Array:
    """The inputs of n rows that are drawn from what is public of a table: categories by their shares, and numbers evenly
    from their bounds."""
    random = np.random.default_rng(1)

    def drawn(c: Dict[str, Any]) -> Any:
        if not c.get("values"):
            return random.uniform(c["low"], c["high"])
        shares = np.array(c.get("shares") or [1] * len(c["values"])) + 1e-9
        return str(random.choice(c["values"], p=shares / shares.sum()))
    return _made(described, centred, [[drawn(c) for c in described["columns"]] for _ in range(n)])


def labels(described: Dict[str, Any], n: int) -> Array:
    """The labels of n rows that are made up: of two classes by the rate of a described table, else evenly."""
    classes, rate = len(described["classes"]), described.get("rate")
    shares = [1 - rate, rate] if rate and classes == 2 else [1 / classes] * classes
    return np.random.default_rng(2).choice(classes, n, p=shares).astype(np.int64)


def readable(x: float) -> float:
    """x with three digits, as people read it in genesis."""
    return float("%.3g" % x) if np.isfinite(x) else 0


def of_records(records: List[Any], described: Dict[str, Any], centred: bool, comma: bool) -> Array:
    """The inputs of rows that are dicts by column."""
    named = [c["name"] for c in described["columns"]]
    rows, notes = [], np.zeros((len(named), 4), int)
    for at, row in enumerate(records):
        try:
            absent(described["columns"], list(row))
            read = [inputs(row[c["name"]], c, comma)[2] for c in described["columns"]]
        except ValueError as e:
            raise ValueError("row %d, from 0: %s" % (at, e)) from None
        rows.append([row[name] for name in named])
        notes[range(len(named)), read] += 1
    for c, n in zip(described["columns"], notes):
        for note in (UNKNOWN, BEYOND, ABSENT):
            if n[note]:
                warnings.warn(odd(c, note, n[note], len(rows)), stacklevel=3)
    return _made(described, centred, rows, comma) if rows else one(described, centred)[0][:0]


def filled(x: Array, y: Array, x_test: Array, y_test: Array) -> Data:
    """The sides of rows that are only predicted: an empty one gets a row of the other, as a study wants some of both."""
    if not len(x_test):
        x_test, y_test = x[:1], y[:1]
    return (x, y, x_test, y_test) if len(x) else (x_test[:1], y_test[:1], x_test, y_test)


def _made(described: Dict[str, Any], centred: bool, rows: List[List[Any]], comma: bool = False) -> Array:
    read = [[inputs(value, c, comma) for value, c in zip(row, described["columns"])] for row in rows]
    values, (middle, *_) = ([sum((r[i] for r in row), []) for row in read] for i in (0, 1))
    return _centred(values, middle) if centred else np.array(values, np.float32)


def _centred(values: List[List[float]], typical: List[float]) -> Array:
    x = (np.array(values, np.float32).astype(float) - typical).astype(np.float32)
    return np.concatenate([x, np.full((len(x), 1), 0.6, np.float32)], 1)


def table(path: str, described: Dict[str, Any], centred: bool = False, hello: Optional[Hello] = None) -> Data:
    """The rows of a CSV file by a description as genesis has it for the built-in models (docs/MODELS.md, "A schema"):
    label, classes, columns, and perhaps group, the column of groups. Inputs are float32 within [-1, 1], labels the
    positions of classes. Scaling and test rows are those of the built-in models. With centred so are the inputs: less
    those of a typical row, and behind them the constant 0.6."""
    columns, classes = described["columns"], {c: i for i, c in enumerate(described["classes"])}
    values: List[List[float]] = []
    middle: List[float] = []
    labels: List[int] = []
    known: List[str] = []
    groups: List[str] = []
    tested: List[bool] = []
    notes = np.zeros((len(columns), 4), int)  # how many values of each column have each note of predict.inputs
    with opened(path) as f:
        separator = _separator(f.readline())
        f.seek(0)
        rows = csv.reader(f, delimiter=separator)
        header = [name.strip() or "column %d" % (i + 1) for i, name in enumerate(next(rows, []))]
        if not header:
            raise ValueError("%s is empty, want a line that names the columns" % path)
        predicting = hello is not None and hello.predicting
        named = [c["name"] for c in columns]
        if described["label"] in header or not predicting:  # the side of a row with a label is that of its group
            named += [described[k] for k in ("label", "group") if described.get(k)]
        if lacks := [name for name in named if name not in header]:
            raise ValueError("%s has no column %s, it has %s" % (path, ", ".join(lacks), ", ".join(header)))
        readers = [(header.index(c["name"]), _cached(c, separator != ",", predicting)) for c in columns]
        label, group = (header.index(described[k]) if described.get(k) in header else None for k in ("label", "group"))
        for row in filter(None, rows):
            try:  # an error without the value, which is private
                if len(row) != len(header):
                    raise ValueError("%d values, the header has %d columns" % (len(row), len(header)))
                said = "" if label is None else row[label].strip()
                if label is not None and said not in classes and not predicting:
                    raise ValueError("column %r: the label is none of %s" % (header[label], ", ".join(classes)))
                read = [inputs_of(row[i]) for i, inputs_of in readers]
            except ValueError as e:
                raise ValueError("%s line %d: %s" % (path, rows.line_num, e)) from None
            values.append([x for one in read for x in one[0]])
            middle = middle or [x for one in read for x in one[1]]
            notes[range(len(columns)), [one[2] for one in read]] += 1
            labels.append(classes.get(said, 0))
            known.append(said if said in classes else "")
            if group is not None:
                groups.append(row[group].strip())
                tested.append(group_for_testing(groups[-1]))
            else:
                tested.append(text_for_testing({name: row[i].strip() for i, name in enumerate(header)}))
    for c, n in zip(columns, notes):
        for note in (UNKNOWN, BEYOND, ABSENT):
            if n[note] and (predicting or note == UNKNOWN and 2 * n[note] > len(values)):
                print("warning:", odd(c, note, n[note], len(values)), file=sys.stderr, flush=True)
    y, test = np.array(labels, dtype=np.int64), np.array(tested, dtype=bool)
    if hello:
        hello.tested, hello.labels = test, known
    if predicting and not values:
        return one(described, centred)[:4]
    x = _centred(values, middle) if centred and len(y) else np.array(values, dtype=np.float32)
    both = x[~test], y[~test], x[test], y[test]
    if predicting:
        return filled(*both)
    return both if group is None else both + (np.array(groups)[~test],)

"""The data of a study as (x, y, x_test, y_test): images and tables, in NumPy."""
from __future__ import annotations

import csv
import gzip
import math
import os
import struct
from typing import Any, Dict, List, Tuple

import numpy as np

from .hello import Hello
from .split import group_for_testing, text_for_testing

Array = Any  # numpy.ndarray, or a tensor of PyTorch
Data = Tuple[Array, ...]  # x, y, x_test, y_test, and if there are groups that of each row of x


def load(hello: Hello) -> Data:
    """The data of hello.data: a folder of images, or a table, which the configuration describes."""
    if os.path.isdir(hello.data):
        return images(hello.data)
    if "table" not in hello.config:
        raise ValueError(f"{hello.data} is a table, and the configuration does not say which column is the label: "
                         "give --label COLUMN where the study is made")
    return table(hello.data, hello.config["table"])


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


def _finite(text: str, comma: bool) -> float:
    value = float(text.replace(",", ".", 1) if comma and "." not in text else text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def table(path: str, described: Dict[str, Any]) -> Data:
    """The rows of a CSV file by a description as genesis has it for the built-in models: label,
    classes, columns with name, low and high, and perhaps group, the column of groups. Inputs are
    float32 in [-1, 1], labels the positions of classes. Scaling and test rows are those of the
    built-in models (docs/MODELS.md)."""
    columns, classes = described["columns"], {c: i for i, c in enumerate(described["classes"])}
    values: List[List[float]] = []
    labels: List[int] = []
    groups: List[str] = []
    tested: List[bool] = []
    with open(path, newline="", encoding="utf-8-sig") as f:
        separator = _separator(f.readline())
        f.seek(0)
        rows = csv.reader(f, delimiter=separator)
        header = [name.strip() or "column %d" % (i + 1) for i, name in enumerate(next(rows))]
        at = [header.index(c["name"]) for c in columns]
        label = header.index(described["label"])
        group = header.index(described["group"]) if described.get("group") else None
        for row in rows:
            if row:
                try:  # an error without the value, which is private
                    values.append([_finite(row[i], separator != ",") for i in at])
                    labels.append(classes[row[label].strip()])
                    if group is not None:
                        groups.append(row[group].strip())
                        tested.append(group_for_testing(groups[-1]))
                    else:
                        tested.append(text_for_testing({name: row[i].strip() for i, name in enumerate(header)}))
                except (ValueError, KeyError, IndexError):
                    raise ValueError("%s line %d: want a finite number in each column and a label of %s"
                                     % (path, rows.line_num, ", ".join(classes))) from None
    low, high = (np.array([c[end] for c in columns], dtype=float) for end in ("low", "high"))
    share = (np.clip(np.array(values), low, high) - low) / (high - low)
    levels = np.floor(share * 255 + 0.5).astype(np.uint8)
    x, y = ((levels.astype(float) - 127.5) / 127.5).astype(np.float32), np.array(labels, dtype=np.int64)
    test = np.array(tested, dtype=bool)
    both = x[~test], y[~test], x[test], y[test]
    return both if group is None else both + (np.array(groups)[~test],)

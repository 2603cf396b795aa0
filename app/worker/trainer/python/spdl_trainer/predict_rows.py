"""python3 train.py predict MODEL FILE: the probabilities that an exported model of a study gives to the rows of FILE,
which may be what worker.data names. A line of CSV on standard output for each row: the side (train or test), the label,
and the probability of each class, in the order of FILE if the study does not load it by itself, and otherwise rows to
train on first. Side and label are empty where FILE has no label. Of a MODEL of spdl model adapt the probabilities are the
adapted ones. Verify the model of spdl model export first (spdl verify model)."""
from __future__ import annotations

import csv
import os
import sys
from typing import Any, Callable, List, TextIO

from .exported import adapted, read
from .hello import Hello
from .tensors import Unsuitable


def predict(make: Callable[[Hello], Any], model: str, path: str, out: TextIO) -> None:
    """Writes the lines. Raises Unsuitable if the model is not of this study, or the study has no probabilities."""
    hello, flat = read(model, path)
    hello.predicting = True
    study = make(hello)
    if not hasattr(study, "probabilities"):
        raise Unsuitable("the study has no probabilities(parameters, x), a row for each row of x")
    sides = [[(side, int(label), p.tolist()) for label, p in zip(y, adapted(study.probabilities(flat, x), hello.odds))]
             for side, x, y in (("train", study.x, study.y), ("test", study.x_test, study.y_test))]
    rows: List[Any] = sides[0] + sides[1]
    if hello.tested is not None:  # back into the order of the file
        train, test = map(iter, sides)
        rows = [next(test if tested else train) for tested in hello.tested]
    table = hello.config.get("table", {}) if isinstance(hello.config, dict) else {}
    classes = table.get("classes") or list(map(str, range(len(rows[0][2]))))
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["side", "label", *classes])
    for i, (side, label, p) in enumerate(rows):
        unknown = hello.labels is not None and not hello.labels[i]
        lines.writerow([*(("", "") if unknown else (side, classes[label])), *("%.9g" % q for q in p)])


def main(make: Callable[[Hello], Any], arguments: List[str]) -> None:
    """The command with its arguments after its name. What the study prints goes to standard error."""
    fd = os.dup(1)
    out = os.fdopen(fd, "w")
    os.dup2(2, 1)
    if len(arguments) != 2:
        sys.exit("predict: %d arguments, want MODEL and FILE" % len(arguments))
    try:
        predict(make, arguments[0], arguments[1], out)
        out.close()
    except BrokenPipeError:  # the reader has enough, as head
        os.dup2(os.open(os.devnull, os.O_WRONLY), fd)
    except (Unsuitable, OSError, ValueError) as e:
        sys.exit("predict: %s" % e)

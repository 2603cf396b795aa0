"""python3 train.py predict MODEL FILE: the probabilities that an exported model of a study gives to the rows of FILE,
which may be what worker.data names. A line of CSV on standard output for each row: the side (train or test), the label,
and the probability of each class, rows to train on first. spdl model gain reads it. Verify MODEL first (spdl verify
model)."""
from __future__ import annotations

import csv
import os
import sys
from array import array
from typing import Any, Callable, List, TextIO

from .hello import Hello
from .tensors import Unsuitable, size


def predict(make: Callable[[Hello], Any], model: str, path: str, out: TextIO) -> None:
    """Writes the lines. Raises Unsuitable if the model is not of this study, or the study has no probabilities."""
    from .weights import card, decode  # NumPy, which serve does without
    with open(model, "rb") as f:
        content = f.read()
    said, tensors = card(content, model)["model"], decode(content, model)
    if said.get("kind") != "external":
        raise Unsuitable("%s is a model of kind %s: predict is for external ones, and spdl model gain measures this one"
                         % (model, said.get("kind")))
    hello = Hello({"dimension": sum(size(t["shape"]) for t in said["tensors"]), "clip": 0, "clipping": "rows",
                   "tensors": said["tensors"], "config": said.get("config", ""),
                   "share": {"data": os.path.abspath(path), "part": 0, "parts": 1, "seed": 0}})
    study = make(hello)
    if not hasattr(study, "probabilities"):
        raise Unsuitable("the study has no probabilities(parameters, x), a row for each row of x")
    flat = array("d", b"".join(tensors[t["name"]].astype("<f8").tobytes() for t in said["tensors"]))
    rows: List[Any] = []
    for side, x, y in (("train", study.x, study.y), ("test", study.x_test, study.y_test)):
        rows += [(side, int(label), p.tolist()) for label, p in zip(y, study.probabilities(flat, x))]
    table = hello.config.get("table", {}) if isinstance(hello.config, dict) else {}
    classes = table.get("classes", list(map(str, range(len(rows[0][2])))))
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["side", "label", *classes])
    for side, label, p in rows:
        lines.writerow([side, classes[label], *("%.9g" % q for q in p)])


def main(make: Callable[[Hello], Any], arguments: List[str]) -> None:
    """The command with its arguments after its name. What the study prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if len(arguments) != 2:
        sys.exit("predict: %d arguments, want MODEL and FILE" % len(arguments))
    try:
        predict(make, arguments[0], arguments[1], out)
    except (Unsuitable, OSError, ValueError) as e:
        sys.exit("predict: %s" % e)
    out.close()

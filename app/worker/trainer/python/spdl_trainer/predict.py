"""The probabilities that an exported model of a table gives to rows, with NumPy alone.

    python3 predict.py MODEL FILE

prints a line of CSV for each row of a CSV or Parquet file: the probability of each class. With --side before them the
first column says on which side a row of one's own file is, train or test. MODEL is of spdl model export or spdl model adapt,
npz or safetensors; verify it first (spdl verify model). In a program:

    import predict
    model = predict.Model("model.npz")
    model.probabilities({"age": 71, "sex": "F"})  # or a DataFrame, or a row of one; None and NaN are missing
    model.classes  # what the probabilities are of
    model.unknown  # of each column, how many texts were no category of it, in all rows so far
    model.beyond  # how many numbers were beyond its bounds
    model.missing  # and how many values were missing for which the schema has nothing to read

Values are read as docs/MODELS.md says ("A schema").
"""
import collections
import csv
import hashlib
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np

MISSING = {"", "NA", "NaN", "nan", "N/A", "n/a", "NULL", "null", "?", "."}
NO = 0.5 / 127.5  # the input of a category that a row does not have; 1 is that of its own
UNKNOWN, BEYOND, ABSENT = 1, 2, 3  # notes of a value: no category, beyond the bounds, missing and no fill for it


def arrays(path):
    """The arrays of an npz or a safetensors file, and the model of its card. Raises ValueError if it is none."""
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError("the model is %r, want the path of a file of spdl model export or spdl model adapt" % (path,))
    with open(path, "rb") as file:
        content = file.read()
    try:
        if content[:2] == b"PK":
            with np.load(io.BytesIO(content), allow_pickle=False) as npz:
                tensors, card = {name: npz[name] for name in npz.files if name != "card"}, npz["card"].item()
        else:
            size = int.from_bytes(content[:8], "little")
            header, data = json.loads(content[8:8 + size]), content[8 + size:]
            card = header.pop("__metadata__")["card"]
            tensors = {name: np.frombuffer(data[slice(*t["data_offsets"])], "<f8").reshape(t["shape"])
                       for name, t in header.items()}
        model = json.loads(card)["model"]
        model.get("table")
        return tensors, model
    except Exception as e:  # zipfile, json and NumPy have many
        raise ValueError("%s is no file of spdl model export or spdl model adapt" % path) from e


def opened(path):
    """The text of a CSV file, or of a Parquet file as spdl of $PATH writes it. A byte that is not UTF-8 stays one."""
    as_text = {"newline": "", "encoding": "utf-8-sig", "errors": "surrogateescape"}
    begins = b""
    if os.path.isfile(path):  # a pipe would be read twice
        with open(path, "rb") as file:
            begins = file.read(4)
    if begins != b"PAR1":
        return open(path, **as_text)
    with tempfile.TemporaryDirectory(prefix="spdl-data-") as folder:  # the owner's alone
        written = os.path.join(folder, "rows.csv")
        try:
            done = subprocess.run(["spdl", "trainer", "csv", path, written], stderr=subprocess.PIPE, text=True)
        except OSError as e:
            raise ValueError("%s is a Parquet file, and spdl, which reads it, is not in $PATH: where it is, spdl trainer "
                             "csv %s OUT.csv writes a CSV file" % (path, path)) from e
        if done.returncode:
            raise ValueError(done.stderr.strip())
        with open(written, **as_text) as text:
            return io.StringIO(text.read(), newline="")


def number(text, comma):
    """The finite number that a text is, or None."""
    text = text.replace(",", ".", 1) if comma and "." not in text else text
    try:
        x = float(text) if re.fullmatch("[-+.0-9eE]+", text) else math.nan
    except ValueError:
        return None
    return x if math.isfinite(x) else None


def inputs(value, column, comma, new=True):
    """The inputs that a value gives, those of a typical row, and a note or 0. Of a new row a number that is missing is a
    typical row's where the schema has no fill; other rows are then an error."""
    text = "" if value is None or str(value) in ("<NA>", "NaT") else str(value).strip()
    if column.get("values"):
        values = column["values"]
        if text in ("True", "False") and text not in values and not isinstance(value, str):
            text = str(int(bool(value)))  # of a DataFrame whose 0 and 1 are booleans
        x = number(text, comma)
        if text not in values and x is not None:  # 3.0 is the category 3
            text = next((v for v in values if number(v, comma) == x), text)
        if text not in values and not column.get("others"):
            raise ValueError("column %r: the text is none of %s" % (column["name"], ", ".join(values)))
        shares = column.get("shares") or [1 / len(values)] * len(values)
        return ([1 if text == v else NO for v in values], [NO + share * (1 - NO) for share in shares],
                0 if text in values else ABSENT if text in MISSING else UNKNOWN)
    low, high, fill = column["low"], column["high"], column.get("missing")
    typical = column.get("typical")
    if typical is None:
        typical = fill["fill"] if fill else low + (high - low) / 2
    missing = text in MISSING
    if missing and not fill and not new:
        raise ValueError("column %r: the number is missing" % column["name"])
    x = number(text, comma) if not missing else fill["fill"] if fill else typical
    if x is None:
        raise ValueError("column %r: the text is no finite number" % column["name"])
    level = math.floor((min(max(x, low), high) - low) / (high - low) * 255 + 0.5)
    x, middle = [(level - 127.5) / 127.5], [2 * (typical - low) / (high - low) - 1]
    if fill and fill.get("indicator"):
        x.append(1 if missing else NO)
        middle.append(NO + fill.get("share", 0) * (1 - NO))
    if missing:
        return x, middle, 0 if fill else ABSENT
    return x, middle, 0 if low <= number(text, comma) <= high else BEYOND


def odd(column, note, count, rows):
    """What is said of a column of whose values some rows have a note."""
    values = ", ".join(column.get("values") or [])
    if note == UNKNOWN:
        what = "the text is none of %s, and read as none" % values
    elif note == BEYOND:
        what = "the number is beyond %g to %g, and read as the nearer end" % (column["low"], column["high"])
    else:
        what = "the value is missing, and read as " + ("none of " + values if values else "a typical row's")
    return "column %r: in %d of %d rows %s" % (column["name"], count, rows, what)


def records(rows):
    """The rows as dicts by column: of a DataFrame, a row of one, a dict or a list of these. None for other things."""
    if hasattr(rows, "to_dict"):
        return rows.to_dict("records") if hasattr(rows, "columns") else [rows.to_dict()]
    if isinstance(rows, dict):
        return [rows]
    if isinstance(rows, (list, tuple)) and all(isinstance(row, dict) or hasattr(row, "to_dict") for row in rows):
        return [row if isinstance(row, dict) else row.to_dict() for row in rows]
    return None


def absent(columns, names):
    """Raises ValueError if columns of a table are not among the names."""
    if missing := [c["name"] for c in columns if c["name"] not in names]:
        raise ValueError("no column %s, there are %s" % (", ".join(missing), ", ".join(map(str, names)) or "none"))


def width(column):
    """The number of inputs of a column."""
    return len(column.get("values") or []) or 1 + bool((column.get("missing") or {}).get("indicator"))


class Model:
    """An exported linear model of a table."""

    def __init__(self, path):
        tensors, model = arrays(path)
        self.table = model.get("table")
        if not self.table or "output.weight" not in tensors or len(tensors) > 2:
            raise ValueError("%s is no linear model of a table: the trainer of a study gives the probabilities of its own "
                             "(python3 train.py predict)" % path)
        self.classes = list(self.table["classes"])  # in the order of the probabilities
        self.unknown, self.beyond, self.missing = (collections.Counter() for _ in range(3))
        self.weight, self.bias = tensors["output.weight"], tensors.get("output.bias", 0)
        wide, outputs = sum(map(width, self.table["columns"])), len(self.classes)
        if self.weight.shape not in {(n, wide + more) for n in (outputs, 1 if outputs == 2 else outputs)
                                     for more in (0, 1)}:
            raise ValueError("%s is damaged: its weights have shape %s, want [%d, %d], of its table's classes and inputs"
                             % (path, list(self.weight.shape), outputs, wide))

    def probabilities(self, row, comma=True):
        """The probability of each class, in the order of the schema. row, a dict or a row of a DataFrame, has a value for
        each column by its name; with comma a comma in a number is a decimal point. Of a DataFrame, or a list, it is an
        array with a row for each row. Texts that are no category, numbers beyond the bounds and values that are missing
        warn."""
        frame = hasattr(row, "columns") or isinstance(row, (list, tuple))
        rows, said, notes = records(row), [], collections.Counter()
        if rows is None:
            raise ValueError("want a dict, a DataFrame, a row of one or a list of dicts, not %s" % type(row).__name__)
        if hasattr(row, "columns"):  # of no row the columns are the frame's
            absent(self.table["columns"], list(row.columns))
        for at, one in enumerate(rows):
            try:
                said.append(self._of(one, comma, notes))
            except ValueError as e:
                raise ValueError("row %d, from 0: %s" % (at, e) if frame else str(e)) from None
        for (i, note), count in sorted(notes.items()):
            column = self.table["columns"][i]
            (self.unknown, self.beyond, self.missing)[note - 1][column["name"]] += count
            warnings.warn(odd(column, note, count, len(rows)), stacklevel=2)
        return np.array(said).reshape(-1, len(self.classes)) if frame else said[0]

    def _of(self, row, comma, notes):
        columns = self.table["columns"]
        absent(columns, list(row))
        read = [inputs(row[c["name"]], c, comma) for c in columns]
        notes.update((i, note) for i, (_, _, note) in enumerate(read) if note)
        x, typical = (np.array(sum(part, [])) for part in list(zip(*read))[:2])
        if self.weight.shape[1] == len(x) + 1:  # a centred table has a constant
            x = np.append(x - typical, 0.6)
        z = self.weight @ x + self.bias
        if len(z) == 1:
            z = np.array([0, z[0]])
        e = np.exp(z - z.max())
        return e / e.sum()


def side(row, group):
    """The side of a row by its texts, train or test, as split.py and the built-in models have it."""
    text = "spdl/group/v1" + row[group].strip() if group else "spdl/table/v2" + "".join(
        "%s\0%s\0" % (name, said.strip()) for name, said in sorted(row.items()))
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
    return "train" if int.from_bytes(digest[:8], "big") % 5 else "test"


def main(path, file, sides=False):
    try:
        model = Model(path)
    except (OSError, ValueError) as e:
        sys.exit(str(e))
    try:
        rows_of(model, file, sides)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has enough, as head
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except (OSError, ValueError, csv.Error) as e:
        sys.exit(str(e))


def rows_of(model, file, sides):
    """Writes the probabilities of the rows of a file, if it can read all. A byte that is not UTF-8 is part of a text that
    is no category."""
    with opened(file) as text:
        first = text.readline()
        separator = max(",;\t|", key="".join(first.split('"')[::2]).count)
        text.seek(0)
        rows = csv.DictReader(text, delimiter=separator)
        rows.fieldnames = [name.strip() for name in rows.fieldnames or []]
        if not rows.fieldnames:
            raise ValueError("%s is empty, want a line that names the columns" % file)
        try:
            absent(model.table["columns"], rows.fieldnames)
        except ValueError as e:
            raise ValueError("%s: %s" % (file, e)) from None
        lines = [["side"][:sides] + model.classes]
        warnings.simplefilter("ignore")  # the counts follow
        group = model.table.get("group")
        if sides and (group or model.table["label"]) not in rows.fieldnames:
            raise ValueError("%s has no column %s, and a row has no side without it" % (file, group or model.table["label"]))
        for row in rows:
            try:
                if None in row or None in row.values():
                    raise ValueError("another number of values than the header has, %d" % len(rows.fieldnames))
                said = model.probabilities(row, separator != ",")
            except ValueError as e:
                raise ValueError("%s line %d: %s" % (file, rows.line_num, e)) from None
            lines.append(([side(row, group)] if sides else []) + ["%.6f" % p for p in said])
    csv.writer(sys.stdout).writerows(lines)
    for column in model.table["columns"]:
        for kind, counts in ((UNKNOWN, model.unknown), (BEYOND, model.beyond), (ABSENT, model.missing)):
            if count := counts[column["name"]]:
                print("warning:", odd(column, kind, count, len(lines) - 1), file=sys.stderr)


if __name__ == "__main__":
    with_sides = sys.argv[1:2] == ["--side"]
    if len(sys.argv) != 3 + with_sides:
        sys.exit(__doc__)
    main(*sys.argv[1 + with_sides:], sides=with_sides)

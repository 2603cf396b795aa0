"""The protocol of app/worker/trainer/PROTOCOL.md, versions 1 and 2, with the standard library alone.

A study is made of what HELLO says, and has

    examples                              how many examples this participant has
    gradients(parameters, indices)        clipping "rows": a row of d numbers for each index
    clipped_sum(parameters, indices, clip)   clipping "sum": their sum, each clipped to norm clip
    evaluate(parameters)                  optional: (loss, accuracy, examples of the test set)
    shapes                                optional: the shapes of the model's tensors by name, which
                                          are compared with those of HELLO
    warnings                              optional: texts for the log, as of a module that ends in a softmax
    about                                 optional: what is trained and what is constant, for the log
    probabilities(parameters, x), x, y, x_test, y_test   optional: a row of each class's for each of x
    classified                            optional, for an outcome that is no class: False, and no probabilities
    groups                                where the unit of privacy is a group: the group of each
                                          example, by any name that can be a key
    clipped_group_sum(parameters, groups, clip)   the same with clipping "sum": of each group, a list
                                          of indices, the mean of its gradients, clipped once to norm
                                          clip, and the sum of these

Row i must depend on example i and the parameters alone: no batch normalisation, no mean over the
batch, nothing kept from one call to the next. SPDL picks the examples or the groups, clips rows, or
with groups the mean of a group's rows, adds noise and signs. What the study prints goes to the log of the worker.
"""
from __future__ import annotations

import difflib
import json
import os
import struct
import sys
import traceback
from typing import Any, BinaryIO, Callable, Dict, List, Optional

from .floats import decode, encode
from .groups import numbered
from .hello import Hello
from .tensors import Mismatch, Unsuitable, described, difference

PROTOCOLS = (2, 1)  # the best first
MAX_ROWS = 16 << 20  # bytes of a frame of rows
MAX_TEXT = 1 << 16  # bytes of JSON


def _read(stream: BinaryIO, n: int) -> bytes:
    data = bytearray()
    while len(data) < n:
        more = stream.read(n - len(data))
        if not more:  # SPDL has ended
            sys.exit(0)
        data += more
    return bytes(data)


def _write(stream: BinaryIO, kind: bytes, body: bytes) -> None:
    stream.write(kind + struct.pack("<I", len(body)))
    stream.write(body)
    stream.flush()


class _Session:
    """One run of a trainer, from HELLO to BYE."""

    def __init__(self, make: Callable[[Hello], Any], out: BinaryIO) -> None:
        self.make, self.out = make, out
        self.hello: Optional[Hello] = None
        self.study: Any = None
        self.protocol = 1
        self.wrong: Optional[str] = None  # with the model's tensors
        self.number = b""  # of the question, which the answer repeats; from version 2

    def answer(self, kind: bytes, body: bytes) -> None:
        if kind == b"H":
            self.greet(json.loads(body))
            return
        if self.protocol > 1:
            self.number, body = body[:4], body[4:]
        if kind not in (b"G", b"E", b"U", b"P"):
            raise RuntimeError("unknown frame %r" % kind)
        if self.wrong:
            raise Mismatch(self.wrong)
        if kind == b"U":
            numbers = numbered(self.study.groups)
            self.send(b"U", struct.pack("<%dI" % len(numbers), *numbers))
        elif kind == b"G":
            self.gradient(body)
        elif kind == b"P":
            self.probabilities(body)
        else:
            loss, accuracy, n = self.study.evaluate(decode(body))
            self.json(b"E", {"loss": float(loss), "accuracy": float(accuracy), "examples": int(n)})

    def greet(self, said: Dict[str, Any]) -> None:
        """Answers HELLO with the model's tensors. SPDL compares them with its own and shows both; a
        version of SPDL that does not know them meets Mismatch at its next question."""
        offered = said.get("protocols", [said["protocol"]])
        self.protocol = next((p for p in PROTOCOLS if p in offered), 0)
        if not self.protocol:
            raise RuntimeError("protocol %s, this file speaks 1 and 2" % ", ".join(map(str, offered)))
        self.hello = Hello(said)
        self.study = self.make(self.hello)
        self.grouped()
        if getattr(self.study, "about", ""):
            print(self.study.about, file=sys.stderr, flush=True)
        for text in getattr(self.study, "warnings", []):
            print("warning: " + text, file=sys.stderr, flush=True)
        answer = {"protocol": self.protocol, "examples": self.study.examples, "evaluates": hasattr(self.study, "evaluate")}
        if all(hasattr(self.study, n) for n in ("probabilities", "x", "y", "x_test", "y_test")) and getattr(
                self.study, "classified", True):
            answer["predicts"] = True
        if getattr(self.study, "groups", None) is not None:
            answer["groups"] = True
        shapes = getattr(self.study, "shapes", None)
        if shapes is not None:
            self.wrong = difference(shapes, self.hello.tensors)
            named = dict(answer, tensors=described(shapes))
            if len(json.dumps(named)) <= MAX_TEXT:
                answer = named
        self.json(b"H", answer)

    def grouped(self) -> None:
        """Raises an error if the unit of privacy is a group, and the study does not know groups."""
        assert self.hello is not None
        if self.hello.unit not in ("", "group"):
            raise RuntimeError("the unit of privacy is %r, this file knows examples and groups" % self.hello.unit)
        if not self.hello.unit:
            return
        groups = getattr(self.study, "groups", None)
        if groups is None or len(groups) != self.study.examples:
            raise RuntimeError("the unit of privacy is a group, and the study has %s: groups is the group of each of "
                               "its %d examples" % ("no groups" if groups is None else "%d groups" % len(groups),
                                                    self.study.examples))
        if self.hello.clipping == "sum" and not hasattr(self.study, "clipped_group_sum"):
            raise RuntimeError("the unit of privacy is a group, and the study has no clipped_group_sum, which clips the "
                               "sum of each group")

    def gradient(self, body: bytes) -> None:
        assert self.hello is not None
        if self.hello.unit and self.hello.clipping == "sum":
            self.group_sum(body)
            return
        (n,) = struct.unpack_from("<I", body)
        indices = list(struct.unpack_from("<%dI" % n, body, 4))
        x = decode(body[4 + 4 * n:])
        if self.hello.clipping == "sum":
            total = self.study.clipped_sum(x, indices, self.hello.clip) if n else [0.0] * self.hello.dimension
            self.send(b"S", encode(total, "d"))
            return
        step = max(1, MAX_ROWS // (4 * self.hello.dimension))
        for at in range(0, max(n, 1), step):
            self.send(b"R", self.rows(x, indices[at:at + step]) if n else b"")

    def rows(self, x: Any, indices: List[int]) -> bytes:
        """The rows of some examples. Rows may come in several frames, so SPDL would wait for those that are missing:
        another number of whole rows is an error here."""
        assert self.hello is not None
        rows, d, n = encode(self.study.gradients(x, indices), "f"), self.hello.dimension, len(indices)
        if len(rows) % (4 * d) == 0 and len(rows) != 4 * d * n:
            raise ValueError("gradients returned %d row%s of %d numbers for %d examples, want shape [%d, %d]: one "
                             "gradient for each example, not a mean or a sum over the batch"
                             % (len(rows) // (4 * d), "" if len(rows) == 4 * d else "s", d, n, n, d))
        return rows

    def group_sum(self, body: bytes) -> None:
        assert self.hello is not None
        n, m = struct.unpack_from("<II", body)
        sizes = struct.unpack_from("<%dI" % n, body, 8)
        indices = iter(struct.unpack_from("<%dI" % m, body, 8 + 4 * n))
        groups = [[next(indices) for _ in range(size)] for size in sizes]
        x = decode(body[8 + 4 * (n + m):])
        total = self.study.clipped_group_sum(x, groups, self.hello.clip) if n else [0.0] * self.hello.dimension
        self.send(b"S", encode(total, "d"))

    def probabilities(self, body: bytes) -> None:
        """Of the rows to test on, or with a flag of those to train on: their labels, and the probability of each class."""
        (trained,) = struct.unpack_from("<I", body)
        s = self.study
        x, y = (s.x, s.y) if trained else (s.x_test, s.y_test)
        p, y = (a.tolist() if hasattr(a, "tolist") else a for a in (s.probabilities(decode(body[4:]), x), y))
        rows = [[label, *row] for label, row in zip(y, p)]
        self.json(b"P", {"rows": len(rows), "classes": len(rows[0]) - 1})
        step = max(1, MAX_ROWS // (4 * len(rows[0])))
        for at in range(0, len(rows), step):
            self.send(b"R", encode(rows[at:at + step], "f"))

    def json(self, kind: bytes, value: Dict[str, Any]) -> None:
        self.send(kind, json.dumps(value).encode())

    def send(self, kind: bytes, body: bytes) -> None:
        """Writes an answer, with the number of the question that it answers."""
        _write(self.out, kind, self.number + body)


def serve(make: Callable[[Hello], Any]) -> None:
    """Answers SPDL until it says BYE. make gets the Hello and returns the study. With the argument predict it gives
    rows their probabilities instead (predict_rows)."""
    if len(sys.argv) == 4 and sys.argv[1] != "predict" and difflib.get_close_matches(sys.argv[1], ["predict"]):
        sys.exit("%s: unknown command %r (did you mean predict?)" % (sys.argv[0], sys.argv[1]))
    if sys.argv[1:2] == ["predict"]:
        from .predict_rows import main
        return main(make, sys.argv[2:])
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed must not end up among the answers
    sys.stdout = sys.stderr
    source = os.fdopen(os.dup(0), "rb")
    session = _Session(make, out)
    while True:
        kind, length = struct.unpack("<cI", _read(source, 5))
        body = _read(source, length)
        if kind == b"B":
            return
        try:
            session.answer(kind, body)
        except Unsuitable as e:  # a traceback would add nothing
            session.send(b"X", str(e).encode()[:60000])
            sys.exit(1)
        except Exception as e:  # SPDL logs it, skips the round and starts the trainer again
            where = ("; a contained trainer reads its folder, worker.data and what worker.trainer_read lists: with spdl "
                     "new --data a study gets a copy" if isinstance(e, PermissionError) else "")
            frames = traceback.extract_tb(e.__traceback__)
            study = os.path.dirname(os.path.abspath(sys.argv[0]))
            own = [f for f in frames if os.path.dirname(os.path.abspath(f.filename)) == study]
            if os.path.dirname(frames[-1].filename) != os.path.dirname(__file__):  # this package's own text says it all
                print("".join(traceback.format_list(frames[-3:])), end="", file=sys.stderr, flush=True)
                where += "".join(" (%s line %d)" % (os.path.basename(f.filename), f.lineno or 0) for f in own[-1:])
            session.send(b"X", ("%s: %s%s" % (type(e).__name__, e, where)).encode()[:60000])
            sys.exit(1)

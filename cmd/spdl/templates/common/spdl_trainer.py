"""The trainer's side of SPDL's protocol, version 1 (docs/TRAINER.md): the standard library alone.

A study is made of what HELLO says, and has

    examples                              how many examples this participant has
    gradients(parameters, indices)        clipping "rows": a row of d numbers for each index
    clipped_sum(parameters, indices, clip)   clipping "sum": their sum, each clipped to norm clip
    evaluate(parameters)                  optional: (loss, accuracy, examples of the test set)

Row i must depend on example i and the parameters alone: no batch normalisation, no mean over the
batch, nothing kept from one call to the next. SPDL picks the examples, clips rows, adds noise and
signs. What the study prints goes to the log of the worker.
"""
import array
import hashlib
import json
import os
import random
import struct
import sys

PROTOCOL = 1
MAX_ROWS = 16 << 20  # bytes of a frame of rows


class Hello:
    """What SPDL says first: dimension, clip, clipping, tensors, config and share."""

    def __init__(self, said):
        self.dimension, self.clip, self.clipping = said["dimension"], said["clip"], said["clipping"]
        self.tensors = said["tensors"]  # of name, shape and init
        self.share = said["share"]
        self.config = json.loads(said["config"]) if said["config"] else {}

    def unpack(self, vector):
        """Cuts a NumPy or PyTorch vector into its tensors, by name."""
        out, at = {}, 0
        for t in self.tensors:
            n = 1
            for side in t["shape"]:
                n *= side
            out[t["name"]] = vector[at:at + n].reshape(tuple(t["shape"]))
            at += n
        return out

    def part(self, n):
        """The indices, of n, that are this participant's in a data set that all have. With data of
        its own a participant has all, in their order: one row more or less moves no other."""
        order = list(range(n))
        if self.share["parts"] == 1:
            return order
        random.Random(self.share["seed"]).shuffle(order)
        return order[self.share["part"]::self.share["parts"]]


def for_testing(row):
    """Whether a row, an array of float64, is for testing: about one in five is, by a hash of the row
    alone, so that one row more or less moves no other to the other side."""
    return int.from_bytes(hashlib.sha256(b"spdl/row/v1" + _bytes(row, "d")).digest()[:8], "big") % 5 == 0


def _bytes(values, code):
    """Little-endian float32 ("f") or float64 ("d") of an array, a tensor or nested lists."""
    if hasattr(values, "detach"):  # PyTorch
        values = values.detach().cpu().numpy()
    if hasattr(values, "astype"):  # NumPy
        return values.astype("<f4" if code == "f" else "<f8").tobytes()
    flat = array.array(code)

    def add(v):
        if hasattr(v, "__iter__"):
            for x in v:
                add(x)
        else:
            flat.append(v)
    add(values)
    if sys.byteorder == "big":
        flat.byteswap()
    return flat.tobytes()


def _read(stream, n):
    data = bytearray()
    while len(data) < n:
        more = stream.read(n - len(data))
        if not more:  # SPDL has ended
            sys.exit(0)
        data += more
    return bytes(data)


def _write(stream, kind, body):
    stream.write(kind + struct.pack("<I", len(body)))
    stream.write(body)
    stream.flush()


def _parameters(body):
    x = array.array("d")
    x.frombytes(body)
    if sys.byteorder == "big":
        x.byteswap()
    return x


def _gradient(study, hello, out, body):
    (n,) = struct.unpack_from("<I", body)
    indices = list(struct.unpack_from("<%dI" % n, body, 4))
    x = _parameters(body[4 + 4 * n:])
    if hello.clipping == "sum":
        data = _bytes(study.clipped_sum(x, indices, hello.clip) if n else [0.0] * hello.dimension, "d")
        _write(out, b"S", data)
        return
    step = max(1, MAX_ROWS // (4 * hello.dimension))
    for at in range(0, max(n, 1), step):
        _write(out, b"R", _bytes(study.gradients(x, indices[at:at + step]), "f") if n else b"")


def serve(make):
    """Answers SPDL until it says BYE. make gets the Hello and returns the study."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed must not end up among the answers
    sys.stdout = sys.stderr
    source = os.fdopen(os.dup(0), "rb")
    study = hello = None
    while True:
        kind, length = struct.unpack("<cI", _read(source, 5))
        body = _read(source, length)
        try:
            if kind == b"B":
                return
            if kind == b"H":
                said = json.loads(body)
                if said["protocol"] != PROTOCOL:
                    raise RuntimeError("protocol %s, this file speaks %d" % (said["protocol"], PROTOCOL))
                hello = Hello(said)
                study = make(hello)
                answer = {"protocol": PROTOCOL, "examples": study.examples, "evaluates": hasattr(study, "evaluate")}
                _write(out, b"H", json.dumps(answer).encode())
            elif kind == b"G":
                _gradient(study, hello, out, body)
            elif kind == b"E":
                loss, accuracy, n = study.evaluate(_parameters(body))
                _write(out, b"E", json.dumps({"loss": float(loss), "accuracy": float(accuracy), "examples": int(n)}).encode())
            else:
                raise RuntimeError("unknown frame %r" % kind)
        except Exception as e:  # SPDL logs it, skips the round and starts the trainer again
            _write(out, b"X", ("%s: %s" % (type(e).__name__, e)).encode()[:60000])
            raise

"""Constants of the approved code: frozen tensors, buffers and start values, in a file whose SHA-256 is in
model.config. The chain's parameters are what training adds to them. The standard library and NumPy."""
from __future__ import annotations

import hashlib
import io
import json
import os
import re
from typing import Any, Dict, Iterator, Mapping, Tuple

import numpy as np

from .data import Array
from .hello import Hello
from .tensors import Unsuitable

NAME = "weights.safetensors"  # in a study
LORA_A, LORA_B = ".lora_A", ".lora_B"  # after the name of the weight to which their product is added
TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U8": "|u1",
         "BOOL": "|b1", "BF16": "<u2"}  # NumPy has no bfloat16, which is the upper half of a float32
Arrays = Dict[str, Array]


def of(hello: Hello) -> Arrays:
    """The arrays of the file that the configuration names as "weights", {} if it names none. The bytes that are
    hashed are those that are decoded. Raises Unsuitable if the file is missing or another, so nothing is trained."""
    named = hello.config.get("weights") if isinstance(hello.config, dict) else None
    if named is None:
        return {}
    if not (isinstance(named, dict) and isinstance(named.get("file"), str)
            and re.fullmatch("[0-9a-f]{64}", str(named.get("sha256")))):
        raise Unsuitable('weights of model.config is %r, want {"file": a name, "sha256": 64 hexadecimal digits}'
                         % (named,))
    path = hello.path(named["file"])
    try:
        with open(path, "rb") as f:
            content = f.read()
    except OSError as e:
        raise Unsuitable("the weights file %s cannot be read (%s): model.config names it with SHA-256 %s; put it "
                         "there, from the member who made the study" % (path, e.strerror, named["sha256"])) from e
    found = hashlib.sha256(content).hexdigest()
    if found != named["sha256"]:
        raise Unsuitable("the weights file %s has SHA-256 %s, and model.config names %s: put the file there that the "
                         "members approved" % (path, found, named["sha256"]))
    return decode(content, path)


def decode(content: bytes, path: str) -> Arrays:
    """The arrays of an npz or a safetensors file, by name."""
    try:
        if content[:2] == b"PK":
            with np.load(io.BytesIO(content), allow_pickle=False) as npz:
                return {name: npz[name] for name in npz.files}
        return dict(_tensors(content))
    except Exception as e:
        raise Unsuitable("%s is no npz and no safetensors file: %s: %s" % (path, type(e).__name__, e)) from e


def _header(content: bytes) -> Tuple[Dict[str, Any], memoryview]:
    size = int.from_bytes(content[:8], "little")
    if size > len(content) - 8:
        raise ValueError("a header of %d bytes in a file of %d" % (size, len(content)))
    return json.loads(content[8:8 + size]), memoryview(content)[8 + size:]


def _tensors(content: bytes) -> Iterator[Tuple[str, Array]]:
    header, data = _header(content)
    for name, t in header.items():
        if name == "__metadata__":
            continue
        (start, end), dtype = t["data_offsets"], np.dtype(TYPES[t["dtype"]])
        if not 0 <= start <= end <= len(data):
            raise ValueError("tensor %s is at %d to %d of %d bytes" % (name, start, end, len(data)))
        a = np.frombuffer(data[start:end], dtype).reshape(t["shape"])
        yield name, (a.astype("<u4") << 16).view("<f4") if t["dtype"] == "BF16" else a


def card(content: bytes, path: str) -> Dict[str, Any]:
    """The card of a model file of spdl model export."""
    try:
        if content[:2] == b"PK":
            text = decode(content, path)["card"].item()
        else:
            text = _header(content)[0]["__metadata__"]["card"]
        about: Dict[str, Any] = json.loads(text)
        about["model"].get("kind")
        return about
    except (AttributeError, KeyError, TypeError, ValueError, Unsuitable) as e:
        raise Unsuitable("%s has no card: want a file of spdl model export" % path) from e


def encode(arrays: Mapping[str, Array]) -> bytes:
    """A safetensors file, the same bytes for the same arrays."""
    header: Dict[str, Any] = {}
    parts, at = [], 0
    for name in sorted(arrays, key=lambda n: (-np.asarray(arrays[n]).dtype.itemsize, n)):  # aligned
        a = np.asarray(arrays[name])
        kind = next((k for k, d in TYPES.items() if k != "BF16" and np.dtype(d) == a.dtype.newbyteorder("<")), None)
        if kind is None:
            raise Unsuitable("tensor %s is of type %s, want one of %s" % (name, a.dtype, ", ".join(TYPES)))
        part = a.astype(TYPES[kind]).tobytes()
        header[name] = {"dtype": kind, "shape": list(a.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)


def write(folder: str, arrays: Mapping[str, Array]) -> Dict[str, str]:
    """Writes the file of a study, and returns what the configuration says of it."""
    content = encode(arrays)
    with open(os.path.join(folder, NAME), "wb") as f:
        f.write(content)
    return {"file": NAME, "sha256": hashlib.sha256(content).hexdigest()}


def plus(start: Array, x: Array) -> Array:
    """A tensor: its start and what training added, in float64, rounded once to the type of the start."""
    return (start.astype(np.float64) + x).astype(start.dtype)


def merged(start: Arrays, x: Arrays) -> Arrays:
    """The whole model: constants and what training added to them, each low-rank product added to its weight,
    term by term in float64, so that every machine gets the same bits."""
    out = {name: plus(a, x[name]) if name in x else a for name, a in start.items()}
    out.update({name: a.astype(np.float32) for name, a in x.items() if name not in start})
    for name in [n[:-len(LORA_A)] for n in out if n.endswith(LORA_A)]:
        a, b = (out.pop(name + end).astype(np.float64) for end in (LORA_A, LORA_B))
        total = out[name].astype(np.float64)
        for k in range(len(a)):
            total += b[:, k, None] * a[None, k]
        out[name] = total.astype(out[name].dtype)
    return out

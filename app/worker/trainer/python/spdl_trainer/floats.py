"""Numbers as bytes, little-endian."""
from __future__ import annotations

import array
import sys
from typing import Any


def encode(values: Any, code: str) -> bytes:
    """float32 ("f") or float64 ("d") of an array, a tensor or nested lists."""
    if hasattr(values, "detach"):  # PyTorch
        values = values.detach().cpu().numpy()
    if hasattr(values, "astype"):  # NumPy
        return bytes(values.astype("<f4" if code == "f" else "<f8").tobytes())
    flat = array.array(code)

    def add(v: Any) -> None:
        if hasattr(v, "__iter__"):
            for x in v:
                add(x)
        else:
            flat.append(v)
    add(values)
    if sys.byteorder == "big":
        flat.byteswap()
    return flat.tobytes()


def decode(body: bytes) -> "array.array[float]":
    """The float64 of a body."""
    x = array.array("d")
    x.frombytes(body)
    if sys.byteorder == "big":
        x.byteswap()
    return x

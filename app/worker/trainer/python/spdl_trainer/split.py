"""Rows to train on and rows to test on."""
from __future__ import annotations

import hashlib
from typing import Any, Dict

from .floats import encode


def for_testing(row: Any) -> bool:
    """Whether a row, an array of float64, is for testing: about one in five is, by a hash of the row
    alone, so that one row more or less moves no other to the other side."""
    return _fifth(b"spdl/row/v1" + encode(row, "d"))


def text_for_testing(texts: Dict[str, str]) -> bool:
    """The same for a row of a table of the chain, by the texts of all its columns, as the built-in
    models split it: no epoch's bounds or classes have a part in it."""
    said = "".join("%s\0%s\0" % column for column in sorted(texts.items()))
    return _fifth(b"spdl/table/v2" + said.encode("utf-8", "surrogateescape"))


def group_for_testing(name: str) -> bool:
    """The same for all rows of a group, by a hash of its name, as the built-in models split it."""
    return _fifth(b"spdl/group/v1" + name.encode("utf-8", "surrogateescape"))


def _fifth(content: bytes) -> bool:
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "big") % 5 == 0

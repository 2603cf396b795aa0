#!/usr/bin/env python3
"""Speaks the protocol by hand, and breaks it in one way: python3 hostile.py MODE."""
import json
import os
import struct
import subprocess
import sys
import time

MODE = sys.argv[1]
D = 6
SECOND = MODE.startswith("second")  # speaks version 2


def read(n):
    data = sys.stdin.buffer.read(n)
    if len(data) < n:
        sys.exit(0)
    return data


def tell(kind, body, number=b""):
    body = number + body
    sys.stdout.buffer.write(kind + struct.pack("<I", len(body)) + body)
    sys.stdout.buffer.flush()


def row(v):
    return struct.pack("<%df" % D, v, *[0] * (D - 1))


calls = 0
while True:
    kind, length = struct.unpack("<cI", read(5))
    body = read(length)
    if kind == b"H":
        if MODE == "slow-start":
            time.sleep(2)
        examples = 2**31 - 1 if MODE == "many" else 1 if MODE == "one" else 50
        tell(b"H", json.dumps({"protocol": 1 + SECOND, "examples": examples, "evaluates": MODE == "second-exam"}).encode())
    elif kind == b"U":
        groups = {"second-bytes": [0] * 49, "second-gap": [0] * 25 + [2] * 25,
                  "second-other": [(i + os.path.exists(sys.argv[2])) // 2 for i in range(50)]}[MODE]
        open(sys.argv[2], "w").close()
        tell(b"U", struct.pack("<%dI" % len(groups), *groups), body[:4])
    elif kind == b"G":
        calls += 1
        number = b""
        if SECOND:
            number, body = body[:4], body[4:]
            if MODE == "second-counts":
                number = struct.pack("<I", calls)
            if MODE == "second-late" and calls > 1:  # the answer to the question before once more
                tell(b"R", row(1), last)
            if MODE == "second-silent":
                number = b""
            last = number
        n, = struct.unpack_from("<I", body)
        if MODE == "slow-start":
            if sys.argv[2:] and not os.path.exists(sys.argv[2]):
                open(sys.argv[2], "w").close()
                os._exit(1)
            time.sleep(2)
        if MODE == "grandchild":  # it holds all pipes, and its parent dies
            subprocess.Popen(["sleep", "600"])
            os._exit(7)
        if MODE == "flood":
            sys.stderr.write("a line\n" * 20000 + "the last words")
            sys.stderr.flush()
            os._exit(7)
        answer = b"".join(row(i) for i in struct.unpack_from("<%dI" % n, body, 4))
        if MODE == "one-row":  # a mean over the batch
            answer = answer[:4 * D]
        tell(b"R", answer, number)
        if MODE == "twice" and n:
            tell(b"R", answer)
            open(sys.argv[2], "w").close()
    elif kind == b"E":
        for _ in range(2):
            tell(b"E", json.dumps({"loss": 1, "accuracy": 0.5, "examples": 9}).encode(), body[:4])
    elif kind == b"B":
        sys.exit(0)

#!/usr/bin/env python3
"""Trains the model that FUNCTION() of MODULE.py returns. The data come from load(hello) in that
file, if it has such a function, and otherwise from the file or folder that params.json names."""
import MODULE
from spdl_trainer import make, serve

if __name__ == "__main__":
    serve(lambda hello: make(hello, MODULE.FUNCTION))

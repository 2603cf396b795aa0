"""python3 -m spdl_trainer merge MODEL WEIGHTS --out FILE: an exported model and the weights file of its study
as one file, npz or safetensors by the ending of FILE, whose arrays load_state_dict takes. Verify MODEL first (spdl
verify model)."""
from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys

import numpy as np

from .tensors import Unsuitable
from .weights import card, decode, encode, merged


def merge(model: str, weights: str, out: str) -> None:
    """Writes a new file. Raises Unsuitable if the weights are not those that the model's card names, or out has another
    ending."""
    if not out.endswith((".npz", ".safetensors")):
        raise Unsuitable("--out is %s, want a name that ends in .npz or .safetensors" % out)
    contents = []
    for path in (model, weights):
        with open(path, "rb") as f:
            contents.append(f.read())
    about = card(contents[0], model)
    if odds := (about.get("adapted") or {}).get("odds"):
        raise Unsuitable("%s is adapted by a slope and an intercept, %.4g and %.4g, which are no tensors: merge the model "
                         "of spdl model export" % (model, *odds))
    config = json.loads(about["model"].get("config") or "{}")
    want, found = (config.get("weights") or {}).get("sha256"), hashlib.sha256(contents[1]).hexdigest()
    if want != found:
        raise Unsuitable("%s has SHA-256 %s, and the card of %s names %s"
                         % (weights, found, model, want or "no weights file"))
    x = decode(contents[0], model)
    x.pop("card", None)  # of an npz
    arrays, npz = merged(decode(contents[1], weights), x), io.BytesIO()
    if out.endswith(".npz"):
        np.savez(npz, **arrays)
    content = npz.getvalue() or encode(arrays)
    with open(out, "xb") as f:
        f.write(content)


def main() -> None:
    p = argparse.ArgumentParser(prog="spdl_trainer", description=__doc__)
    p.add_argument("command", choices=["merge"])
    p.add_argument("model", metavar="MODEL", help="of spdl model export, safetensors or npz")
    p.add_argument("weights", metavar="WEIGHTS", help="the weights file of the study")
    p.add_argument("--out", required=True, metavar="FILE")
    o = p.parse_args()
    try:
        merge(o.model, o.weights, o.out)
    except (Unsuitable, OSError) as e:
        sys.exit("merge: %s" % e)


if __name__ == "__main__":
    main()

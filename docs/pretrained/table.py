"""The leading features of a file of images.py as a table, for the built-in softmax, and the same rows as an npz file, for
a head: what the two paths make of the same numbers, and hidden attackers, who play built-in models alone.

    python3 table.py features.npz FOLDER  # writes table.csv, schema.json and same.npz
    spdl-lab testnet start --data FOLDER/table.csv --schema FOLDER/schema.json --attack 0=hidden-ascent+own-noise --seed 1
"""
import csv
import json
import os
import sys

import numpy as np

from spdl_trainer.split import text_for_testing

DIRECTIONS, ROWS = 64, 15000
BOUND = 0.28  # of a column: a row of norm 1 has then the length that presets of tables expect


def main(path, folder):
    f = np.load(path)
    x, y = np.concatenate([f["x"], f["x_test"]])[:ROWS], np.concatenate([f["y"], f["y_test"]])[:ROWS]
    x = (x - f["centre"]) @ f["map"][:, -DIRECTIONS:]  # those of most variance in the public data
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    names = ["f%02d" % i for i in range(DIRECTIONS)]
    texts = [["%.4f" % v for v in row] + ["c%d" % label] for row, label in zip(x, y)]
    with open(os.path.join(folder, "table.csv"), "w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([names + ["label"], *texts])
    with open(os.path.join(folder, "schema.json"), "w", encoding="utf-8") as out:
        json.dump({"label": "label", "classes": ["c%d" % i for i in range(int(y.max()) + 1)],
                   "columns": [{"name": n, "low": -BOUND, "high": BOUND} for n in names]}, out)
    test = np.array([text_for_testing(dict(zip(names + ["label"], row))) for row in texts])
    np.savez(os.path.join(folder, "same.npz"), x=x[~test], y=y[~test], x_test=x[test], y_test=y[test])


if __name__ == "__main__":
    main(*sys.argv[1:])

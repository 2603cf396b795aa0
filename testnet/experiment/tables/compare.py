"""Counts in how many of the page's 20 settings (five tables, N = 4 and 10, epsilon 1 and 2, nobody attacks) SPDL is as
good as central DP-SGD in AUC, accuracy and Brier score, and better than a member alone.

Usage: compare.py docs/TABLES.md [OTHER], where OTHER is a page, or a CSV file of reference.py, from which central DP-SGD is
taken in place of the first.
"""
import sys


def page(path):
    rows = {}
    for line in open(path, encoding="utf-8"):
        cell = [c.strip().split(" ± ")[0] for c in line.split("|")[1:-1]]
        if not cell:  # of a CSV file, whose every second number is a standard deviation
            cell = line.strip().split(",")
            cell = cell[:1] + [c or "-" for c in cell[1:3]] + cell[3:4] + cell[4::2]
        if len(cell) >= 7 and not cell[0].startswith("-") and cell[3].startswith(("SPDL", "central", "alone")):
            unit = "group" if cell[0].startswith("nafld") else "example"
            if cell[3].startswith("SPDL") and cell[3] != "SPDL, unit " + unit:
                continue
            rows[cell[0], cell[1], cell[2], cell[3].split()[0].rstrip(",")] = [float(c.split()[0]) for c in cell[4:7]]
    return rows


def main(path, other=None):
    mine, theirs = page(path), page(other or path)
    near, poor, count, ahead = 0, 0, 0, 0
    for table, n, epsilon, who in sorted(mine):
        if who != "SPDL" or epsilon not in ("1", "2") or table == "nafld":
            continue
        ours = mine[table, n, epsilon, who]
        central, alone = theirs[table, "-", epsilon, "central"], mine[table, n, "-", "alone"]
        lacks = [central[0] - ours[0], central[1] - ours[1], ours[2] - central[2]]
        lacks = [round(x, 3) for x in lacks]
        count, near, poor = count + 1, near + (max(lacks) <= 0.003), poor + (max(lacks) > 0.008)
        ahead += ours[2] <= alone[2]
        print(f"{table:14} N={n:2} epsilon {epsilon}: lacks AUC {lacks[0]:+.3f}, accuracy {lacks[1]:+.3f}, Brier {lacks[2]:+.3f}")
    print(f"within .003 of central DP-SGD in all three, or better: {near} of {count}; more than .008 below in one: {poor}; "
          f"Brier score at most a member's alone: {ahead}")


main(*sys.argv[1:])

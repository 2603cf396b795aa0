"""One CSV file of the rows of several sites' files, with a column site: the name of each row's file, without ending.

    python3 sites.py north.csv south.csv centre.csv > patients.csv
    spdl-lab rehearse patients.csv --label outcome --by site

The files may differ in their separators and in the order of their columns, not in the columns. In a file without commas
between the values, a number's comma becomes a point.
"""
import csv
import pathlib
import re
import sys


def rows(path):
    """The rows of a file, each by the names of its columns."""
    with open(path, newline="", encoding="utf-8-sig", errors="surrogateescape") as text:
        first = text.readline()
        separator = max(",;\t|", key="".join(first.split('"')[::2]).count)
        text.seek(0)
        read = csv.reader(text, delimiter=separator)
        header = [name.strip() for name in next(read, [])]
        if not header or len(set(header)) < len(header):
            sys.exit("%s: the header is %s, want names, each once" % (path, header))
        yield header
        for row in filter(None, read):
            if len(row) != len(header):
                sys.exit("%s line %d: %d values, the header has %d columns" % (path, read.line_num, len(row), len(header)))
            if separator != ",":
                row = [re.sub(r"^(\s*[-+]?\d*),(\d+([eE][-+]?\d+)?\s*)$", r"\1.\2", value) for value in row]
            yield dict(zip(header, row))


def main(paths):
    sys.stdout.reconfigure(errors="surrogateescape")  # the bytes of a Latin-1 file stay
    out, columns = csv.writer(sys.stdout), None
    for path in paths:
        of = rows(path)
        header = next(of)
        if columns is None:
            columns = header
            out.writerow(columns + ["site"])
        if set(header) != set(columns) or "site" in header:
            sys.exit("%s has the columns %s, want those of %s, %s, and no site: rename or leave out what differs" % (
                path, ", ".join(sorted(header)), paths[0], ", ".join(sorted(columns))))
        out.writerows([row[name] for name in columns] + [pathlib.Path(path).stem] for row in of)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1:])

"""Data and linear models."""
import array
import contextlib
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

from tests import has, hello

if has("numpy"):
    import numpy as np

    from spdl_trainer import Unsuitable, data, probabilities, rebuild
    from spdl_trainer import predict as linear_model
    from spdl_trainer.__main__ import merge
    from spdl_trainer.linear import LinearStudy, names
    from spdl_trainer.loaded import Loaded
    from spdl_trainer.predict import Model
    from spdl_trainer.predict_rows import predict
    from spdl_trainer.split import text_for_testing
    from spdl_trainer.study import built


def linear():
    return {"w": np.zeros((2, 2)), "b": np.zeros(2)}

TABLE = {"label": "ill", "classes": ["no", "yes"],
         "columns": [{"name": "b", "low": 0, "high": 10}, {"name": "a", "low": -1, "high": 1}]}


@unittest.skipUnless(has("numpy"), "no NumPy: on Debian, apt-get install python3-numpy")
class TestNumPy(unittest.TestCase):
    def table(self, text, described=TABLE):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "t.csv"), "w") as f:
                f.write(text)
            return data.load(hello(config=json.dumps({"data": "t.csv", "table": described}), folder=folder))

    def test_table_is_read_by_names_and_scaled(self):
        rows = "".join("%g,x,%s, %g\n" % (a / 50 - 1, "yes" if a % 2 else "no", a) for a in range(100))
        x, y, x_test, y_test = self.table("a,more,ill,b\n" + rows)
        self.assertEqual(len(x) + len(x_test), 100)
        self.assertTrue(5 < len(x_test) < 40)
        x, y = np.concatenate([x, x_test]), np.concatenate([y, y_test])
        self.assertEqual((x.dtype, y.dtype), (np.float32, np.int64))
        self.assertEqual((x.min(), x.max()), (-1, 1))  # values beyond an end count as that end
        self.assertEqual(y.sum(), 50)

    def test_separators_and_decimal_commas(self):
        rows = "".join("%d;%g;%s;%g\n" % (a, a / 50 - 1, "yes" if a % 2 else "no", a / 8) for a in range(100))
        points = self.table('"";a;ill;b\n' + rows)
        commas = self.table('"";a;ill;b\n' + rows.replace(".", ","))
        for x, y in zip(map(np.sort, np.concatenate([points[0], points[2]]).T),
                        map(np.sort, np.concatenate([commas[0], commas[2]]).T)):
            self.assertTrue((x == y).all())  # the sides may differ: they are of the texts

    def test_sides_are_of_the_bytes_of_latin_1(self):
        rows = [b"%d;k\xf6ln;no\n" % i for i in range(60)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.csv")
            with open(path, "wb") as f:
                f.write(b"a;k;ill\n" + b"".join(rows))
            got = data.table(path, dict(TABLE, columns=[{"name": "a", "low": 0, "high": 255}]))
        said = [b"spdl/table/v2a\0%d\0ill\0no\0k\0k\xf6ln\0" % i for i in range(60)]
        want = [i for i, s in enumerate(said) if int.from_bytes(hashlib.sha256(s).digest()[:8], "big") % 5 == 0]
        self.assertEqual([round(127.5 * x + 127.5) for x in got[2][:, 0]], want)

    def test_sides_are_of_the_file(self):
        rows = ["%d,%d.5,%s" % (i, i * i % 97, "yes" if i % 2 else "no") for i in range(100)]
        said = [b"spdl/table/v2" + b"".join(b"%s\0%s\0" % c for c in zip((b"a", b"b", b"ill"), r.encode().split(b",")))
                for r in rows]
        want = sum(int.from_bytes(hashlib.sha256(s).digest()[:8], "big") % 5 == 0 for s in said)
        for classes in (["no", "yes"], ["yes", "no"]):  # an epoch may change their order, and bounds
            self.assertEqual(len(self.table("a, b ,ill\n" + "\n".join(rows), dict(TABLE, classes=classes))[2]), want)

    def test_table_without_a_label(self):
        with self.assertRaisesRegex(ValueError, "give --label COLUMN"):
            data.load(hello(config='{"data": "t.csv"}', folder="."))

    def test_errors_do_not_say_the_value(self):
        for bad, want in (("x,no,1\n", "column 'a': the text is no finite number"),
                          ("nan,no,1\n", "column 'a': the number is missing"),
                          ("1,7777,1\n", "column 'ill': the label is none of no, yes"),
                          ("1,no\n", "2 values, the header has 3 columns")):
            with self.assertRaisesRegex(ValueError, "line 3: " + want) as caught:
                self.table("a,ill,b\n0,no,1\n" + bad)
            self.assertNotIn("7777", str(caught.exception))

        with self.assertRaisesRegex(ValueError, "no column a, ill, it has x, b"):
            self.table("x,b\n1,2\n")

    def test_most_texts_are_unknown(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.table("k,ill\n" + "p,no\nq,yes\nr,no\nNA,no\n" * 9, dict(TABLE, columns=[
                {"name": "k", "values": ["q", "s"], "others": True}]))
            self.assertEqual(said.getvalue(), "")
            self.table("k,ill\n" + "p,no\nq,yes\nr,no\n" * 9, dict(TABLE, columns=[
                {"name": "k", "values": ["q", "s"], "others": True}]))
        self.assertIn("column 'k': in 18 of 27 rows the text is none of q, s, and read as none", said.getvalue())

    def test_a_frame_warns_of_unknown_categories_and_numbers_beyond(self):
        def frame(*rows):
            return [{"k": k, "a": a} for k, a in rows]
        described = {"columns": [{"name": "k", "values": ["q", "s"], "others": True}, {"name": "a", "low": 0, "high": 9}]}
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            x = data.of_records(frame(("q", 0), ("big", 10), (None, 9)), described, False, True)
        self.assertEqual(x.shape, (3, 3))
        self.assertEqual([str(w.message) for w in said], [
            "column 'k': in 1 of 3 rows the text is none of q, s, and read as none",
            "column 'k': in 1 of 3 rows the value is missing, and read as none of q, s",
            "column 'a': in 1 of 3 rows the number is beyond 0 to 9, and read as the nearer end"])
        with self.assertWarnsRegex(UserWarning, "column 'a': in 1 of 2 rows the value is missing, and read as a typical"):
            data.of_records(frame(("q", 1), ("q", None)), described, False, True)
        with self.assertRaisesRegex(ValueError, "row 1, from 0: column 'a': the text is no finite number"):
            data.of_records(frame(("q", 1), ("q", "x")), described, False, True)
        with self.assertRaisesRegex(ValueError, "row 0, from 0: no column k, a, there are K"):
            data.of_records([{"K": "q"}], described, False, True)

    def test_a_linear_model_says_sides_and_what_is_odd(self):
        columns = [{"name": "a", "low": 0, "high": 9}, {"name": "k", "values": ["q", "s"], "others": True}]
        card = {"model": {"table": {"label": "y", "classes": ["no", "yes"], "columns": columns}}}
        texts = [{"a": str(i), "k": "qsx"[i % 3], "y": "no"} for i in range(12)]
        with tempfile.TemporaryDirectory() as folder:
            model, path = os.path.join(folder, "m.npz"), os.path.join(folder, "rows.csv")
            np.savez(model, card=json.dumps(card), **{"output.weight": np.ones((1, 3))})

            def said(rows, *more):
                with open(path, "w", newline="") as f:
                    lines = csv.DictWriter(f, list(rows[0]))
                    lines.writeheader()
                    lines.writerows(rows)
                return subprocess.run([sys.executable, linear_model.__file__, *more, model, path], capture_output=True, text=True)
            done = said(texts, "--side")
            self.assertEqual(done.stderr, "warning: column 'a': in 2 of 12 rows the number is beyond 0 to 9, and read as the "
                             "nearer end\nwarning: column 'k': in 4 of 12 rows the text is none of q, s, and read as none\n")
            lines = [line.split(",") for line in done.stdout.split()]
            self.assertEqual(lines[0], ["side", "no", "yes"])
            self.assertEqual([line[0] for line in lines[1:]],
                             ["test" if text_for_testing(row) else "train" for row in texts])
            plain = said(texts).stdout
            self.assertEqual([line.split(",") for line in plain.split()], [line[1:] for line in lines])
            new = [{"a": t["a"], "k": t["k"]} for t in texts]
            self.assertIn("has no column y, and a row has no side without it", said(new, "--side").stderr)
            new[5]["a"] = new[6]["k"] = ""
            done = said(new)
            self.assertIn("warning: column 'a': in 1 of 12 rows the value is missing, and read as a typical row's", done.stderr)
            self.assertIn("warning: column 'k': in 1 of 12 rows the value is missing, and read as none of q, s", done.stderr)
            lines = done.stdout.split()
            self.assertEqual(len(lines), 13)
            typical = [{"a": "4.5", "k": new[5]["k"]}]  # the middle, as the schema has no typical value
            self.assertEqual(said(typical).stdout.split()[1], lines[6])
            new[5]["a"] = "four"
            done = said(new)
            self.assertIn("line 7: column 'a': the text is no finite number", done.stderr)
            self.assertEqual(done.stdout, "", "no half of a file")
            self.assertIn("rows.csv: no column a, there are A, k", said([{"A": "1", "k": "q"}]).stderr)
            with open(path, "w"):
                pass
            done = subprocess.run([sys.executable, linear_model.__file__, model, path], capture_output=True, text=True)
            self.assertIn("rows.csv is empty, want a line that names the columns", done.stderr)
            rows = [{"a": 1, "k": "q"}, {"a": 2, "k": "s"}]
            self.assertTrue((Model(model).probabilities(rows)[1] == Model(model).probabilities(rows[1])).all())
            binary = Model(model)
            binary.table["columns"][1]["values"] = ["0", "1"]
            self.assertTrue((binary.probabilities({"a": 1, "k": True}) == binary.probabilities({"a": 1, "k": 1})).all())
            self.assertEqual(+binary.unknown, {})
            with self.assertRaisesRegex(ValueError, "want a dict, a DataFrame, a row of one or a list of dicts, not str"):
                Model(model).probabilities("rows.csv")
            with self.assertRaisesRegex(ValueError, "the model is None, want the path of a file of spdl model export"):
                Model(None)
            with open(model, "rb") as f:
                content = f.read()
            for damage in (b"", b"{}", b"PK", content[:300], b"\xff" * 40):
                with open(path, "wb") as f:
                    f.write(damage)
                with self.assertRaisesRegex(ValueError, "rows.csv is no file of spdl model export or spdl model adapt$"):
                    Model(path)

    def test_predict_gives_rows_their_probabilities(self):
        rows = "a,ill,b\n" + "".join("%g,%s,%g\n" % (a / 50 - 1, "yes" if a % 3 else "no", a / 10) for a in range(100))
        config = json.dumps({"table": TABLE})
        tensors = [{"name": "w", "shape": [2, 2], "init": "zeros"}, {"name": "b", "shape": [2], "init": "zeros"}]
        card = {"model": {"kind": "external", "config": config, "tensors": tensors}}
        seen = []

        def make(h):
            seen.append(LinearStudy(h, {"w": np.zeros((2, 2)), "b": np.zeros(2)}, data.load(h)))
            return seen[-1]
        with tempfile.TemporaryDirectory() as folder:
            model, path, out = os.path.join(folder, "m.npz"), os.path.join(folder, "rows.csv"), io.StringIO()
            np.savez(model, card=json.dumps(card), w=np.eye(2), b=np.array([0, 0.5]))
            with open(path, "w") as f:
                f.write(rows)
            predict(make, model, path, out)
            slow, odds = io.StringIO(), dict(card, adapted={"way": "adapted", "odds": [0.5, -0.25]})
            np.savez(model, card=json.dumps(odds), w=np.eye(2), b=np.array([0, 0.5]))
            predict(make, model, path, slow)
            with self.assertRaisesRegex(Unsuitable, "by a slope and an intercept, 0.5 and -0.25, which are no tensors"):
                merge(model, path, os.path.join(folder, "merged.npz"))
            np.savez(model, card=json.dumps(card), w=np.eye(2), b=np.array([0, 0.5]))
            with open(path, "w") as f:  # whose outcome nobody knows
                f.write("b,a\n" + "3,0.5\n" + "7,-0.5\n")
            new = io.StringIO()
            predict(make, model, path, new)
            with open(path, "w") as f:
                f.write(rows)
            with self.assertRaisesRegex(Unsuitable, "has no probabilities"):
                predict(lambda h: object(), model, path, out)
            np.savez(model, card=json.dumps({"model": {"kind": "softmax"}}))
            with self.assertRaisesRegex(Unsuitable, "is a model of kind softmax and of no study"):
                predict(make, model, path, out)
        lines = [line.split(",") for line in out.getvalue().splitlines()]
        self.assertEqual((lines[0], len(lines)), (["side", "label", "no", "yes"], 101))
        study = seen[0]
        for side, x, y in (("train", study.x, study.y), ("test", study.x_test, study.y_test)):
            of = [line for line in lines[1:] if line[0] == side]
            self.assertEqual([line[1] for line in of], [TABLE["classes"][label] for label in y])
            for line, row in zip(of, x):
                self.assertAlmostEqual(float(line[3]), 1 / (1 + np.exp(row[0] - row[1] - 0.5)), places=6)
        for line, adapted in zip(lines[1:], slow.getvalue().splitlines()[1:]):
            *same, no, yes = adapted.split(",")
            self.assertEqual(same, line[:2])
            p = float(line[3])
            self.assertAlmostEqual(float(yes), 1 / (1 + np.exp(0.25 - 0.5 * np.log(p / (1 - p)))), places=6)
            self.assertAlmostEqual(float(no) + float(yes), 1, places=6)
        self.assertEqual([line[1] for line in lines[1:]], ["yes" if a % 3 else "no" for a in range(100)])  # as in the file
        header, *lines = [line.split(",") for line in new.getvalue().splitlines()]
        self.assertEqual((header, [line[:2] for line in lines]), (["side", "label", "no", "yes"], [["", ""]] * 2))
        for line, b, a in zip(lines, (-0.4, 0.4), (0.5, -0.5)):
            self.assertAlmostEqual(float(line[3]), 1 / (1 + np.exp(b - a - 0.5)), places=2)  # levels are rounded

    def test_a_rebuilt_module_of_an_adapted_model_warns(self):
        tensors = [{"name": "w", "shape": [2, 2], "init": "zeros"}, {"name": "b", "shape": [2], "init": "zeros"}]
        card = {"model": {"kind": "external", "config": json.dumps({"table": TABLE}), "tensors": tensors}}
        x = np.array([[0.5, -0.5], [0, 0.25], [40, 0]])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.npz")
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                np.savez(path, card=json.dumps(card), w=np.eye(2), b=np.array([0, 0.5]))
                rebuild(linear, path)
                plain = probabilities(linear, path, x)
                card["adapted"] = {"way": "adapted", "odds": [2, 0.25]}
                np.savez(path, card=json.dumps(card), w=np.eye(2), b=np.array([0, 0.5]))
                adapted = probabilities(linear, path, x)
            with self.assertWarnsRegex(UserWarning, r"m.npz is adapted, and the module is not: .* times 2 and plus 0.25"):
                rebuild(linear, path)
        log_odds = np.log(plain[:2, 1] / plain[:2, 0])
        np.testing.assert_allclose(adapted[:2, 1], 1 / (1 + np.exp(-2 * log_odds - 0.25)))
        np.testing.assert_allclose(adapted.sum(1), 1)
        self.assertTrue(np.isfinite(adapted).all())

    def test_a_file_that_build_opens_is_not_the_trainers(self):
        def build(*_):
            return open("/nowhere/body.pt", "rb")
        h = hello(config=json.dumps({"table": TABLE}))
        with self.assertRaisesRegex(Unsuitable, "build opens /nowhere/body.pt, which a trainer cannot read: pretrained "
                                                "values come from the weights file"):
            built(h, build, h)
        h.adapt = ""
        with self.assertRaises(FileNotFoundError):
            built(h, build, h)

    def test_the_norm_of_gradients_at_the_start(self):
        for config, centred in (({"table": TABLE}, False), ({"table": TABLE, "centred": True}, True)):
            x = data.made(TABLE, centred, 32)
            y = np.arange(32) % 2
            study = LinearStudy(hello(config=json.dumps(config)), {"w": np.zeros((2, x.shape[1])), "b": np.zeros(2)},
                                (x, y, x, y))
            study.hello.tensors = study.tensors()
            rows = study.gradients(array.array("d", bytes(8 * (2 * x.shape[1] + 2))), range(32))
            self.assertAlmostEqual(study.norm(), np.median(np.linalg.norm(rows, axis=1)), places=2)
            study.hello.config = {}
            self.assertEqual(study.norm(), 0)

    def test_a_model_of_a_table_says_its_classes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.npz")
            np.savez(path, card=json.dumps({"model": {"table": TABLE}}), **{"output.weight": np.eye(2)})
            self.assertEqual(Model(path).classes, ["no", "yes"])

    def test_a_row_of_a_schema_has_its_inputs(self):
        described = {"label": "ill", "classes": ["no", "yes"], "group": "who", "columns": [
            {"name": "a", "low": -1, "high": 1, "missing": {"fill": 0, "indicator": True, "share": 0.1}},
            {"name": "k", "values": ["p", "q"], "others": True}]}
        for centred in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "t.csv")
                with open(path, "w") as f:
                    f.write("who,a,k,ill\n" + "".join("%d,-1,p,no\n" % i for i in range(40)))
                rows, row = data.table(path, described, centred), data.one(described, centred)
            self.assertEqual(len(rows), len(row))
            np.testing.assert_array_equal(rows[0][:1], row[0])
            self.assertEqual((row[0].dtype, row[1].tolist()), (np.float32, [0]))

    def test_linear_gradients_are_those_of_the_loss(self):
        random = np.random.default_rng(3)
        d = (random.normal(size=(20, 4)), random.integers(0, 3, 20),
             random.normal(size=(5, 4)), np.array([0, 1, 2, 0, 1]))
        for model in ({"b": np.zeros(3), "w": np.zeros((3, 4))}, LogisticRegression()):
            h = hello()
            study = LinearStudy(h, model, d)
            h.tensors, h.dimension = study.tensors(), 15
            study.trial()
            p = random.normal(size=15)
            row = study.gradients(array.array("d", p), [7])[0]
            for j in range(15):
                step = np.eye(15)[j] * 1e-6
                high, low = (-np.log(study.probabilities(array.array("d", p + s), study.x[[7]])[0, study.y[7]])
                             for s in (step, -step))
                self.assertAlmostEqual(row[j], (high - low) / 2e-6, places=5)
            total = study.clipped_sum(array.array("d", p), [7], 0.5)
            self.assertAlmostEqual(np.linalg.norm(total), 0.5, places=5)
            np.testing.assert_allclose(study.clipped_sum(array.array("d", p), [7], 0), row)

    def test_groups_of_a_table(self):
        described = dict(TABLE, group="who")
        text = "who,a,ill,b\n" + "".join("p%d,0,no,%d\n" % (i % 40, i % 9) for i in range(120))
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "t.csv"), "w") as f:
                f.write(text)
            x, _, x_test, _, groups = data.table(os.path.join(folder, "t.csv"), described)
        self.assertEqual((len(x) + len(x_test), len(groups)), (120, len(x)))
        self.assertEqual(len(x), 3 * len(set(groups)))  # all rows of a group are on one side
        self.assertTrue(20 < len(set(groups)) < 40)

    def test_a_group_is_its_mean_clipped_once(self):
        random = np.random.default_rng(3)
        d = (random.normal(size=(20, 4)), random.integers(0, 3, 20),
             random.normal(size=(5, 4)), np.array([0, 1, 2, 0, 1]), ["p%d" % (i // 3) for i in range(20)])
        h = hello()
        study = LinearStudy(h, {"b": np.zeros(3), "w": np.zeros((3, 4))}, d)
        h.tensors, h.dimension = study.tensors(), 15
        self.assertEqual(list(study.groups), d[4])
        p = array.array("d", random.normal(size=15))
        rows, groups = study.gradients(p, range(20)), [[0, 1, 2], [19], [4, 4, 4, 4]]
        means = [rows[g].mean(axis=0) for g in groups]
        np.testing.assert_allclose(study.clipped_group_sum(p, groups, 0), sum(means), rtol=1e-9)
        want = sum(s * min(1, 0.3 / np.linalg.norm(s)) for s in means)
        np.testing.assert_allclose(study.clipped_group_sum(p, groups, 0.3), want, rtol=1e-5)

    def test_data_that_nobody_can_train_on(self):
        x, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 2, 0, 1, 2])
        good = dict(x=x, y=y, x_test=x, y_test=y, groups=[str(i) for i in y])
        of_nan = x.copy()
        of_nan[4, 1] = np.nan
        for want, name, value in (
                (r"x\[4, 1\] is nan, want a finite number", "x", of_nan),
                (r"x_test\[4, 1\] is nan, want a finite number", "x_test", of_nan),
                (r"x\[0\] is inf", "x", np.full(6, np.inf)),
                (r"x is of type <U1, want numbers", "x", np.array(list("abcdef"))),
                (r"x is (no array|of type object)", "x", [[1.0], [1.0, 2.0]] * 3),
                (r"x has shape \[0, 2\], want at least one row", "x", x[:0]),
                (r"x_test has shape \[0, 2\], want at least one row", "x_test", x[:0]),
                (r"x has shape \[\], want at least one row", "x", 3.0),
                (r"a row of x_test has shape \[1\], want \[2\]", "x_test", x[:, :1]),
                (r"y has 5 rows, want 6, the rows of x$", "y", y[:5]),
                (r"y_test has 5 rows, want 6, the rows of x_test", "y_test", y[:5]),
                (r"y has shape \[6, 1\], want \[6\], one label for each row", "y", y[:, None]),
                (r"y is of type float64, want whole numbers, the positions of the classes from 0; y\[2\] is none$", "y",
                 np.array([0, 1, 0.5, 1, 1, 1])),
                (r"y_test is of type float32, .*: y_test.astype\(int\)$", "y_test", y.astype(np.float32)),
                (r"y\[1\] is nan, want a finite number", "y", np.array([0, np.nan, 2, 0, 1, 2])),
                (r"y is of type bool, .*: y.astype\(int\)$", "y", y > -1),
                (r"groups has 5 rows, want 6, the rows of x", "groups", list("abcde")),
                (r"groups\[3\] is nan, want the name of the group of row 3", "groups", [1, 1, 2, float("nan"), 3, 3]),
                (r"groups\[5\] is '', want", "groups", list("abcde") + [""]),
                (r"groups\[0\] is array", "groups", np.zeros((6, 2)))):
            with self.subTest(want), self.assertRaisesRegex(Unsuitable, "^load of my.py: " + want):
                Loaded("load of my.py", tuple(dict(good, **{name: value}).values()))
        Loaded("a loss of its own", (x, x / 3, x, x / 3), classified=False)
        big = Loaded("the bytes of another machine", (x.astype(">f4"), y.astype(">i2"), x, y))
        self.assertEqual((big.x.dtype, big.y.dtype, big.y.tolist()), (np.float32, np.int64, y.tolist()))

    def test_labels_have_a_class(self):
        x, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 2, 0, 1, 2])
        of_chain = [{"name": "coef_", "shape": [4, 2]}, {"name": "intercept_", "shape": [4]}]
        own = {"w": np.zeros((3, 2)), "b": np.zeros(3)}
        for want, model, tensors, labels, tested in (
                (r"y\[4\] is no label from 0 to 2, as array w has 3 rows; 1 of 6 labels are outside", own, (),
                 [0, 1, 2, 0, -1, 2], y),
                (r"y_test\[5\] is no label from 0 to 2, as array w has 3 rows", own, (), y, [0, 1, 2, 0, 1, 3]),
                (r"y_test\[1\] is no label from 0 to 2, as the greatest of y is 2", LogisticRegression(), (), y,
                 [0, 3, 2, 0, 1, 3]),
                (r"y\[0\] is no label from 0 to 3, as the chain has 4 classes", LogisticRegression(), of_chain,
                 [4, 1, 2, 0, 1, 2], y)):
            with self.subTest(want), self.assertRaisesRegex(Unsuitable, want):
                LinearStudy(hello(tensors), model, (x, np.array(labels), x, np.array(tested)))
        few = LinearStudy(hello(of_chain), LogisticRegression(), (x, y % 2, x, y))  # nobody of the last classes
        self.assertEqual(few.shapes, {"coef_": (4, 2), "intercept_": (4,)})
        self.assertEqual(LinearStudy(hello(), own, (x, y % 2, x, y)).shapes["w"], (3, 2))

    def test_models_that_are_not_linear(self):
        for model in (object(), {"w": 1}, {"w": np.zeros((2, 3)), "v": np.zeros((2, 3))}):
            self.assertIsNone(names(model))


class LogisticRegression:  # as scikit-learn's
    fit_intercept = True


if __name__ == "__main__":
    unittest.main()

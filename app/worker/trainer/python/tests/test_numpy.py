"""Data and linear models."""
import array
import json
import os
import tempfile
import unittest

from tests import has, hello

if has("numpy"):
    import numpy as np

    from spdl_trainer import data
    from spdl_trainer.linear import LinearStudy, names

TABLE = {"label": "ill", "classes": ["no", "yes"],
         "columns": [{"name": "b", "low": 0, "high": 10}, {"name": "a", "low": -1, "high": 1}]}


@unittest.skipUnless(has("numpy"), "no NumPy: on Debian, apt-get install python3-numpy")
class TestNumPy(unittest.TestCase):
    def table(self, text):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "t.csv"), "w") as f:
                f.write(text)
            return data.load(hello(config=json.dumps({"data": "t.csv", "table": TABLE}), folder=folder))

    def test_table_is_read_by_names_and_scaled(self):
        rows = "".join("%g,x,%s, %g\n" % (a / 50 - 1, "yes" if a % 2 else "no", a) for a in range(100))
        x, y, x_test, y_test = self.table("a,more,ill,b\n" + rows)
        self.assertEqual(len(x) + len(x_test), 100)
        self.assertTrue(5 < len(x_test) < 40)
        x, y = np.concatenate([x, x_test]), np.concatenate([y, y_test])
        self.assertEqual((x.dtype, y.dtype), (np.float32, np.int64))
        self.assertEqual((x.min(), x.max()), (-1, 1))  # values beyond an end count as that end
        self.assertEqual(y.sum(), 50)

    def test_errors_do_not_say_the_value(self):
        for bad in ("x,no,1\n", "nan,no,1\n", "1,7777,1\n", "1,no\n"):
            with self.assertRaisesRegex(ValueError, "line 3: want a finite number .* label of no, yes") as caught:
                self.table("a,ill,b\n0,no,1\n" + bad)
            self.assertNotIn("7777", str(caught.exception))

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

    def test_groups_are_summed_and_clipped_once(self):
        random = np.random.default_rng(3)
        d = (random.normal(size=(20, 4)), random.integers(0, 3, 20),
             random.normal(size=(5, 4)), np.array([0, 1, 2, 0, 1]), ["p%d" % (i // 3) for i in range(20)])
        h = hello()
        study = LinearStudy(h, {"b": np.zeros(3), "w": np.zeros((3, 4))}, d)
        h.tensors, h.dimension = study.tensors(), 15
        self.assertEqual(list(study.groups), d[4])
        p = array.array("d", random.normal(size=15))
        rows, groups = study.gradients(p, range(20)), [[0, 1, 2], [19], [4, 4, 4, 4]]
        sums = [rows[g].sum(axis=0) for g in groups]
        np.testing.assert_allclose(study.clipped_group_sum(p, groups, 0), sum(sums), rtol=1e-9)
        want = sum(s * min(1, 0.3 / np.linalg.norm(s)) for s in sums)
        np.testing.assert_allclose(study.clipped_group_sum(p, groups, 0.3), want, rtol=1e-5)

    def test_models_that_are_not_linear(self):
        for model in (object(), {"w": 1}, {"w": np.zeros((2, 3)), "v": np.zeros((2, 3))}):
            self.assertIsNone(names(model))


class LogisticRegression:  # as scikit-learn's
    fit_intercept = True


if __name__ == "__main__":
    unittest.main()

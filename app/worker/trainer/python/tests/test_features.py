"""Features of an npz file, and heads for them."""
import os
import tempfile
import unittest

from tests import has, hello

if has("numpy"):
    import numpy as np

    from spdl_trainer import Unsuitable, features, for_testing

if has("torch"):
    import torch

    from spdl_trainer import heads, make


load = features.load if has("numpy") else None


def build(h, data):
    return heads.build(h, data, hidden=0)


@unittest.skipUnless(has("torch"), "no PyTorch: on Debian, apt-get install python3-torch")
class TestFeatures(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        random = np.random.default_rng(1)
        self.x, self.y = random.standard_normal((9000, 3)).astype("<f4"), np.arange(9000) % 4

    def save(self, **arrays):
        np.savez(os.path.join(self.folder, "f.npz"), **arrays)
        return hello(config='{"data": "f.npz"}', folder=self.folder)

    def test_rows_are_split_by_their_hash(self):
        x, y, x_test, y_test = features.load(self.save(x=self.x, y=self.y))
        test = np.array([for_testing(row) for row in self.x])
        self.assertTrue(np.array_equal(x, self.x[~test]) and np.array_equal(y_test, self.y[test]))
        self.assertTrue(np.array_equal(x_test, self.x[test]) and 0.18 < test.mean() < 0.22)
        by_columns = features.load(self.save(x=np.asfortranarray(self.x), y=self.y))
        self.assertTrue(all(np.array_equal(a, b) for a, b in zip(by_columns, (x, y, x_test, y_test))))
        own = features.load(self.save(x=self.x, y=self.y, x_test=self.x[:5], y_test=self.y[:5]))
        self.assertEqual([len(a) for a in own], [9000, 9000, 5, 5])
        grouped = features.load(self.save(x=self.x, y=self.y, groups=np.arange(9000) // 3))
        self.assertEqual(len(grouped), 5)
        self.assertEqual(len(set(grouped[4])) * 3, len(grouped[0]))

    def test_csv(self):
        """A CSV file, as a member's Parquet file becomes, has the rows of the npz file of the same arrays."""
        groups = np.array(["p%d" % (i // 3) for i in range(9000)])
        want = features.load(self.save(x=self.x, y=self.y, groups=groups))
        for names in (["x[0]", "x[1]", "id", "x[2]"], ["a", "b", None, "c"]):
            with open(os.path.join(self.folder, "f.csv"), "w") as f:
                f.write(",".join(n for n in ["y", *names, "groups"] if n) + "\n")
                for x, y, g in zip(self.x, self.y, groups):
                    row = [y, x[0], x[1], *(["no number"] if names[2] else []), x[2], g]
                    f.write(",".join(map(str, row)) + "\n")
            got = features.load(hello(config='{"data": "f.csv"}', folder=self.folder))
            self.assertTrue(all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(got, want, strict=True)))
        self.assertEqual(features.public(os.path.join(self.folder, "f.csv")), {})
        for want, text in (("has columns x, want y", "x\n1\n"), ("lines 2 to 3 a value of x is no", "y,a\n1,2\n1,\n")):
            with open(os.path.join(self.folder, "f.csv"), "w") as f:
                f.write(text)
            with self.assertRaisesRegex(Unsuitable, want):
                features.load(hello(config='{"data": "f.csv"}', folder=self.folder))

    def test_rows_that_are_only_predicted_need_no_label(self):
        for x in self.x[:1], self.x[:300]:
            h = self.save(x=x)
            h.predicting = True
            got = features.load(h)
            train, test = iter(got[0]), iter(got[2])
            back = np.array([next(test if t else train) for t in h.tested])
            self.assertTrue(np.array_equal(back, x) and h.labels == [""] * len(x) and min(map(len, got)) > 0)
        with open(os.path.join(self.folder, "f.csv"), "w") as f:
            f.write("a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in self.x[:50]))
        h = hello(config='{"data": "f.csv"}', folder=self.folder)
        with self.assertRaisesRegex(Unsuitable, "has columns a, b, c, want y"):
            features.load(h)
        h.predicting = True
        self.assertEqual(sum(map(len, features.load(h)[::2])), 50)

    def test_wrong_files(self):
        broken = self.x.copy()
        broken[7000, 1] = np.nan
        for want, arrays in (("has arrays x, want x and y", {"x": self.x}),
                             (r"x\[7000\] of .*f.npz has a number that is not finite", {"x": broken, "y": self.y}),
                             ("no objects", {"x": self.x, "y": self.y.astype(object)})):
            with self.assertRaisesRegex(Unsuitable, want):
                features.load(self.save(**arrays))
        path = os.path.join(self.folder, "f.npz")
        with open(path, "wb") as f:
            f.write(b"text")
        with self.assertRaisesRegex(Unsuitable, "f.npz is no npz file"):
            features.load(hello(config='{"data": "f.npz"}', folder=self.folder))

    def test_a_head_has_the_public_statistics_and_the_classes_of_the_chain(self):
        h = self.save(x=self.x, y=self.y, centre=np.array([1.0, 2, 3]), scale=np.array([1.0, 0, 2]))
        h.adapt = ""
        s = make(h, build)
        self.assertEqual(s.arrays["scale"].tolist(), [1, 1, 2])
        self.assertEqual({t["name"]: (t["shape"], t["init"]) for t in s.tensors()}, {"output.weight": ([4, 4], "zeros")})
        self.assertAlmostEqual(s.module.norm, 1.09 ** 0.5)
        s.trial()
        x = (torch.tensor(self.x[:4]) - torch.tensor([1.0, 2, 3])) / torch.tensor([1.0, 1, 2])
        want = torch.cat([x / x.norm(dim=1, keepdim=True), torch.full((4, 1), heads.CONSTANT)], 1)
        got = s.call({"output.weight": torch.eye(4)}, torch.tensor(self.x[:4]))
        self.assertTrue(torch.allclose(got, want, atol=1e-6))
        h = self.save(x=self.x, y=self.y % 2)
        h.tensors, h.dimension = s.tensors(), 16
        self.assertEqual(make(h, build).shapes, {"output.weight": (4, 4)})


if __name__ == "__main__":
    unittest.main()

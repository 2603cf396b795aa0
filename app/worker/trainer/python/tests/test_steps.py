"""The bound on the learning rate of a module."""
import json
import time
import unittest

from tests import has, hello

if has("torch"):
    import numpy as np
    import torch
    from torch import nn

    from spdl_trainer import data, steps
    from spdl_trainer.pytorch import ModuleStudy

    def network(inputs, hidden, activation=None, classes=10):
        return nn.Sequential(nn.Flatten(), nn.Linear(inputs, hidden), activation or nn.ReLU(), nn.Linear(hidden, classes))

    class Times(nn.Module):
        """Outputs that are four times as large."""

        def forward(self, x):
            return 4 * x

TABLE = {"label": "ill", "classes": ["no", "yes"], "columns": [
    {"name": "a", "low": -4, "high": 12, "typical": 6}, {"name": "k", "values": ["p", "q"], "shares": [0.9, 0.1]}]}


@unittest.skipUnless(has("torch"), "no PyTorch: on Debian, apt-get install python3-torch")
class TestSteps(unittest.TestCase):
    def study(self, module, x, config=""):
        h = hello(config=config)
        y = np.zeros(len(x), np.int64)
        study = ModuleStudy(h, module, (x, y, x, y))
        h.tensors = study.tensors()
        h.dimension = sum(int(np.prod(t["shape"])) for t in h.tensors)
        return study

    def test_pace(self):
        """A slow forward costs a step for each block of rows, and needs patience; a fast one needs none."""
        class Slow(nn.Linear):
            def forward(self, x):
                time.sleep(0.3)
                return super().forward(x)
        x = np.zeros((300, 4), "float32")
        told, slow, patience = steps.pace(self.study(nn.Linear(4, 2), x), 4, 0)
        self.assertRegex(told, "^a gradient of 32 rows took .* over 75 rows, takes about ")
        self.assertEqual((slow, patience), ("", ""))
        told = steps.pace(self.study(Slow(4, 2), x), 1, 0)[0]
        self.assertIn("over 300 rows", told)
        self.assertGreater(float(told.split()[-2]), 0.8, "three blocks")
        told, slow, patience = steps.pace(self.study(Slow(4, 2), x), 1, 200)
        self.assertIn("over 200 rows", told)
        self.assertIn("net.toml has patience = " + patience, slow)
        self.assertRegex(patience, r"^[0-9]*[13579]s$")

    def images(self, side, scale=1):
        return np.random.default_rng(1).normal(scale=scale, size=(8, 1, side, side)).astype("float32")

    def test_a_hidden_layer_on_many_inputs_takes_shorter_steps(self):
        found = {(side, hidden): steps.longest(self.study(network(side * side, hidden), self.images(side)))
                 for side, hidden in ((28, 32), (56, 32), (6, 32))}
        self.assertTrue(0.7 < found[28, 32] < 1.3, found)  # docs/LAB.md: 0.5 to 1 are best, and 2 destroys it
        self.assertTrue(0.35 < found[56, 32] < 0.7, found)
        self.assertEqual(found[6, 32], 0)

    def test_an_output_layer_has_no_bound(self):
        body = nn.Sequential(nn.Flatten(), nn.Linear(784, 32).requires_grad_(False), nn.ReLU())
        for module in (nn.Sequential(nn.Flatten(), nn.Linear(784, 10)), nn.Sequential(body, nn.Linear(32, 10))):
            study = self.study(module, self.images(28))
            study.hello.begins = None
            self.assertEqual(steps.curvature(study), 0)

    def test_rows_of_members_do_not_count(self):
        first, again, others = (steps.longest(self.study(network(784, 32), x)) for x in (
            self.images(28), self.images(28), 100 * self.images(28, 3)[:5]))
        self.assertEqual((first, first), (again, others))

    def test_a_table_gives_its_rows(self):
        for centred in (False, True):
            x = data.made(TABLE, centred, 500)
            study = self.study(network(x.shape[1], 4, classes=2), x, json.dumps({"table": TABLE, "centred": centred}))
            np.testing.assert_array_equal(steps.rows(study, 500), x)
            middle = x[:, 0].mean() if not centred else x[:, 0].mean() + 0.25
            self.assertAlmostEqual(middle, 0, delta=0.1)  # -4 is -1, and 12 is 1
            self.assertEqual(np.ptp(x[:, 0]).round(1), 2)
            self.assertAlmostEqual((x[:, 1] > x[:, 1].mean()).mean(), 0.9, delta=0.05)

    def test_the_norm_of_gradients_at_the_start(self):
        rare = dict(TABLE, rate=0.1)
        x = data.made(rare, True, 32)
        self.assertEqual(x.shape[1], 4)
        self.assertAlmostEqual(data.labels(rare, 2000).mean(), 0.1, delta=0.03)
        self.assertAlmostEqual(data.labels(TABLE, 2000).mean(), 0.5, delta=0.05)

        def norm(module, table=rare, rows=x):
            config = json.dumps({"table": table, "centred": True}) if table else ""
            return steps.norm(self.study(module, rows, config))

        class Constant(nn.Module):  # its gradients are known: their outputs are log odds of a tenth, but for 1e-9 of w
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.rand(2, 4))

            def forward(self, x):
                return 1e-9 * (x @ self.w.T) + torch.tensor([0, -2.1972246])
        want = 2 ** 0.5 * abs(0.1 - data.labels(rare, 32)) * np.linalg.norm(x, axis=1)
        self.assertAlmostEqual(norm(Constant()) / 1e-9, np.sort(want)[15], delta=0.002)
        plain, scaled = norm(network(4, 8, nn.Tanh(), 2)), norm(nn.Sequential(network(4, 8, nn.Tanh(), 2), Times()))
        self.assertTrue(0.8 < plain < 3, plain)
        self.assertTrue(2 * plain < scaled < 8 * plain, (plain, scaled))
        self.assertEqual(plain, norm(network(4, 8, nn.Tanh(), 2), rows=9 * x[:5]), "no member's rows count")
        self.assertEqual(norm(network(4, 8, nn.Tanh(), 2), table=None), 0)

    def test_layers_that_are_not_dense_have_no_bound(self):
        words = nn.Sequential(nn.Embedding(7, 5), nn.Flatten(), nn.Linear(15, 2))
        windows = nn.Sequential(nn.Conv2d(1, 4, 5), nn.ReLU(), nn.Flatten(), nn.Linear(2304, 8), nn.ReLU(),
                                nn.Linear(8, 10))
        for module, x in ((words, np.zeros((8, 3), np.int64)), (windows, self.images(28))):
            self.assertEqual(steps.curvature(self.study(module, x)), 0)

    def test_a_module_that_takes_no_such_rows_has_no_bound(self):
        class Root(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = network(784, 32)

            def forward(self, x):
                if bool((x < 0).any()):
                    raise ValueError("a negative pixel")
                return self.net(x)
        self.assertEqual(steps.longest(self.study(Root(), self.images(28) ** 2)), 0)
        bad = network(784, 32)
        bad.insert(0, nn.ReLU())
        study = self.study(bad, self.images(28))
        study.call = lambda w, x: torch.full((len(x), 10), float("nan"))
        self.assertEqual(steps.longest(study), 0)


if __name__ == "__main__":
    unittest.main()

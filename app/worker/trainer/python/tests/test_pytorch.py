"""PyTorch modules."""
import array
import io
import json
import os
import re
import sys
import tempfile
import unittest

from tests import has, hello

if has("torch"):
    import numpy as np
    import torch
    from torch import nn

    from spdl_trainer import Unsuitable, classes, data, make, probabilities, pytorch, rebuild, weights
    from spdl_trainer.examine import examine, initial
    from spdl_trainer.predict_rows import predict
    from spdl_trainer.pytorch import ModuleStudy

    class Own(nn.Module):
        """A module of a parameter and a function."""

        def __init__(self, p, forward=None):
            super().__init__()
            self.p, self.by = p, forward
            self.last = nn.Linear(4, 3)

        def forward(self, x):
            return self.last(self.by(self, x))

    def network():
        return nn.Sequential(nn.Linear(4, 5), nn.GroupNorm(1, 5, affine=False), nn.Tanh(), nn.Linear(5, 3))

    def own(hello, data):
        """For a table: a frozen scale, a buffer, and a layer whose inputs are those of the data."""
        module = nn.Sequential(nn.Linear(data[0].shape[1], data[0].shape[1], bias=False), nn.BatchNorm1d(
            data[0].shape[1], affine=False).eval(), nn.Linear(data[0].shape[1], 2))
        module[0].requires_grad_(False)
        return module

    def study(module, **other):
        torch.manual_seed(4)
        data = torch.randn(20, 4), torch.arange(20) % 3, torch.randn(6, 4), torch.arange(6) % 3
        h = hello(**other)
        s = ModuleStudy(h, module, data)
        h.tensors = s.tensors()
        h.dimension = sum(p.numel() for p in module.parameters())
        return s


@unittest.skipUnless(has("torch"), "no PyTorch: on Debian, apt-get install python3-torch")
class TestPyTorch(unittest.TestCase):
    def test_an_export_is_the_module_again(self):
        table = {"label": "y", "classes": ["no", "yes"], "columns": [{"name": n, "low": 0, "high": 1} for n in "ab"]}
        constant = {"0.weight": torch.randn(3, 3).numpy(), "1.running_mean": torch.randn(3).numpy(),
                    "1.running_var": torch.rand(3).numpy(), "1.num_batches_tracked": torch.tensor(0).numpy()}
        with tempfile.TemporaryDirectory() as folder:
            config = {"table": table, "centred": True, "weights": weights.write(folder, constant)}
            model, path = os.path.join(folder, "m.safetensors"), os.path.join(folder, "rows.csv")
            w, b = torch.randn(2, 3), torch.randn(2)

            def export(w, **other):
                tensors = [{"name": "2.weight", "shape": list(w.shape)}, {"name": "2.bias", "shape": [2]}]
                card = json.dumps({"model": {"kind": "external", "config": json.dumps(config), "tensors": tensors,
                                             **other}})
                encoded = weights.encode({"2.weight": w.double().numpy(), "2.bias": b.double().numpy()})
                size = int.from_bytes(encoded[:8], "little")
                header = json.dumps({**json.loads(encoded[8:8 + size]), "__metadata__": {"card": card}}).encode()
                with open(model, "wb") as f:
                    f.write(len(header).to_bytes(8, "little") + header + encoded[8 + size:])
            export(w)
            with open(path, "w") as f:
                f.write("a,b,y\n" + "".join("%g,%g,no\n" % (i / 40, i / 50) for i in range(40)))
            here, sys.modules[__name__].__file__ = __file__, os.path.join(folder, "my.py")
            try:
                for data in ("", path):
                    state = rebuild(own, model, data).state_dict()
                    for name, a in {**constant, "2.weight": w, "2.bias": b}.items():
                        self.assertTrue(torch.equal(state[name], torch.as_tensor(a)), name)
                self.predicts(model, path, dict(config, table=table))
                export(torch.randn(2, 4))
                with self.assertRaisesRegex(Unsuitable, r"is not of this module: tensor 2.weight has shape \[2, 3\]"):
                    rebuild(own, model)
                export(w, kind="logistic")
                with self.assertRaisesRegex(Unsuitable, "of kind logistic and of no study"):
                    rebuild(own, model)
            finally:
                sys.modules[__name__].__file__ = here

    def predicts(self, model, path, config):
        """A frame, its inputs and a file get the same probabilities."""
        class Frame:  # as a DataFrame of pandas
            columns = ["y", "b", "a"]

            def to_dict(self, kind):
                return [{"y": 0, "a": i / 40, "b": "%g" % (i / 50)} for i in range(40)]
        got, out = probabilities(own, model, Frame()), io.StringIO()

        def here(h):
            h._folder = os.path.dirname(model)  # that of the main program otherwise
            return make(h, own)
        predict(here, model, path, out)
        said = np.array([[float(p) for p in line.split(",")[2:]] for line in out.getvalue().splitlines()[1:]])
        self.assertTrue(got.shape == (40, 2) and np.allclose(got, said, atol=1e-6))
        x = data.of_records(Frame().to_dict("records"), config["table"], True, True)
        self.assertTrue(np.array_equal(probabilities(own, model, x), got))
        self.assertEqual(probabilities(own, model, x[:0]).shape, (0, 2))
        with self.assertRaisesRegex(Unsuitable, "want a DataFrame or inputs: python3 train.py predict takes a file"):
            probabilities(own, model, path)
        row = Frame().to_dict("records")[1]

        class Series:  # as a row of a DataFrame
            def to_dict(self):
                return row
        for one in (row, Series(), [row]):
            self.assertTrue(np.array_equal(probabilities(own, model, one), got[1:2]))
        self.assertEqual(probabilities(own, model, []).shape, (0, 2))
        with self.assertRaisesRegex(ValueError, "row 0, from 0: no column b, there are a"):
            probabilities(own, model, {"a": 0})
        self.assertEqual(classes(model), ["no", "yes"])

        class Bare:  # a DataFrame without columns and rows
            columns = []

            def to_dict(self, kind):
                return []
        with self.assertRaisesRegex(ValueError, "^no column a, b, there are none$"):
            probabilities(own, model, Bare())
        nan = x.copy()
        nan[3, 1] = np.nan
        for wrong, says in ((None, "rows is None, want a DataFrame"), (7, "rows has shape [], want rows"),
                            ([None], "rows is of type object, want numbers"), (nan, "rows[3, 1] is nan, want a finite"),
                            (x[:, :2], "rows has shape [40, 2], want [40, 3], the inputs of the schema's columns")):
            with self.assertRaisesRegex(Unsuitable, re.escape(says)):
                probabilities(own, model, wrong)
        with self.assertRaisesRegex(Unsuitable, r"the module takes no rows of shape \[5\], of torch.float32: mat1 and"):
            pytorch.predicted(nn.Linear(3, 2), np.zeros((4, 5), "float32"))
        for wrong, says in ((None, "model is None, want the path"), (path, "has no card: want a file of spdl model export")):
            with self.assertRaisesRegex(Unsuitable, says):
                probabilities(own, wrong, x)
        with self.assertRaisesRegex(Unsuitable, "build is None, want the function that --module names"):
            probabilities(None, model, x)

    def test_rows_are_the_gradients_of_each_example(self):
        module = network()
        s = study(module)
        s.trial()
        flat = torch.cat([p.detach().flatten() for p in module.parameters()])
        parameters = array.array("d", flat.tolist())
        rows = s.gradients(parameters, [3, 11, 0])
        for row, i in zip(rows, [3, 11, 0]):
            module.zero_grad()
            nn.functional.cross_entropy(module(s.x[i:i + 1]), s.y[i:i + 1]).backward()
            want = torch.cat([p.grad.flatten() for p in module.parameters()])
            self.assertTrue(torch.allclose(row, want, atol=1e-6))
        self.assertAlmostEqual(float(s.clipped_sum(parameters, [3], 0.1).norm()), 0.1, places=5)
        self.assertTrue(torch.allclose(s.clipped_sum(parameters, [3, 11, 0], 0).float(), rows.sum(0), atol=1e-6))
        loss, accuracy, n = s.evaluate(parameters)
        self.assertAlmostEqual(loss, float(nn.functional.cross_entropy(module(s.x_test), s.y_test)), places=5)
        self.assertEqual((n, 0 <= accuracy <= 1), (6, True))
        want = module(s.x).softmax(1).double()
        self.assertTrue(torch.allclose(s.probabilities(parameters, s.x), want, atol=1e-6))
        s.call = lambda w, x: x[:, :1]
        with self.assertRaisesRegex(Unsuitable, r"outputs of shape \[1\], want one for each class"):
            s.probabilities(parameters, s.x)

    def test_a_group_is_its_mean_clipped_once(self):
        s = study(network())
        parameters = array.array("d", torch.randn(s.hello.dimension, dtype=torch.float64).tolist())
        rows, groups = s.gradients(parameters, list(range(20))).double(), [[0, 1, 2], [19], [4] * 300, [5, 6]]
        for clip in (0, 0.3, 100):
            want = torch.zeros(s.hello.dimension, dtype=torch.float64)
            for g in groups:
                one = rows[g].mean(0)
                want += one * min(1.0, clip / float(one.norm())) if clip else one
            self.assertTrue(torch.allclose(s.clipped_group_sum(parameters, groups, clip), want, rtol=1e-4, atol=1e-5))
        data = torch.randn(6, 4), torch.arange(6) % 3, torch.randn(3, 4), torch.arange(3), list("aabbbc")
        self.assertEqual(ModuleStudy(hello(), network(), data).groups, list("aabbbc"))

    def test_parts_are_of_one_data_set(self):
        parts = [study(network(), part=i, parts=3) for i in range(3)]
        self.assertEqual(sorted(float(v) for p in parts for v in p.x[:, 0]),
                         sorted(float(v) for v in study(network()).x[:, 0]))

    def test_initial_values_follow_the_activations(self):
        x = torch.zeros(1, 4)
        self.assertEqual(study(network()).tensors()[:2], [{"name": "0.weight", "shape": [5, 4], "init": "glorot"},
                                                          {"name": "0.bias", "shape": [5], "init": "zeros"}])
        own = Own(nn.Parameter(torch.zeros(4)), lambda m, x: nn.functional.relu(x + m.p))
        self.assertEqual(initial(own, x), {"p": "zeros", "last.weight": "normal", "last.bias": "zeros"})

    def test_reasons(self):
        linear = nn.Linear(4, 4)
        for want, module in (
                ('layer "1" .BatchNorm1d.: batch normalisation mixes examples: use GroupNorm',
                 nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))),
                ('layer "1" .BatchNorm1d.: batch normalisation mixes examples: .* eval',
                 nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4).requires_grad_(False))),
                ('layer "0" .InstanceNorm1d.: training changes its buffers', nn.Sequential(
                    nn.InstanceNorm1d(4, track_running_stats=True), linear)),
                ('layer "1" .Dropout.: dropout is random', nn.Sequential(linear, nn.Dropout(0.1))),
                ("tensors 0.weight and 1.weight are one", nn.Sequential(linear, linear.__class__(4, 4))),
                ("tensor 0.weight has no shape before the first batch", nn.Sequential(nn.LazyLinear(3))),
                ("no parameters that are trained", nn.Linear(4, 4).requires_grad_(False)),
                ("tensor p is of type float16", Own(nn.Parameter(torch.zeros(4, dtype=torch.float16)))),
                ("tensor p has no dimension", Own(nn.Parameter(torch.tensor(0.5)))),
                ("no parameters", nn.Tanh())):
            if want.startswith("tensors"):
                module[1].weight = module[0].weight
            with self.assertRaisesRegex(Unsuitable, want):
                examine(module)
        six = nn.Sequential(*[nn.BatchNorm1d(4) for _ in range(7)])
        with self.assertRaisesRegex(Unsuitable, "and 2 more reasons"):
            examine(six)
        examine(nn.Sequential(linear, nn.Dropout(0), nn.InstanceNorm1d(4)))
        examine(nn.Sequential(linear, nn.Dropout(0.1), nn.BatchNorm1d(4)).eval())
        without = nn.BatchNorm1d(4, track_running_stats=False)  # takes the statistics of the batch all the same
        with self.assertRaisesRegex(Unsuitable, "batch normalisation mixes examples.*call eval"):
            examine(nn.Sequential(linear, without).eval())

    def test_trials(self):
        zeros = nn.Parameter(torch.zeros(4))

        def count(m, x):
            m.count += 1
            return x + m.p
        counting = Own(zeros, count)
        counting.register_buffer("count", torch.zeros(1))
        for want, module in (
                ("the output for an example depends on the others", Own(zeros, lambda m, x: x - x.mean(0) + m.p)),
                ("draws at random", Own(zeros, lambda m, x: nn.functional.dropout(x, 0.5) + m.p)),
                ("training changes buffer count", counting),
                ("no gradient of each example .*item", Own(zeros, lambda m, x: x + m.p * x.sum().item())),
                ("the module as a function of its tensors gives other outputs than the module", Own(
                    zeros, lambda m, x: x + m.p + m._buffers.get("b", 0))),
                (r'fails on a batch of shape \(1, 4\) .*at layer "0": RuntimeError', nn.Sequential(nn.Linear(5, 3))),
                (r"y\[2\] is no label from 0 to 1, as the module has 2 outputs", nn.Sequential(nn.Linear(4, 2))),
                (r"gives outputs of shape \(1, 1, 4\) for inputs of shape \(1, 4\), want \(1, classes\)",
                 nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Linear(4, 4))),
                ("the output of the module for example 0 is nan, want finite numbers",
                 Own(zeros, lambda m, x: x.abs().neg().log() + m.p)),
                ("forward returns a tuple", Pair())):
            if "function of its tensors" in want:
                module.register_buffer("b", torch.ones(4))
            with self.subTest(want), self.assertRaisesRegex(Unsuitable, want):
                study(module).trial()

    def test_a_softmax_at_the_end_is_a_warning(self):
        for last, many in ((nn.Softmax(1), 1), (nn.LogSoftmax(1), 0), (nn.Sigmoid(), 0), (nn.Identity(), 0)):
            s = study(nn.Sequential(network(), last))
            self.assertEqual(len(s.warnings), many, last)
        self.assertIn("cross-entropy wants logits", study(nn.Sequential(network(), nn.Softmax(1))).warnings[0])

    def test_data_are_checked_before_the_module_is_tried(self):
        x, y = torch.randn(20, 4), torch.arange(20) % 3
        of_nan, negative = x.clone(), y.clone()
        of_nan[7, 2], negative[5] = float("nan"), -1
        for want, data in (
                ("x is of type int64, which an embedding takes and layers of weights do not", (x.long(), y, x, y)),
                (r"the data: x\[7, 2\] is nan", (of_nan, y, x, y)),
                (r"y\[5\] is no label from 0 to 2, as the module has 3 outputs", (x, negative, x, y)),
                (r"y_test\[5\] is no label", (x, y, x, negative)),
                (r"a row of x_test has shape \[2\], want \[4\]", (x, y, x[:, :2], y)),
                (r"y is of type float32", (x, y.float(), x, y))):
            with self.subTest(want), self.assertRaisesRegex(Unsuitable, want):
                ModuleStudy(hello(), network(), data)

    def test_labels_of_few_bits_and_groups_as_tensors(self):
        x, y = torch.randn(20, 4), (torch.arange(20) % 3).to(torch.int32)
        s = ModuleStudy(hello(), network(), (x, y, x, y, torch.arange(20) // 4))
        s.hello.tensors = s.tensors()
        s.hello.dimension = sum(p.numel() for p in s.module.parameters())
        s.trial()
        self.assertEqual(len(set(s.groups)), 5)
        self.assertEqual(s.evaluate(array.array("d", [0.0] * s.hello.dimension))[2], 20)

    def test_a_constant_buffer_is_no_reason(self):
        module = Own(nn.Parameter(torch.zeros(4)), lambda m, x: (x + m.p) * m.scale)
        module.register_buffer("scale", torch.full((4,), 2.0))
        study(module).trial()

    def test_float64(self):
        s = study(network().double())
        s.trial()
        self.assertEqual(s.weights(array.array("d", [0.0] * s.hello.dimension))["0.bias"].dtype, torch.float64)


if has("torch"):
    class Pair(nn.Module):
        """Returns two tensors."""

        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, x):
            return self.layer(x), x


if __name__ == "__main__":
    unittest.main()

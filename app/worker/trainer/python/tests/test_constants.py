"""Frozen tensors, start values and adapters, from the weights file to the merged model."""
import array
import json
import os
import subprocess
import sys
import tempfile
import unittest

from tests import has, hello

if has("numpy"):
    import numpy as np

    from spdl_trainer import Unsuitable, weights

if has("torch"):
    import torch
    from torch import nn

    from spdl_trainer.adapt import begin
    from spdl_trainer.pytorch import ModuleStudy

    class Attention(nn.Module):
        """A pretrained layer of a transformer, with a new head."""

        def __init__(self):
            super().__init__()
            with torch.random.fork_rng():
                torch.manual_seed(1)
                self.body = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            return self.head(self.body(x).mean(1))

    def attention():
        return Attention().eval()

    def convolution():
        """A frozen backbone with batch normalisation, and a new head."""
        with torch.random.fork_rng():
            torch.manual_seed(2)
            body = nn.Sequential(nn.Conv1d(5, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten())
        body[1].running_mean += 0.3
        return nn.Sequential(body.requires_grad_(False), nn.Linear(24, 3)).eval()

    def normalised():
        return nn.Sequential(nn.Flatten(), nn.Linear(40, 8), nn.LayerNorm(8), nn.Linear(8, 3))

    class Reused(nn.Module):
        """Takes a weight by a linear map, and its entries by themselves."""

        def __init__(self):
            super().__init__()
            with torch.random.fork_rng():
                torch.manual_seed(3)
                self.body = nn.Linear(8, 8)
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            return self.head(self.body(x).mean(1) + self.body.weight.sum(0))

    def reused():
        return Reused()

    class Writes(nn.Module):
        """Changes its frozen tensor after a few calls."""

        def __init__(self):
            super().__init__()
            self.frozen, self.last, self.calls = nn.Parameter(torch.ones(1), requires_grad=False), nn.Linear(40, 3), 0

        def forward(self, x):
            self.calls += 1
            if self.calls > 30:
                self.frozen.data += 0.5
            return self.last(x.flatten(1) * self.frozen)


def data():
    with torch.random.fork_rng():
        torch.manual_seed(4)
        return torch.randn(20, 5, 8), torch.arange(20) % 3, torch.randn(6, 5, 8), torch.arange(6) % 3


def made(build, adapt="", folder=None):
    """The study as it is made, and as a trainer of its chain starts it, with the weights file between them."""
    h = hello()
    h.begins = lambda module: begin(module, build(), adapt)
    first = ModuleStudy(h, build(), data())
    h.tensors = first.tensors()
    first.trial()
    config = {"weights": weights.write(folder, first.arrays)} if first.arrays else {}
    if adapt:
        config["adapt"] = adapt
    again = hello(h.tensors, config=json.dumps(config), folder=folder)
    return first, ModuleStudy(again, build(), data())


@unittest.skipUnless(has("torch"), "no PyTorch: on Debian, apt-get install python3-torch")
class TestConstants(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def vector(self, s):
        random = np.random.default_rng(3)
        return array.array("d", (0.1 * random.standard_normal(s.hello.dimension)).tolist())

    def test_a_frozen_backbone_is_constant(self):
        first, s = made(convolution, folder=self.folder)
        self.assertEqual(s.shapes, {"1.weight": (3, 24), "1.bias": (3,)})
        self.assertEqual([t["init"] for t in s.hello.tensors], ["normal", "zeros"])
        self.assertIn("trained: 2 tensors, 75 parameters; frozen: 4 tensors, 72 numbers (0.0.weight", s.about)
        s.module[0].requires_grad_(True)  # the gradient of each example is that of autograd
        x = self.vector(s)
        rows = s.gradients(x, [3, 0])
        for row, i in zip(rows, [3, 0]):
            w = s.hello.unpack(torch.tensor(x))
            with torch.no_grad():
                s.module[1].weight.copy_(w["1.weight"]), s.module[1].bias.copy_(w["1.bias"])
            s.module.zero_grad()
            nn.functional.cross_entropy(s.module(s.x[i:i + 1]), s.y[i:i + 1]).backward()
            want = torch.cat([s.module[1].weight.grad.flatten(), s.module[1].bias.grad])
            self.assertTrue(torch.allclose(row, want, atol=1e-6))
        self.assertEqual(first.arrays["0.1.running_mean"][0], np.float32(0.3))

    def test_start_values_are_those_of_build(self):
        _, s = made(normalised, folder=self.folder)
        self.assertEqual({t["name"]: t["init"] for t in s.hello.tensors},
                         {"1.weight": "glorot", "1.bias": "zeros", "2.weight": "zeros", "2.bias": "zeros",
                          "3.weight": "glorot", "3.bias": "zeros"})
        w = s.weights(array.array("d", [0.25] * s.hello.dimension))
        self.assertEqual((float(w["2.weight"][0]), float(w["3.weight"][0, 0])), (1.25, 0.25))

    def test_adapters(self):
        for adapt, trained in (("lora:rank=2", 8), ("bias", 8)):
            with self.subTest(adapt):
                first, s = made(attention, adapt, self.folder)
                zeros = array.array("d", bytes(8 * s.hello.dimension))
                whole = s.constants.whole(s.weights(zeros))
                for name, a in attention().named_parameters():
                    if not name.startswith("head"):  # at zeros it is the pretrained module
                        self.assertTrue(torch.equal(whole[name], a), name)
                self.assertEqual([n for n in s.shapes if n.startswith("head")], ["head.weight", "head.bias"])
                self.assertGreater(len(s.shapes), trained - 1)
                for name, part in s.hello.unpack(s.gradients(self.vector(s), [1])[0]).items():
                    self.assertGreater(float(part.norm()), 0, name)
                self.assertEqual(set(first.arrays) & {"head.weight"}, set())
        self.assertIn("body.self_attn.in_proj_bias", s.shapes)

    def test_blocks_are_bounded_by_what_one_example_takes(self):
        _, s = made(attention, "lora:rank=2", self.folder)
        self.assertTrue(s.constants.direct)
        self.assertGreater(s.kept, 4 * 5 * 8 * 8, "the activations of frozen layers count")
        self.assertEqual(s.each, s.kept + 4 * s.hello.dimension)
        self.assertFalse(s.module.body.linear1.weight.requires_grad)

    def test_products_are_beside_weights_that_linear_maps_alone_take(self):
        _, s = made(reused, "lora:rank=2", self.folder)
        self.assertFalse(s.constants.direct)
        self.assertEqual(s.each, s.kept + 4 * (s.hello.dimension + 8 * 8))
        _, s = made(attention, "lora:rank=2", self.folder)
        beside = s.gradients(self.vector(s), [5, 1])
        s.constants.direct = False
        self.assertTrue(torch.allclose(beside, s.gradients(self.vector(s), [5, 1]), atol=1e-6))

    def test_low_rank_gradients_are_those_of_autograd(self):
        _, s = made(attention, "lora:rank=2", self.folder)
        x = self.vector(s)
        row = s.gradients(x, [5])[0]
        w = {n: t.clone().requires_grad_(True) for n, t in s.weights(x).items()}
        out = s.call(s.constants.whole(w), s.x[5:6])
        nn.functional.cross_entropy(out, s.y[5:6]).backward()
        want = torch.cat([w[t["name"]].grad.flatten() for t in s.hello.tensors])
        self.assertTrue(torch.allclose(row, want, atol=1e-6))

    def test_a_constant_that_changes_ends_the_trainer(self):
        s = made(Writes, folder=self.folder)[1]
        with self.assertRaisesRegex(Unsuitable, "training changes tensor frozen, which is a constant of this chain"):
            for _ in range(40):
                s.evaluate(self.vector(s))

    def test_wrong_files(self):
        first, s = made(convolution, folder=self.folder)
        path = os.path.join(self.folder, weights.NAME)
        config = {"weights": {"file": weights.NAME, "sha256": "ab" * 32}}
        real = weights.write(self.folder, first.arrays)

        def start(config, build=convolution):
            ModuleStudy(hello(s.hello.tensors, config=json.dumps(config), folder=self.folder), build(), data())
        says = "%s has SHA-256 %s, and model.config names abab" % (path, real["sha256"])
        with self.assertRaisesRegex(Unsuitable, says):
            start(config)
        with self.assertRaisesRegex(Unsuitable, "tensor 0.0.weight is frozen, and model.config names no weights file"):
            start({})
        with self.assertRaisesRegex(Unsuitable, "weights of model.config is 'x', want"):
            start({"weights": "x"})
        says = "tensor 0.* of the weights file has shape .*, and in the module there is none"
        with self.assertRaisesRegex(Unsuitable, says):
            start({"weights": real}, normalised)
        os.rename(path, path + "~")
        with self.assertRaisesRegex(Unsuitable, "%s cannot be read .*with SHA-256 abab.*put it there" % path):
            start(config)

    def test_adapt_refuses(self):
        for adapt, build, want in (("lora:rank=0", attention, "want bias or lora:rank=4"),
                                   ("lora:rank=2", lambda: nn.Conv1d(5, 3, 8), "the module has no frozen nn.Linear"),
                                   ("bias", lambda: nn.Linear(4, 3, bias=False), "the module has no frozen bias")):
            with self.assertRaisesRegex(Unsuitable, want):
                begin(build(), build(), adapt)

    def test_the_merged_model_loads(self):
        _, s = made(attention, "lora:rank=2", self.folder)
        vector = self.vector(s)
        x = {n: t.numpy() for n, t in s.hello.unpack(torch.tensor(vector)).items()}
        model, out = (os.path.join(self.folder, n) for n in ("model.npz", "merged.safetensors"))
        card = {"model": {"config": json.dumps(s.hello.config)}}
        np.savez(model, card=json.dumps(card), **x)

        def merge(to):
            return subprocess.run([sys.executable, "-B", "-m", "spdl_trainer", "merge", model,
                                   os.path.join(self.folder, weights.NAME), "--out", to], capture_output=True, text=True,
                                  check=False)
        npz, again = (os.path.join(self.folder, n) for n in ("merged.npz", "again.safetensors"))
        for to in (out, again, npz):
            self.assertEqual(merge(to).returncode, 0)
        with open(out, "rb") as a, open(again, "rb") as b:
            content = a.read()
            self.assertEqual(content, b.read())
        arrays = np.load(npz)
        self.assertEqual(set(arrays), set(attention().state_dict()))
        for name, a in weights.decode(content, out).items():
            self.assertTrue(np.array_equal(arrays[name], a), name)
        says = "--out is %s, want a name that ends in .npz or .safetensors" % (out + "3")
        self.assertIn(says, merge(out + "3").stderr)
        os.remove(again)
        module = attention()
        module.load_state_dict({n: torch.from_numpy(a.copy()) for n, a in weights.decode(content, out).items()})
        with torch.no_grad():
            got, want = module(s.x), s.call(s.constants.whole(s.weights(vector)), s.x)
        self.assertTrue(torch.allclose(got, want, atol=1e-5))
        np.savez(model, card=json.dumps({"model": {"config": ""}}), **x)
        done = merge(again)
        self.assertIn("and the card of %s names no weights file" % model, done.stderr)
        self.assertFalse(os.path.exists(again))

    def test_formats(self):
        arrays = {"a": np.arange(6, dtype="<f4").reshape(2, 3), "n": np.array(3), "b": np.array([True]),
                  "h": np.ones(3, "<f2")}
        back = weights.decode(weights.encode(arrays), "f")
        self.assertTrue(all(np.array_equal(back[n], a) and back[n].dtype == a.dtype for n, a in arrays.items()))
        for bad in (b"", b"PK", weights.encode(arrays)[:-1], b"\xff" * 9):
            with self.assertRaisesRegex(Unsuitable, "f is no npz and no safetensors file"):
                weights.decode(bad, "f")
        text = b'{"x":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}'
        bf16 = weights.decode(len(text).to_bytes(8, "little") + text + b"\xc0\x3f", "f")
        self.assertEqual(float(bf16["x"][0]), 1.5)


if __name__ == "__main__":
    unittest.main()

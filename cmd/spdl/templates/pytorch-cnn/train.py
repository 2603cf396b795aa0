#!/usr/bin/env python3
"""A convolutional network on MNIST in PyTorch 1.13 or later. Put your module into build and your
data into load: functorch computes a gradient for each example."""
import gzip
import os
import struct

import numpy as np
import torch
from torch import nn

try:
    from torch.func import functional_call, grad, vmap

    def functional(module):
        return lambda weights, x: functional_call(module, weights, (x,))
except ImportError:  # before PyTorch 2
    from functorch import grad, make_functional, vmap

    def functional(module):
        names = [name for name, _ in module.named_parameters()]
        call, _ = make_functional(module)
        return lambda weights, x: call([weights[name] for name in names], x)

from spdl_trainer import serve

torch.set_num_threads(1)  # several trainers may share the machine
HERE = os.path.dirname(os.path.abspath(__file__))


def build():
    """The module, whose parameters have the names and shapes of params.json. No batch
    normalisation: it would mix the examples."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3), nn.Tanh(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2), nn.Tanh(), nn.MaxPool2d(2, 1),
        nn.Flatten(), nn.Linear(512, 32), nn.Tanh(), nn.Linear(32, 10))


def idx(name):
    with gzip.open(name) as f:
        magic, n = struct.unpack(">II", f.read(8))
        if magic == 2049:
            return np.frombuffer(f.read(), np.uint8).astype(np.int64)
        rows, cols = struct.unpack(">II", f.read(8))
        pixels = np.frombuffer(f.read(), np.uint8).reshape(n, 1, rows, cols)
        return pixels.astype(np.float32) / 127.5 - 1


def load(folder, which):
    return (torch.from_numpy(idx(os.path.join(folder, which + "-images-idx3-ubyte.gz"))),
            torch.from_numpy(idx(os.path.join(folder, which + "-labels-idx1-ubyte.gz"))))


class Study:
    def __init__(self, hello):
        self.hello = hello
        folder = os.path.join(HERE, hello.share["data"] or hello.config["folder"])
        x, y = load(folder, "train")
        mine = hello.part(len(x))
        self.x, self.y = x[mine], y[mine]
        self.test = load(folder, "t10k")
        self.examples = len(mine)
        self.call = functional(build())

        def loss(weights, x, y):
            return nn.functional.cross_entropy(self.call(weights, x[None]), y[None])
        self.per_example = vmap(grad(loss), in_dims=(None, 0, 0))

    def weights(self, parameters):
        return self.hello.unpack(torch.tensor(np.frombuffer(parameters), dtype=torch.float32))

    def blocks(self, parameters, indices):
        """Rows of up to 128 examples at a time: what bounds the memory."""
        w = self.weights(parameters)
        for at in range(0, len(indices), 128):
            some = indices[at:at + 128]
            g = self.per_example(w, self.x[some], self.y[some])
            yield torch.cat([g[t["name"]].reshape(len(some), -1) for t in self.hello.tensors], 1)

    def gradients(self, parameters, indices):
        return torch.cat(list(self.blocks(parameters, indices)))

    def clipped_sum(self, parameters, indices, clip):
        total = torch.zeros(self.hello.dimension, dtype=torch.float64)
        for rows in self.blocks(parameters, indices):
            scale = (clip * (1 - 1e-6) / rows.norm(dim=1)).clamp(max=1)
            total += (rows * scale[:, None]).sum(0).double()
        return total

    def evaluate(self, parameters):
        x, y = self.test
        with torch.no_grad():
            z = torch.cat([self.call(self.weights(parameters), x[at:at + 500]) for at in range(0, len(x), 500)])
            return nn.functional.cross_entropy(z, y), (z.argmax(1) == y).float().mean(), len(y)


if __name__ == "__main__":
    serve(Study)

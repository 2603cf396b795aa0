#!/usr/bin/env python3
"""A convolutional network on MNIST in PyTorch 1.13 or later. Put your module into build, and your
data in place of images: torch.func computes a gradient for each example."""
from torch import nn

from spdl_trainer import serve
from spdl_trainer.data import images
from spdl_trainer.pytorch import ModuleStudy


def build() -> nn.Module:
    """The module, whose parameters have the names and shapes of params.json. No batch
    normalisation: it would mix the examples."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3), nn.Tanh(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2), nn.Tanh(), nn.MaxPool2d(2, 1),
        nn.Flatten(), nn.Linear(512, 32), nn.Tanh(), nn.Linear(32, 10))


if __name__ == "__main__":
    serve(lambda hello: ModuleStudy(hello, build(), images(hello.data)))

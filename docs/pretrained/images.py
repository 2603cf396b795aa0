"""Features of images by a network that is first trained on public images of another kind, and the statistics of the
public ones. PYTHONPATH names the folder of spdl_trainer.

    python3 images.py DIGITS FASHION features.npz  # two folders of IDX files: public, and private
    spdl new ./study --head linear --features features.npz --python /usr/bin/python3
"""
import sys

import numpy as np
import torch
from torch import nn

from spdl_trainer import data, features

EPOCHS, PUBLIC, ROWS = 2, 60000, 12000


def network(classes):
    """A convolutional body, and a head that is left behind."""
    body = nn.Sequential(nn.Conv2d(1, 32, 5, 2, 2), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(),
                         nn.Conv2d(64, 64, 3, 1, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten())
    return body, nn.Linear(576, classes)


def pretrained(x, y):
    """The body, trained on the public images."""
    torch.manual_seed(1)
    body, head = network(int(y.max()) + 1)
    optimiser = torch.optim.Adam([*body.parameters(), *head.parameters()], 1e-3)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).split(128):
            loss = nn.functional.cross_entropy(head(body(x[rows])), y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return body.eval()


def main(public, private, out):
    x, y = (torch.from_numpy(a[:PUBLIC]) for a in data.images(public)[:2])
    body = pretrained(x, y)

    def of(images):
        with torch.no_grad():
            return torch.cat([body(rows) for rows in torch.as_tensor(images).split(500)]).numpy()
    own_x, own_y, x_test, y_test = data.images(private)[:4]
    np.savez(out, x=of(own_x[:ROWS]), y=own_y[:ROWS], x_test=of(x_test), y_test=y_test,
             **features.whitened(of(x[:6000])))


if __name__ == "__main__":
    main(*sys.argv[1:])

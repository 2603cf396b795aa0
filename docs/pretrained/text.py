"""A small transformer on text that this file makes: pretrained on public sentences about TOPICS topics, then tuned by
low-rank products on private sentences of another task: in which half of the list of topics each of the two is.

    python3 text.py                                # pretrains on this machine, and writes body.pt
    spdl new ./study --module text.py:build --adapt lora:rank=4 --python /usr/bin/python3
"""
import os

import torch
from torch import nn

LAYERS, WIDTH, HEADS = 4, 336, 8  # 5.6 million parameters
STEPS, ROWS = 200, 4000
WORDS, TOPICS, LENGTH, CLASSES = 512, 16, 12, 4
BODY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "body.pt")


def sentences(n, seed):
    """Sentences of LENGTH words, and the topics of their two halves. A word belongs to the topic word % TOPICS, and two
    words of three are of their half's topic."""
    g = torch.Generator().manual_seed(seed)
    topics = torch.randint(TOPICS, (n, 2), generator=g)
    of_half = topics.repeat_interleave(LENGTH // 2, 1)
    drawn = torch.randint(TOPICS, (n, LENGTH), generator=g)
    topic = torch.where(torch.rand(n, LENGTH, generator=g) < 2 / 3, of_half, drawn)
    return topic + TOPICS * torch.randint(WORDS // TOPICS, (n, LENGTH), generator=g), topics


class Body(nn.Module):
    """A vector for each sentence."""

    def __init__(self):
        super().__init__()
        self.words, self.place = nn.Embedding(WORDS, WIDTH), nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0, batch_first=True,
                                                               norm_first=True) for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDTH)

    def forward(self, x):
        z = self.words(x) + self.place
        for layer in self.layers:
            z = layer(z)
        return self.last(z.mean(1))


class Model(nn.Module):
    """A body and a head, which tells which of CLASSES the sentence is of."""

    def __init__(self, classes):
        super().__init__()
        self.body, self.head = Body(), nn.Linear(WIDTH, classes)

    def forward(self, x):
        return self.head(self.body(x))


def build():
    """The pretrained body and a new head. A trainer has the body from the weights file instead of BODY."""
    model = Model(CLASSES)
    if os.path.exists(BODY):
        model.body.load_state_dict(torch.load(BODY))
    return model.eval()


def fresh():
    """The same module, from nothing."""
    return Model(CLASSES).eval()


def load(_):
    """The private sentences."""
    (x, topics), (x_test, other) = sentences(ROWS, 7), sentences(1000, 8)
    return x, label(topics), x_test, label(other)


def label(topics):
    return (topics // (TOPICS // 2) * torch.tensor([2, 1])).sum(1)


def pretrain():
    """Trains the body to name the topic of the first half and of the second."""
    torch.manual_seed(1)
    model = Model(2 * TOPICS)
    optimiser = torch.optim.Adam(model.parameters(), 3e-4)
    for step in range(STEPS):
        x, topics = sentences(64, 1000 + step)
        z = model(x).reshape(-1, 2, TOPICS)
        loss = sum(nn.functional.cross_entropy(z[:, half], topics[:, half]) for half in (0, 1))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 20 == 0:
            print(step, "loss %.3f" % float(loss), flush=True)
    torch.save(model.body.state_dict(), BODY)


if __name__ == "__main__":
    pretrain()

"""A head for features that were computed elsewhere: an npz file (docs/MODELS.md)."""
from spdl_trainer import features, heads

load = features.load


def build(hello, data):
    return heads.build(hello, data, hidden=HIDDEN)

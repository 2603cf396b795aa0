"""How a pretrained module begins: which of its values a study keeps as constants, and what is trained."""
from __future__ import annotations

import re
from typing import List, Optional, Tuple

import numpy as np
from torch import nn

from .tensors import Unsuitable
from .weights import LORA_A, Arrays


def parsed(adapt: str) -> Tuple[bool, int]:
    """Whether biases are trained, and the rank of low-rank products, of "bias" or "lora:rank=4"."""
    rank = re.fullmatch(r"lora:rank=([1-9][0-9]{0,3})", adapt)
    if not rank and adapt not in ("", "bias"):
        raise Unsuitable('--adapt is "%s", want bias or lora:rank=4' % adapt)
    return adapt == "bias", int(rank[1]) if rank else 0


def begin(module: nn.Module, again: nn.Module, adapt: str) -> Arrays:
    """The arrays of the study's weights file, {} if it needs none. again is what build returns a second time:
    a trained tensor with the same values each time begins with them, and others begin as the chain draws them.
    With adapt, if the module freezes nothing itself, all that is the same each time is frozen. What is frozen must be
    the same each time."""
    bias, rank = parsed(adapt)
    state, other = _arrays(module), _arrays(again)
    same = {n for n, a in state.items() if n in other and np.array_equal(a, other[n])}
    for (name, b), (_, c) in zip(module.named_buffers(), again.named_buffers()):
        if name not in state and not np.array_equal(b.numpy(), c.numpy()):
            raise Unsuitable("buffer %s has other values each time build is called, and state_dict leaves it out: "
                             "register it with persistent=True" % name)
    parameters = dict(module.named_parameters())
    if adapt and all(p.requires_grad for p in parameters.values()):
        for name, p in parameters.items():
            p.requires_grad_(name not in same)
    for name, p in parameters.items():
        if not p.requires_grad and name in state and name not in same:
            raise Unsuitable("tensor %s is frozen, and has other values each time build is called: it is drawn at "
                             "random and not pretrained; is the file there that build loads, which it finds by a path "
                             "from __file__? Fix the seed if random numbers are meant (torch.manual_seed)" % name)
    if bias:
        found = [p for n, p in parameters.items() if n.endswith("bias") and not p.requires_grad]
        for p in found:
            p.requires_grad_(True)
    factors = {}
    if rank:
        found = _weights(module)
        random = np.random.default_rng(0)
        for name in found:
            inputs = parameters[name].shape[1]
            bound = (3 / inputs) ** 0.5  # the outputs of A are as large as its inputs
            factors[name + LORA_A] = random.uniform(-bound, bound, (rank, inputs)).astype(state[name].dtype)
    if adapt and not found:
        raise Unsuitable("--adapt %s: the module has no frozen %s: a tensor is frozen if requires_grad is False, or if "
                         "build returns the same values each time"
                         % (adapt, "bias" if bias else "nn.Linear or attention"))
    trained = {n for n, p in parameters.items() if p.requires_grad}
    kept = {n: a for n, a in state.items() if n not in trained or n in same and (a.any() or a.ndim > 1)}
    pins = getattr(module, "pins_buffers", False)
    if not factors and not pins and all(n not in parameters and n in same for n in kept):
        return {}  # buffers alone, which build makes
    return {**kept, **factors}


def _arrays(module: nn.Module) -> Arrays:
    return {n: t.detach().cpu().numpy().copy() for n, t in module.state_dict().items()}


def _weights(module: nn.Module) -> List[str]:
    """The frozen weights of linear layers and of the projections of attention, none of them used twice."""
    out: List[str] = []
    uses = [id(p) for layer in module.modules() for p in layer._parameters.values()]
    for prefix, layer in module.named_modules():
        own: Tuple[str, ...] = ()
        if isinstance(layer, nn.Linear):
            own = ("weight",)
        elif isinstance(layer, nn.MultiheadAttention):
            own = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
        for name in own:
            p: Optional[nn.Parameter] = layer._parameters.get(name)
            if p is not None and not p.requires_grad and uses.count(id(p)) == 1:
                out.append(prefix + "." + name if prefix else name)
    return out

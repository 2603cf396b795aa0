"""What a PyTorch module must be, so that each example has a gradient of its own."""
from __future__ import annotations

import os
import traceback
from typing import Any, Dict, Iterator, List, Set

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parameter import UninitializedParameter
from torch.overrides import TorchFunctionMode

from .tensors import Unsuitable

MOST_REASONS = 5
RANDOM = ("the module draws at random in forward (dropout, noise), and the same question must get the same answer: "
          "leave it out")


def examine(module: nn.Module, adapted: bool = False) -> None:
    """Raises Unsuitable with the reasons, each with the name of its layer or tensor. adapted says that factors of
    low-rank products are trained, whatever the module's own parameters are."""
    found = list(_layers(module)) + list(_tensors(module, adapted))
    if len(found) > MOST_REASONS:
        found[MOST_REASONS:] = ["and %d more reasons" % (len(found) - MOST_REASONS)]
    if found:
        raise Unsuitable("; ".join(found))


def _layers(module: nn.Module) -> Iterator[str]:
    for name, layer in module.named_modules():
        what = 'layer "%s" (%s): ' % (name, type(layer).__name__)
        if not layer.training and getattr(layer, "running_mean", True) is not None:
            continue  # statistics are constants, and nothing is dropped
        if isinstance(layer, _BatchNorm):
            yield what + ("batch normalisation mixes examples: use GroupNorm, or call eval() on a pretrained layer, "
                          "whose statistics are then constants")
        elif getattr(layer, "track_running_stats", False):
            yield what + ("training changes its buffers, the running statistics: leave track_running_stats out, or "
                          "call eval() on a pretrained layer")
        elif isinstance(layer, _DropoutNd) and layer.p > 0:
            yield what + ("dropout is random, and the same question must get the same answer: leave it out, the noise "
                          "of privacy regularises, or call eval()")


def _tensors(module: nn.Module, adapted: bool) -> Iterator[str]:
    owner: Dict[int, str] = {}
    for prefix, layer in module.named_modules():
        for own, p in layer._parameters.items():
            if p is None or not p.requires_grad:  # a constant
                continue
            name = prefix + "." + own if prefix else own
            if id(p) in owner:
                yield "tensors %s and %s are one: give each layer its own" % (owner[id(p)], name)
            elif isinstance(p, UninitializedParameter):
                yield "tensor %s has no shape before the first batch: give the lazy layer its sizes" % name
            else:
                yield from _tensor(name, p)
            owner[id(p)] = name
    if not owner and not adapted:
        yield "the module has no parameters that are trained"


def _tensor(name: str, p: nn.Parameter) -> Iterator[str]:
    if p.dtype not in (torch.float32, torch.float64):
        yield "tensor %s is of type %s, want float32 or float64" % (name, str(p.dtype).replace("torch.", ""))
    elif p.dim() == 0:
        yield "tensor %s has no dimension: give it shape [1]" % name


RELUS = {"relu", "relu_", "relu6", "leaky_relu", "leaky_relu_", "elu", "elu_", "gelu", "silu", "silu_", "mish", "selu",
         "prelu", "hardswish", "softplus"}


class _Called(TorchFunctionMode):
    """The names of the functions that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: Set[str] = set()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(getattr(function, "__name__", ""))
        return function(*args, **(kwargs or {}))


def initial(module: nn.Module, x: torch.Tensor) -> Dict[str, str]:
    """How the chain draws tensors, by name: tensors of one dimension are zeros; others are normal,
    as for ReLU and its kin, if forward calls one, and as for tanh otherwise."""
    with _Called() as called, torch.no_grad():
        _forward(module, x)
    drawn = "normal" if called.names & RELUS else "glorot"
    return {name: drawn if p.dim() > 1 else "zeros" for name, p in module.named_parameters()}


def per_example(module: nn.Module, x: torch.Tensor) -> int:
    """The number of bytes that the gradient of one example keeps of its forward pass, if all parameters have one."""
    own, kept = {p.data_ptr() for p in module.parameters()}, {}
    frozen = [p for p in module.parameters() if not p.requires_grad]

    def keep(t: torch.Tensor) -> torch.Tensor:
        if t.data_ptr() not in own:
            kept[t.data_ptr()] = t.numel() * t.element_size()
        return t
    try:
        for p in frozen:  # low-rank products need what is before them
            p.requires_grad_(True)
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
            _forward(module, x)
    finally:
        for p in frozen:
            p.requires_grad_(False)
    return sum(kept.values())


def outputs(module: nn.Module, x: torch.Tensor) -> int:
    """The number of outputs for each example of a batch, one for each class."""
    with torch.no_grad():
        out = _forward(module, x)
    if out.dim() != 2 or len(out) != len(x):
        raise Unsuitable("the module gives outputs of shape %s for inputs of shape %s, want (%d, classes)"
                         % (tuple(out.shape), tuple(x.shape), len(x)))
    return out.shape[1]


def doubts(module: nn.Module, x: torch.Tensor) -> List[str]:
    """What is probably wrong with a module that can be trained: a softmax at its end, by its outputs."""
    with torch.no_grad():
        out = _forward(module, x)
    sums = torch.allclose(out.sum(1), out.new_ones(len(out)), atol=1e-3)
    if out.shape[1] > 1 and bool((out >= 0).all()) and sums:
        return ["the outputs of the module for each of %d examples are from 0 to 1 and sum to 1, as those of a "
                "softmax: cross-entropy wants logits and takes their softmax itself, and learns little from a second one; leave "
                "the module's last softmax out" % len(out)]
    return []


def mixes(module: nn.Module, x: torch.Tensor) -> None:
    """Raises Unsuitable if outputs for a batch are not finite, if forward changes a buffer, or if an
    example's output depends on the others."""
    before = {name: b.clone() for name, b in module.named_buffers()}
    with torch.no_grad():
        out = _forward(module, x)
        again = _forward(module, x)
        alone = torch.cat([_forward(module, x[i:i + 1]) for i in range(len(x))])
    for name, b in module.named_buffers():
        if b.shape != before[name].shape or not torch.equal(b, before[name]):
            raise Unsuitable("training changes buffer %s, which a chain does not hold: an example's gradient would "
                             "depend on earlier batches" % name)
    bad = torch.nonzero(~torch.isfinite(out))
    if len(bad):
        raise Unsuitable("the output of the module for example %d is %g, want finite numbers: a logarithm, a root or a "
                         "quotient in forward" % (int(bad[0][0]), float(out[tuple(bad[0])])))
    if not torch.equal(out, again):
        raise Unsuitable(RANDOM)
    if out.shape != alone.shape or not torch.allclose(out, alone, rtol=1e-3, atol=1e-4):
        raise Unsuitable("the output for an example depends on the others of its batch: forward must treat each row "
                         "of its input by itself")


def _forward(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    entered: List[str] = []
    hooks = [layer.register_forward_pre_hook(lambda layer, args, name=name: entered.append(name))
             for name, layer in module.named_modules() if name]
    try:
        out = module(x)
    except Exception as e:
        kind = str(x.dtype).replace("torch.", "")
        whole = "" if x.is_floating_point() else ('; x is of type %s, which an embedding takes and layers of weights do '
                                                  'not: x.astype("float32")' % kind)
        others = os.path.dirname(__file__), os.path.dirname(torch.__file__)
        own = [f for f in traceback.extract_tb(e.__traceback__) if not f.filename.startswith(others)]
        where = "".join(", in %s line %d" % (os.path.basename(f.filename), f.lineno or 0) for f in own[-1:])
        raise Unsuitable('the module fails on a batch of shape %s of the data (MNIST, unless --data, --sites or load give '
                         'others)%s%s: %s: %s%s'
                         % (tuple(x.shape), ', at layer "%s"' % entered[-1] if entered else "", where, type(e).__name__,
                            str(e).strip().split("\n")[0], whole)) from e
    finally:
        for hook in hooks:
            hook.remove()
    if not isinstance(out, torch.Tensor):
        raise Unsuitable("forward returns a %s, want a tensor" % type(out).__name__)
    return out

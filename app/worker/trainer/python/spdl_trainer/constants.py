"""What of a PyTorch module is trained, and what is constant: frozen tensors, buffers and start values."""
from __future__ import annotations

from typing import Callable, Dict, List, Tuple

import numpy as np
import torch
from torch import nn

from .hello import Hello
from .lowrank import Factors, beside
from .tensors import Tensor, Unsuitable, size
from .weights import LORA_A, LORA_B, Arrays

Weights = Dict[str, torch.Tensor]


class Constants:
    """The constants of a module, of which a chain knows the hash alone. Trained are the parameters that require a
    gradient, or with adapters those that HELLO lists. A trained tensor is its start plus the chain's."""

    def __init__(self, hello: Hello, module: nn.Module, arrays: Arrays) -> None:
        trained = {t["name"] for t in hello.tensors}
        if trained and "adapt" in (hello.config or {}):
            for name, p in module.named_parameters():
                p.requires_grad_(name in trained)
        self.frozen: Weights = {n: p.detach() for n, p in module.named_parameters() if not p.requires_grad}
        self.buffers: Weights = dict(module.named_buffers())
        self.types = {n: p.dtype for n, p in module.named_parameters() if p.requires_grad}
        self.shapes: Dict[str, Tuple[int, ...]] = {
            n: tuple(p.shape) for n, p in module.named_parameters() if p.requires_grad}
        self.low_rank: List[str] = [n[:-len(LORA_A)] for n in arrays if n.endswith(LORA_A)]
        self._fill(module, arrays, pinned=bool(trained))
        for base in self.low_rank:
            self._factors(base, arrays[base + LORA_A])
        device = next(module.parameters()).device
        self.start: Weights = {n: torch.from_numpy(a.astype(np.float64)).to(device) for n, a in arrays.items()
                               if n in self.types}
        self._sums = self._checksums()
        self.direct = False  # see try_direct

    def _fill(self, module: nn.Module, arrays: Arrays, pinned: bool) -> None:
        """Puts the file's values into the module."""
        state = module.state_dict()
        for name, a in arrays.items():
            if name.endswith(LORA_A):
                continue
            if name not in state or tuple(state[name].shape) != a.shape:
                raise Unsuitable("tensor %s of the weights file has shape %s, and in the module %s"
                                 % (name, list(a.shape), list(state[name].shape) if name in state else "there is none"))
            with torch.no_grad():
                state[name].copy_(torch.from_numpy(a.copy()))
        lacking = [n for n in self.frozen if n not in arrays and n in state]
        if pinned and lacking:
            why = "is not in the weights file" if arrays else "model.config names no weights file"
            raise Unsuitable("tensor %s is frozen, and %s: a frozen tensor is a constant that the members approve, in "
                             "a weights file whose hash is in model.config (spdl new writes it)" % (lacking[0], why))

    def _factors(self, base: str, a: np.ndarray) -> None:
        if base not in self.frozen or self.frozen[base].shape[1:] != a.shape[1:]:
            raise Unsuitable("tensor %s of the weights file has shape %s, and %s is no frozen weight of as many inputs"
                             % (base + LORA_A, list(a.shape), base))
        self.shapes[base + LORA_A] = tuple(a.shape)
        self.shapes[base + LORA_B] = (self.frozen[base].shape[0], len(a))
        self.types[base + LORA_A] = self.types[base + LORA_B] = self.frozen[base].dtype

    def trained(self, x: Weights) -> Weights:
        """The trained tensors of the chain's parameters."""
        return {n: ((self.start[n] + w) if n in self.start else w).to(self.types[n]) for n, w in x.items()}

    def whole(self, trained: Weights) -> Weights:
        """All parameters of the module. Gradients go through it to the factors of low-rank products."""
        out = self._without(trained)
        for base in self.low_rank:
            out[base] = self.frozen[base] + trained[base + LORA_B] @ trained[base + LORA_A]
        return out

    def _without(self, trained: Weights) -> Weights:
        return {**self.frozen, **{n: w for n, w in trained.items() if not n.endswith((LORA_A, LORA_B))}}

    def output(self, call: Callable[[Weights, torch.Tensor], torch.Tensor], trained: Weights,
               x: torch.Tensor) -> torch.Tensor:
        """The module's output for a batch. It is that of whole, with low-rank products beside their weights if
        self.direct says so."""
        if not self.direct:
            return call(self.whole(trained), x)
        with beside(self._pairs(trained)):
            return call(self._without(trained), x)

    def _pairs(self, trained: Weights) -> Factors:
        return {id(self.frozen[n]): (trained[n + LORA_A], trained[n + LORA_B]) for n in self.low_rank}

    def try_direct(self, call: Callable[[Weights, torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
        """Sets self.direct if linear maps take all weights that have low-rank products, and nothing else does: at
        random values the output beside them is then that of whole, but for the order of float32 sums, far below what
        a product changes that is missed."""
        random = torch.Generator().manual_seed(1)
        w = {n: (torch.randn(s, generator=random, dtype=torch.float64) / max(1, size(s[1:])) ** 0.5)
             .to(x.device, self.types[n]) for n, s in self.shapes.items()}
        with torch.no_grad():
            want = call(self.whole(w), x)
            with beside(self._pairs(w)) as met:
                got = call(self._without(w), x)
        self.direct = len(met) == len(self.low_rank) > 0 and torch.allclose(got, want, rtol=1e-3, atol=1e-4)

    def tensors(self, drawn: Dict[str, str]) -> List[Tensor]:
        """The tensors for genesis: those with a start, and factors, begin as zeros, others as drawn says."""
        return [{"name": n, "shape": list(s), "init": "zeros" if n in self.start else drawn.get(n, "zeros")}
                for n, s in self.shapes.items()]

    def _checksums(self) -> Dict[str, int]:
        return {n: int(_bits(t).sum(dtype=torch.int64)) for d in (self.frozen, self.buffers) for n, t in d.items()
                if t.numel()}

    def check(self) -> None:
        """Raises Unsuitable if a constant has changed since the start."""
        for name, total in self._checksums().items():
            if total != self._sums[name]:
                raise Unsuitable("training changes tensor %s, which is a constant of this chain: forward writes to it, "
                                 "or train.py does; no gradient is given" % name)

    def about(self) -> str:
        """What is trained and what is frozen, for people."""
        trained = "%d tensors, %d parameters" % (len(self.shapes), sum(map(size, self.shapes.values())))
        constant = "%d tensors, %d numbers" % (len(self.frozen), sum(t.numel() for t in self.frozen.values()))
        text = "trained: %s; frozen: %s" % (trained, constant)
        if self.frozen:
            text += " (%s)" % ", ".join(list(self.frozen)[:4] + (["..."] if len(self.frozen) > 4 else []))
        return text + ("; low-rank products on %d weights" % len(self.low_rank) if self.low_rank else "")


def _bits(t: torch.Tensor) -> torch.Tensor:
    flat = t.detach().contiguous().reshape(-1)
    return flat.view(torch.int32) if t.element_size() == 4 and t.dtype != torch.int32 else flat.view(torch.uint8)

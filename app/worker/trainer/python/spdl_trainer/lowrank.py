"""Low-rank products beside their weights: a linear map gives x W' + (x A') B'. The sum W + B A, whose gradient is as
large as W for each example, is not made."""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Dict, Iterator, Optional, Set, Tuple

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

Factors = Dict[int, Tuple[torch.Tensor, torch.Tensor]]  # A and B by the id of the weight


class _Plain(TorchFunctionMode):
    """Changes nothing. Attention has kernels of its own that call no linear map, and leaves them alone under a mode."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


@contextmanager
def beside(factors: Factors) -> Iterator[Set[int]]:
    """Within it torch.nn.functional.linear, and with it linear layers and attention, adds the products of these
    weights. Yields the ids of the weights that were met."""
    plain, met = functional.linear, set()  # type: Any, Set[int]

    def linear(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
        y = plain(x, weight, bias)
        if id(weight) not in factors:
            return y
        met.add(id(weight))
        a, b = factors[id(weight)]
        return y + plain(plain(x, a), b)
    functional.linear = linear
    try:
        with _Plain():
            yield met
    finally:
        functional.linear = plain

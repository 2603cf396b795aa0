"""What SPDL says first."""
from __future__ import annotations

import json
import os
import random
import sys
from typing import Any, Callable, Dict, List, Optional

from .groups import members
from .tensors import Tensor, size


class Hello:
    """The body of HELLO: dimension (the number of parameters), clip (the norm; 0 does not clip),
    clipping ("rows" or "sum"), tensors, config (of genesis, decoded), share (of the data) and unit (of
    privacy: "group", or "" for an example)."""

    def __init__(self, said: Dict[str, Any], folder: Optional[str] = None) -> None:
        self.dimension: int = said["dimension"]
        self.clip: float = said["clip"]
        self.clipping: str = said["clipping"]
        self.tensors: List[Tensor] = said["tensors"]
        self.share: Dict[str, Any] = said["share"]
        self.unit: str = said.get("unit", "")
        self.config: Any = json.loads(said["config"]) if said["config"] else {}
        self._folder = folder
        self.asked = False  # for the path of the data
        # Of each row of the data in its order, whether to test on, and its label, "" if that is not known; None if load
        # does not say. Where rows are only predicted, they need no label and no row to test on.
        self.tested: Any = None
        self.labels: Optional[List[str]] = None
        self.predicting = False
        self.odds: Optional[List[float]] = None  # slope and intercept of a model that is read from an adapted file
        # Where a study is made: what is trained of a pretrained module, and what gives the constants of a model in
        # place of a weights file.
        self.adapt: Optional[str] = None
        self.begins: Optional[Callable[[Any], Dict[str, Any]]] = None

    @property
    def data(self) -> str:
        """The path of the data: worker.data of this participant, or "data" of the configuration,
        from the trainer's folder."""
        self.asked = True
        named = self.share["data"] or self.config.get("data")
        if not named:
            raise ValueError("no data are named: neither by worker.data nor by data in the model's config")
        return self.path(named)

    def path(self, name: str) -> str:
        """The path of a file of the study, by its name from the trainer's folder."""
        main = getattr(sys.modules["__main__"], "__file__", None) or "."
        return os.path.join(self._folder or os.path.dirname(os.path.abspath(main)), name)

    def unpack(self, vector: Any) -> Dict[str, Any]:
        """Cuts a NumPy or PyTorch vector into its tensors, by name."""
        out, at = {}, 0
        for t in self.tensors:
            n = size(t["shape"])
            out[t["name"]] = vector[at:at + n].reshape(tuple(t["shape"]))
            at += n
        return out

    def part(self, n: int, groups: Any = None) -> List[int]:
        """The indices, of n, that are this participant's in a data set that all have. With data of
        its own a participant has all, in their order: one row more or less moves no other. With the
        group of each row, whole groups are dealt out."""
        if groups is not None:
            everyone = members(groups)
            return sorted(i for g in self.part(len(everyone)) for i in everyone[g])
        order = list(range(n))
        if self.share["parts"] == 1:
            return order
        random.Random(self.share["seed"]).shuffle(order)
        return order[self.share["part"]::self.share["parts"]]

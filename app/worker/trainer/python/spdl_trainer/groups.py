"""The groups of examples, for example the patient of each row, where they are the unit of privacy."""
from __future__ import annotations

from typing import Any, Dict, Hashable, List, Sequence

Groups = Sequence[Hashable]  # the group of each example, by any name


def numbered(groups: Any) -> List[int]:
    """The number of the group of each example, from 0 in the order of their first examples."""
    numbers: Dict[Hashable, int] = {}
    names = groups.tolist() if hasattr(groups, "tolist") else groups  # NumPy and PyTorch
    return [numbers.setdefault(name, len(numbers)) for name in names]


def members(groups: Any) -> List[List[int]]:
    """The examples of each group in ascending order, the groups in the order of their first examples."""
    out: List[List[int]] = []
    for example, group in enumerate(numbered(groups)):
        if group == len(out):
            out.append([])
        out[group].append(example)
    return out

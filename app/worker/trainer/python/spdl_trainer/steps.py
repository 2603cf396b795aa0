"""How long the steps of a PyTorch module's training may be, and how large its gradients are at the start, by what is
public: the module, how the chain draws its tensors, and rows that are made up."""
from __future__ import annotations

import array
import math
from time import monotonic
from typing import Any, Dict, List, Tuple

import torch

from .data import labels, made, readable
from .groups import numbered
from .pytorch import BLOCK, MOST as LARGEST, ModuleStudy
from .tensors import Tensor, size

DEFAULT, MOST = 2, 4  # the learning rate of spdl new, and its product with the curvature (docs/LAB.md)
DRAWS, ROWS, FEWEST = 3, 32, 8
WAIT, ANSWER = 0.5, 120  # seconds that a localnet's rounds wait for a gradient, and a worker for an answer
STARTS = 9  # of norm, whose median one of them alone hardly moves


def longest(study: ModuleStudy) -> float:
    """The bound on the learning rate with three digits, or 0 if the default is shorter."""
    found = curvature(study)
    return readable(MOST / found) if DEFAULT * found > MOST else 0


def curvature(study: ModuleStudy) -> float:
    """The curvature of the loss in the weights of the first layer, the mean of some starts: its inputs are not trained,
    and what all rows have in common moves all its units at once, until they are dead or saturated. 0 for a layer that
    is not dense, for an output layer, whose loss is convex, so that the next step undoes one too long, and for a module
    that takes no such rows."""
    if not study.x.is_floating_point():
        return 0
    try:
        x = rows(study, max(FEWEST, min(ROWS, BLOCK // study.each)))
        random = torch.Generator().manual_seed(1)
        found = sum(at(study, x, random) for _ in range(DRAWS)) / DRAWS
    except Exception:  # of forward
        return 0
    return found if found < float("inf") else 0  # nor NaN


def norm(study: ModuleStudy) -> float:
    """The median norm of the gradients of a described table's rows that are made up, at tensors that the chain may draw,
    0 where it is not known. A clip norm far below it cuts most rows to one length: then those of the rarer class no
    longer count as much as they are rarer, and probabilities are too low."""
    table = (study.hello.config or {}).get("table")
    if not table or not study.classified:
        return 0
    try:
        x = rows(study, max(FEWEST, min(ROWS, BLOCK // study.each)))
        y = torch.from_numpy(labels(table, len(x))).to(study.device)
        random = torch.Generator().manual_seed(1)
        found = torch.cat([norms(study.per_example(study.weights(drawn(study.hello.tensors, random)), x, y))
                           for _ in range(STARTS)])
    except Exception:  # of forward, or a module with fewer outputs than the table has classes
        return 0
    return readable(float(found.median()))


def norms(g: Dict[str, torch.Tensor]) -> torch.Tensor:
    """The norm of each example's gradient."""
    return sum(t.double().flatten(1).square().sum(1) for t in g.values()).sqrt()


def pace(study: ModuleStudy, participants: int, batch: int) -> Tuple[str, str, str]:
    """How long a gradient took, and one of a round takes by that: over batch examples, or groups, or with 0 over all
    that each of the participants has. Where rounds of a localnet would not wait for it, also a warning and the patience
    that such a net needs, else "". All are "" where forward fails."""
    block = max(1, min(LARGEST, BLOCK // study.each))
    n, took = min(ROWS, block, study.examples), []
    few = max(1, n // 16)
    try:
        w = study.weights(drawn(study.hello.tensors, torch.Generator().manual_seed(1)))
        for k in (few, n):
            start = monotonic()
            study.per_example(w, study.x[:k].to(study.device), study.y[:k].to(study.device))
            took.append(monotonic() - start)
    except Exception:  # of forward
        return "", "", ""
    each = max(0.0, took[1] - took[0]) / max(1, n - few)  # and the rest is for a block, whatever it holds
    groups = getattr(study, "groups", None)
    unit = 1 if groups is None else study.examples / len(set(numbered(groups)))  # rows of it
    rows = math.ceil(batch * unit or study.examples / participants)
    takes = math.ceil(rows / block) * max(0.0, took[1] - n * each) + rows * each
    told = ("a gradient of %d rows took %.2g s on one core; one of a round of this study, over %d rows, takes about %.2g s"
            % (n, took[1], rows, takes))
    if takes <= WAIT:
        return told, "", ""
    patience = "%ds" % (2 * math.ceil(takes) + 1)
    return told, ("a step of about %.2g s is longer than rounds of a localnet wait by default, half a second or so: net.toml "
                  "has patience = %s, as --patience; a chain needs a longer proposal.wait%s (docs/CONFIGURATION.md, Slow "
                  "training steps)%s" % (takes, patience, " and worker.trainer_timeout" if takes > ANSWER / 2 else "",
                                         "; a smaller --batch makes steps shorter" if takes > 1.5 * took[1] else "")), patience


def rows(study: ModuleStudy, n: int) -> torch.Tensor:
    """Rows that no member has: of the table that is described, or of numbers whose mean square is 1, half of it common
    to all rows."""
    shape, config = (n, *study.x.shape[1:]), study.hello.config or {}
    if "table" in config:
        x = torch.from_numpy(made(config["table"], config.get("centred", False), n)).to(study.device, study.x.dtype)
        if x.shape == shape:
            return x
    x = (1 + torch.randn(shape, generator=torch.Generator().manual_seed(1))) / 2 ** 0.5
    return x.to(study.device, study.x.dtype)


def at(study: ModuleStudy, x: torch.Tensor, random: torch.Generator) -> float:
    """The curvature at tensors that the chain may draw: the largest eigenvalue of the second moment of gradients, where
    labels are drawn as the module has it. Each counts with the share that clipping leaves."""
    w = study.weights(drawn(study.hello.tensors, random))
    with torch.no_grad():
        p = study.call(study.constants.whole(w), x).double().softmax(1).cpu()
    g = study.per_example(w, x, torch.multinomial(p, 1, generator=random)[:, 0].to(study.device))
    lengths = norms(g)
    first = next((g[t["name"]].double() for t in study.hello.tensors if len(t["shape"]) > 1), lengths)
    if first.dim() != 3 or first.sum(1).norm() <= 1e-3 * first.norm():  # a row for each class, which sum to zero
        return 0
    first = first.flatten(1) * (study.hello.clip / lengths).clamp(max=1).sqrt()[:, None]
    return float(torch.linalg.eigvalsh(first @ first.T)[-1]) / len(x)


def drawn(tensors: List[Tensor], random: torch.Generator) -> Any:
    """Parameters as the chain may draw them."""
    out = array.array("d")
    for t in tensors:
        n, inputs = size(t["shape"]), size(t["shape"][1:])
        if t["init"] == "zeros":
            values = torch.zeros(n, dtype=torch.float64)
        elif t["init"] == "normal":
            values = torch.randn(n, generator=random, dtype=torch.float64) * (2 / inputs) ** 0.5
        else:
            fans = inputs + n // t["shape"][1]
            values = (2 * torch.rand(n, generator=random, dtype=torch.float64) - 1) * (6 / fans) ** 0.5
        out.frombytes(values.numpy().tobytes())
    return out

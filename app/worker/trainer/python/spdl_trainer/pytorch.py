"""PyTorch 1.13 or later: a study that computes a gradient for each example of any module."""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import torch
from torch import nn

from .constants import Constants
from .data import Data
from .examine import RANDOM, doubts, examine, initial, mixes, outputs, per_example
from .hello import Hello
from .loaded import Loaded
from .tensors import Tensor, Unsuitable, size
from .weights import LORA_A, of

try:
    from torch.func import functional_call, grad, vmap

    def functional(module: nn.Module) -> Callable[[Dict[str, torch.Tensor], torch.Tensor], torch.Tensor]:
        """The module as a function of its parameters, by name, and of a batch."""
        return lambda weights, x: functional_call(module, weights, (x,))
except ImportError:  # before PyTorch 2
    from functorch import grad, make_functional_with_buffers, vmap

    def functional(module: nn.Module) -> Callable[[Dict[str, torch.Tensor], torch.Tensor], torch.Tensor]:
        """The module as a function of its parameters, by name, and of a batch."""
        names = [name for name, _ in module.named_parameters()]
        call, _, buffers = make_functional_with_buffers(module)
        return lambda weights, x: call([weights[name] for name in names], buffers, x)

BLOCK = 64 << 20  # bytes of gradients and of what they need of the forward pass at once, unless one example's are more
MOST = 128  # examples of a block


class ModuleStudy:
    """A module, whose trained parameters are the tensors of HELLO by name and shape, and whose other parameters
    and buffers are constants. Its inputs are a batch; the loss is of a batch of one, and of class labels
    unless another is given. Errors about the data begin with their source. A graphics card is used where
    PyTorch finds one, which worker.devices decides."""

    def __init__(self, hello: Hello, module: nn.Module, data: Data,
                 loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = nn.functional.cross_entropy,
                 source: str = "the data") -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        module.to(self.device)
        self.arrays = hello.begins(module) if hello.begins else of(hello)
        self.constants = Constants(hello, module, self.arrays)
        examine(module, adapted=bool(self.constants.low_rank))
        loaded = Loaded(source, data, classified=loss is nn.functional.cross_entropy)
        torch.set_num_threads(1)  # several trainers may share the machine
        self.hello, self.module, self.loss = hello, module, loss
        self.classified = loss is nn.functional.cross_entropy
        self.shapes, self.about = self.constants.shapes, self.constants.about()
        self.warnings: List[str] = []
        floating = next(iter(self.constants.types.values()))
        x, y, x_test, y_test = (torch.as_tensor(a) for a in (loaded.x, loaded.y, loaded.x_test, loaded.y_test))
        part = hello.part(len(x), loaded.groups)
        if loaded.groups is not None:
            self.groups = [loaded.groups[i] for i in part]
        if loss is nn.functional.cross_entropy:
            classes = outputs(module, _as(x[:1], floating).to(self.device))
            loaded.within(classes, "the module has %d outputs" % classes)
            self.warnings = doubts(module, _as(x[:8], floating).to(self.device))
        mine = torch.tensor(part, dtype=torch.long)
        self.x, self.y = _as(x[mine], floating), y[mine]
        self.x_test, self.y_test = _as(x_test, floating), y_test
        self.examples = len(mine)
        self.call = functional(module)
        self.constants.try_direct(self.call, self.x[:2].to(self.device))
        made = [] if self.constants.direct else self.constants.low_rank  # sums with a gradient as large as the weight
        self.kept = per_example(module, self.x[:1].to(self.device))
        self.each = self.kept + 4 * (sum(map(size, self.shapes.values())) +  # bytes that one example's gradient takes
                                     sum(self.constants.frozen[base].numel() for base in made))

        def one(weights: Dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return loss(self.constants.output(self.call, weights, x[None]), y[None])
        self.per_example = vmap(grad(one), in_dims=(None, 0, 0))

    def weights(self, parameters: Any) -> Dict[str, torch.Tensor]:
        """The trained tensors by name, in the types of the module: their start, and the chain's parameters."""
        flat = torch.frombuffer(parameters, dtype=torch.float64).to(self.device)
        return self.constants.trained(self.hello.unpack(flat))

    def blocks(self, parameters: Any, indices: Sequence[int]) -> Iterator[torch.Tensor]:
        """Rows of some examples at a time, which bounds the memory."""
        w = self.weights(parameters)
        step = max(1, min(MOST, BLOCK // self.each))
        for at in range(0, len(indices), step):
            some = list(indices[at:at + step])
            g = self.per_example(w, self.x[some].to(self.device), self.y[some].to(self.device))
            yield torch.cat([g[t["name"]].reshape(len(some), -1) for t in self.hello.tensors], 1).cpu()
        self.constants.check()

    def gradients(self, parameters: Any, indices: Sequence[int]) -> torch.Tensor:
        return torch.cat(list(self.blocks(parameters, indices)))

    def clipped_sum(self, parameters: Any, indices: Sequence[int], clip: float) -> torch.Tensor:
        total = torch.zeros(self.hello.dimension, dtype=torch.float64)
        for rows in self.blocks(parameters, indices):
            if clip > 0:
                rows = rows * (clip * (1 - 1e-6) / rows.norm(dim=1, keepdim=True)).clamp(max=1)
            total += rows.sum(0).double()
        return total

    def clipped_group_sum(self, parameters: Any, groups: Sequence[Sequence[int]], clip: float) -> torch.Tensor:
        total = torch.zeros(self.hello.dimension, dtype=torch.float64)
        one = torch.zeros_like(total)  # of the group to which the next row belongs
        group, left = 0, len(groups[0]) if groups else 0  # that group, and its rows that are to come
        for rows in self.blocks(parameters, [i for g in groups for i in g]):
            while len(rows):
                one += rows[:left].double().sum(0)
                rows, left = rows[left:], left - min(left, len(rows))
                if not left:
                    one /= len(groups[group])
                    total += one * (clip * (1 - 1e-6) / one.norm()).clamp(max=1) if clip > 0 else one
                    one.zero_()
                    group += 1
                    left = len(groups[group]) if group < len(groups) else 0
        return total

    def evaluate(self, parameters: Any) -> Tuple[float, float, int]:
        z, y = self.outputs(parameters, self.x_test), self.y_test
        return float(self.loss(z, y)), float((z.argmax(1) == y).double().mean()), len(y)

    def outputs(self, parameters: Any, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            w, step = self.constants.whole(self.weights(parameters)), max(1, min(500, BLOCK // max(1, self.kept)))
            z = torch.cat([self.call(w, x[at:at + step].to(self.device)).cpu() for at in range(0, len(x), step)])
            self.constants.check()
            return z

    def probabilities(self, parameters: Any, x: torch.Tensor) -> torch.Tensor:
        return _of_classes(self.outputs(parameters, x)).double().softmax(1)

    def tensors(self) -> List[Tensor]:
        """The tensors of the module for genesis, in the module's order."""
        return self.constants.tensors(initial(self.module, self.x[:1].to(self.device)))

    def trial(self) -> None:
        """Computes two examples' gradients, and raises Unsuitable if that is impossible."""
        x, y = self.x[:2].to(self.device), self.y[:2].to(self.device)
        mixes(self.module, x)
        own = dict(self.module.named_parameters())
        w = {n: own[n].detach() if n in own else torch.zeros(shape, dtype=self.constants.types[n], device=self.device)
             for n, shape in self.shapes.items()}
        for name in (n for n in w if n.endswith(LORA_A)):
            w[name] = self.constants.start[name].to(w[name].dtype)
        self.constants.check()
        with torch.no_grad():
            if not torch.allclose(self.call(self.constants.whole(w), x), self.module(x), rtol=1e-3, atol=1e-4):
                raise Unsuitable("the module as a function of its tensors gives other outputs than the module: forward "
                                 "must read parameters and buffers as attributes (self.name)")
        try:
            rows = self.per_example(w, x, y)
        except Exception as e:
            raise _reason(e, self.module) from e
        for name, g in rows.items():
            if not bool(torch.isfinite(g).all()):
                raise Unsuitable("the gradient of tensor %s is not finite for the first examples" % name)
        self.constants.check()


def predicted(module: nn.Module, rows: Any) -> Any:
    """The outputs of a module for rows of inputs, as a NumPy array of float64."""
    x = _as(torch.as_tensor(rows), next(module.parameters()).dtype)
    try:
        with torch.no_grad():
            z = torch.cat([module(x[at:at + MOST]) for at in range(0, len(x), MOST)]) if len(x) else module(x)
    except (IndexError, RuntimeError, TypeError, ValueError) as e:
        raise Unsuitable("the module takes no rows of shape %s, of %s: %s"
                         % (list(x.shape[1:]), x.dtype, str(e).strip().split("\n")[0])) from e
    return _of_classes(z).double().numpy()


def _of_classes(z: torch.Tensor) -> torch.Tensor:
    if z.ndim != 2 or z.shape[1] < 2:
        raise Unsuitable("the module gives a row outputs of shape %s, want one for each class, of which softmax makes "
                         "probabilities" % list(z.shape[1:]))
    return z


def _as(x: torch.Tensor, floating: torch.dtype) -> torch.Tensor:
    """Inputs in the type of the parameters; whole numbers, as of an embedding, stay."""
    return x.to(floating) if x.is_floating_point() else x


def _reason(e: Exception, module: nn.Module) -> Unsuitable:
    said = str(e).strip().split("\n")[0]
    if "random" in said:
        return Unsuitable(RANDOM)
    recurrent = next(('; layer "%s" (%s): write its recurrence in forward, with nn.Linear' % (name, type(layer).__name__)
                      for name, layer in module.named_modules()
                      if isinstance(layer, (nn.RNNBase, nn.RNNCellBase))), "")
    return Unsuitable("PyTorch computes no gradient of each example of this module: %s: %s%s"
                      % (type(e).__name__, said, recurrent))

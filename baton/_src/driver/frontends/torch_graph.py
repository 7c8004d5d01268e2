"""One graph of `torch.compile`, compiled: called with PyTorch's tensors and sizes, it gives what the graph returns.

Weights are inputs of such a graph. Frozen ones are constants instead, so that they are packed when compiling, once:
the graph is compiled when it is first called, as only then its weights are at hand. Every call compares their memory
and PyTorch's count of changes; a weight that is another one by then becomes an input again. Random numbers are inputs
that PyTorch draws (`torch_draws`); views are made by PyTorch, and elements lie as it has them (`torch_views`). Complex
tensors come and go as their parts (`torch_complex`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from baton._src.driver.frontends.torch_complex import parts_of, take_parts
from baton._src.driver.frontends.torch_draws import drawn, sizes_of, symbols_of, take_out_draws
from baton._src.driver.frontends.torch_sizes import Build, Models
from baton._src.driver.frontends.torch_views import laid_out, views_of
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.program import Program, name_of, read_graph, with_weights
from baton._src.frontends.torch.tensors import array_of, tensor_of
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


@dataclass(frozen=True)
class Frozen:
    """A weight that is a constant: its place among the inputs, and how it was when it became one."""

    place: int
    tensor: Any
    version: int

    def holds(self, given: Any) -> bool:
        """Whether `given` is the same memory, unchanged since."""
        return is_same(given, self.tensor) and given._version == self.version


def is_same(a: Any, b: Any) -> bool:
    """Whether two tensors are the same view of the same memory."""
    return a is b or (
        a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype
    )


class CompiledGraph:
    """`weights` are the tensors to freeze where the graph takes them; none, and it is compiled at once."""

    def __init__(self, graph: Any, build: Build, weights: Sequence[Any] = ()) -> None:
        torch = torch_library()
        self.given = [n for n in graph.graph.nodes if n.op == "placeholder"]
        self.draws = take_out_draws(graph)
        take_parts(graph)
        self.program, self.build = read_graph(graph), build
        placeholders = [n for n in graph.graph.nodes if n.op == "placeholder"]
        self.placeholders = placeholders
        self.places = {n.name: k for k, n in enumerate(placeholders)}
        self.results: list[Any] = list(self.program.outputs)
        nodes = {k: o for k, o in enumerate(self.results) if isinstance(o, torch.fx.Node)}
        self.symbols = symbols_of(placeholders)
        self.views = views_of(placeholders, nodes, self.symbols)
        self.wanted = [k for k in nodes if k not in self.views]
        self.written = {k: laid_out(nodes[k]) for k in self.wanted}
        self.sizes = {k for k in self.wanted if not isinstance(self.results[k].meta["val"], torch.Tensor)}
        self.weights = parts_of(weights)
        self.frozen: tuple[Frozen, ...] = ()
        self.inputs: list[int] = []
        self.counts: list[tuple[int, bool]] = []
        self.models: Models | None = None
        if not self.weights:
            self._compile(())

    def __call__(self, *inputs: Any) -> list[Any]:
        given = parts_of((*inputs, *drawn(self.draws, self.given, inputs)))
        if self.models is None:
            self._compile([self._frozen(k, given[k]) for k in self._weights_among(given)])
        elif not all(f.holds(given[f.place]) for f in self.frozen):
            self._compile([f for f in self.frozen if f.holds(given[f.place])])
        return self._run(given)

    def _weights_among(self, given: Sequence[Any]) -> list[int]:
        places = [self.places[n.name] for n in self.program.inputs]
        return [k for k in places if any(is_same(given[k], w) for w in self.weights)]

    @staticmethod
    def _frozen(place: int, tensor: Any) -> Frozen:
        if tensor.is_inference():
            raise fail(
                "torch-option",
                f"freeze: a weight of shape {tuple(tensor.shape)} was made under torch.inference_mode(), "
                "where PyTorch does not count changes",
                help="create or load the model outside inference_mode, and only call it inside",
            )
        return Frozen(place, tensor.detach(), tensor._version)

    def _compile(self, frozen: Collection[Frozen]) -> None:
        self.frozen = tuple(frozen)
        constants = {f.place: f.tensor for f in self.frozen}
        names = {n.name: constants[k] for n in self.program.inputs if (k := self.places[n.name]) in constants}
        program: Program = with_weights(self.program, names)
        self.inputs = [self.places[n.name] for n in program.inputs]
        self.counts = [(self.places[n.name], bool(n.meta["val"] >= 0)) for n in program.unseen]
        outputs = [self.written[k].node for k in self.wanted] or _checked(program)
        if outputs:
            self.models = Models(program, outputs, self.symbols, self.build)

    def _run(self, given: Sequence[Any]) -> list[Any]:
        found = list(self.results)
        if self.models is not None:
            numbers = [_count(int(given[k]), positive) for k, positive in self.counts]
            model = self.models.of(lambda: sizes_of(self.placeholders, given))
            arrays = model.run_arrays([array_of(given[k]) for k in self.inputs] + numbers)
            for place, array in zip(self.wanted, arrays):
                found[place] = array.item() if place in self.sizes else self.written[place].seen(tensor_of(array))
        if self.views:
            self._look(found, given)
        return found

    def _look(self, found: list[Any], given: Sequence[Any]) -> None:
        """Fill in the views, of inputs and of what is found by then: later ones may look at earlier ones."""
        tensors = dict(zip(self.placeholders, given, strict=True))
        tensors.update((self.results[k], found[k]) for k in self.wanted)
        sizes, missing = sizes_of(self.placeholders, given), dict(self.views)
        while missing:
            ready = [k for k, view in missing.items() if view.root in tensors]
            for place in ready:
                found[place] = missing.pop(place).of(tensors[self.views[place].root], sizes)
                tensors[self.results[place]] = found[place]


def _checked(program: Program) -> list[Any]:
    """What a program without results checks: a function has to have some."""
    return [n.args[0] for n in program.calls if name_of(n.target).startswith("aten._assert_async")]


def _count(number: int, positive: bool) -> AnyArray:
    """A number as the length of an array without elements."""
    if (number >= 0) is not positive:
        raise fail("torch-input", f"the number {number} does not have the sign that this graph was compiled for")
    return np.empty((abs(number), 0), bool)

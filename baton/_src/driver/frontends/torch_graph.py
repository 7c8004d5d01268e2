"""One graph of `torch.compile`, compiled: called with PyTorch's tensors and sizes, it gives what the graph returns.

Weights are inputs of such a graph. Frozen ones are constants instead, so that they are packed when compiling, once:
the graph is compiled when it is first called, as only then its weights are at hand. Every call compares their memory
and PyTorch's count of changes; a weight that is another one by then becomes an input again. Random numbers are inputs
that PyTorch draws (`torch_draws`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from baton._src.driver.frontends.torch_draws import drawn, take_out_draws
from baton._src.driver.model.model import Model
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.program import Program, read_graph, with_weights
from baton._src.frontends.torch.relax_graph import imported
from baton._src.frontends.torch.tensors import array_of, tensor_of
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import fail

Build = Callable[[IRModule], Model]


@dataclass(frozen=True)
class Frozen:
    """A weight that is a constant: its place among the inputs, and how it was when it became one."""

    place: int
    tensor: Any
    version: int

    def holds(self, given: Any) -> bool:
        """Whether `given` is the same memory, and nobody has written there."""
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
        self.program, self.build = read_graph(graph), build
        placeholders = [n for n in graph.graph.nodes if n.op == "placeholder"]
        self.places = {n.name: k for k, n in enumerate(placeholders)}
        self.results: list[Any] = list(self.program.outputs)
        self.wanted = [k for k, o in enumerate(self.results) if isinstance(o, torch.fx.Node)]
        self.sizes = {k for k in self.wanted if not isinstance(self.results[k].meta["val"], torch.Tensor)}
        self.weights = list(weights)
        self.frozen: tuple[Frozen, ...] = ()
        self.inputs: list[int] = []
        self.model: Model | None = None
        if not self.weights:
            self._compile(())

    def __call__(self, *inputs: Any) -> list[Any]:
        given = (*inputs, *drawn(self.draws, self.given, inputs))
        if self.model is None:
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
                help="make or load the model outside of inference_mode, and only call it there",
            )
        return Frozen(place, tensor.detach(), tensor._version)

    def _compile(self, frozen: Collection[Frozen]) -> None:
        self.frozen = tuple(frozen)
        constants = {f.place: f.tensor for f in self.frozen}
        names = {n.name: constants[k] for n in self.program.inputs if (k := self.places[n.name]) in constants}
        program: Program = with_weights(self.program, names)
        self.inputs = [self.places[n.name] for n in program.inputs]
        if self.wanted:
            self.model = self.build(imported(program, [program.outputs[k] for k in self.wanted]))

    def _run(self, given: Sequence[Any]) -> list[Any]:
        found = list(self.results)
        if self.model is not None:
            arrays = self.model.run_arrays([array_of(given[k]) for k in self.inputs])
            for place, array in zip(self.wanted, arrays, strict=True):
                found[place] = int(array) if place in self.sizes else tensor_of(array)
        return found

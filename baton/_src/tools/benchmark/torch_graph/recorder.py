"""A torch.fx graph under construction: calls are recorded, and calls on constants are evaluated at once.

Shapes are computed with plain Python integers, never with tensors: this is cheap in eager mode, and torch.compile keeps
them as symbols of one unbroken graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch.fx.node import map_aggregate

from baton._src.support.dataclass import dataclass

Number: TypeAlias = int | torch.fx.Node
"""An integer that is known now, or the node that gives it at run time."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """An integer tensor of rank 0 (`is_scalar`, one number) or 1 whose elements are Python's integers at run time."""

    numbers: tuple[Number, ...]
    is_scalar: bool = False


Value: TypeAlias = torch.Tensor | torch.fx.Node | Sizes
"""A constant, a tensor of the run, or sizes."""


class Recorder:
    """The graph so far, and the buffers it reads."""

    def __init__(self) -> None:
        self._graph, self._root = torch.fx.Graph(), torch.nn.Module()
        self._buffers: dict[int, torch.fx.Node] = {}
        self._sizes: dict[tuple[torch.fx.Node, int], torch.fx.Node] = {}
        self._inputs = 0

    def input(self) -> torch.fx.Node:
        """A further parameter of the module."""
        self._inputs += 1
        return self._graph.placeholder(f"input{self._inputs}")

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result of a call: computed now if all arguments are known, else a node."""
        if not _has_nodes((args, kwargs)):
            return function(*args, **kwargs)
        return self._graph.call_function(function, *self._with_buffers((args, kwargs)))

    def method(self, name: str, *args: Any) -> Any:
        """`call`, of a method; its object is the first argument."""
        if not _has_nodes(args):
            return getattr(args[0], name)(*args[1:])
        return self._graph.call_method(name, self._with_buffers(args))

    def module(self, module: torch.nn.Module, *args: Any) -> Any:
        """A call of a module, which becomes part of this one."""
        name = f"module{len(self._root._modules)}"
        self._root.add_module(name, module)
        return self._graph.call_module(name, self._with_buffers(args))

    def size(self, tensor: Any, axis: int) -> Number:
        """The size of an axis as an integer, asked for once."""
        if isinstance(tensor, torch.Tensor):
            return tensor.shape[axis]
        if (tensor, axis) not in self._sizes:
            self._sizes[tensor, axis] = self._graph.call_method("size", (tensor, axis))
        return self._sizes[tensor, axis]

    def tensor(self, value: Value) -> Any:
        """A value as a tensor of the run or a constant."""
        if not isinstance(value, Sizes):
            return value
        return self.call(torch.tensor, value.numbers[0] if value.is_scalar else value.numbers, dtype=torch.int64)

    def finish(self, outputs: Sequence[Value]) -> torch.fx.GraphModule:
        """The module that computes `outputs`, a tuple of tensors."""
        self._graph.output(self._with_buffers(tuple(self.tensor(value) for value in outputs)))
        module = torch.fx.GraphModule(self._root, self._graph).eval()
        module.graph.eliminate_dead_code()  # sizes that nobody asks for
        module.recompile()
        return module

    def _with_buffers(self, arguments: Any) -> Any:
        return map_aggregate(arguments, lambda a: self._buffer(a) if isinstance(a, torch.Tensor) else a)

    def _buffer(self, constant: torch.Tensor) -> torch.fx.Node:
        """The node of a constant, which becomes a buffer when it is first used at run time."""
        if id(constant) not in self._buffers:
            name = f"weight{len(self._buffers)}"
            self._root.register_buffer(name, constant)
            self._buffers[id(constant)] = self._graph.get_attr(name)
        return self._buffers[id(constant)]


def _has_nodes(arguments: Any) -> bool:
    found: list[Any] = []
    map_aggregate(arguments, lambda a: found.append(a) if isinstance(a, torch.fx.Node) else None)
    return bool(found)

"""A random network, and what its layers are emitted with."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.literals import const
from baton._src.relax.nodes import Expr, TupleGetItem, Var
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.values.dtype import DataType
from tests.relax.build import RELAX

Layer = Callable[["Net", Expr], Expr]
Sizes = dict[str, int]
DTYPES = ("float32",) * 6 + ("float16", "bfloat16", "float64")
ACTIVATIONS = ("nn.relu", "nn.silu", "sigmoid", "tanh", "nn.gelu")


class Unsuited(Exception):
    """The layer does not go with the tensor that there is."""


@dataclass(frozen=True)
class Network:
    """A module with a `main` of tensors, and sizes that suit its open dims."""

    module: IRModule
    dtype: str
    choices: dict[str, Sequence[int]]
    spans: Sequence[float]
    """How large the values of each parameter may be."""

    @property
    def sizes(self) -> Sizes:
        """The first that were drawn."""
        return {name: found[0] for name, found in self.choices.items()}

    def other_sizes(self, draw: random.Random) -> Sizes:
        """Others."""
        return {name: draw.choice(found) for name, found in self.choices.items()}

    def small_sizes(self, draw: random.Random) -> Sizes:
        """Some of them 0 or 1, which no network is made for."""
        return {name: draw.choice([0, 1, *found]) for name, found in self.choices.items()}

    def inputs(self, sizes: Sizes, seed: int = 0) -> list[Any]:
        """An array for each parameter."""
        rng = np.random.default_rng(seed)
        infos = [p.struct_info for p in self.module["main"].params]
        return [_array(info, span, sizes, rng) for info, span in zip(infos, self.spans, strict=True)]


def _array(info: Any, span: float, sizes: Sizes, rng: np.random.Generator) -> Any:
    known = {d: sizes[d.name] for d in info.shape.values if isinstance(d, TirVar)}
    shape = [int(evaluate(d, known)) for d in info.shape.values]
    return rng.uniform(-span, span, shape).astype(DataType(str(info.dtype)).numpy)


class Net:
    """Emits a network's layers, and keeps the parameters they ask for."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.builder = BlockBuilder()
        self.dtype = self.draw.choice(DTYPES)
        self.params: list[Var] = []
        self.spans: list[float] = []
        self.choices: dict[str, Sequence[int]] = {}

    def emit(self, name: str, *args: Any, **attrs: Any) -> Any:
        """A call of the operator, as a variable."""
        return self.builder.emit(RELAX.find(name)(*args, **attrs))

    def field(self, values: Any, index: int) -> Any:
        """One of several results."""
        return self.builder.emit(TupleGetItem(values, index))

    def parameter(self, *shape: Any, span: float = 1.0) -> Var:
        """One more input, of values in [-span, span]."""
        self.spans.append(span)
        self.params.append(Var(f"x{len(self.params)}", TensorStructInfo(shape, self.dtype)))
        return self.params[-1]

    def size(self, name: str, first: int, others: Sequence[int]) -> Any:
        """A number, or an open dim that takes it and others."""
        if self.draw.random() < 0.75:
            return first
        self.choices[name] = (first, *others)
        return TirVar(name, "int64")

    def weight(self, *shape: int) -> Expr:
        """So small that sums stay about as large as their terms; known when compiling for the most part."""
        span = 1.7 / max(1.0, float(np.sqrt(np.prod(shape[1:]))))
        if self.draw.random() < 0.25:
            return self.parameter(*shape, span=span)
        return self.constant(self.rng.uniform(-span, span, shape))

    def shift(self, *shape: int) -> Expr:
        """Numbers in [-1, 1]."""
        return self.constant(self.rng.uniform(-1, 1, shape))

    def scale(self, *shape: int) -> Expr:
        """Numbers in [0.5, 1.5]."""
        return self.constant(self.rng.uniform(0.5, 1.5, shape))

    def number(self, value: float) -> Expr:
        """One number."""
        return self.constant(np.asarray(value))

    def constant(self, values: Any) -> Expr:
        """Of the network's dtype."""
        return const(values.astype(DataType(self.dtype).numpy))

    def layer(self, x: Expr, layers: Sequence[Layer]) -> Expr:
        """One of the layers that suit `x`."""
        while True:
            try:
                return self.draw.choice(layers)(self, x)
            except (Unsuited, DiagnosticError):
                continue

    def behind(self, x: Expr, channels: int) -> Expr:
        """A bias for each channel and an activation, perhaps."""
        if self.draw.random() < 0.6:
            x = self.emit("add", x, self.shift(1, channels, *[1] * (len(dims(x)) - 2)))
        return self.emit(self.draw.choice(ACTIVATIONS), x) if self.draw.random() < 0.5 else x

    def widened(self, x: Expr, layers: Sequence[Layer]) -> Expr:
        """A layer in a wider dtype, whose parameters are of that, too."""
        own = self.dtype
        self.dtype = self.draw.choice(["float64"] if own in ("float32", "float64") else ["float32", "float64"])
        y = self.layer(self.emit("astype", x, self.dtype), layers)
        self.dtype = own
        return self.emit("astype", y, own)


def dims(x: Any) -> list[Any]:
    """Ints, and expressions where they are open."""
    if x.struct_info.shape is None:
        raise Unsuited
    return [d.value if isinstance(d, IntImm) else d for d in x.struct_info.shape.values]


def features_of(x: Any) -> int:
    """How many numbers a row has: layers over rows have weights for each."""
    found = dims(x)
    if len(found) != 3 or not isinstance(found[2], int):
        raise Unsuited
    return found[2]


def least(size: Any) -> int:
    """How large an image is at least, after a few layers when it is open."""
    return size if isinstance(size, int) else 3


def alike(x: Any, y: Any) -> bool:
    """Whether they have the same shape."""
    return [str(d) for d in dims(x)] == [str(d) for d in dims(y)]

"""Random Relax programs over tensors of all dtypes, of shapes made of sizes: (n * 2 + 1, m), (n // 2, m, 3), (2, 0, n).

    program = any_tensors(seed)
    Interpreter(program.module)["main"](*program.inputs(n=3, seed=0))

Straight lines of operators, from data alone (`strategies` has the rest of the language, over (n, 4) floats). What an
operator refuses of the operands drawn is drawn anew; what is undecided when compiling (whether n and m differ) stays,
so that runs may be refused. `m` goes with the inputs' seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import ml_dtypes
import numpy as np

from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.literals import const
from baton._src.relax.nodes import PrimValue, ShapeExpr, Tuple, TupleGetItem, Var
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import Var as TirVar
from tests.relax.build import RELAX
from tests.relax.random_programs.strategies import Program
from tests.relax.random_programs.wide_statements import WIDE

N, M = TirVar("n", "int64"), TirVar("m", "int64")
SHAPES: tuple[tuple[Any, ...], ...] = (
    (N, 4), (N, M), (M, N), (N * 2 + 1, M), (N // 2, M, 3), (N, M, 2), (N * M,), (1, N), (M,), (4,), (), (2, 0, N),
    (N + 1, M), (M, N + M), (N, M, 1), (1, 1), (N * N, M * 2),
)  # fmt: skip
FLOATS = ("float32", "float32", "float64", "float16", "bfloat16")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
SIZES_OF_M = (5, 1, 3, 0, 4, 2)
"""By the inputs' seed."""

UNARY = ("tanh", "sigmoid", "exp", "erf", "sin", "floor", "round", "trunc", "nn.relu", "nn.gelu", "nn.silu", "isnan")
EITHER = ("abs", "negative", "square", "sign", "nn.relu")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "equal", "less", "greater_equal")


class AnyTensors(Program):
    """A program whose inputs are what its parameters say."""

    def inputs(self, n: int = 3, seed: int = 0) -> list[Any]:
        rng = np.random.default_rng(seed)
        sizes = {"n": n, "m": SIZES_OF_M[seed % len(SIZES_OF_M)]}
        return [_values(p.struct_info, sizes, rng) for p in self.module["main"].params]


def _values(info: Any, sizes: dict[str, int], rng: np.random.Generator) -> Any:
    known = {v: sizes[v.name] for v in (N, M)}
    shape, dtype = [int(evaluate(d, known)) for d in info.shape.values], str(info.dtype)
    if "float" in dtype:
        return rng.uniform(-2, 2, shape).astype(getattr(ml_dtypes, dtype, dtype))
    return rng.integers(0 if dtype[0] in "ub" else -5, 2 if dtype == "bool" else 6, shape).astype(dtype)


def any_tensors(seed: int, length: int = 8) -> AnyTensors:
    """The program of a seed, of up to `length` operators; what the last three need is kept, and what gave another its
    shape: compiled code need not compute that, and would not refuse what the interpreter refuses."""
    draw = random.Random(seed)
    dtypes = [draw.choice([*FLOATS, *FLOATS, *INTEGERS, "bool"]) for _ in range(4)]
    params = [Var(f"p{k}", TensorStructInfo(draw.choice(SHAPES), dtype)) for k, dtype in enumerate(dtypes)]
    params.append(Var("all", TensorStructInfo((N, M), "float32")))
    builder = BlockBuilder()
    with builder.function("main", params):
        is_dataflow = draw.random() < 0.7
        with builder.dataflow() if is_dataflow else nullcontext():
            line = Line(draw, builder, params)
            for _ in range(draw.randint(3, length)):
                line.statement()
            kept = dict.fromkeys([*line.pool[-3:], *line.measured])
            results = [builder.emit_output(r) if is_dataflow else r for r in kept]
        builder.emit_func_output(Tuple(results))
    return AnyTensors(DeadCodeElimination()(builder.get()), True)


class Unsuited(Exception):
    """The operator does not go with what was drawn."""


class Line:
    """Emits operators; `pool` holds the tensors there are, later ones of which are likelier, `measured` those that an
    operator asked for their shape alone."""

    def __init__(self, draw: random.Random, builder: BlockBuilder, params: list[Var]) -> None:
        self.draw = draw
        self.builder = builder
        self.pool: list[Any] = list(params)
        self.measured: list[Any] = []

    def statement(self) -> None:
        """One more tensor."""
        while True:
            try:
                found = self.builder.emit(self.draw.choice(KINDS)(self))
            except (Unsuited, DiagnosticError):
                continue
            if isinstance(found.struct_info, TensorStructInfo) and found.struct_info.ndim >= 0:
                self.pool.append(found)
                return

    def pick(self, kinds: str = "", like: Any = None) -> Any:
        """A tensor in whose dtype's name one of the words `kinds` is, or of another's dtype."""
        fitting = [
            v for v in self.pool
            if (like is None or v.struct_info.dtype == like.struct_info.dtype)
            and any(kind in str(v.struct_info.dtype) for kind in kinds.split(" "))
        ]  # fmt: skip
        if not fitting:
            raise Unsuited
        return self.draw.choice(fitting[-3:] if self.draw.random() < 0.6 else fitting)

    def measure(self, x: Any) -> Any:
        """The same tensor, for an operator that reads only its shape."""
        self.measured.append(x)
        return x

    def axis(self, x: Any) -> int:
        """An axis, counted from either end."""
        if not x.struct_info.ndim:
            raise Unsuited
        return self.draw.randrange(-x.struct_info.ndim, x.struct_info.ndim)

    def dims(self, x: Any) -> list[Any]:
        """The dims of a tensor, where they are said; a variable may hold them instead."""
        shape = x.struct_info.shape
        if not isinstance(shape, ShapeExpr):
            raise Unsuited
        return list(shape.values)


def _unary(g: Line) -> Any:
    x = g.pick("float int")
    names = [*EITHER, *UNARY] if "float" in str(x.struct_info.dtype) else EITHER
    return RELAX.find(g.draw.choice(names))(x)


def _binary(g: Line) -> Any:
    x = g.pick()
    names = ("logical_and", "logical_xor", "equal") if x.struct_info.dtype == "bool" else BINARY
    return RELAX[g.draw.choice(names)](x, g.pick(like=x))


def _by_number(g: Line) -> Any:
    x = g.pick("float int")
    name = g.draw.choice(["add", "multiply", "maximum", "mod", "floor_divide"])
    return RELAX[name](x, const(g.draw.choice([2, 3]), str(x.struct_info.dtype)))


def _cast(g: Line) -> Any:
    x, dtype = g.pick(), g.draw.choice([*FLOATS, *INTEGERS, "bool"])
    if "float" in str(x.struct_info.dtype) and "int" in dtype:  # others are undefined
        x = RELAX["clip"](x, PrimValue(0), PrimValue(7))
    return RELAX["astype"](x, dtype=dtype)


def _reduction(g: Line) -> Any:
    x = g.pick("float int")
    name = g.draw.choice(["sum", "max", "min", "prod", *(["mean"] if "float" in str(x.struct_info.dtype) else [])])
    return RELAX[name](x, axis=g.draw.choice([None, [g.axis(x)]]), keepdims=g.draw.random() < 0.5)


def _along(g: Line) -> Any:
    x = g.pick("float int")
    name = g.draw.choice(["cumsum", "sort", "argmax", "argmin", "nn.softmax", "flip"])
    return RELAX.find(name)(x, axis=g.axis(x))


def _moved(g: Line) -> Any:
    x = g.pick()
    axes = list(range(x.struct_info.ndim))
    if g.draw.random() < 0.5:
        return RELAX["permute_dims"](x, axes=g.draw.sample(axes, len(axes)))
    return RELAX["expand_dims"](x, axis=g.draw.choice([0, -1]))


def _reshaped(g: Line) -> Any:
    x = g.pick()
    dims = g.dims(x)
    first = g.draw.randrange(max(len(dims) - 1, 1))
    if g.draw.random() < 0.3 or len(dims) < 2:
        return RELAX["broadcast_to"](x, ShapeExpr([2, *dims]))
    return RELAX["reshape"](x, ShapeExpr([*dims[:first], dims[first] * dims[first + 1], *dims[first + 2 :]]))


def _joined(g: Line) -> Any:
    x = g.pick()
    return RELAX["concat"](Tuple([x, g.pick(like=x)]), axis=g.axis(x))


def _taken(g: Line) -> Any:
    x = g.pick()
    numbers = [g.draw.randint(-1, 0) for _ in range(g.draw.randint(1, 3))]
    return RELAX["take"](x, const(numbers, "int64"), axis=g.axis(x))


def _part(g: Line) -> Any:
    x = g.pick()
    axis = g.axis(x)
    if g.draw.random() < 0.3:
        parts = g.builder.emit(RELAX["split"](x, indices_or_sections=g.draw.choice([2, [1], [1, 2]]), axis=axis))
        return TupleGetItem(parts, g.draw.randrange(len(parts.struct_info.fields)))
    bounds = [(0, 3), (1, 100), (-2, 100), (0, -1), (5, 1), (N - 1, N), (0, N // 2 + 1), (1, M)]
    back = [(-1, -100), (3, 0), (100, 1)]
    step = g.draw.choice([1, 1, 2, 3, -1])
    begin, end = g.draw.choice(back if step < 0 else bounds)
    return RELAX["strided_slice"](x, axes=[axis], begin=[begin], end=[end], strides=[step])


def _repeated(g: Line) -> Any:
    x = g.pick()
    if g.draw.random() < 0.5:
        return RELAX["repeat"](x, g.draw.randint(1, 3), axis=g.axis(x))
    return RELAX["tile"](x, tuple(g.draw.randint(1, 2) for _ in range(g.draw.randint(1, x.struct_info.ndim + 1))))


def _chosen(g: Line) -> Any:
    x = g.pick()
    return RELAX["where"](g.pick("bool"), x, g.pick(like=x))


def _product(g: Line) -> Any:
    x = g.pick("float int")
    return RELAX["matmul"](x, g.pick(like=x))


KINDS: tuple[Callable[[Line], Any], ...] = (
    _unary, _unary, _binary, _binary, _binary, _by_number, _cast, _reduction, _reduction, _along, _moved, _reshaped,
    _joined, _taken, _part, _repeated, _chosen, _product, *WIDE,
)  # fmt: skip

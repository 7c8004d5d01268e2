"""Infer the result of a converter's call by the operator's rule, after unifying sizes of operands that should be equal.

    x: (seq, 8), m: (min(seq, 512), 8), add(x, m)   ->   (seq, 8)

Equalities that cannot be proven are checked at run time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from baton._src.frontends.graph_builder.agreeing_sizes import plainest
from baton._src.frontends.graph_builder.operands import Operand, Scalars, as_int, known_of
from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.op_def import Fusion, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, ShapeInfo, TensorInfo, TupleInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import AnyDim


class SizeChecks(Protocol):
    """The interface to equalities of sizes and their run-time checks: implemented by the builder."""

    prover: Analyzer
    hint: str

    def of_shape(self, value: Value, dims: tuple[Dim, ...]) -> Value:
        """`value` with the given dims, which should be its own."""


def inferred(
    g: SizeChecks, definition: OpDef[Any], given: list[Operand], attrs: Any
) -> tuple[list[Operand], tuple[Info, ...], Info]:
    """The operands, their infos and the result's, after unifying sizes where necessary."""
    values = tuple(known_of(o) for o in given)

    def infer(operands: list[Operand]) -> tuple[list[Operand], tuple[Info, ...], Info]:
        infos = tuple(_info(o, g.hint) for o in operands)
        return operands, infos, definition.infer(OpCall(definition, infos, attrs, g.prover, values))

    found = infer(_multiplied(g, *given) if definition.name == "matmul" else given)
    operands, _, out = found
    if not isinstance(out, TensorInfo) or out.shape is not None:
        return found
    if definition.fusion is Fusion.BROADCAST:
        operands, infos, out = infer(_agree(g, operands))
        return operands, infos, _partly(g, infos, out)
    if definition.name == "concat":
        return infer([_aligned(g, operands[0], attrs.axis), *operands[1:]])
    return found


def _agree(g: SizeChecks, operands: list[Operand]) -> list[Operand]:
    """Operands whose dims should be equal but are not provably so, such as `seq` and the `min(seq, 512)` of a slice,
    get the simpler of the two, checked at run time.
    """
    values = [o for o in operands if isinstance(o, Value)]
    if len(values) != len(operands) or any(v.shape is None for v in values):
        return operands
    rank = max(len(v.shape or ()) for v in values)
    padded = [(1,) * (rank - len(v.shape or ())) + (v.shape or ()) for v in values]
    common = [plainest(column, g.prover) for column in zip(*padded, strict=True)]
    return [_checked(g, v, p, common) for v, p in zip(values, padded, strict=True)]


def _partly(g: SizeChecks, infos: tuple[Info, ...], out: Info) -> Info:
    """The result of broadcasting with the sizes that are certain; the others have to be named when it runs."""
    shapes = [i.shape for i in infos if isinstance(i, TensorInfo) and i.shape is not None]
    if not isinstance(out, TensorInfo) or out.shape is not None or len(shapes) < len(infos):
        return out
    padded = [(1,) * (out.ndim - len(s)) + s for s in shapes]
    return replace(out, shape=tuple(_broadcast(g, column) for column in zip(*padded, strict=True)))


def _broadcast(g: SizeChecks, sizes: tuple[Dim, ...]) -> Dim:
    """The size that these become; a number other than 1 is what the others have to be, too, unless they are 1."""
    longer = [s for s in sizes if not (isinstance(s, int) and s == 1)]
    known = [s for s in longer if isinstance(s, int)]
    if not longer or known:
        return known[0] if known else 1
    return longer[0] if all(g.prover.equal(longer[0], s) for s in longer[1:]) else AnyDim()


def _aligned(g: SizeChecks, parts: Operand, axis: int) -> Operand:
    """Tensors to be concatenated, with their other sizes checked at run time to be those of the simplest
    expressions.
    """
    values = [p for p in parts if isinstance(p, Value)] if isinstance(parts, (tuple, list)) else []
    shapes = [v.shape for v in values if v.shape is not None]
    if not values or len(shapes) != len(values) or len({len(s) for s in shapes}) != 1:
        return parts
    columns = list(zip(*shapes, strict=True))
    place = axis % len(columns)
    sizes = [plainest(c, g.prover) for c in columns]
    common = [None if k == place else p if p is not None else c[0] for k, (p, c) in enumerate(zip(sizes, columns))]
    return tuple(_checked(g, v, s, common) for v, s in zip(values, shapes, strict=True))


def _multiplied(g: SizeChecks, left: Operand, right: Operand) -> list[Operand]:
    """Operands of a product of matrices: the axes that are summed over are checked to be equally long."""
    if not isinstance(left, Value) or not isinstance(right, Value) or not left.shape or not right.shape:
        return [left, right]
    place = len(right.shape) - min(len(right.shape), 2)
    both = (left.shape[-1], right.shape[place])
    if all(isinstance(d, int) for d in both) or g.prover.equal(*both):
        return [left, right]
    known = next((d for d in both if isinstance(d, int)), None)  # a 1, too: no product repeats it
    plain = plainest(both, g.prover) if known is None else known
    size = both[0] if plain is None else plain
    rows, columns = right.shape[:place], right.shape[place + 1 :]
    return [g.of_shape(left, (*left.shape[:-1], size)), g.of_shape(right, (*rows, size, *columns))]


def _checked(g: SizeChecks, value: Value, padded: tuple[Dim, ...], common: list[Dim | None]) -> Value:
    wanted = [
        d if c is None or (isinstance(d, int) and d == 1) or g.prover.equal(d, c) else c
        for d, c in zip(padded, common, strict=True)
    ]
    return g.of_shape(value, tuple(wanted[len(padded) - len(value.shape or ()) :]))


def _info(operand: Operand, hint: str) -> Info:
    if isinstance(operand, (Value, Scalars)):
        return operand.info
    if operand is None:
        raise fail("import-operand", f"{hint}: an operand in the middle is missing")
    if operand and isinstance(operand[0], Value):
        return TupleInfo(tuple(o.info for o in operand))
    return ShapeInfo(tuple(as_int(d) for d in operand))

"""The pairs of sizes that a call's shape rule assumes to be equal without a proof.

    matmul(x, w) with x: (m, k), w: (k2, n)        ->       [(k, k2)]

A rule asks its prover whether two sizes are equal and continues if that is undecided; the sizes must then be checked
when the call runs. Calls whose operands or result are not known well enough for a kernel assume nothing: they are
checked again once their sizes are known.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import DimProver
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import deduce
from baton._src.relax.info import to_info
from baton._src.relax.nodes import Call
from baton._src.tir.expr import AnyDim

Pair = tuple[Dim, Dim]


def assumed_sizes(call: Call, context: Context) -> list[Pair]:
    """The pairs of sizes that have to be equal for the call's struct info to hold."""
    if not all(is_known(to_info(a.struct_info)) for a in call.args):
        return []
    undecided = _Undecided(context.prover)
    out = deduce(call, Context(functions=context.functions, prover=undecided))
    return undecided.pairs if is_known(to_info(out)) else []


class _Undecided:
    """A prover that records the questions it could not decide."""

    def __init__(self, prover: DimProver) -> None:
        self._prover = prover
        self.pairs: list[Pair] = []

    def equal(self, a: Dim, b: Dim) -> bool | None:
        found = self._prover.equal(a, b)
        if found is None:
            self.pairs.append((a, b))
        return found

    def simplify(self, expr: PrimExpr) -> PrimExpr:
        return self._prover.simplify(expr)


def is_known(info: Info) -> bool:
    """Whether a kernel can be made for an operand or result of which this is known: rank, dims, dtype."""
    match info:
        case TensorInfo(shape=shape, dtype=dtype):
            return shape is not None and not dtype.is_void and not any(isinstance(d, AnyDim) for d in shape)
        case ShapeInfo(values=values):
            return values is not None
        case PrimInfo(value=value):
            return value is not None
        case TupleInfo(fields=fields):
            return all(is_known(f) for f in fields)
        case _:
            return False

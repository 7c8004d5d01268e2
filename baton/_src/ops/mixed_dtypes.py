"""Gradients of products whose result has another dtype than their operands (`out_dtype`).

They are computed in the result's dtype, in which the gradient comes, and rounded to that of each operand.
"""

from __future__ import annotations

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs
from baton._src.values.dtype import DataType


def like_result(b: CallMaker, operands: Exprs, grad: GraphExpr) -> list[GraphExpr]:
    """The operands in the dtype of the result's gradient."""
    return [_cast(b, x, x.struct_info.dtype, grad.struct_info.dtype) for x in operands]


def like_operands(b: CallMaker, grads: Exprs, operands: Exprs, grad: GraphExpr) -> list[GraphExpr]:
    """Gradients that were computed in the dtype of the result's gradient, each in the dtype of its operand."""
    return [_cast(b, g, grad.struct_info.dtype, x.struct_info.dtype) for g, x in zip(grads, operands)]


def _cast(b: CallMaker, x: GraphExpr, given: DataType, wanted: DataType) -> GraphExpr:
    return x if given == wanted else b.op("astype", x, dtype=wanted)

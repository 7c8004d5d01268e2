"""`tvm.relax.dpl.is_op` as scripts call it."""

from __future__ import annotations

from baton._src.ir.expr import Op
from baton._src.relax.patterns import builders
from baton._src.relax.patterns.nodes import ExprPattern
from baton._src.relax.special_ops import SPECIAL_OPS


def is_op(op_name: str) -> ExprPattern:
    """The operator of this name ("relax.add"). It is called with its arguments: `is_op("relax.add")(a, b)`.

    Error `op-unknown`: there is none of this name, so that the pattern would match nothing.
    """
    found = builders.is_op(op_name)
    if op_name.removeprefix("relax.") not in SPECIAL_OPS:
        Op.get(op_name)
    return found

"""RemoveRedundantReshape: keep only the last of consecutive reshapes, and none that changes nothing.

    lv = R.reshape(x, R.shape([6])); gv = R.reshape(lv, R.shape([3, 2]))      ->      gv = R.reshape(x, R.shape([3, 2]))

Only reshapes of known result count, so that a -1 or 0 among the dims cannot come to mean something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.rewrite_patterns import rewrite_calls
from baton._src.relax.check.same_info import same_info
from baton._src.relax.nodes import Function, ShapeExpr
from baton._src.relax.patterns.builders import DFPattern, is_op, wildcard
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

R: Any = RELAX


@dataclass(frozen=True)
class RemoveRedundantReshape(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        data, inner_data = wildcard(), wildcard()
        reshape = is_op("relax.reshape")
        inner = reshape(inner_data, wildcard())

        def useless(expr: GraphExpr, found: Mapping[DFPattern, Any]) -> Any:
            return found[data] if same_info(found[data].struct_info_, expr.struct_info_) else None

        def twice(expr: GraphExpr, found: Mapping[DFPattern, Any]) -> Any:
            info = expr.struct_info_
            known = isinstance(info, TensorStructInfo) and isinstance(info.shape, ShapeExpr)
            return R.reshape(found[inner_data], info.shape) if known else None

        rules: list[tuple[DFPattern, Any]] = [(reshape(data, wildcard()), useless), (reshape(inner, wildcard()), twice)]
        return rewrite_calls(rules, function, module)

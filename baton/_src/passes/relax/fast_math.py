"""FastMathTransform: exponentials and their kin by faster, less exact kernels.

R.exp(x)      ->      R.fast_exp(x)

For float32 tensors, where the catalogue has a fast form of the operator. The error is that of the fast operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import OpDef
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.nodes import Call, Function, VarBinding
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

FAST = {"exp": "fast_exp", "tanh": "fast_tanh", "erf": "fast_erf", "nn.softmax": "nn.fast_softmax"}
"""By neutral name the fast form of an operator."""


@dataclass(frozen=True)
class FastMathTransform(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Faster(module).function(function)


class _Faster(BindingRewriter):
    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        definition = value.op.definition if isinstance(value, Call) and isinstance(value.op, Op) else None
        fast = FAST.get(definition.name) if isinstance(definition, OpDef) else None
        info = getattr(value, "struct_info_", None)
        if fast is None or not isinstance(info, TensorStructInfo) or info.dtype != "float32":
            return value
        return value.with_fields(op=CATALOGUE.get(fast).relax_op)

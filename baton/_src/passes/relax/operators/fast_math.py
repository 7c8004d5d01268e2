"""FastMathTransform: compute exponentials and similar functions by faster, less accurate kernels.

    R.exp(x)      ->      R.call_tir(cls.fast_exp, (x,), out_sinfo=R.Tensor((n,), dtype="float32"))

For float32 tensors of known shape, if the catalogue has a fast form of the operator, whose accuracy the result then
has. Equal kernels are made once.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ir.tensor_info import TensorInfo
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.relax.nodes import Call, ShapeExpr, VarBinding, definition_of
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.te.tensor import Tensor
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import DataType

FAST = {"exp": "fast_exp", "tanh": "fast_tanh", "erf": "fast_erf", "nn.softmax": "nn.fast_softmax"}
"""By neutral name the fast form of an operator."""


@dataclass(frozen=True)
class FastMathTransform(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return _Faster(module).rewritten()


class _Faster(ModuleRewriter):
    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        definition = definition_of(value)
        fast = FAST.get(definition.name) if isinstance(definition, OpDef) else None
        info = getattr(value, "struct_info_", None)
        known = isinstance(info, TensorStructInfo) and isinstance(info.shape, ShapeExpr) and info.dtype == "float32"
        return self._kernel(CATALOGUE.get(fast), value) if fast is not None and known else value

    def _kernel(self, fast: OpDef[Any], call: Call) -> Any:
        """The call of the kernel that computes `fast` instead."""
        compute = fast.compute
        assert not isinstance(compute, NotApplicable)

        def kernel(x: Tensor) -> Any:
            return compute((x,), call.attrs, TensorInfo(tuple(x.shape), DataType("float32")))

        hint = fast.name.rsplit(".", 1)[-1]
        return self.normalized(self.builder.call_te(kernel, call.args[0], primfunc_name_hint=hint))

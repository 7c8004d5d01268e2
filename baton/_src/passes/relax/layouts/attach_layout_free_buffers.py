"""AttachAttrLayoutFreeBuffers: mark the operands of kernels that are weights, whose layout may be chosen freely.

    R.call_tir(cls.matmul, (x, w), ...)      ->      cls.matmul1 has the attribute "layout_free_buffers": [1]

Weights are constants and, in functions with the attribute `num_input`, the parameters behind the inputs. Calls that
agree share a kernel; a kernel that is also called without weights keeps a version without the attribute.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relax.bindings.dead_code_elimination import remove_unreachable
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.relax.nodes import Call, Constant, Function, Tuple, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

LAYOUT_FREE = "layout_free_buffers"


@dataclass(frozen=True)
class AttachAttrLayoutFreeBuffers(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        rewriter = _Attacher(module)
        made = rewriter.rewritten()
        if made is module:
            return module
        return remove_unreachable(
            made, tuple(v.name_hint for v in module.functions if v not in rewriter.replaced_kernels)
        )


class _Attacher(ModuleRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.made: dict[tuple[GlobalVar, tuple[int, ...]], GlobalVar] = {}
        self.replaced_kernels: set[GlobalVar] = set()
        self.weights: set[Any] = set()

    def function(self, function: Function) -> Function:
        """Rewrite a whole function."""
        count = function.attrs.get("num_input")
        self.weights = set() if count is None else set(function.params[int(count) :])
        return super().function(function)

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if not isinstance(value, Call) or value.op is not special_op("call_tir"):
            return value
        kernel, operands = value.args[0], value.args[1]
        fields = operands.fields if isinstance(operands, Tuple) else (operands,)
        free = tuple(n for n, f in enumerate(fields) if f in self.weights or isinstance(self.resolved(f), Constant))
        if not free or not isinstance(self.context.functions.get(kernel), PrimFunc):
            return value
        return value.with_fields(args=(self._with_attribute(kernel, free), *value.args[1:]))

    def _with_attribute(self, kernel: GlobalVar, free: tuple[int, ...]) -> GlobalVar:
        key = (kernel, free)
        if key not in self.made:
            function = self.context.functions[kernel].with_attr(LAYOUT_FREE, list(free)).without_attr("global_symbol")
            self.made[key] = self.add(self.unique_var(kernel.name_hint), function)
            self.replaced_kernels.add(kernel)
        return self.made[key]

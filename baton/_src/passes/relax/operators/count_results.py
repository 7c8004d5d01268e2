"""CountResults: operators whose result's size depends on data (`OpDef.counted`) become two kernels.

    places = R.nonzero(x)     ->     count = R.call_tir(cls.nonzero_count, (x,), R.Tensor((1,), "int64"))
                                     size = R.tensor_to_shape(count)
                                     sizes = R.match_cast(size, R.Shape([n]))
                                     places = R.call_tir(cls.nonzero, (x,), R.Tensor((2, n), "int64"))

From here on the size is a shape variable, as others are: what follows is fused and planned, and the program may be one
native function. The kernel that counts has the attribute `tir.counts`: the parameter that has at least as many elements
as it counts, so that memory can be planned before.

Left alone: calls on operands of unknown rank, dims or dtype (NumPy answers, or a kernel made at run time), and on
constants, which are folded.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Counted, Fusion, OpDef
from baton._src.ir.tensor_info import TensorInfo
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.passes.relax.operators.kernel_of_call import Kernel, kernel_by
from baton._src.relax.check.assumed_sizes import is_known
from baton._src.relax.info import from_info, to_info
from baton._src.relax.nodes import Binding, Call, Constant, DataflowVar, MatchCast, ShapeExpr, Tuple, Var, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import ShapeStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import COUNTS
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import INT64


@dataclass(frozen=True)
class CountResults(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return _Counter(module).rewritten()


class _Counter(ModuleRewriter):
    def visit_binding(self, binding: Binding) -> None:
        value = binding.value if isinstance(binding, VarBinding) else None
        if isinstance(value, Call) and isinstance(value.op, Op) and isinstance(value.op.definition, OpDef):
            counted = value.op.definition.counted
            if counted is not None and self._is_known(value.args[0]):
                self._counted(binding, value, value.op.definition, counted)
                return
        super().visit_binding(binding)

    def _is_known(self, operand: GraphExpr) -> bool:
        return is_known(to_info(operand.struct_info)) and not isinstance(self.resolved(operand), Constant)

    def _counted(self, binding: Any, call: Call, definition: OpDef[Any], counted: Counted) -> None:
        operand, out = to_info(call.args[0].struct_info), to_info(call.struct_info)
        assert isinstance(operand, TensorInfo)
        assert isinstance(out, TensorInfo)
        size = TirVar("n", "int64")
        number = TensorInfo((1,), INT64)
        filled = TensorInfo(counted.shape(operand.ndim, size), out.dtype, vdevice=out.vdevice)
        names = [operand_name(a) for a in call.args]
        count = kernel_by(lambda i, a, o: counted.count(i, a), definition, [operand], call.attrs, number, names)
        fill = kernel_by(counted.fill, definition, [operand], call.attrs, filled, names)
        short = definition.name.rsplit(".", 1)[-1]
        total = self.emit(self._call(f"{short}_count", count, call, number, {COUNTS: 0}), "count")
        shape = self.emit(Call(special_op("tensor_to_shape"), [total], None, (), call.span), "size")
        known = ShapeStructInfo([size])
        self.keep(MatchCast((DataflowVar if self.in_dataflow else Var)("sizes", known), shape, known, call.span))
        found = self.normalized(self._call(short, fill, call, filled, {}))
        self.keep(VarBinding(self.with_info(binding.var, found.struct_info), found, binding.span))

    def _call(self, name: str, kernel: Kernel, call: Call, out: TensorInfo, facts: dict[str, Any]) -> Call:
        function = kernel.function.with_attr("op_pattern", int(Fusion.OPAQUE))
        for key, value in facts.items():
            function = function.with_attr(key, value)
        var: GlobalVar = self.builder.add_func(function, name)
        args: list[Any] = [var, Tuple([call.args[0]])]
        if kernel.tir_vars:
            args.append(ShapeExpr(kernel.tir_vars))
        return Call(special_op("call_tir"), args, None, (from_info(out),), call.span)


def operand_name(operand: GraphExpr) -> str:
    """The name of a kernel's parameter for it."""
    return operand.name_hint if isinstance(operand, Var) else "x"

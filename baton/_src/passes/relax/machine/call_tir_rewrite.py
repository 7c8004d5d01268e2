"""CallTIRRewrite: destination-passing calls become an allocation and a plain call.

    gv = R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((n,), "float32"))
    ->
    alloc = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0), R.str("global"))
    _ = cls.k(x, alloc)                                  # integers: R.vm.call_tir_dyn(cls.k, (x, alloc, integers))
    gv = alloc                                           # several outputs: gv = (alloc, alloc1)

`call_tir_inplace` passes the arguments it overwrites; `call_dps_packed` calls the packed function. Dataflow blocks must
be gone (`pass-dataflow`): such calls have effects.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.info import UNIT_INFO
from baton._src.relax.nodes import (
    Binding,
    Call,
    DataTypeImm,
    ExternFunc,
    Function,
    PrimValue,
    StringImm,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.special.calls import CallTIRInplaceAttrs, output_infos
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class CallTIRRewrite(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Rewriter(module).function(function)


class _Rewriter(BindingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        names = ("call_tir", "call_tir_inplace", "call_tir_with_grad", "call_dps_packed")
        self.calls = {special_op(name) for name in names}
        self.packed = special_op("call_dps_packed")

    def visit_binding(self, binding: Binding) -> None:
        value = binding.value if isinstance(binding, VarBinding) else None
        if not isinstance(value, Call) or value.op not in self.calls or not isinstance(value.args[1], Tuple):
            super().visit_binding(binding)
            return
        if self.in_dataflow:
            raise fail(
                "pass-dataflow", f"{value.op.name} in a dataflow block cannot become a call with effects",
                span=value.span, help="run ToNonDataflow first",
            )  # fmt: skip
        outputs = self._outputs(value)
        self._call(value, outputs)
        single = isinstance(value.sinfo_args[0], TensorStructInfo)
        self.keep(VarBinding(binding.var, outputs[0] if single else self.normalized(Tuple(outputs)), binding.span))

    def _outputs(self, call: Call) -> list[Any]:
        """The tensors the call writes: new ones, or arguments."""
        infos = output_infos(call)
        chosen = call.attrs.inplace_indices if isinstance(call.attrs, CallTIRInplaceAttrs) else (-1,) * len(infos)
        args = call.args[1].fields
        return [args[i] if i >= 0 else self._allocate(info) for i, info in zip(chosen, infos)]

    def _allocate(self, info: TensorStructInfo) -> Var:
        operands = [info.shape, DataTypeImm(info.dtype), PrimValue(0), StringImm("global")]
        return self.emit(Call(special_op("builtin.alloc_tensor"), operands), "alloc")

    def _call(self, call: Call, outputs: list[Any]) -> None:
        args = call.args[1].fields
        passed = [*args, *(o for o in outputs if not any(o is a for a in args))]
        callee: Any = call.args[0]
        if len(call.args) > 2:
            operands = [callee, Tuple([*passed, call.args[2]])]
            self.emit(Call(special_op("vm.call_tir_dyn"), operands, span=call.span), "_")
        elif isinstance(callee, ExternFunc):
            self.emit(Call(callee, passed, None, (UNIT_INFO,), call.span), "_")
        else:
            self.emit(Call(callee, passed, span=call.span), "_")

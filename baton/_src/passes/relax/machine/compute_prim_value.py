"""ComputePrimValue: compute scalar expressions by kernels.

    _ = R.assert_op(R.prim_value(n < 16))
    ->
    storage = R.vm.alloc_storage(R.shape([1]), R.prim_value(0), R.dtype("bool"), R.str("global"))
    out = R.vm.alloc_tensor(storage, R.prim_value(0), R.shape([]), R.dtype("bool"))
    _ = cls.compute_symbolic_expr(R.prim_value(n), out)
    lv = R.call_packed("vm.builtin.read_scalar", out, sinfo_args=(R.Prim("bool"),))
    _ = R.assert_op(lv)

Literals and plain variables stay. Equal expressions of one function share a kernel. Like all kernels here, these return
their result through memory. The form above is for late pipelines, where purity is no longer checked and allocations are
the VM's; in a pure function or a dataflow block the same is written without effects:

    out = R.call_tir(cls.compute_symbolic_expr, (R.prim_value(n),), out_sinfo=R.Tensor((), dtype="bool"))
    lv = R.call_pure_packed("vm.builtin.read_scalar", out, sinfo_args=(R.Prim("bool"),))
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.structural_hash import structural_hash
from baton._src.ir.traverse import rewrite, substitute
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.info import UNIT_INFO
from baton._src.relax.nodes import (
    Binding,
    Call,
    DataTypeImm,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import PrimStructInfo, TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import BufferStore
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import HANDLE


@dataclass(frozen=True)
class ComputePrimValue(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return _Computer(module).rewritten()


class _Computer(ModuleRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.kernels: dict[int, list[tuple[PrimExpr, GlobalVar]]] = {}
        self.pure: list[bool] = []
        """For each function being visited, outermost first: whether it must be free of effects."""

    def enter_function(self, function: Function) -> None:
        self.pure.append(function.is_pure and not function.attrs.get("relax.force_pure"))

    def leave_function(self, function: Function) -> Function:
        self.pure.pop()
        return function

    def visit_binding(self, binding: Binding) -> None:
        value = binding.value if isinstance(binding, VarBinding) else None
        if isinstance(value, If) or not isinstance(binding, VarBinding):
            if isinstance(value, If) and _is_computed(value.cond):
                self.keep(binding.with_fields(value=value.with_fields(cond=self._computed(value.cond))))
            else:
                self.keep(binding)
            return
        if isinstance(value, Call):
            args = [rewrite(a, self._rule) for a in value.args]
            same = all(a is b for a, b in zip(args, value.args))
            made: Any = value if same else value.with_fields(args=tuple(args))
        else:
            made = rewrite(value, self._rule) if not isinstance(value, Function) else value
        self.keep(binding if made is value else VarBinding(binding.var, made, binding.span))

    def _rule(self, item: Any) -> Node | None:
        return self._computed(item) if _is_computed(item) else None

    def _computed(self, value: PrimValue) -> Var:
        """The variable that holds the scalar, computed before the present binding."""
        expr = value.value
        variables = prim_vars(expr)
        kernel = self._kernel(expr, variables)
        info = PrimStructInfo(expr.dtype, expr)
        if self.pure[-1] or self.in_dataflow:
            given = Tuple([PrimValue(v) for v in variables])
            out = self.emit(Call(special_op("call_tir"), [kernel, given], None, (TensorStructInfo([], expr.dtype),)))
            read = [ExternFunc("vm.builtin.read_scalar"), out]
            return self.emit(Call(special_op("call_pure_packed"), read, None, (info,)), "lv")
        size = ShapeExpr([expr.dtype.itemsize])
        kind = DataTypeImm(expr.dtype)
        place = [size, PrimValue(0), kind, StringImm("global")]
        storage = self.emit(Call(special_op("vm.alloc_storage"), place), "storage")
        operands = [storage, PrimValue(0), ShapeExpr([]), kind]
        out = self.emit(Call(special_op("vm.alloc_tensor"), operands), "out")
        call: Any = Call(kernel, [*(PrimValue(v) for v in variables), out])
        self.keep(VarBinding(Var("_", UNIT_INFO), call.with_fields(struct_info_=UNIT_INFO)))
        return self.emit(Call(ExternFunc("vm.builtin.read_scalar"), [out], None, (info,)), "lv")

    def _kernel(self, expr: PrimExpr, variables: list[TirVar]) -> GlobalVar:
        """The kernel that computes an expression of these variables; equal ones are made once."""
        known = self.kernels.setdefault(structural_hash(expr), [])
        for other, var in known:
            if structural_equal(other, expr) and len(prim_vars(other)) == len(variables):
                if all(a is b for a, b in zip(prim_vars(other), variables)):
                    return var
        own = {v: v.copy() for v in variables}
        out = decl_buffer((), expr.dtype, "out")
        handle = TirVar("out_handle", HANDLE)
        body = BufferStore(out, substitute(expr, own), ())
        attrs = {"tir.is_host_func": True}
        made = PrimFunc([*own.values(), handle], body, None, {handle: out}, attrs)
        var = self.add(self.unique_var("compute_symbolic_expr"), made)
        known.append((expr, var))
        return var


def _is_computed(item: Any) -> bool:
    return isinstance(item, PrimValue) and not isinstance(item.value, (IntImm, FloatImm, TirVar))

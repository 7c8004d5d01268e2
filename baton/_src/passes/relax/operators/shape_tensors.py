"""ShapeTensors: sizes become elements of a tensor by a kernel.

    t = R.shape_to_tensor(R.shape([n, m // 2]))    ->    t = R.call_tir(cls.shape_tensor, (), R.Tensor((2,), "int64"),
                                                                        tir_vars=R.shape([n, m // 2]))

What an exporter computes of sizes (conditions on them, slices by them) is then part of the native code around it, and a
branch on it does not need the machine. There is one kernel for each number of sizes. Left alone: shapes that are
values, whose sizes are not written out.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Fusion
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.relax.nodes import Call, ShapeExpr, Tuple, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.expr import literal
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import BufferStore, SeqStmt
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import HANDLE, INT64


@dataclass(frozen=True)
class ShapeTensors(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return _Writer(module).rewritten()


class _Writer(ModuleRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.kernels: dict[int, GlobalVar] = {}
        """By the number of sizes."""

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if not isinstance(value, Call) or not isinstance(value.op, Op) or value.op.name != "relax.shape_to_tensor":
            return value
        shape = self.resolved(value.args[0])
        if not isinstance(shape, ShapeExpr) or not shape.values:
            return value
        out = TensorStructInfo(ShapeExpr([len(shape.values)]), INT64)
        args = [self._kernel(len(shape.values)), Tuple([]), shape]
        return self.normalized(Call(special_op("call_tir"), args, None, (out,), value.span))

    def _kernel(self, count: int) -> GlobalVar:
        """The kernel that writes so many sizes."""
        if count not in self.kernels:
            sizes = [TirVar(f"d{k}", INT64) for k in range(count)]
            out, handle = decl_buffer((count,), INT64, "sizes"), TirVar("out", HANDLE)
            stores = [BufferStore(out, size, (literal(k, INT64),)) for k, size in enumerate(sizes)]
            body = stores[0] if count == 1 else SeqStmt(tuple(stores))
            attrs = {"tir.is_scheduled": True, "tir.noalias": True, "op_pattern": int(Fusion.OPAQUE)}
            made = PrimFunc([handle, *sizes], body, None, {handle: out}, attrs)
            self.kernels[count] = self.builder.add_func(made, "shape_tensor")
        return self.kernels[count]

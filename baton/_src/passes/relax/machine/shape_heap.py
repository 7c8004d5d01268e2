"""The shape heap of one VM function: a slot for each shape variable and for each computed dim.

Computed dims are written by kernels over the heap, `heap[1] = heap[0] * 2`; the VM's functions read and write the other
slots (`runtime.vm.builtins.shapes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.ir.structural_hash import structural_hash
from baton._src.ir.traverse import substitute
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.info import UNIT_INFO
from baton._src.relax.nodes import Call, ExternFunc, PrimValue, Tuple, Var, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import BufferLoad, IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.operators import cast
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import BufferStore, SeqStmt
from baton._src.values.dtype import HANDLE, INT64


@dataclass
class _Kernel:
    """A kernel over the heap: which slots it writes, and what."""

    var: GlobalVar
    stores: list[tuple[int, PrimExpr]]


class ShapeHeap:
    """`var` is the heap in the program; kernels go into the module of `builder`."""

    def __init__(self, builder: BlockBuilder) -> None:
        self.var = Var("shape_heap", TensorStructInfo(None, "int64", ndim=1))
        self._builder = builder
        self._slots: dict[TirVar, int] = {}
        self._computed: dict[int, list[tuple[PrimExpr, int]]] = {}
        self._size = 0
        self._kernels: list[_Kernel] = []

    def slot(self, expr: PrimExpr) -> int:
        """The slot of a variable or of a computed dim."""
        if isinstance(expr, TirVar):
            if expr not in self._slots:
                self._slots[expr] = self._new_slot()
            return self._slots[expr]
        known = self._computed.setdefault(structural_hash(expr), [])
        for other, slot in known:
            if _same_expr(other, expr):
                return slot
        known.append((expr, self._new_slot()))
        return known[-1][1]

    def _new_slot(self) -> int:
        self._size += 1
        return self._size - 1

    def computation(self, wanted: Mapping[int, PrimExpr]) -> VarBinding:
        """A call of a new kernel that fills slots with computed dims."""
        var = GlobalVar(self._builder.get_unique_name("shape_func"))
        self._builder.update_func(var, PrimFunc([], SeqStmt(())))  # its name is taken; the body follows at the end
        self._kernels.append(_Kernel(var, list(wanted.items())))
        call: Any = Call(var, [self.var])
        return VarBinding(Var("_", UNIT_INFO), call.with_fields(struct_info_=UNIT_INFO))

    def allocation(self) -> VarBinding:
        """The allocation at the beginning of a function, once the size is known."""
        args = [ExternFunc("vm.builtin.alloc_shape_heap"), Tuple([PrimValue(max(1, self._size))])]
        call = Call(special_op("call_builtin_with_ctx"), args, None, (self.var.struct_info,))
        return VarBinding(self.var, call.with_fields(struct_info_=self.var.struct_info))

    def finish_kernels(self) -> None:
        """Write the kernels, once the size of the heap is known."""
        for kernel in self._kernels:
            heap = decl_buffer((max(1, self._size),), "int64", "heap")
            handle = TirVar("heap_handle", HANDLE)
            loads = {v: BufferLoad(heap, (IntImm("int64", s),)) for v, s in self._slots.items()}
            stores = [_store(heap, slot, substitute(expr, loads)) for slot, expr in kernel.stores]
            body = stores[0] if len(stores) == 1 else SeqStmt(tuple(stores))
            made = PrimFunc([handle], body, None, {handle: heap}, {"tir.is_host_func": 1})
            self._builder.update_func(kernel.var, made)


def _store(heap: Buffer, slot: int, value: PrimExpr) -> BufferStore:
    return BufferStore(heap, cast(INT64, value), (IntImm("int64", slot),))


def has_variables(expr: PrimExpr) -> bool:
    """Whether a dim depends on shape variables."""
    return bool(prim_vars(expr))


def _same_expr(a: PrimExpr, b: PrimExpr) -> bool:
    """Equal with the same variables in the same places (`structural_equal` alone pairs `n` with `m`)."""
    one, other = prim_vars(a), prim_vars(b)
    return len(one) == len(other) and all(x is y for x, y in zip(one, other)) and structural_equal(a, b)

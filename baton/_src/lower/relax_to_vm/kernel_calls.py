"""Which calls can be part of a native entry: destination-passing kernel calls over tensors of known dtype and dims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from baton._src.ir.expr import GraphExpr, Op, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.lower.relax_to_vm.abstract_values import Fields, KernelCall, Literal, Value, View, memory_of
from baton._src.lower.relax_to_vm.kernel_arguments import fits
from baton._src.ops.dims import show_shape
from baton._src.passes.tir.lowering.lower_prim_func import LEAVE_IF_FAULT, may_fault
from baton._src.relax.nodes import Call, Constant, GlobalVar, ShapeExpr, Tuple, Var
from baton._src.relax.special.calls import output_infos
from baton._src.relax.struct_info import StructInfo, TensorStructInfo
from baton._src.tir.expr import Call as TirCall
from baton._src.tir.expr import IntImm, StringImm
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Evaluate, Stmt

NAMES = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad")


def as_kernel_call(call: Call, module: IRModule, value_of: Callable[[GraphExpr], Value]) -> KernelCall | None:
    """The call as one kernel call, or None: then the VM allocates the outputs and calls the kernel."""
    if not isinstance(call.op, Op) or call.op.name not in NAMES:
        return None
    kernel, packed, *rest = call.args
    if not isinstance(kernel, GlobalVar) or not isinstance(packed, Tuple):
        return None
    function = module.functions.get(kernel)
    ints = rest[0] if rest else None
    infos = tuple(f.struct_info_ for f in packed.fields)
    outputs = output_infos(call)
    if not isinstance(function, PrimFunc) or not (ints is None or isinstance(ints, ShapeExpr)):
        return None
    if not all(is_known(i) for i in (*infos, *outputs)):
        return None
    inplace = tuple(call.attrs.inplace_indices) if call.op.name == NAMES[1] else (-1,) * len(outputs)
    values = tuple(value_of(f) for f in packed.fields)
    if any(i >= 0 and _is_constant(values[i]) for i in inplace):
        return None
    scalars = () if ints is None else ints.values
    fresh = [o for o, place in zip(outputs, inplace) if place < 0]
    if not fits(function, [*infos, *fresh], scalars):
        return None
    return KernelCall(kernel, function, kernel.name_hint, values, infos, scalars, outputs, inplace, span=call.span)


def call_statements(call: KernelCall, operands: Sequence[PrimExpr]) -> list[Stmt]:
    """The statements that call the kernel from another kernel; if the callee may report a fault, the caller returns as
    well.
    """
    found: list[Stmt] = [Evaluate(TirCall("void", call.kernel, operands))]
    if may_fault(call.function):
        found.append(Evaluate(TirCall("void", LEAVE_IF_FAULT, [StringImm(_site(call))])))
    return found


def _site(call: KernelCall) -> str:
    """The beginning of a fault's message: `gather_nd(float32 (4, n), int64 (2, 2)) at model.py:12`; of a function that
    calls kernels only its name, for its operands are those of the whole program.
    """
    if call.function.attrs.get("calls_kernels"):
        return call.name
    operands = ", ".join(f"{i.dtype} {_shown(i.shape.values)}" for i in call.arg_infos)
    return f"{call.name}({operands})" + (f" at {call.span}" if call.span else "")


def _shown(dims: Sequence[PrimExpr]) -> str:
    return show_shape(tuple(d.value if isinstance(d, IntImm) else d for d in dims))


def as_view(call: Call, var: Var, value_of: Callable[[GraphExpr], Value]) -> View | None:
    """A reshape between tensors of known dims (left by RewriteDataflowReshape) as a view, or None."""
    if not isinstance(call.op, Op) or call.op.name != "relax.reshape":
        return None
    source = value_of(call.args[0])
    if not is_known(call.args[0].struct_info_) or not is_known(var.struct_info_) or isinstance(source, Fields):
        return None
    return View(source, var.struct_info_)


def is_known(info: StructInfo | None) -> TypeGuard[TensorStructInfo]:
    """Whether it is a tensor of known dtype and dims."""
    return isinstance(info, TensorStructInfo) and isinstance(info.shape, ShapeExpr) and not info.dtype.is_void


def _is_constant(value: Value) -> bool:
    found = memory_of(value)
    return isinstance(found, Literal) and isinstance(found.expr, Constant)

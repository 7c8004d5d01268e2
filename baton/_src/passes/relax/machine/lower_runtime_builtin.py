"""LowerRuntimeBuiltin (older name: VMBuiltinLower): replace operators by calls of the VM's builtins.

    s = R.memory.alloc_storage(size, dev, scope, dtype)    ->  s = R.vm.alloc_storage(size, dev, dtype, scope)
    _ = R.memory.kill_tensor(t)                            ->  _ = R.vm.kill_object(t)
    y = R.reshape(x, R.shape([6]))                         ->  y = R.call_packed("vm.builtin.reshape", x, R.shape([6]))
    c = R.make_closure(cls.f, (x,))     ->  c = R.call_builtin_with_ctx("vm.builtin.make_closure", (cls.f, x))

Results keep their StructInfo. Packed calls count as impure, so this runs after RemovePurityChecking and where no
dataflow block is left (`pass-dataflow`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.call_pass import CallPass
from baton._src.relax.nodes import Call, ExternFunc, ShapeExpr, Tuple
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import IntImm

PACKED = {
    "relax.reshape": "vm.builtin.reshape",
    "relax.shape_of": "vm.builtin.shape_of",
    "relax.tensor_to_shape": "vm.builtin.tensor_to_shape",
    "relax.shape_to_tensor": "relax.run.shape_to_tensor",
    "relax.to_vdevice": "vm.builtin.to_device",
    "relax.null_value": "vm.builtin.null_value",
    "relax.memory.ensure_zero_offset": "vm.builtin.ensure_zero_offset",
    "relax.print": "relax.run.print",
    "relax.assert_op": "relax.run.assert_op",
}
"""Operators that become packed functions of the same arguments."""


@dataclass(frozen=True)
class LowerRuntimeBuiltin(CallPass):
    """See the module."""

    def replaced(self, call: Call, at: BindingRewriter) -> Any:
        """The call of a builtin, if there is one for the operator."""
        name = call.op.name
        if (name not in PACKED and name not in _MACHINE) or (name == "relax.reshape" and not _is_view(call)):
            return call
        if at.in_dataflow:
            raise fail(
                "pass-dataflow", f"{name} in a dataflow block cannot be lowered to a VM builtin, which has effects",
                span=call.span, help="run ToNonDataflow first",
            )  # fmt: skip
        if name in _MACHINE:
            return _MACHINE[name](call)
        return Call(ExternFunc(PACKED[name]), call.args, None, (call.struct_info,), call.span)


VMBuiltinLower = LowerRuntimeBuiltin
"""The name before v0.16."""


def _is_view(reshape: Call) -> bool:
    """Whether all dims are known (no -1 among them), so that the reshape is a view; others are resolved at run time."""
    infos = reshape.args[0].struct_info, reshape.struct_info
    target = reshape.args[1]
    wildcard = isinstance(target, ShapeExpr) and any(isinstance(d, IntImm) and d.value < 0 for d in target.values)
    return not wildcard and all(isinstance(i, TensorStructInfo) and isinstance(i.shape, ShapeExpr) for i in infos)


def _storage(call: Call) -> Call:
    size, device, scope, dtype = call.args
    return Call(special_op("vm.alloc_storage"), [size, device, dtype, scope], span=call.span)


def _tensor(call: Call) -> Call:
    return Call(special_op("vm.alloc_tensor"), call.args, span=call.span)


def _kill(call: Call) -> Call:
    return Call(special_op("vm.kill_object"), call.args, span=call.span)


def _make_closure(call: Call) -> Call:
    return _with_context("vm.builtin.make_closure", call)


def _invoke_closure(call: Call) -> Call:
    return _with_context("vm.builtin.invoke_closure", call)


def _with_context(name: str, call: Call) -> Call:
    """A call of a function that takes the VM first; `call` is op(function, (arguments...))."""
    function, packed = call.args
    fields = packed.fields if isinstance(packed, Tuple) else None
    if fields is None:
        return call
    operands = [ExternFunc(name), Tuple([function, *fields])]
    return Call(special_op("call_builtin_with_ctx"), operands, None, (call.struct_info,), call.span)


_MACHINE: dict[str, Callable[[Call], Call]] = {
    "relax.memory.alloc_storage": _storage,
    "relax.memory.alloc_tensor": _tensor,
    "relax.memory.kill_storage": _kill,
    "relax.memory.kill_tensor": _kill,
    "relax.make_closure": _make_closure,
    "relax.invoke_closure": _invoke_closure,
    "relax.invoke_pure_closure": _invoke_closure,
}

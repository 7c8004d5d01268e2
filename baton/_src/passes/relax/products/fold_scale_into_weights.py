"""FoldScaleIntoWeights: a constant scale per output channel after a convolution moves into its weights.

    lv = R.nn.conv2d(x, W)                       lv = R.nn.conv2d(x, W * s)
    lv1 = R.add(lv, bias)                  ->    lv1 = R.add(lv, bias * s)
    lv2 = R.multiply(lv1, s)

W, s and an optional bias in between are constants, s (and bias) vary along the output channels only, and nothing else
uses the values between. This removes what batch_norm leaves after a convolution. Results change by rounding. Which
weight axis holds the output channels is read from the operator's layouts, so operators without an anchor layout, and
transposed convolutions in groups, are left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.analysis.bindings import all_bindings, count_uses
from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import OpDef
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.layouts import Anchor
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.shared.filled_arrays import Filling, filling
from baton._src.relax.nodes import Binding, Call, Constant, Function, Var, VarBinding, definition_of
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass
from baton._src.values.filled_tensor import unfinished
from baton._src.values.tensor import AnyArray


@dataclass(frozen=True)
class FoldScaleIntoWeights(FunctionPass):
    """See the module."""

    opt_level = 2
    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        plan = _Plan(function)
        if not plan.scales:
            return function
        with filling() as tensors:
            return _Scaler(module, plan, tensors).function(function)


@dataclass(frozen=True)
class _Channels:
    """The axes of the output channels of an anchor's call, and how many there are."""

    weight_axis: int
    out_axis: int
    ndim: int
    count: int


class _Plan:
    """Which bindings are scaled by what, and which ones are removed."""

    def __init__(self, function: Function) -> None:
        self.values = {b.var: b.value for b in all_bindings(function) if isinstance(b, VarBinding)}
        self.uses = count_uses(function)
        self.scales: dict[Var, AnyArray] = {}
        """By variable of an anchor or bias call the factor (one number a channel) to put into its constant operand."""
        self.dropped: dict[Var, Any] = {}
        """Multiplications, and the variable that has their value afterwards."""
        self.channels: dict[Var, _Channels] = {}
        for var, value in self.values.items():
            self._consider(var, value)

    def _consider(self, var: Var, value: GraphExpr) -> None:
        operands = _constant_operand(value, CATALOGUE.relax("multiply"))
        if operands is None:
            return
        inner, factor = operands
        chain: list[Var] = []
        at = inner
        while True:
            if not isinstance(at, Var) or self.uses.get(at) != 1 or at in self.scales:
                return
            found: Any = self.values.get(at)
            channels = _channels(found)
            if channels is not None:
                break
            bias = _constant_operand(found, CATALOGUE.relax("add"))
            if bias is None or chain:
                return
            chain.append(at)
            at = bias[0]
        if found.args[1].struct_info.dtype != value.struct_info.dtype:
            return  # weights of half the width would lose digits of the scale
        scale = _per_channel(factor, channels)
        if (
            scale is None
            or scale.size not in (1, channels.count)
            or any(self._bias(c, channels) is None for c in chain)
        ):
            return
        for scaled in (at, *chain):
            self.scales[scaled] = scale
            self.channels[scaled] = channels
        self.dropped[var] = inner

    def _bias(self, var: Var, channels: _Channels) -> AnyArray | None:
        operands = _constant_operand(self.values[var], CATALOGUE.relax("add"))
        return None if operands is None else _per_channel(operands[1], channels)


class _Scaler(BindingRewriter):
    def __init__(self, module: IRModule, plan: _Plan, tensors: Filling) -> None:
        super().__init__(module)
        self.plan = plan
        self.tensors = tensors

    def visit_binding(self, binding: Binding) -> None:
        var = binding.var
        if isinstance(binding, VarBinding) and var in self.plan.dropped:
            inner = self._use(self.plan.dropped[var])
            # The variable takes over the value computed last, so that outputs keep their names.
            self.keep(VarBinding(var, inner, binding.span))
        elif isinstance(binding, VarBinding) and var in self.plan.scales:
            scaled = self._scaled(binding.value, self.plan.scales[var], self.plan.channels[var])
            self.keep(VarBinding(var, scaled, binding.span))
        else:
            self.keep(binding)

    def _scaled(self, call: Call, scale: AnyArray, channels: _Channels) -> Call:
        """The call with its constant operand multiplied along the channels."""
        anchor = _channels(call) is not None
        position = 1 if anchor else next(i for i, a in enumerate(call.args) if isinstance(a, Constant))
        constant: Any = call.args[position]
        data = unfinished(constant.data)
        ndim, axis = (data.ndim, channels.weight_axis) if anchor else (channels.ndim, channels.out_axis)
        along = scale.reshape([-1 if n == axis else 1 for n in range(ndim)])
        shape = np.broadcast_shapes(data.shape, along.shape)
        new = Constant(self.tensors.fill(shape, data.dtype, _multiplied, constant.data, along))
        args = [new if i == position else a for i, a in enumerate(call.args)]
        found: Call = self.normalized(Call(call.op, args, call.attrs, call.sinfo_args, call.span))
        return found


def _multiplied(into: AnyArray, data: AnyArray, scale: AnyArray) -> None:
    np.multiply(data, scale, out=into, casting="same_kind")


def _constant_operand(value: GraphExpr, op: Op) -> tuple[Any, AnyArray] | None:
    """(other operand, array) of a call of a commutative operator with one constant."""
    if not isinstance(value, Call) or value.op is not op:
        return None
    left, right = value.args
    if isinstance(right, Constant) and not isinstance(left, Constant):
        return left, right.data.data
    return (right, left.data.data) if isinstance(left, Constant) and not isinstance(right, Constant) else None


def _channels(value: Any) -> _Channels | None:
    """Where the output channels are, if `value` is a convolution with constant weights."""
    definition = definition_of(value)
    layout = definition.layout if isinstance(definition, OpDef) else None
    if not isinstance(layout, Anchor) or layout.kernel is None or not isinstance(value.args[1], Constant):
        return None
    attrs = value.attrs
    kernel = str(attrs.get(layout.kernel, ""))
    out = str((attrs.get(layout.out) if layout.out else None) or attrs.get(layout.data))
    transposed = kernel.startswith("IO") and attrs.get("groups", 1) != 1
    plain = kernel.isalpha() and out.isalpha() and "O" in kernel and "C" in out
    if not plain or transposed or not np.issubdtype(value.args[1].data.data.dtype, np.floating):
        return None
    axis = kernel.index("O")
    return _Channels(axis, out.index("C"), len(out), value.args[1].data.shape[axis])


def _per_channel(array: AnyArray, channels: _Channels) -> AnyArray | None:
    """The vector of an array that broadcasts along the output channels only."""
    if array.ndim > channels.ndim:
        return None
    full = array.reshape((1,) * (channels.ndim - array.ndim) + array.shape)
    if any(size != 1 for axis, size in enumerate(full.shape) if axis != channels.out_axis):
        return None
    return full.reshape(-1)

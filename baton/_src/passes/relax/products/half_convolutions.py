"""HalfConvolutions: compute convolutions and pooling of float16 and bfloat16 in float32, rounded as before.

    lv = R.nn.conv2d(x, W)         x_wide = R.astype(x, "float32");  x_half = R.astype(x_wide, "float16")
    lv1 = R.add(lv, x)       ->    lv_wide = R.nn.conv2d(x_wide, W_wide)
                                   lv = R.astype(lv_wide, "float16")
                                   lv1 = R.add(lv, x_half)

Kernels accumulate in float32 in any case, so results do not change. Operands of convolutions are kept in float32,
holding the rounded values: the cast becomes part of the kernel that computes them, and loops multiply without
conversions, in blocks of channels and by Winograd's algorithm, as in float32. Weights, constants here, take twice the
memory. Left alone is bfloat16 on processors that multiply it twice as fast as float32 (AVX512-BF16 of AMD).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.analysis.bindings import all_bindings
from baton._src.ir.cpu import has_fast_bfloat16_dots
from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.nodes import Binding, Call, Constant, DataflowVar, Function, Var, VarBinding
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

_WIDE = "float32"
_CONVOLUTIONS = frozenset(f"relax.nn.conv{n}d{kind}" for n in (1, 2, 3) for kind in ("", "_transpose"))
_WINDOWS = frozenset(f"relax.nn.{kind}_pool{n}d" for n in (1, 2, 3) for kind in ("max", "avg"))


@dataclass(frozen=True)
class HalfConvolutions(FunctionPass):
    """See the module."""

    opt_level = 2
    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        target = Target.current(allow_none=True) or Target("llvm")
        multiplied = has_fast_bfloat16_dots(target.cpu, target.lanes(32))
        kinds = _Kinds(frozenset({"float16"} if multiplied else {"float16", "bfloat16"}))
        calls = [b.value for b in all_bindings(function) if isinstance(b, VarBinding) and isinstance(b.value, Call)]
        if not any(map(kinds.is_convolution, calls)):
            return function
        read = {c.args[0] for c in calls if kinds.is_convolution(c) or kinds.is_window(c)}
        return _Rewriter(module, kinds, read).function(function)


@dataclass(frozen=True)
class _Kinds:
    """Which calls are meant."""

    halves: frozenset[str]

    def is_convolution(self, call: Call) -> bool:
        """Of halves, with weights that are constants; the result may be wide."""
        if not isinstance(call.op, Op) or call.op.name not in _CONVOLUTIONS:
            return False
        data, weight = call.args
        known = isinstance(weight, Constant) and _dtype(weight) in self.halves
        return known and _dtype(data) in self.halves and _dtype(call) in (*self.halves, _WIDE)

    def is_window(self, call: Call) -> bool:
        """Of halves."""
        if not isinstance(call.op, Op) or call.op.name not in _WINDOWS:
            return False
        return _dtype(call.args[0]) in self.halves and _dtype(call) in self.halves


class _Rewriter(BindingRewriter):
    def __init__(self, module: IRModule, kinds: _Kinds, read: set[Any]) -> None:
        super().__init__(module)
        self.kinds = kinds
        self.read = read
        """Values that convolutions and windows read."""
        self.wide: dict[Any, Var] = {}
        """For a value of half the width its float32 copy."""
        self.weights: dict[int, tuple[Constant, Constant]] = {}
        """Converted weights, by identity (kept alive here)."""

    def visit_binding(self, binding: Binding) -> None:
        super().visit_binding(binding)
        var = binding.var
        if var in self.read and isinstance(var, DataflowVar):
            wide = self.emit(_cast(var, _WIDE), f"{var.name_hint}_wide")
            half = self.emit(_cast(wide, str(var.struct_info.dtype)), f"{var.name_hint}_half")
            self.wide[half] = wide
            self.replace(var, half)

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if not isinstance(value, Call) or not (self.kinds.is_convolution(value) or self.kinds.is_window(value)):
            return value
        data = self.wide.get(value.args[0]) or self.emit(_cast(value.args[0], _WIDE))
        args, attrs = (data, *value.args[1:]), value.attrs
        if self.kinds.is_convolution(value):
            args, attrs = (data, self._weight(value.args[1])), attrs.with_attrs(out_dtype=_WIDE)
        wide = self.normalized(value.with_fields(args=args, attrs=attrs, struct_info_=None))
        if _dtype(value) == _WIDE:
            return wide
        return self.normalized(_cast(self.emit(wide, f"{binding.var.name_hint}_wide"), _dtype(value)))

    def _weight(self, weight: Constant) -> Constant:
        if id(weight) not in self.weights:
            self.weights[id(weight)] = (weight, Constant(weight.data.data.astype(np.float32)))
        return self.weights[id(weight)][1]


def _cast(value: GraphExpr, dtype: str) -> Any:
    return RelaxMaker(CATALOGUE.get("astype"), CATALOGUE)(value, dtype=dtype)


def _dtype(value: GraphExpr) -> str:
    info = value.struct_info_
    return str(info.dtype) if isinstance(info, TensorStructInfo) else ""

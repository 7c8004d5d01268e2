"""FakeQuantize: values that are quantised and immediately dequantised are rounded and clipped as floats instead.

    lv = R.quantize(x, s, z)             lv = R.round_to_range(R.divide(x, s), z)
    lv1 = R.dequantize(lv, s2, z)   ->   lv1 = R.multiply(lv, s2)

z is a constant, and nothing else reads the bytes. Quantisation tools insert such a pair after every operator;
ByteProducts has already used those it can. The results are the same, since floats hold such integers exactly, while
converting to integers and back would be most of the work after a kernel's sums. The only difference is what bytes
cannot hold: NaN and the sign of zero are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.analysis.bindings import all_bindings, count_uses
from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAX
from baton._src.ops.quant.parameters import WIDEST
from baton._src.passes.relax.lasting_values import LookingRewriter
from baton._src.passes.relax.products.folded_arithmetic import FoldedArithmetic, info_of, size_of, tensor
from baton._src.relax.nodes import Call, Function, Var, VarBinding, is_call
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

R: Any = RELAX


@dataclass(frozen=True)
class FakeQuantize(FunctionPass):
    """See the module."""

    opt_level = 2
    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        if not any(isinstance(b, VarBinding) and is_call(b.value, "relax.dequantize") for b in all_bindings(function)):
            return function
        return _Rewriter(module, count_uses(function)).function(function)


class _Rewriter(LookingRewriter):
    def __init__(self, module: IRModule, uses: dict[Var, int]) -> None:
        super().__init__(module)
        self.uses = uses
        self.arithmetic = FoldedArithmetic(self)

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if not is_call(value, "relax.dequantize") or self.uses.get(value.args[0]) != 1:
            return value
        bytes_ = self.resolved(value.args[0])
        if not is_call(bytes_, "relax.quantize") or not self.is_visible(bytes_.args[0]):
            return value
        dtype, zero = info_of(value.args[0]).dtype, self._common_zero(bytes_, value)
        floats = {str(info_of(v).dtype) for v in (bytes_.args[0], *bytes_.args[1:2], *value.args[1:2], value)}
        low, high = dtype.int_range
        if zero is None or not low <= zero <= high or floats != {"float32"} or dtype.bits > WIDEST:
            return value
        point = tensor(np.asarray(zero, dtype.numpy))
        whole = self.emit(R.round_to_range(self._divided(*bytes_.args[:2]), point, dtype=dtype))
        return self.normalized(R.multiply(whole, self.arithmetic.flat(value.args[1])))

    def _common_zero(self, quantize: Call, dequantize: Call) -> int | None:
        """The constant zero point of both; None if there is none, or something varies along an axis."""
        if any(size_of(v) != 1 for call in (quantize, dequantize) for v in call.args[1:]):
            return None
        first, second = (self.arithmetic.constant(call.args[2]) for call in (quantize, dequantize))
        if first is None or second is None or first.item() != second.item():
            return None
        return int(first.item())

    def _divided(self, x: Any, scale: Any) -> Any:
        """`x / scale`"""
        known = self.arithmetic.constant(scale)
        return x if known is not None and known.item() == 1 else self.emit(R.divide(x, self.arithmetic.flat(scale)))

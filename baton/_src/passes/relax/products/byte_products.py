"""ByteProducts: products of quantised tensors are computed in int8; zero points and scales are applied to the sums.

    lv = R.subtract(R.astype(a, "int32"), za)        p = R.matmul(a, b, out_dtype="int32")        a: uint8, b: int8
    lv1 = R.subtract(R.astype(b, "int32"), zb)  ->   gv = p - za * (column sums of b) - zb * (row sums of a) + k za zb
    gv = R.matmul(lv, lv1)

The same for convolutions, for `dequantize`d factors (sums of integers are exact, and scaled once: closer to the real
numbers than the sum of floats they replace, which differs by rounding), and for plain products of bytes with int32
sums. Where both factors are signed or both unsigned, one is shifted by 128 and so is its zero point: dot
instructions multiply unsigned by signed bytes. A border of zeros around centred data is a border of zero points around
bytes. What depends on constants alone (sums of weights, zero points) is folded by the next pass.

A value computed from such sums and then quantised by a constant scale is multiplied by the scale's reciprocal: a
division would take as long as the sums of a 1x1 convolution. (Other floats, dequantised bytes included, are divided, as
the operator specifies: between two scales whole rows of values lie halfway, and have to be rounded to even.)

For targets that have such an instruction (`kernel_schedules/dot_products`); elsewhere programs are left alone, and so
are products whose zero point or scale varies along the axis of the sum, or whose int32 sums could overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.cpu import has_byte_dots
from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.ops.builders import RELAX
from baton._src.ops.nn.convolution.convolution import ConvAttrs
from baton._src.ops.windows import SPATIAL
from baton._src.passes.relax.lasting_values import LookingRewriter
from baton._src.passes.relax.products.byte_factors import Factor, Factors
from baton._src.passes.relax.products.folded_arithmetic import (
    FoldedArithmetic,
    extent,
    info_of,
    int32,
    size_of,
    sizes_of,
    tensor,
)
from baton._src.relax.nodes import Call, Function, VarBinding, is_call
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

R: Any = RELAX
LONGEST = 1 << 15
"""Terms of a sum of products of centred bytes (each below 2**16) that int32 certainly holds."""
POINTWISE = tuple(
    f"relax.{name}" for name in ("add", "subtract", "multiply", "nn.relu", "clip", "maximum", "minimum", "astype")
)
LONGEST_EPILOGUE = 16
"""Most values before a quantisation that are inspected."""


@dataclass(frozen=True)
class ByteProducts(FunctionPass):
    """See the module."""

    opt_level = 2
    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        target = Target.current(allow_none=True)
        if target is None or target.kind.name != "llvm" or not has_byte_dots(target.features, target.lanes(32)):
            return function
        return _Rewriter(module).function(function)


class _Rewriter(LookingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.arithmetic = FoldedArithmetic(self)
        self.factors = Factors(self, self.arithmetic)

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if is_call(value, "relax.quantize"):
            return self._requantized(value)
        if not isinstance(value, Call) or not isinstance(value.op, Op) or len(value.args) != 2:
            return value
        if not _is_product(value):
            return value
        result = value.struct_info
        if not isinstance(result, TensorStructInfo) or result.dtype not in ("int32", "float32"):
            return value
        left, right = (self.factors.find(v, str(result.dtype)) for v in value.args)
        if left is None or right is None or min(info_of(left.value).ndim, info_of(right.value).ndim) < 2:
            return value
        convolution = isinstance(value.attrs, ConvAttrs)
        made = self._convolution(value, left, right) if convolution else self._product(left, right)
        return value if made is None else made

    # ------------------------------------------------------------------------------------------------ products

    def _product(self, left: Factor, right: Factor) -> Any:
        depth = extent(left.value, -1)
        both = left.zero is not None and right.zero is not None
        if any(_varies(v, -1) for v in (left.zero, left.scale)) or any(
            _varies(v, -2) for v in (right.zero, right.scale)
        ):
            return None
        if depth is None and (both or left.scale is not None or left.is_signed == right.is_signed):
            return None
        if left.scale is not None and (depth or 0) > LONGEST:
            return None
        left, right = self.factors.unlike(left, right)
        total = self.emit(R.matmul(left.value, right.value, out_dtype="int32"))
        if left.zero is not None:
            total = self.arithmetic.less(total, left.zero, self.arithmetic.sum(right.value, [-2]))
        if right.zero is not None:
            total = self.arithmetic.less(total, right.zero, self.arithmetic.sum(left.value, [-1]))
        if left.zero is not None and right.zero is not None:
            zeros = self.arithmetic.times(left.zero, right.zero)
            total = self.emit(R.add(total, self.arithmetic.times(int32(depth or 0), zeros)))
        return self._scaled(total, left.scale, right.scale)

    def _convolution(self, call: Call, data: Factor, weight: Factor) -> Any:
        a, letters = call.attrs, SPATIAL[call.attrs.spatial]
        terms = _volume(weight.value)
        layouts = (a.data_layout, a.kernel_layout, a.out_layout or a.data_layout)
        if layouts != ("NC" + letters, "OI" + letters, "NC" + letters) or terms is None:
            return None
        inside = any(_varies(v, n - a.spatial) for v in (weight.scale, weight.zero) for n in range(-1, a.spatial))
        if size_of(data.zero) > 1 or size_of(data.scale) > 1 or inside or (data.scale is not None and terms > LONGEST):
            return None
        data, weight = self.factors.unlike(data, weight, first=weight.is_signed)
        if weight.zero is not None and (a.groups != 1 or size_of(data.zero) != 1):
            return None
        plain = self._bordered(data, a)
        if plain is None:
            return None
        channels = (1, -1) + (1,) * a.spatial
        total = self.emit(Call(call.op, [plain[0], weight.value], plain[1].with_attrs(out_dtype="int32")))
        if data.zero is not None:
            sums = self.arithmetic.sum(weight.value, list(range(1, 2 + a.spatial)))
            total = self.arithmetic.less(total, self.arithmetic.flat(data.zero), self.arithmetic.shaped(sums, channels))
        if weight.zero is not None:
            total = self._centred(total, call, plain, data, weight)
        if data.scale is None:
            return self.resolved(total)
        return self._scaled(total, self.arithmetic.flat(data.scale), self._by_channel(weight.scale, a.spatial))

    def _centred(self, total: Any, call: Call, plain: tuple[Any, Any], data: Factor, weight: Factor) -> Any:
        """`total` less the weights' zero points times what the windows hold: one more channel, of weights of 1."""
        zero = self._by_channel(weight.zero, call.attrs.spatial)
        ones = np.ones((1, *(sizes_of(weight.value) or ())[1:]), info_of(weight.value).dtype.numpy)
        attrs = plain[1].with_attrs(out_dtype="int32", channels=None)
        held = self.emit(Call(call.op, [plain[0], tensor(ones)], attrs))
        if data.zero is not None:
            border = self.arithmetic.times(int32(ones.size), self.arithmetic.flat(data.zero))
            held = self.emit(R.subtract(held, border))
        return self.arithmetic.less(total, zero, held)

    def _by_channel(self, value: GraphExpr, spatial: int) -> Any:
        """What weights have for all output channels or for each, as it lies along the result."""
        if size_of(value) == 1:
            return self.arithmetic.flat(value)
        return self.arithmetic.shaped(value, (1, -1) + (1,) * spatial)

    def _bordered(self, data: Factor, a: Any) -> tuple[Any, Any] | None:
        """The bytes with a border of zero points, and the convolution's attributes; None if zero points may be no
        bytes.
        """
        if data.zero is None or not any(int(p) for p in a.padding):
            return data.value, a
        if not self.factors.may_be_border(data):
            return None
        pads = [0, 0, 0, 0] + [int(p) for n in range(a.spatial) for p in (a.padding[n], a.padding[a.spatial + n])]
        inner = a.with_attrs(padding=(0,) * (2 * a.spatial))
        zero = self.arithmetic.constant(data.zero)
        if zero is not None:
            return self.emit(R.nn.pad(data.value, pads, pad_value=float(zero.reshape(-1)[0]))), inner
        inside = self.emit(R.nn.pad(self.emit(R.ones_like(data.value)), pads))
        point = self.emit(R.astype(self.arithmetic.flat(data.zero), info_of(data.value).dtype))
        wide = self.emit(R.nn.pad(data.value, pads))
        return self.emit(R.where(self.emit(R.astype(inside, "bool")), wide, point)), inner

    def _scaled(self, total: Any, left: Any, right: Any) -> Any:
        if left is None:
            return self.resolved(total)
        return self.normalized(R.multiply(R.astype(total, "float32"), self.arithmetic.times(left, right)))

    def _requantized(self, call: Call) -> Any:
        """A quantisation of values computed from sums of products, by multiplication."""
        data, scale, zero = call.args
        known = self.arithmetic.constant(scale)
        if known is None or known.size != 1 or known == 1 or size_of(zero) != 1 or not self._holds_products(data):
            return call
        factor = (np.float32(1) / known.astype("float32")).reshape(())
        value, inner = data, self.resolved(data)
        own = self.arithmetic.constant(inner.args[1]) if is_call(inner, "relax.multiply") else None
        if own is not None and self.is_visible(inner.args[0]):
            value, factor = inner.args[0], own * factor
        real = self.emit(R.multiply(value, tensor(np.asarray(factor, "float32"))))
        return self.normalized(Call(call.op, (real, tensor(np.ones((), "float32")), zero), call.attrs))

    def _holds_products(self, expr: GraphExpr) -> bool:
        """Whether a value is a short computation on sums of products."""
        pending = [expr]
        for _ in range(LONGEST_EPILOGUE):
            if not pending:
                return False
            value = self.resolved(pending.pop())
            if not isinstance(value, Call) or not isinstance(value.op, Op):
                continue
            if _is_product(value):
                return True
            if is_call(value, *POINTWISE):
                pending.extend(reversed(value.args))
        return False


def _is_product(call: Call) -> bool:
    is_convolution = isinstance(call.attrs, ConvAttrs) and call.op.name.startswith("relax.nn.conv")
    return is_convolution or is_call(call, "relax.matmul")


def _volume(weight: Any) -> int | None:
    """The terms of one sum of a convolution."""
    sizes = sizes_of(weight)
    return None if sizes is None else int(np.prod(sizes[1:]))


def _varies(expr: Any, axis: int) -> bool:
    """Whether a zero point or scale may vary along an axis (from the back) of what it belongs to."""
    return expr is not None and info_of(expr).ndim >= -axis and extent(expr, axis) != 1

"""ByteProducts: products of 8-bit numbers are taken of the bytes; zero points and scales come behind the sums.

    lv = R.subtract(R.astype(a, "int32"), za)        p = R.matmul(a, b, out_dtype="int32")        a: uint8, b: int8
    lv1 = R.subtract(R.astype(b, "int32"), zb)  ->   gv = p - za * (column sums of b) - zb * (row sums of a) + k za zb
    gv = R.matmul(lv, lv1)

The same for convolutions, for `dequantize`d factors (sums of integers are exact, and scaled once: closer to the real
numbers than the sum of floats they replace, which differs by rounding), and for plain products of bytes with int32
sums. Where both factors are signed or both unsigned, one is shifted by 128 and so is its zero point: dot
instructions multiply unsigned by signed bytes. A border of zeros around centred data is a border of zero points around
bytes. What depends on constants alone (sums of weights, zero points) is folded by the next pass.

What is computed from such sums and then quantised by a constant scale is multiplied by the scale's reciprocal: dividing
would take as long as the sums of a 1x1 convolution. (Floats from elsewhere, dequantised bytes included, are divided, as
the operator says: between two scales whole rows of values lie halfway, and have to be rounded to the even one.)

For targets that have such an instruction (`kernel_schedules/products/dot_products`); elsewhere programs stay as they
are, and always where a zero point or scale varies along the axis of the sum or int32 sums of scaled products could
overflow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from baton._src.ir.cpu import has_byte_dots
from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.ops.builders import RELAX
from baton._src.ops.nn.convolution.convolution import ConvAttrs
from baton._src.ops.windows import SPATIAL
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.check.deduce import constant_info
from baton._src.relax.nodes import Call, Constant, Function, ShapeExpr, Var, VarBinding
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.tir.expr import IntImm
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass
from baton._src.values.tensor import AnyArray, NDArray

R: Any = RELAX
BYTES = ("int8", "uint8")
LONGEST = 1 << 15
"""Terms of a sum of products of centred bytes (each below 2**16) that int32 certainly holds."""
POINTWISE = ("add", "subtract", "multiply", "nn.relu", "clip", "maximum", "minimum", "astype")
LONGEST_EPILOGUE = 16
"""Values behind a quantisation that are looked at."""


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


@dataclass(frozen=True)
class _Factor:
    """(value - zero) * scale; `zero` (int32) and `scale` broadcast to the value's shape; None: 0, 1."""

    value: Any
    zero: Any = None
    scale: Any = None

    @property
    def is_signed(self) -> bool:
        return bool(_info(self.value).dtype == "int8")


class _Rewriter(BindingRewriter):
    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        if _is_call(value, "quantize"):
            return self._requantized(value)
        if not isinstance(value, Call) or not isinstance(value.op, Op) or len(value.args) != 2:
            return value
        if not _is_product(value):
            return value
        result = value.struct_info
        if not isinstance(result, TensorStructInfo) or result.dtype not in ("int32", "float32"):
            return value
        left, right = (self._factor(v, str(result.dtype)) for v in value.args)
        if left is None or right is None or min(_info(left.value).ndim, _info(right.value).ndim) < 2:
            return value
        convolution = isinstance(value.attrs, ConvAttrs)
        made = self._convolution(value, left, right) if convolution else self._product(left, right)
        return value if made is None else made

    # ------------------------------------------------------------------------------------------------ products

    def _product(self, left: _Factor, right: _Factor) -> Any:
        depth = _extent(left.value, -1)
        both = left.zero is not None and right.zero is not None
        if any(_varies(v, -1) for v in (left.zero, left.scale)) or any(
            _varies(v, -2) for v in (right.zero, right.scale)
        ):
            return None
        if depth is None and (both or left.scale is not None or left.is_signed == right.is_signed):
            return None
        if left.scale is not None and (depth or 0) > LONGEST:
            return None
        left, right = self._unlike(left, right)
        total = self.emit(R.matmul(left.value, right.value, out_dtype="int32"))
        if left.zero is not None:
            total = self._less(total, left.zero, self._sum(right.value, [-2]))
        if right.zero is not None:
            total = self._less(total, right.zero, self._sum(left.value, [-1]))
        if left.zero is not None and right.zero is not None:
            zeros = self._times(left.zero, right.zero)
            total = self.emit(R.add(total, self._times(_int32(depth or 0), zeros)))
        return self._scaled(total, left.scale, right.scale)

    def _convolution(self, call: Call, data: _Factor, weight: _Factor) -> Any:
        a, letters = call.attrs, SPATIAL[call.attrs.spatial]
        terms = _volume(weight.value)
        layouts = (a.data_layout, a.kernel_layout, a.out_layout or a.data_layout)
        if layouts != ("NC" + letters, "OI" + letters, "NC" + letters) or terms is None:
            return None
        inside = any(_varies(weight.scale, n - a.spatial) for n in range(-1, a.spatial))
        if _size(data.zero) > 1 or _size(data.scale) > 1 or inside or (data.scale is not None and terms > LONGEST):
            return None
        data, weight = self._unlike(data, weight, first=weight.is_signed)
        plain = None if weight.zero is not None else self._bordered(data, a)
        if plain is None:
            return None
        channels = (1, -1) + (1,) * a.spatial
        total = self.emit(Call(call.op, [plain[0], weight.value], plain[1].with_attrs(out_dtype="int32")))
        if data.zero is not None:
            sums = self._sum(weight.value, list(range(1, 2 + a.spatial)))
            total = self._less(total, self._flat(data.zero), self._shaped(sums, channels))
        if data.scale is None:
            return self.resolved(total)
        scale = self._flat(weight.scale) if _size(weight.scale) == 1 else self._shaped(weight.scale, channels)
        return self._scaled(total, self._flat(data.scale), scale)

    def _bordered(self, data: _Factor, a: Any) -> tuple[Any, Any] | None:
        """The bytes with a border of zero points, and the convolution's attributes; None: those are not known yet."""
        if data.zero is None or not any(int(p) for p in a.padding):
            return data.value, a
        zero = _constant(self, data.zero)
        if zero is None:
            return None
        pads = [0, 0, 0, 0] + [int(p) for n in range(a.spatial) for p in (a.padding[n], a.padding[a.spatial + n])]
        wide = self.emit(R.nn.pad(data.value, pads, pad_value=float(zero.reshape(-1)[0])))
        return wide, a.with_attrs(padding=(0,) * (2 * a.spatial))

    def _scaled(self, total: Any, left: Any, right: Any) -> Any:
        if left is None:
            return self.resolved(total)
        return self.normalized(R.multiply(R.astype(total, "float32"), self._times(left, right)))

    def _requantized(self, call: Call) -> Any:
        """A quantisation of what comes from sums of products, by multiplication."""
        data, scale, zero = call.args
        known = _constant(self, scale)
        if known is None or known.size != 1 or known == 1 or _size(zero) != 1 or not self._holds_products(data):
            return call
        factor = (np.float32(1) / known.astype("float32")).reshape(())
        value, inner = data, self.resolved(data)
        own = _constant(self, inner.args[1]) if _is_call(inner, "multiply") else None
        if own is not None and self.is_visible(inner.args[0]):
            value, factor = inner.args[0], own * factor
        real = self.emit(R.multiply(value, _tensor(np.asarray(factor, "float32"))))
        return self.normalized(Call(call.op, (real, _tensor(np.ones((), "float32")), zero), call.attrs))

    def _holds_products(self, expr: Any) -> bool:
        """Whether a value is a short computation over sums of products."""
        pending = [expr]
        for _ in range(LONGEST_EPILOGUE):
            if not pending:
                return False
            value = self.resolved(pending.pop())
            if not isinstance(value, Call) or not isinstance(value.op, Op):
                continue
            if _is_product(value):
                return True
            if any(_is_call(value, name) for name in POINTWISE):
                pending.extend(reversed(value.args))
        return False

    # ------------------------------------------------------------------------------------------------- factors

    def _factor(self, expr: Any, result: str) -> _Factor | None:
        """The bytes behind a factor of a product with sums or results of dtype `result`."""
        value = self.resolved(expr)
        if isinstance(value, Call) and _is_call(value, "permute_dims"):
            inner = self._factor(value.args[0], result)
            return None if inner is None else self._permuted(inner, value.attrs.axes)
        if result == "float32":
            return self._dequantized(value)
        if _is_bytes(expr):
            return _Factor(value if isinstance(value, Constant) else expr)
        if isinstance(value, Constant):
            return _narrowed(value)
        zero = None
        if _is_call(value, "subtract"):
            value, zero = self.resolved(value.args[0]), value.args[1]
            known = _constant(self, zero)
            zero = zero if known is None else _int32(known) if known.any() else None
            if zero is not None and not self._may_use(zero):
                return None
        if not _is_call(value, "astype") or not _is_bytes(value.args[0]):
            return None
        return self._bytes(value.args[0], zero)

    def _bytes(self, expr: Any, zero: Any, scale: Any = None) -> _Factor | None:
        behind = self.resolved(expr)
        if isinstance(behind, Constant):
            return _Factor(behind, zero, scale)
        return _Factor(expr, zero, scale) if self._may_use(expr) else None

    def _may_use(self, expr: Any) -> bool:
        """Whether an operand of an earlier binding can stand here, and its shape is known."""
        return self.is_visible(expr) and isinstance(_info(expr), TensorStructInfo) and _info(expr).ndim >= 0

    def _dequantized(self, value: Any) -> _Factor | None:
        if not _is_call(value, "dequantize") or not _is_bytes(value.args[0]):
            return None
        data, scale, zero = value.args
        rank = _info(data).ndim
        if not (self._may_use(scale) and self._may_use(zero) and _info(scale).dtype == "float32" and rank > 0):
            return None
        axis = value.attrs.axis % rank
        shape = tuple(-1 if n == axis else 1 for n in range(rank))
        known = _constant(self, zero)
        if known is not None:
            zero = _int32(known.reshape(shape) if known.size > 1 else known.reshape(())) if known.any() else None
        else:
            zero = self._placed(self.emit(R.astype(zero, "int32")), shape)
        return self._bytes(data, zero, self._placed(scale, shape))

    def _placed(self, vector: Any, shape: tuple[int, ...]) -> Any:
        """A vector along its axis of the whole; scalars as they are."""
        return self._shaped(vector, shape) if _info(vector).ndim == 1 and _size(vector) != 1 else self._flat(vector)

    def _permuted(self, factor: _Factor, axes: Any) -> _Factor | None:
        rank = _info(factor.value).ndim
        order = [int(x) % rank for x in axes] if axes is not None else list(reversed(range(rank)))

        def moved(v: Any) -> Any:
            if v is None or _size(v) == 1:
                return v
            known = _constant(self, v)
            if known is None:
                return self.emit(R.permute_dims(v, order)) if _info(v).ndim == rank else None
            return _tensor(known.reshape((1,) * (rank - known.ndim) + known.shape).transpose(order))

        found = _Factor(moved(factor.value), moved(factor.zero), moved(factor.scale))
        lost = (
            found.value is None,
            (found.zero is None) != (factor.zero is None),
            (found.scale is None) != (factor.scale is None),
        )
        return None if any(lost) else found

    def _unlike(self, left: _Factor, right: _Factor, first: bool = True) -> tuple[_Factor, _Factor]:
        """The factors with one of them signed and the other not: the left one unsigned, if there is a choice."""
        if left.is_signed != right.is_signed:
            return (left, right) if first or not left.is_signed else (self._flipped(left), self._flipped(right))
        return (self._flipped(left), right) if left.is_signed else (left, self._flipped(right))

    def _flipped(self, factor: _Factor) -> _Factor:
        """The same numbers as bytes with the other sign."""
        shift, dtype = (128, "uint8") if factor.is_signed else (-128, "int8")
        known = _constant(self, factor.value)
        if known is not None:
            value: Any = _tensor((known.astype("int16") + shift).astype(dtype))
        else:
            half = _tensor(np.array(128, "uint8"))
            plain = R.astype(factor.value, "uint8") if factor.is_signed else factor.value
            value = self.emit(R.add(plain, half) if factor.is_signed else R.astype(R.add(plain, half), "int8"))
        old = np.array(0, "int32") if factor.zero is None else _constant(self, factor.zero)
        if old is None:
            return replace(factor, value=value, zero=self.emit(R.add(factor.zero, _int32(shift))))
        new = old + np.int32(shift)
        return replace(factor, value=value, zero=_int32(new) if new.any() else None)

    # ---------------------------------------------------------------------------------------------- small words

    def _sum(self, value: Any, axes: list[int]) -> Any:
        known = _constant(self, value)
        if known is not None:
            return _int32(known.sum(axis=tuple(axes), keepdims=True, dtype="int32"))
        return self.emit(R.sum(R.astype(value, "int32"), axes, True))

    def _times(self, a: Any, b: Any) -> Any:
        x, y = _constant(self, a), _constant(self, b)
        if x is not None and y is not None:
            return _tensor(np.asarray(x * y, x.dtype))
        return self.emit(R.multiply(a, b))

    def _less(self, total: Any, zero: Any, sums: Any) -> Any:
        return self.emit(R.subtract(total, self._times(zero, sums)))

    def _flat(self, value: Any) -> Any:
        """A tensor of one element as a scalar."""
        return value if _info(value).ndim == 0 else self._shaped(value, ())

    def _shaped(self, value: Any, shape: tuple[int, ...]) -> Any:
        known = _constant(self, value)
        if known is not None:
            return _tensor(known.reshape(shape))
        return self.emit(R.reshape(value, shape))


def _info(expr: Any) -> Any:
    return expr.struct_info


def _tensor(value: AnyArray) -> Constant:
    found = Constant(NDArray(np.ascontiguousarray(value).reshape(value.shape)))
    return found.with_fields(struct_info_=constant_info(found))


def _int32(value: Any) -> Constant:
    return _tensor(np.asarray(value, "int32"))


def _narrowed(constant: Constant) -> _Factor | None:
    """An int32 constant as bytes: quantised weights that were converted and centred before."""
    data = constant.data.data
    if data.dtype != np.int32 or not data.size:
        return None
    low, high = int(data.min()), int(data.max())
    if high - low > 255:
        return None
    zero = 0 if low >= -128 and high <= 127 else -low - 128
    return _Factor(_tensor((data + zero).astype("int8")), _int32(zero) if zero else None)


def _is_call(value: Any, name: str) -> bool:
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == f"relax.{name}"


def _is_product(call: Call) -> bool:
    return _is_call(call, "matmul") or (isinstance(call.attrs, ConvAttrs) and call.op.name.startswith("relax.nn.conv"))


def _is_bytes(expr: Any) -> bool:
    info = expr.struct_info_ if isinstance(expr, (Var, Constant)) else None
    return isinstance(info, TensorStructInfo) and str(info.dtype) in BYTES and info.ndim >= 0


def _constant(rewriter: _Rewriter, expr: Any) -> AnyArray | None:
    """The number behind an operand: a constant, perhaps converted or reshaped (folding comes after this pass)."""
    steps: list[Call] = []
    value = rewriter.resolved(expr)
    while _is_call(value, "astype") or _is_call(value, "reshape"):
        steps.append(value)
        value = rewriter.resolved(value.args[0])
    if not isinstance(value, Constant):
        return None
    found: AnyArray = value.data.data
    for step in reversed(steps):
        info = _info(step)
        sizes = _sizes(step)
        if sizes is None:
            return None
        found = found.astype(info.dtype.numpy) if _is_call(step, "astype") else found.reshape(sizes)
    return found


def _sizes(expr: Any) -> tuple[int, ...] | None:
    shape = getattr(_info(expr), "shape", None)
    if not isinstance(shape, ShapeExpr):
        return None
    sizes = tuple(d.value for d in shape.values if isinstance(d, IntImm))
    return sizes if len(sizes) == len(shape) else None


def _extent(expr: Any, axis: int) -> int | None:
    shape = getattr(_info(expr), "shape", None)
    dim = shape.values[axis] if isinstance(shape, ShapeExpr) else None
    return dim.value if isinstance(dim, IntImm) else None


def _volume(weight: Any) -> int | None:
    """The terms of one sum of a convolution."""
    sizes = _sizes(weight)
    return None if sizes is None else int(np.prod(sizes[1:]))


def _size(expr: Any) -> int:
    """How many elements a zero point or scale has; many where that is unknown."""
    if expr is None:
        return 1
    sizes = _sizes(expr)
    return 2 if sizes is None else int(np.prod(sizes))


def _varies(expr: Any, axis: int) -> bool:
    """Whether a zero point or scale may vary along an axis (from the back) of what it belongs to."""
    return expr is not None and _info(expr).ndim >= -axis and _extent(expr, axis) != 1

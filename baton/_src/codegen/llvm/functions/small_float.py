"""Floats of 8 and 4 bits (held as bytes) to and from float32, by bits: every format of ml_dtypes, with its rounding.

Rounding is to nearest, ties to even, subnormals included; what is too large becomes what the format has for it:
infinity, NaN or the largest number. Source: the OCP 8-bit floating point and microscaling specifications.
"""

from __future__ import annotations

from baton._src.codegen.llvm.text import FunctionText, with_lanes
from baton._src.codegen.llvm.types import float_text
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import InternalError
from baton._src.values.dtype import DataType


@dataclass(frozen=True)
class SmallFormat:
    """A format of sign, exponent and mantissa. Codes are without the sign bit."""

    bits: int
    mantissa: int
    bias: int
    largest: int
    """The code of the largest number."""
    above: int
    """The code that larger numbers become: that of infinity, of NaN or of the largest number."""
    nan: int | None
    """The whole code of NaN; None where there is none (it becomes 0)."""
    has_minus_zero: bool = True

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)


_FORMATS = {
    "float8_e4m3fn": SmallFormat(8, 3, 7, 0x7E, 0x7F, 0x7F),
    "float8_e4m3fnuz": SmallFormat(8, 3, 8, 0x7F, 0x80, 0x80, has_minus_zero=False),
    "float8_e5m2": SmallFormat(8, 2, 15, 0x7B, 0x7C, 0x7E),
    "float8_e5m2fnuz": SmallFormat(8, 2, 16, 0x7F, 0x80, 0x80, has_minus_zero=False),
    "float4_e2m1fn": SmallFormat(4, 1, 1, 0x7, 0x7, None),
}
_POWERS = "float8_e8m0fnu"
"""Powers of two from 2^-127 on, nothing else: the exponent of a float32."""


class _Words:
    """Writes operations on vectors (or scalars) of 32-bit words and the floats of the same bits."""

    def __init__(self, f: FunctionText, lanes: int) -> None:
        self.f, self.lanes = f, lanes
        self.word, self.single = with_lanes("i32", lanes), with_lanes("float", lanes)
        self.byte, self.flag = with_lanes("i8", lanes), with_lanes("i1", lanes)

    def operand(self, value: str | int) -> str:
        if isinstance(value, str):
            return value
        return str(value) if self.lanes == 1 else f"splat (i32 {value})"

    def op(self, name: str, a: str | int, b: str | int) -> str:
        return self.f.value(f"{name} {self.word} {self.operand(a)}, {self.operand(b)}")

    def on_floats(self, name: str, a: str, number: float) -> str:
        text = float_text(number, 32)
        right = text if self.lanes == 1 else f"splat (float {text})"
        return self.f.value(f"{name} {self.single} {a}, {right}")

    def choose(self, condition: str, a: str | int, b: str | int) -> str:
        first, second = self.operand(a), self.operand(b)
        return self.f.value(f"select {self.flag} {condition}, {self.word} {first}, {self.word} {second}")

    def bits(self, single: str) -> str:
        return self.f.value(f"bitcast {self.single} {single} to {self.word}")

    def real(self, word: str) -> str:
        return self.f.value(f"bitcast {self.word} {word} to {self.single}")

    def is_nan(self, single: str) -> str:
        return self.f.value(f"fcmp uno {self.single} {single}, {single}")

    def to_byte(self, word: str) -> str:
        return self.f.value(f"trunc {self.word} {word} to {self.byte}")

    def from_byte(self, byte: str) -> str:
        return self.f.value(f"zext {self.byte} {byte} to {self.word}")


def widen_small(f: FunctionText, dtype: DataType, operand: str) -> str:
    """float32 from an 8- or 4-bit float: always exact."""
    w = _Words(f, dtype.lanes)
    code = w.from_byte(operand)
    if dtype.element == _POWERS:
        shifted = w.choose(w.op("icmp eq", code, 0), 1 << 22, w.op("shl", code, 23))
        return w.real(w.choose(w.op("icmp eq", code, 0xFF), 0x7FC00000, shifted))
    form = _format(dtype)
    sign = w.op("shl", w.op("and", code, form.sign), 32 - form.bits)
    size = w.op("shl", w.op("and", code, form.sign - 1), 23 - form.mantissa)
    value = w.bits(w.on_floats("fmul", w.real(size), 2.0 ** (127 - form.bias)))
    if form.above != form.largest and form.has_minus_zero:  # the codes from `above` on: infinity (if not NaN) and NaN
        start = form.above << (23 - form.mantissa)
        rest = w.op("or", size, 0x7F800000) if form.above != form.nan else 0x7FC00000
        value = w.choose(w.op("icmp uge", size, start), rest, value)
    signed = w.op("or", value, sign)
    if not form.has_minus_zero:
        signed = w.choose(w.op("icmp eq", code, form.sign), 0x7FC00000, signed)
    return w.real(signed)


def narrow_small(f: FunctionText, dtype: DataType, operand: str) -> str:
    """An 8- or 4-bit float from float32."""
    w = _Words(f, dtype.lanes)
    bits = w.bits(operand)
    if dtype.element == _POWERS:
        return w.to_byte(_nearest_power(w, bits, operand))
    form = _format(dtype)
    sign = w.op("and", w.op("lshr", bits, 32 - form.bits), form.sign)
    code = _rounded(w, form, w.op("and", bits, 0x7FFFFFFF))
    code = w.choose(w.op("icmp ugt", code, form.largest), form.above, code)
    if form.nan is None:
        return w.to_byte(w.choose(w.is_nan(operand), 0, w.op("or", code, sign)))
    if form.has_minus_zero:
        return w.to_byte(w.op("or", w.choose(w.is_nan(operand), form.nan, code), sign))
    whole = w.choose(w.op("icmp eq", code, 0), 0, w.op("or", code, sign))
    return w.to_byte(w.choose(w.is_nan(operand), form.nan, whole))


def _format(dtype: DataType) -> SmallFormat:
    found = _FORMATS.get(str(dtype.element))
    if found is None:
        raise InternalError(f"code generation: no format for {dtype}")
    return found


def _rounded(w: _Words, form: SmallFormat, size: str) -> str:
    """The code of the nearest number, as if exponents were unbounded. `size` are the bits of a float32 >= 0."""
    drop = 23 - form.mantissa
    odd = w.op("and", w.op("lshr", size, drop), 1)
    normal = w.op("lshr", w.op("add", w.op("add", size, (1 << (drop - 1)) - 1), odd), drop)
    normal = w.op("sub", normal, (127 - form.bias) << form.mantissa)
    # Subnormal: adding a number whose last place is the format's makes the float adder round at the right bit.
    magic = 2.0 ** (24 - form.bias - form.mantissa)
    magic_bits = (127 + 24 - form.bias - form.mantissa) << 23
    small = w.op("sub", w.bits(w.on_floats("fadd", w.real(size), magic)), magic_bits)
    return w.choose(w.op("icmp ult", size, (128 - form.bias) << 23), small, normal)


def _nearest_power(w: _Words, bits: str, single: str) -> str:
    """The exponent, rounded to the nearest number (ties up: all mantissas are odd); NaN for what is not positive."""
    code = w.op("lshr", w.op("add", bits, 1 << 22), 23)
    positive = w.f.value(f"fcmp ogt {w.single} {single}, {'0.0' if w.lanes == 1 else 'zeroinitializer'}")
    return w.choose(positive, code, 0xFF)

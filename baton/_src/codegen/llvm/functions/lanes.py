"""Arithmetic on lanes of one floating type in LLVM IR, used to write the functions of `vector_math`.

m = Lanes(f, "<16 x float>", helper);  y = m.fma(x, m.mul(x, 0.5), m.call("exp", x))
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.codegen.llvm.text import FunctionText, ModuleText, element_of, lanes_of, mangle, with_lanes
from baton._src.codegen.llvm.types import float_text
from baton._src.ir.cpu import has_power_scaling

Helper = Callable[[ModuleText, str, str], str]
"""The symbol of a function of a module, by its name and the type it computes in."""


class Lanes:
    """Arithmetic on values of one floating type, written into a function. `helper` finds functions to call."""

    def __init__(self, f: FunctionText, kind: str, helper: Helper) -> None:
        self.f = f
        self._helper = helper
        self.kind = kind
        self.count = lanes_of(kind)
        self.bits = 32 if element_of(kind) == "float" else 64
        self.int = with_lanes(f"i{self.bits}", self.count)
        self.flag = with_lanes("i1", self.count)

    def constant(self, value: float) -> str:
        text = float_text(value, self.bits)
        return text if self.count == 1 else f"splat ({element_of(self.kind)} {text})"

    def integer(self, value: int) -> str:
        return str(value) if self.count == 1 else f"splat (i{self.bits} {value})"

    def _operand(self, value: str | float) -> str:
        return value if isinstance(value, str) else self.constant(value)

    def op(self, name: str, a: str | float, b: str | float) -> str:
        return self.f.value(f"{name} {self.kind} {self._operand(a)}, {self._operand(b)}")

    def add(self, a: str | float, b: str | float) -> str:
        return self.op("fadd", a, b)

    def sub(self, a: str | float, b: str | float) -> str:
        return self.op("fsub", a, b)

    def mul(self, a: str | float, b: str | float) -> str:
        return self.op("fmul", a, b)

    def div(self, a: str | float, b: str | float) -> str:
        return self.op("fdiv", a, b)

    def neg(self, a: str) -> str:
        return self.f.value(f"fneg {self.kind} {a}")

    def fma(self, a: str | float, b: str | float, c: str | float) -> str:
        operands = [(self.kind, self._operand(v)) for v in (a, b, c)]
        return self.f.intrinsic(f"llvm.fmuladd.{mangle(self.kind)}", self.kind, *operands)

    def fused(self, a: str, b: str, c: str) -> str:
        """a * b + c, rounded once; `fma` may round twice where that is faster."""
        return self.f.intrinsic(f"llvm.fma.{mangle(self.kind)}", self.kind, *((self.kind, v) for v in (a, b, c)))

    def unary(self, name: str, a: str) -> str:
        return self.f.intrinsic(f"llvm.{name}.{mangle(self.kind)}", self.kind, (self.kind, a))

    def copysign(self, size: str, sign: str) -> str:
        return self.f.intrinsic(f"llvm.copysign.{mangle(self.kind)}", self.kind, (self.kind, size), (self.kind, sign))

    def poly(self, x: str, coefficients: list[float]) -> str:
        """Horner's rule; coefficients from the constant term up."""
        found: str | float = coefficients[-1]
        for c in reversed(coefficients[:-1]):
            found = self.fma(found, x, c)
        return self._operand(found)

    def compare(self, how: str, a: str | float, b: str | float) -> str:
        return self.f.value(f"fcmp {how} {self.kind} {self._operand(a)}, {self._operand(b)}")

    def choose(self, condition: str, a: str | float, b: str | float) -> str:
        return self.f.value(
            f"select {self.flag} {condition}, {self.kind} {self._operand(a)}, {self.kind} {self._operand(b)}"
        )

    def flags(self, name: str, a: str, b: str) -> str:
        return self.f.value(f"{name} {self.flag} {a}, {b}")

    def clamp(self, x: str, low: float, high: float) -> str:
        """Within [low, high]; NaN stays NaN."""
        return self.at_least(self.choose(self.compare("ogt", x, high), high, x), low)

    def at_least(self, x: str, low: float) -> str:
        """No less than `low`; NaN stays NaN."""
        return self.choose(self.compare("olt", x, low), low, x)

    def int_op(self, name: str, a: str, b: str | int) -> str:
        return self.f.value(f"{name} {self.int} {a}, {self.integer(b) if isinstance(b, int) else b}")

    def is_set(self, a: str) -> str:
        """Whether an integer is not 0."""
        return self.f.value(f"icmp ne {self.int} {a}, {self.integer(0)}")

    def to_bits(self, x: str) -> str:
        return self.f.value(f"bitcast {self.kind} {x} to {self.int}")

    def from_bits(self, x: str) -> str:
        return self.f.value(f"bitcast {self.int} {x} to {self.kind}")

    def to_float(self, x: str) -> str:
        return self.f.value(f"sitofp {self.int} {x} to {self.kind}")

    def power_of_two(self, n: str) -> str:
        """2^n for an integer n within the normal range."""
        mantissa, bias = (23, 127) if self.bits == 32 else (52, 1023)
        return self.from_bits(self.int_op("shl", self.int_op("add", n, bias), mantissa))

    def round_to_exponent(self, x: str, factor: float = 1.0) -> tuple[str, str]:
        """(x * factor rounded, the representation of it that `scale` takes)."""
        if self._scales_by() is None:
            return self.round_to_int(x, factor)
        rounded = self.unary("rint", x if factor == 1.0 else self.mul(x, factor))
        return rounded, rounded

    def round_to_int(self, x: str, factor: float = 1.0) -> tuple[str, str]:
        """(x * factor rounded, the integer): adding 1.5 * 2^mantissa leaves the integer in the low bits; NaN gives NaN
        and an unspecified integer.
        """
        magic, bits_of_magic = (12582912.0, 0x4B400000) if self.bits == 32 else (6755399441055744.0, 0x4338000000000000)
        shifted = self.add(x, magic) if factor == 1.0 else self.fma(x, factor, magic)
        number = self.int_op("sub", self.to_bits(shifted), bits_of_magic)
        return self.sub(shifted, magic), number

    def scale(self, x: str, exponent: str, normal: bool = False) -> str:
        """x * 2^n, for an n of `round_to_exponent`; beyond the normal range, too, unless 2^n is said to be `normal`."""
        lanes = self._scales_by()
        if lanes is not None:
            return self._scaled_at_once(x, exponent, lanes)
        return self.mul(x, self.power_of_two(exponent)) if normal else self._scaled_in_steps(x, exponent)

    def scale_to_infinity(self, x: str, exponent: str) -> str:
        """The same for an n of which 2^(n - 1) is normal: results may be infinite, but not subnormal."""
        if self._scales_by() is not None:
            return self.scale(x, exponent)
        return self.mul(self.add(x, x), self.power_of_two(self.int_op("sub", exponent, 1)))

    def _scales_by(self) -> int | None:
        """The lanes of the instruction that multiplies by a power of two, if the processor has one."""
        lanes = min(self.count, 512 // self.bits)
        has = has_power_scaling(self.f.module.features, lanes * self.bits)
        return lanes if has and self.count in (lanes, 2 * lanes, 4 * lanes) else None

    def _scaled_at_once(self, x: str, n: str, lanes: int) -> str:
        """Scale with that instruction; vectors wider than the processor's are split."""
        kind, mask = with_lanes(element_of(self.kind), lanes), f"i{max(8, lanes)}"
        name = f"llvm.x86.avx512.mask.scalef.p{'s' if self.bits == 32 else 'd'}.{lanes * self.bits}"
        rounding = [("i32", "4")] if lanes * self.bits == 512 else []  # as everywhere
        parts = []
        for first in range(0, self.count, lanes):
            a, b = (self._lanes_from(v, first, lanes) for v in (x, n))
            parts.append(self.f.intrinsic(name, kind, (kind, a), (kind, b), (kind, a), (mask, "-1"), *rounding))
        while len(parts) > 1:
            parts = [self._joined(*pair, lanes) for pair in zip(parts[::2], parts[1::2], strict=True)]
            lanes *= 2
        return parts[0]

    def _joined(self, a: str, b: str, lanes: int) -> str:
        kind, order = with_lanes(element_of(self.kind), lanes), ", ".join(f"i32 {n}" for n in range(2 * lanes))
        return self.f.value(f"shufflevector {kind} {a}, {kind} {b}, <{2 * lanes} x i32> <{order}>")

    def _lanes_from(self, x: str, first: int, lanes: int) -> str:
        if lanes == self.count:
            return x
        order = ", ".join(f"i32 {first + n}" for n in range(lanes))
        return self.f.value(f"shufflevector {self.kind} {x}, {self.kind} poison, <{lanes} x i32> <{order}>")

    def _scaled_in_steps(self, x: str, n: str) -> str:
        """Scale in two steps, so that results beyond the normal range are correct."""
        half = self.int_op("ashr", n, 1)
        rest = self.int_op("sub", n, half)
        return self.mul(self.mul(x, self.power_of_two(half)), self.power_of_two(rest))

    def call(self, name: str, x: str) -> str:
        """Another function of this module, on the same type."""
        return self.f.value(f"call {self.kind} {self._helper(self.f.module, name, self.kind)}({self.kind} {x})")

    def double(self, x: str) -> tuple[Lanes, str]:
        """The value in float64, and arithmetic for it."""
        wide = Lanes(self.f, with_lanes("double", self.count), self._helper)
        return wide, self.f.value(f"fpext {self.kind} {x} to {wide.kind}")

    def single(self, wide: Lanes, x: str) -> str:
        return self.f.value(f"fptrunc {wide.kind} {x} to {self.kind}")

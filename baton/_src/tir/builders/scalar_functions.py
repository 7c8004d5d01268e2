"""Builders of intrinsic calls under TVM's names: `tir.exp(x)`, `tir.if_then_else(c, a, b)`, `tir.popcount(x)`.

Operands may be Python numbers or axes. A float intrinsic given integers is an error, not a silent conversion.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir import operators
from baton._src.tir.expr import Call, IntImm, Select, literal
from baton._src.tir.intrinsics import Operands, definition, intrinsic, misfit, result_dtype
from baton._src.values.dtype import BOOL, DataType


def call(name: str, *operands: Any, dtype: object = None) -> PrimExpr:
    """A call of the intrinsic `name`; `dtype` where the call states its own result."""
    op = intrinsic(name)
    row = definition(op)
    assert row is not None
    args = tuple(operators.convert(x) for x in operands)
    if row.arity not in (-1, len(args)):
        raise fail("tir-intrinsic", f"{row.name} takes {row.arity} operands, got {len(args)}")
    wrong = misfit(row, args)
    if wrong is not None:
        floats = row.operands is Operands.FLOAT
        help_text = f"convert it first: {row.name}(x.astype('float32'))" if floats else None
        raise fail("tir-dtype", wrong, span=next((a.span for a in args if a.span), None), help=help_text)
    if dtype is not None:
        return Call(dtype, op, args)
    known = result_dtype(row, args)
    if known is None:
        raise fail("tir-intrinsic", f"a call of {row.name} has to state its dtype")
    return Call(known, op, args)


def exp(x: Any) -> PrimExpr:
    """e ** x"""
    return call("exp", x)


def exp2(x: Any) -> PrimExpr:
    """2 ** x"""
    return call("exp2", x)


def exp10(x: Any) -> PrimExpr:
    """10 ** x"""
    return call("exp10", x)


def expm1(x: Any) -> PrimExpr:
    """e ** x - 1, exact near zero."""
    return call("expm1", x)


def log(x: Any) -> PrimExpr:
    """The natural logarithm."""
    return call("log", x)


def log2(x: Any) -> PrimExpr:
    """The logarithm to base 2."""
    return call("log2", x)


def log10(x: Any) -> PrimExpr:
    """The logarithm to base 10."""
    return call("log10", x)


def log1p(x: Any) -> PrimExpr:
    """log(1 + x), exact near zero."""
    return call("log1p", x)


def sqrt(x: Any) -> PrimExpr:
    """The square root."""
    return call("sqrt", x)


def rsqrt(x: Any) -> PrimExpr:
    """1 / sqrt(x)"""
    return call("rsqrt", x)


def sin(x: Any) -> PrimExpr:
    """The sine of radians."""
    return call("sin", x)


def cos(x: Any) -> PrimExpr:
    """The cosine of radians."""
    return call("cos", x)


def tan(x: Any) -> PrimExpr:
    """The tangent of radians."""
    return call("tan", x)


def sinh(x: Any) -> PrimExpr:
    """The hyperbolic sine."""
    return call("sinh", x)


def cosh(x: Any) -> PrimExpr:
    """The hyperbolic cosine."""
    return call("cosh", x)


def tanh(x: Any) -> PrimExpr:
    """The hyperbolic tangent."""
    return call("tanh", x)


def asin(x: Any) -> PrimExpr:
    """The inverse sine, in radians."""
    return call("asin", x)


def acos(x: Any) -> PrimExpr:
    """The inverse cosine, in radians."""
    return call("acos", x)


def atan(x: Any) -> PrimExpr:
    """The inverse tangent, in radians."""
    return call("atan", x)


def asinh(x: Any) -> PrimExpr:
    """The inverse hyperbolic sine."""
    return call("asinh", x)


def acosh(x: Any) -> PrimExpr:
    """The inverse hyperbolic cosine."""
    return call("acosh", x)


def atanh(x: Any) -> PrimExpr:
    """The inverse hyperbolic tangent."""
    return call("atanh", x)


def erf(x: Any) -> PrimExpr:
    """The error function."""
    return call("erf", x)


def sigmoid(x: Any) -> PrimExpr:
    """1 / (1 + e ** -x)"""
    return call("sigmoid", x)


def floor(x: Any) -> PrimExpr:
    """The largest whole number not above x; integers are themselves."""
    return _rounded("floor", x)


def ceil(x: Any) -> PrimExpr:
    """The smallest whole number not below x; integers are themselves."""
    return _rounded("ceil", x)


def trunc(x: Any) -> PrimExpr:
    """x without its fraction; integers are themselves."""
    return _rounded("trunc", x)


def round(x: Any) -> PrimExpr:
    """The nearest whole number, halves away from zero; integers are themselves."""
    return _rounded("round", x)


def nearbyint(x: Any) -> PrimExpr:
    """The nearest whole number, halves to even; integers are themselves."""
    return _rounded("nearbyint", x)


def _rounded(name: str, x: Any) -> PrimExpr:
    value = operators.convert(x)
    return value if value.dtype.is_int else call(name, value)


def abs(x: Any) -> PrimExpr:
    """The magnitude; of integers a `Select`, as in TVM."""
    value = operators.convert(x)
    if value.dtype.is_float:
        return call("fabs", value)
    if value.dtype.kind == "handle":
        raise fail("tir-dtype", f"abs takes numbers, got {value.dtype}", span=value.span)
    if value.dtype.kind != "int":
        return value
    if isinstance(value, IntImm):
        return value if value.value >= 0 else operators.negative(value)
    return Select(operators.greater_equal(value, 0), value, operators.negative(value))


fabs = abs


def isnan(x: Any) -> PrimExpr:
    """Whether x is not a number; never of integers."""
    return _of_floats("isnan", x, False)


def isinf(x: Any) -> PrimExpr:
    """Whether x is an infinity; never of integers."""
    return _of_floats("isinf", x, False)


def isfinite(x: Any) -> PrimExpr:
    """Whether x is neither an infinity nor NaN; always of integers."""
    return _of_floats("isfinite", x, True)


def _of_floats(name: str, x: Any, on_integers: bool) -> PrimExpr:
    x = operators.convert(x)
    return call(name, x) if x.dtype.is_float else literal(on_integers, BOOL.with_lanes(x.dtype.lanes))


def pow(x: Any, y: Any) -> PrimExpr:
    """x ** y"""
    return operators.power(x, y)


def _two(name: str, x: Any, y: Any) -> PrimExpr:
    a, b = operators.match_types(x, y)
    return call(name, a, b)


def fmod(x: Any, y: Any) -> PrimExpr:
    """The remainder of the truncated quotient (sign of x)."""
    return _two("fmod", x, y)


def atan2(y: Any, x: Any) -> PrimExpr:
    """The angle of the point (x, y), in radians."""
    return _two("atan2", y, x)


def hypot(x: Any, y: Any) -> PrimExpr:
    """sqrt(x * x + y * y) without overflow."""
    return _two("hypot", x, y)


def copysign(x: Any, y: Any) -> PrimExpr:
    """The magnitude of x with the sign of y."""
    return _two("copysign", x, y)


def nextafter(x: Any, y: Any) -> PrimExpr:
    """The next representable number after x towards y."""
    return _two("nextafter", x, y)


def ldexp(x: Any, n: Any) -> PrimExpr:
    """x * 2 ** n"""
    return call("ldexp", x, n)


def fma(a: Any, b: Any, c: Any) -> PrimExpr:
    """a * b + c, rounded once where the machine can."""
    a, b = operators.match_types(a, b)
    return call("fma", a, b, operators.cast(a.dtype, c))


def popcount(x: Any) -> PrimExpr:
    """The number of set bits."""
    return call("popcount", x)


def clz(x: Any) -> PrimExpr:
    """The number of leading zero bits, as int32."""
    return call("clz", x, dtype="int32")


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> PrimExpr:
    """round(x * y / 2 ** (q + s)) in fixed point, halves up."""
    return call("q_multiply_shift", x, y, q, s)


def if_then_else(condition: Any, true_value: Any, false_value: Any) -> PrimExpr:
    """`true_value` if `condition` holds, else `false_value`; the other one is not evaluated."""
    test = operators.convert(condition)
    if not test.dtype.is_bool:
        message = f"the condition of if_then_else must be bool, got {test.dtype}"
        raise fail("tir-dtype", message, span=test.span)
    a, b = operators.match_types(true_value, false_value)
    if isinstance(test, IntImm):
        return a if test.value else b
    return call("if_then_else", test, a, b)


def select(condition: Any, true_value: Any, false_value: Any) -> PrimExpr:
    """`true_value` where `condition`, else `false_value`; both may be evaluated."""
    condition = operators.convert(condition)
    a, b = operators.match_types(true_value, false_value)
    if isinstance(condition, IntImm):
        return a if condition.value else b
    return Select(condition, a, b)


def likely(condition: Any) -> PrimExpr:
    """`condition`, expected to hold."""
    found = operators.convert(condition)
    return found if isinstance(found, IntImm) else call("likely", found)


def ignore_loop_partition(predicate: Any) -> PrimExpr:
    """`predicate`, at whose changes `LoopPartition` does not split loops."""
    found = operators.convert(predicate)
    return found if isinstance(found, IntImm) else call("ignore_loop_partition", found)


def assume(condition: Any) -> PrimExpr:
    """Tells the compiler that `condition` holds."""
    return call("assume", condition, dtype=BOOL)


def undef() -> PrimExpr:
    """Any value at all."""
    return call("undef", dtype="int32")


def ret(value: Any) -> PrimExpr:
    """Leaves the function with `value`."""
    value = operators.convert(value)
    return call("ret", value, dtype=value.dtype)


def reinterpret(dtype: object, value: Any) -> PrimExpr:
    """The bits of `value` as a `dtype` of the same width."""
    bits = operators.convert(value)
    kind = DataType(dtype)
    if bits.dtype == kind:
        return bits
    if bits.dtype.bits * bits.dtype.lanes != kind.bits * kind.lanes:
        raise fail("tir-dtype", f"reinterpret cannot turn {bits.dtype} into {kind}: widths differ", span=bits.span)
    return call("reinterpret", bits, dtype=kind)


def large_uint_imm(dtype: object, low: Any, high: Any) -> PrimExpr:
    """The uint64 literal made of two 32-bit halves."""
    return call("large_uint_imm", low, high, dtype=dtype)

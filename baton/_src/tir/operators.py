"""What `a + b` builds: operands matched to one dtype, literals folded, the trivial identities applied.

Matching follows TVM's rules: a Python number adapts to the other operand's dtype if it fits; otherwise the wider
integer, the wider float, or the float of a pair wins, and a scalar is broadcast to a vector's lanes. The functions are
`tvm.tir`'s. Integer `/` is refused as ambiguous (truncdiv or floordiv must be named). Floats are folded only where the
result is exactly that of the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir.expr import Call, FloatImm, IntImm, IterVar, literal
from baton._src.tir.folding import fold_arithmetic, fold_cast, fold_comparison, fold_shift
from baton._src.tir.intrinsics import intrinsic
from baton._src.values.dtype import BOOL, INT32, INT64, DataType

_SCALARS = (PrimExpr, IterVar, bool, int, float)


# --------------------------------------------------------------------------------------------- operands


def is_operand(value: object) -> bool:
    """Whether `value` can stand in scalar arithmetic: an expression, an axis, a Python or NumPy number."""
    return isinstance(value, _SCALARS) or (hasattr(value, "item") and getattr(value, "ndim", None) == 0)


def convert(value: Any, dtype: DataType | None = None) -> PrimExpr:
    """`value` as an expression; a number becomes a literal of `dtype` if it fits there, else of its natural dtype."""
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, IterVar):
        return value.var
    if isinstance(value, str) or not is_operand(value):
        return literal(value, dtype)
    number = value.item() if hasattr(value, "item") else value
    if dtype is None or dtype.kind in ("handle", "void"):
        return literal(number, _natural(number))
    element = dtype.element
    if isinstance(number, float):
        fits = element.is_float
    elif isinstance(number, bool):
        fits = True
    else:
        fits = element.is_float or (element.is_int and _fits(number, element))
    return literal(number, dtype if fits else _natural(number).with_lanes(dtype.lanes))


def _natural(number: float) -> DataType:
    if isinstance(number, bool):
        return BOOL
    if isinstance(number, float):
        return DataType("float32")
    return INT32 if _fits(number, INT32) else INT64 if _fits(number, INT64) else DataType("uint64")


def _fits(number: int, dtype: DataType) -> bool:
    if dtype.kind == "int":
        return -(1 << (dtype.bits - 1)) <= number < (1 << (dtype.bits - 1))
    return 0 <= number < (1 << dtype.bits)


def match_types(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Both operands in one dtype, or `DiagnosticError` (`tir-dtype`)."""
    if isinstance(a, PrimExpr):
        left, right = a, b if isinstance(b, PrimExpr) else convert(b, a.dtype)
    elif isinstance(b, PrimExpr):
        left, right = convert(a, b.dtype), b
    else:
        left = convert(a)
        right = convert(b, left.dtype)
    if left.dtype == right.dtype:
        return left, right
    left, right = _match_lanes(left, right)
    target = _common(left.dtype, right.dtype)
    if target is None:
        raise fail("tir-dtype", f"no common dtype of {left.dtype} and {right.dtype}", span=left.span or right.span)
    return cast(target, left), cast(target, right)


def _match_lanes(a: PrimExpr, b: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    if a.dtype.lanes == b.dtype.lanes:
        return a, b
    if a.dtype.lanes == 1:
        return tir.Broadcast(a, b.dtype.lanes), b
    if b.dtype.lanes == 1:
        return a, tir.Broadcast(b, a.dtype.lanes)
    raise fail("tir-dtype", f"vectors of different lengths: {a.dtype} and {b.dtype}")


def _common(a: DataType, b: DataType) -> DataType | None:
    if a == b:
        return a
    numeric = ("int", "uint", "bool", "float", "bfloat")
    if a.kind not in numeric or b.kind not in numeric:
        return None
    if a.is_float and b.is_float:
        if a.bits == b.bits:
            return DataType("float32").with_lanes(a.lanes)  # float16 and bfloat16: neither holds the other
        return a if a.bits > b.bits else b
    if a.is_float or b.is_float:
        return a if a.is_float else b
    if a.kind == b.kind:
        return a if a.bits >= b.bits else b
    if a.is_bool or b.is_bool:
        return b if a.is_bool else a
    return DataType(f"int{_max(a.bits, b.bits)}").with_lanes(a.lanes)


# ------------------------------------------------------------------------------------------- arithmetic


def is_const(value: PrimExpr, number: float) -> bool:
    """Whether `value` is the literal `number`."""
    return isinstance(value, (IntImm, FloatImm)) and value.value == number


def add(a: Any, b: Any) -> PrimExpr:
    """a + b"""
    a, b = match_types(a, b)
    if not a.dtype.is_float:
        if is_const(b, 0):
            return a
        if is_const(a, 0):
            return b
    return fold_arithmetic("add", a, b) or tir.Add(a, b)


def subtract(a: Any, b: Any) -> PrimExpr:
    """a - b"""
    a, b = match_types(a, b)
    if not a.dtype.is_float:
        if is_const(b, 0):
            return a
        if a is b and a.dtype.lanes == 1:
            return literal(0, a.dtype)
    return fold_arithmetic("subtract", a, b) or tir.Sub(a, b)


def multiply(a: Any, b: Any) -> PrimExpr:
    """a * b"""
    a, b = match_types(a, b)
    if is_const(b, 1):
        return a
    if is_const(a, 1):
        return b
    if not a.dtype.is_float:
        if is_const(a, 0):
            return a
        if is_const(b, 0):
            return b
    return fold_arithmetic("multiply", a, b) or tir.Mul(a, b)


def divide(a: Any, b: Any) -> PrimExpr:
    """a / b of floats; of integers refused: name `truncdiv` or `floordiv`."""
    a, b = match_types(a, b)
    if not a.dtype.is_float:
        raise fail(
            "tir-division",
            f"a / b of {a.dtype} is ambiguous",
            span=a.span or b.span,
            help="use a // b (floordiv) or tir.truncdiv(a, b); cast to float first for a true quotient",
        )
    return div(a, b)


def div(a: Any, b: Any) -> PrimExpr:
    """C's division: true on floats, truncating on integers (`tvm.tir.div`)."""
    a, b = match_types(a, b)
    if not a.dtype.is_float:
        return truncdiv(a, b)
    if is_const(b, 1):
        return a
    return fold_arithmetic("divide", a, b) or tir.Div(a, b)


def truncdiv(a: Any, b: Any) -> PrimExpr:
    """The integer quotient rounded toward zero."""
    a, b = _dividend("truncdiv", a, b)
    if is_const(b, 1):
        return a
    return fold_arithmetic("truncate_divide", a, b) or tir.Div(a, b)


def truncmod(a: Any, b: Any) -> PrimExpr:
    """The remainder of `truncdiv`: the sign of `a`."""
    a, b = _dividend("truncmod", a, b)
    return fold_arithmetic("truncate_mod", a, b) or tir.Mod(a, b)


def floordiv(a: Any, b: Any) -> PrimExpr:
    """The quotient rounded down; of floats `floor(a / b)`."""
    a, b = match_types(a, b)
    if a.dtype.is_float:
        return Call(a.dtype, intrinsic("floor"), (div(a, b),))
    a, b = _dividend("floordiv", a, b)
    if is_const(b, 1):
        return a
    return fold_arithmetic("floor_divide", a, b) or tir.FloorDiv(a, b)


def floormod(a: Any, b: Any) -> PrimExpr:
    """The remainder of `floordiv`: the sign of `b`."""
    a, b = match_types(a, b)
    if a.dtype.is_float:
        return subtract(a, multiply(floordiv(a, b), b))
    a, b = _dividend("floormod", a, b)
    if is_const(b, 1):
        return literal(0, a.dtype)
    return fold_arithmetic("floor_mod", a, b) or tir.FloorMod(a, b)


def _dividend(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    a, b = match_types(a, b)
    if not (a.dtype.is_int or a.dtype.is_bool):
        raise fail("tir-dtype", f"{name} takes integers, got {a.dtype}", span=a.span or b.span)
    if is_const(b, 0):
        raise fail("tir-zero-division", f"{name} by zero", span=a.span or b.span)
    return a, b


def indexdiv(a: Any, b: Any) -> PrimExpr:
    """The quotient of non-negative indices (equal to `floordiv` there)."""
    return floordiv(a, b)


def indexmod(a: Any, b: Any) -> PrimExpr:
    """The remainder of non-negative indices (equal to `floormod` there)."""
    return floormod(a, b)


def ceildiv(a: Any, b: Any) -> PrimExpr:
    """The quotient rounded up, of a positive divisor."""
    a, b = match_types(a, b)
    return floordiv(subtract(add(a, b), literal(1, a.dtype)), b)


_min, _max = min, max


def min(a: Any, b: Any) -> PrimExpr:
    """The smaller one; of floats NaN if either is."""
    a, b = match_types(a, b)
    return a if a is b else fold_arithmetic("minimum", a, b) or tir.Min(a, b)


def max(a: Any, b: Any) -> PrimExpr:
    """The larger one; of floats NaN if either is."""
    a, b = match_types(a, b)
    return a if a is b else fold_arithmetic("maximum", a, b) or tir.Max(a, b)


def negative(a: Any) -> PrimExpr:
    """-a"""
    a = convert(a)
    return multiply(a, literal(-1, a.dtype)) if a.dtype.kind != "uint" else subtract(literal(0, a.dtype), a)


def power(a: Any, b: Any) -> PrimExpr:
    """a ** b (the intrinsic `tir.pow`)."""
    a, b = match_types(a, b)
    return Call(a.dtype, intrinsic("pow"), (a, b))


# ----------------------------------------------------------------------------------- comparison, logic


def _comparison(name: str, node: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> Callable[[Any, Any], PrimExpr]:
    def compare(a: Any, b: Any) -> PrimExpr:
        a, b = match_types(a, b)
        return fold_comparison(name, a, b) or node(a, b)

    return compare


equal = _comparison("equal", tir.EQ)
not_equal = _comparison("not_equal", tir.NE)
less = _comparison("less", tir.LT)
less_equal = _comparison("less_equal", tir.LE)
greater = _comparison("greater", tir.GT)
greater_equal = _comparison("greater_equal", tir.GE)


def _conditions(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    a, b = match_types(a, b)
    if not a.dtype.is_bool:
        raise fail("tir-dtype", f"{name} takes conditions (bool), got {a.dtype}", span=a.span or b.span)
    return a, b


def logical_and(a: Any, b: Any) -> PrimExpr:
    """Both conditions hold."""
    a, b = _conditions("logical_and", a, b)
    if isinstance(a, IntImm):
        return b if a.value else a
    if isinstance(b, IntImm):
        return a if b.value else b
    return tir.And(a, b)


def logical_or(a: Any, b: Any) -> PrimExpr:
    """At least one condition holds."""
    a, b = _conditions("logical_or", a, b)
    if isinstance(a, IntImm):
        return a if a.value else b
    if isinstance(b, IntImm):
        return b if b.value else a
    return tir.Or(a, b)


def logical_not(a: Any) -> PrimExpr:
    """The condition does not hold."""
    a = convert(a)
    if not a.dtype.is_bool:
        raise fail("tir-dtype", f"logical_not takes a condition (bool), got {a.dtype}", span=a.span)
    return IntImm(BOOL, 1 - a.value) if isinstance(a, IntImm) else tir.Not(a)


def all(*conditions: Any) -> PrimExpr:
    """Every condition holds; true of none."""
    found: PrimExpr = IntImm(BOOL, 1)
    for condition in conditions:
        found = logical_and(found, condition)
    return found


def any(*conditions: Any) -> PrimExpr:
    """Some condition holds; false of none."""
    found: PrimExpr = IntImm(BOOL, 0)
    for condition in conditions:
        found = logical_or(found, condition)
    return found


# ---------------------------------------------------------------------------------------- bits, casts


def _bitwise(name: str, on_bools: Callable[[Any, Any], PrimExpr]) -> Callable[[Any, Any], PrimExpr]:
    op = intrinsic(name)

    def combine(a: Any, b: Any) -> PrimExpr:
        a, b = match_types(a, b)
        if a.dtype.is_bool:
            return on_bools(a, b)
        a, b = _integers(name, a, b)
        return fold_arithmetic(name, a, b) or Call(a.dtype, op, (a, b))

    return combine


bitwise_and = _bitwise("bitwise_and", logical_and)
bitwise_or = _bitwise("bitwise_or", logical_or)
bitwise_xor = _bitwise("bitwise_xor", not_equal)


def bitwise_not(a: Any) -> PrimExpr:
    """Every bit flipped; of a bool its negation."""
    a = convert(a)
    if a.dtype.is_bool:
        return logical_not(a)
    if not a.dtype.is_int:
        raise fail("tir-dtype", f"bitwise_not takes integers, got {a.dtype}", span=a.span)
    return Call(a.dtype, intrinsic("bitwise_not"), (a,))


def left_shift(a: Any, b: Any) -> PrimExpr:
    """a << b"""
    a, b = _integers("left_shift", a, b)
    return fold_shift("left_shift", a, b) or Call(a.dtype, intrinsic("shift_left"), (a, b))


def right_shift(a: Any, b: Any) -> PrimExpr:
    """a >> b; of signed integers the sign is shifted in."""
    a, b = _integers("right_shift", a, b)
    return fold_shift("right_shift", a, b) or Call(a.dtype, intrinsic("shift_right"), (a, b))


def _integers(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    a, b = match_types(a, b)
    if not a.dtype.is_int:
        raise fail("tir-dtype", f"{name} takes integers, got {a.dtype}", span=a.span or b.span)
    return a, b


def cast(dtype: object, value: Any) -> PrimExpr:
    """`value` converted to `dtype`; a scalar becomes a vector of copies if `dtype` has lanes."""
    kind = DataType(dtype)
    value = convert(value)
    if value.dtype == kind:
        return value
    if kind.lanes > 1 and value.dtype.lanes == 1:
        return tir.Broadcast(cast(kind.element, value), kind.lanes)
    if isinstance(value, tir.Broadcast) and value.lanes == kind.lanes:
        return tir.Broadcast(cast(kind.element, value.value), kind.lanes)
    if "handle" in (kind.kind, value.dtype.kind):
        raise fail("tir-dtype", f"cannot convert {value.dtype} to {kind}", help="use tir.reinterpret", span=value.span)
    return fold_cast(kind, value) or tir.Cast(kind, value)


def const(value: Any, dtype: object | None = None) -> PrimExpr:
    """A literal of `dtype` (default int32, float32 or bool, by the Python number)."""
    return convert(value) if dtype is None else cast(dtype, literal(value, DataType(dtype)))


# ------------------------------------------------------------------------------------- Python operators

_BUILDERS: dict[str, Callable[..., PrimExpr]] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "floor_divide": floordiv,
    "floor_mod": floormod,
    "power": power,
    "negative": negative,
    "less": less,
    "less_equal": less_equal,
    "greater": greater,
    "greater_equal": greater_equal,
    "left_shift": left_shift,
    "right_shift": right_shift,
    "bitwise_and": bitwise_and,
    "bitwise_or": bitwise_or,
    "bitwise_xor": bitwise_xor,
    "bitwise_not": bitwise_not,
}


def build(name: str, *operands: Any) -> Any:
    """What the Python operator `name` builds; `NotImplemented` for operands of another language (Python then asks them)."""
    if name == "cast":
        return cast(operands[1], operands[0])
    for operand in operands:
        if not (isinstance(operand, _SCALARS) or is_operand(operand)):
            return NotImplemented
    if name in ("equal", "not_equal"):
        return _build_equality(name, *operands)
    return _BUILDERS[name](*operands)


def _build_equality(name: str, a: PrimExpr, b: Any) -> Any:
    right = convert(b, a.dtype)
    if _common(a.dtype.element, right.dtype.element) is None:
        return NotImplemented  # pointers and numbers are different things, not an error: `x in (a, b)` asks this
    return (equal if name == "equal" else not_equal)(a, right)


PrimExpr.build = build
IterVar.build = build

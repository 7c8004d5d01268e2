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


def _natural(number: Any) -> DataType:
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


def _folded(name: str, node: Callable[[PrimExpr, PrimExpr], PrimExpr], x: PrimExpr, y: PrimExpr) -> PrimExpr:
    found = fold_arithmetic(name, x, y)
    return node(x, y) if found is None else found


def add(a: Any, b: Any) -> PrimExpr:
    """a + b"""
    x, y = match_types(a, b)
    if not x.dtype.is_float:
        if is_const(y, 0):
            return x
        if is_const(x, 0):
            return y
    return _folded("add", tir.Add, x, y)


def subtract(a: Any, b: Any) -> PrimExpr:
    """a - b"""
    x, y = match_types(a, b)
    if not x.dtype.is_float:
        if is_const(y, 0):
            return x
        if x is y and x.dtype.lanes == 1:
            return literal(0, x.dtype)
    return _folded("subtract", tir.Sub, x, y)


def multiply(a: Any, b: Any) -> PrimExpr:
    """a * b"""
    x, y = match_types(a, b)
    if is_const(y, 1):
        return x
    if is_const(x, 1):
        return y
    if not x.dtype.is_float:
        if is_const(x, 0):
            return x
        if is_const(y, 0):
            return y
    return _folded("multiply", tir.Mul, x, y)


def divide(a: Any, b: Any) -> PrimExpr:
    """a / b of floats; of integers refused: name `truncdiv` or `floordiv`."""
    x, y = match_types(a, b)
    if not x.dtype.is_float:
        raise fail(
            "tir-division",
            f"a / b of {x.dtype} is ambiguous",
            span=x.span or y.span,
            help="use a // b (floordiv) or tir.truncdiv(a, b); cast to float first for a true quotient",
        )
    return div(x, y)


def div(a: Any, b: Any) -> PrimExpr:
    """C's division: true on floats, truncating on integers (`tvm.tir.div`)."""
    x, y = match_types(a, b)
    if not x.dtype.is_float:
        return truncdiv(x, y)
    if is_const(y, 1):
        return x
    return _folded("divide", tir.Div, x, y)


def truncdiv(a: Any, b: Any) -> PrimExpr:
    """The integer quotient rounded toward zero."""
    x, y = _dividend("truncdiv", a, b)
    if is_const(y, 1):
        return x
    return _folded("truncate_divide", tir.Div, x, y)


def truncmod(a: Any, b: Any) -> PrimExpr:
    """The remainder of `truncdiv`: the sign of `a`."""
    x, y = _dividend("truncmod", a, b)
    return _folded("truncate_mod", tir.Mod, x, y)


def floordiv(a: Any, b: Any) -> PrimExpr:
    """The quotient rounded down; of floats `floor(a / b)`."""
    x, y = match_types(a, b)
    if x.dtype.is_float:
        return Call(x.dtype, intrinsic("floor"), (div(x, y),))
    x, y = _dividend("floordiv", x, y)
    if is_const(y, 1):
        return x
    return _folded("floor_divide", tir.FloorDiv, x, y)


def floormod(a: Any, b: Any) -> PrimExpr:
    """The remainder of `floordiv`: the sign of `b`."""
    x, y = match_types(a, b)
    if x.dtype.is_float:
        return subtract(x, multiply(floordiv(x, y), y))
    x, y = _dividend("floormod", x, y)
    if is_const(y, 1):
        return literal(0, x.dtype)
    return _folded("floor_mod", tir.FloorMod, x, y)


def _dividend(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    x, y = match_types(a, b)
    if not (x.dtype.is_int or x.dtype.is_bool):
        raise fail("tir-dtype", f"{name} takes integers, got {x.dtype}", span=x.span or y.span)
    if is_const(y, 0):
        raise fail("tir-zero-division", f"{name} by zero", span=x.span or y.span)
    return x, y


def indexdiv(a: Any, b: Any) -> PrimExpr:
    """The quotient of non-negative indices (equal to `floordiv` there)."""
    return floordiv(a, b)


def indexmod(a: Any, b: Any) -> PrimExpr:
    """The remainder of non-negative indices (equal to `floormod` there)."""
    return floormod(a, b)


def ceildiv(a: Any, b: Any) -> PrimExpr:
    """The quotient rounded up, of a positive divisor."""
    x, y = match_types(a, b)
    return floordiv(subtract(add(x, y), literal(1, x.dtype)), y)


_max = max


def min(a: Any, b: Any) -> PrimExpr:
    """The smaller one; of floats NaN if either is."""
    x, y = match_types(a, b)
    return x if x is y else _folded("minimum", tir.Min, x, y)


def max(a: Any, b: Any) -> PrimExpr:
    """The larger one; of floats NaN if either is."""
    x, y = match_types(a, b)
    return x if x is y else _folded("maximum", tir.Max, x, y)


def negative(a: Any) -> PrimExpr:
    """-a"""
    x = convert(a)
    return multiply(x, literal(-1, x.dtype)) if x.dtype.kind != "uint" else subtract(literal(0, x.dtype), x)


def power(a: Any, b: Any) -> PrimExpr:
    """a ** b (the intrinsic `tir.pow`)."""
    x, y = match_types(a, b)
    return Call(x.dtype, intrinsic("pow"), (x, y))


# ----------------------------------------------------------------------------------- comparison, logic


def _comparison(name: str, node: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> Callable[[Any, Any], PrimExpr]:
    def compare(a: Any, b: Any) -> PrimExpr:
        x, y = match_types(a, b)
        folded = fold_comparison(name, x, y)
        return node(x, y) if folded is None else folded

    return compare


equal = _comparison("equal", tir.EQ)
not_equal = _comparison("not_equal", tir.NE)
less = _comparison("less", tir.LT)
less_equal = _comparison("less_equal", tir.LE)
greater = _comparison("greater", tir.GT)
greater_equal = _comparison("greater_equal", tir.GE)


def _conditions(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    x, y = match_types(a, b)
    if not x.dtype.is_bool:
        raise fail("tir-dtype", f"{name} takes conditions (bool), got {x.dtype}", span=x.span or y.span)
    return x, y


def logical_and(a: Any, b: Any) -> PrimExpr:
    """Both conditions hold."""
    x, y = _conditions("logical_and", a, b)
    if isinstance(x, IntImm):
        return y if x.value else x
    if isinstance(y, IntImm):
        return x if y.value else y
    return tir.And(x, y)


def logical_or(a: Any, b: Any) -> PrimExpr:
    """At least one condition holds."""
    x, y = _conditions("logical_or", a, b)
    if isinstance(x, IntImm):
        return x if x.value else y
    if isinstance(y, IntImm):
        return y if y.value else x
    return tir.Or(x, y)


def logical_not(a: Any) -> PrimExpr:
    """The condition does not hold."""
    x = convert(a)
    if not x.dtype.is_bool:
        raise fail("tir-dtype", f"logical_not takes a condition (bool), got {x.dtype}", span=x.span)
    return IntImm(BOOL, 1 - x.value) if isinstance(x, IntImm) else tir.Not(x)


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
        """The operation on each pair of bits of two integers of one type; on bools the logical one."""
        x, y = match_types(a, b)
        if x.dtype.is_bool:
            return on_bools(x, y)
        x, y = _integers(name, x, y)
        folded = fold_arithmetic(name, x, y)
        return Call(x.dtype, op, (x, y)) if folded is None else folded

    return combine


bitwise_and = _bitwise("bitwise_and", logical_and)
bitwise_or = _bitwise("bitwise_or", logical_or)
bitwise_xor = _bitwise("bitwise_xor", not_equal)


def bitwise_not(a: Any) -> PrimExpr:
    """Every bit flipped; of a bool its negation."""
    x = convert(a)
    if x.dtype.is_bool:
        return logical_not(x)
    if not x.dtype.is_int:
        raise fail("tir-dtype", f"bitwise_not takes integers, got {x.dtype}", span=x.span)
    return Call(x.dtype, intrinsic("bitwise_not"), (x,))


def left_shift(a: Any, b: Any) -> PrimExpr:
    """a << b"""
    x, y = _integers("left_shift", a, b)
    folded = fold_shift("left_shift", x, y)
    return Call(x.dtype, intrinsic("shift_left"), (x, y)) if folded is None else folded


def right_shift(a: Any, b: Any) -> PrimExpr:
    """a >> b; of signed integers the sign is shifted in."""
    x, y = _integers("right_shift", a, b)
    folded = fold_shift("right_shift", x, y)
    return Call(x.dtype, intrinsic("shift_right"), (x, y)) if folded is None else folded


def _integers(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    x, y = match_types(a, b)
    if not x.dtype.is_int:
        raise fail("tir-dtype", f"{name} takes integers, got {x.dtype}", span=x.span or y.span)
    return x, y


def cast(dtype: object, value: Any) -> PrimExpr:
    """`value` converted to `dtype`; a scalar becomes a vector of copies if `dtype` has lanes."""
    kind = DataType(dtype)
    x = convert(value)
    if x.dtype == kind:
        return x
    if kind.lanes > 1 and x.dtype.lanes == 1:
        return tir.Broadcast(cast(kind.element, x), kind.lanes)
    if isinstance(x, tir.Broadcast) and x.lanes == kind.lanes:
        return tir.Broadcast(cast(kind.element, x.value), kind.lanes)
    if "handle" in (kind.kind, x.dtype.kind):
        raise fail("tir-dtype", f"cannot convert {x.dtype} to {kind}", help="use tir.reinterpret", span=x.span)
    folded = fold_cast(kind, x)
    return tir.Cast(kind, x) if folded is None else folded


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
    """What the Python operator `name` builds; `NotImplemented` for operands of another language: Python asks those."""
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

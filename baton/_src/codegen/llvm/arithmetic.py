"""Arithmetic, comparisons and conversions of scalars and vectors.

Floats: nothing is relaxed; the sums that are rounded once with a product are written by `fused_products`. `Min` and
`Max` propagate NaN, as in NumPy. Integers wrap around. Integer division by zero gives 0 (and `MIN / -1` wraps) instead
of a trap, as in NumPy. Floats become integers by truncation; values that do not fit saturate at 32 or 64 bits.
"""

from __future__ import annotations

from collections.abc import Collection

from baton._src.codegen.llvm.float_ranges import is_finite
from baton._src.codegen.llvm.functions import vector_math
from baton._src.codegen.llvm.functions.narrow_float import narrow, rounded_to_odd, widen
from baton._src.codegen.llvm.functions.remainder import has_vector_fmod
from baton._src.codegen.llvm.text import FunctionText, element_of, mangle, with_lanes
from baton._src.codegen.llvm.types import compute_type, literal_text, register_type
from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import InternalError, fail
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType
from baton._src.values.whole_numbers import whole_dtype

_FLOAT_OPS = {tir.Add: "fadd", tir.Sub: "fsub", tir.Mul: "fmul", tir.Div: "fdiv"}
_INT_OPS = {tir.Add: "add", tir.Sub: "sub", tir.Mul: "mul"}
_COMPARE = {tir.EQ: "eq", tir.NE: "ne", tir.LT: "lt", tir.LE: "le", tir.GT: "gt", tir.GE: "ge"}


def binary(f: FunctionText, node: tir.BinaryOp, a: str, b: str, features: Collection[str]) -> str:
    """A `BinaryOp` of two operands."""
    dtype = node.dtype
    if dtype.is_float:
        if dtype.is_narrow:
            a, b = widen(f, dtype, a, features), widen(f, dtype, b, features)
            return narrow(f, dtype, _float_binary(f, node, a, b), features)
        return _float_binary(f, node, a, b)
    kind = register_type(dtype)
    if dtype.is_bool:
        return f.value(f"{_bool_op(node)} {kind} {a}, {b}")
    plain = _INT_OPS.get(type(node))
    if plain is not None:
        return f.value(f"{plain} {kind} {a}, {b}")
    signed = dtype.kind == "int"
    match node:
        case tir.Min() | tir.Max():
            name = ("s" if signed else "u") + ("min" if isinstance(node, tir.Min) else "max")
            return f.intrinsic(f"llvm.{name}.{mangle(kind)}", kind, (kind, a), (kind, b))
        case tir.Div() | tir.Mod() | tir.FloorDiv() | tir.FloorMod():
            return _int_division(f, node, kind, a, b, signed)
        case _:
            pass
    raise InternalError(f"code generation: no rule for {type(node).__name__}")


def _bool_op(node: tir.BinaryOp) -> str:
    match node:
        case tir.Add() | tir.Max():
            return "or"
        case tir.Mul() | tir.Min():
            return "and"
        case tir.Sub():
            return "xor"
        case _:
            pass
    raise fail("codegen-dtype", f"{type(node).__name__} is not defined for bool", span=node.span)


def _float_binary(f: FunctionText, node: tir.BinaryOp, a: str, b: str) -> str:
    kind = compute_type(node.dtype)
    word = _FLOAT_OPS.get(type(node))
    if word is not None:
        return f.value(f"{word} {kind} {a}, {b}")
    suffix = mangle(kind)
    match node:
        case tir.Max() | tir.Min():
            return _float_extreme(f, node, kind, a, b)
        case tir.FloorDiv():
            return f.intrinsic(f"llvm.floor.{suffix}", kind, (kind, f.value(f"fdiv {kind} {a}, {b}")))
        case tir.Mod():
            return _remainder(f, kind, a, b)
        case tir.FloorMod():
            return _floor_remainder(f, node.dtype, kind, a, b)
        case _:
            pass
    raise InternalError(f"code generation: no rule for {type(node).__name__}")


def _floor_remainder(f: FunctionText, dtype: DataType, kind: str, a: str, b: str) -> str:
    """The remainder with the sign of the divisor, also for zero; for a finite number and an infinite divisor as in
    Python.
    """
    rest = _remainder(f, kind, a, b)
    flag = with_lanes("i1", dtype.lanes)
    zero = literal_text(_compute_dtype(dtype), 0.0)
    low = [f.value(f"fcmp olt {kind} {x}, {zero}") for x in (rest, b)]
    moved = f.value(
        f"select {flag} {f.value(f'xor {flag} {low[0]}, {low[1]}')}, {kind} "
        f"{f.value(f'fadd {kind} {rest}, {b}')}, {kind} {rest}"
    )
    none = f.value(f"fcmp oeq {kind} {rest}, {zero}")
    signed = f.intrinsic(f"llvm.copysign.{mangle(kind)}", kind, (kind, zero), (kind, b))
    return f.value(f"select {flag} {none}, {kind} {signed}, {kind} {moved}")


def _remainder(f: FunctionText, kind: str, a: str, b: str) -> str:
    """C's fmod; LLVM implements it by calling the C library."""
    if has_vector_fmod(32 if element_of(kind) == "float" else 64, f.module.features):
        return f.value(f"call {kind} {vector_math.helper(f.module, 'fmod', kind)}({kind} {a}, {kind} {b})")
    f.module.imports["fmod"] = None
    return f.value(f"frem {kind} {a}, {b}")


def _compute_dtype(dtype: DataType) -> DataType:
    return DataType("float32").with_lanes(dtype.lanes) if dtype.is_narrow else dtype


def _float_extreme(f: FunctionText, node: tir.Max | tir.Min, kind: str, a: str, b: str) -> str:
    """With what is not NaN on the left, compare and select keep the other's NaN: one instruction on x86."""
    if _is_number(node.b):
        a, b = b, a
    if _is_number(node.a) or _is_number(node.b):
        flag = with_lanes("i1", node.dtype.lanes)
        how = "ogt" if isinstance(node, tir.Max) else "olt"
        return f.value(f"select {flag} {f.value(f'fcmp {how} {kind} {a}, {b}')}, {kind} {a}, {kind} {b}")
    name = "maximum" if isinstance(node, tir.Max) else "minimum"
    # x86 compares the first operand with itself: not the running extreme, which the next one waits for.
    return f.intrinsic(f"llvm.{name}.{mangle(kind)}", kind, (kind, b), (kind, a), flags="nsz ")


def _is_number(expr: PrimExpr) -> bool:
    """Whether a value is certainly not NaN."""
    literal = expr.value if isinstance(expr, tir.Broadcast) else expr
    return (isinstance(literal, tir.FloatImm) and literal.value == literal.value) or is_finite(expr)


def _int_division(f: FunctionText, node: tir.BinaryOp, kind: str, a: str, b: str, signed: bool) -> str:
    divisor = node.b.value if isinstance(node.b, tir.Broadcast) else node.b
    known = divisor.value if isinstance(divisor, tir.IntImm) else None
    wants_quotient = isinstance(node, (tir.Div, tir.FloorDiv))
    rounds_down = isinstance(node, (tir.FloorDiv, tir.FloorMod)) and signed
    flag = with_lanes("i1", node.dtype.lanes)
    zero = literal_text(node.dtype, 0)
    if rounds_down and known is not None and known > 0 and known & (known - 1) == 0:
        if wants_quotient:
            return f.value(f"ashr {kind} {a}, {literal_text(node.dtype, known.bit_length() - 1)}")
        return f.value(f"and {kind} {a}, {literal_text(node.dtype, known - 1)}")
    safe, special = b, None
    if known is None or known in (0, -1):
        is_zero = f.value(f"icmp eq {kind} {b}, {zero}")
        special = is_zero
        if signed:  # MIN / -1 traps too: dividing by one and negating wraps instead
            is_minus = f.value(f"icmp eq {kind} {b}, {literal_text(node.dtype, -1)}")
            special = f.value(f"or {flag} {is_zero}, {is_minus}")
        safe = f.value(f"select {flag} {special}, {kind} {literal_text(node.dtype, 1)}, {kind} {b}")
    quotient = _quotient(f, node.dtype, kind, a, safe, signed, is_known=known is not None)
    rest = f.value(f"sub {kind} {a}, {f.value(f'mul {kind} {quotient}, {safe}')}")
    if rounds_down:
        uneven = f.value(f"icmp ne {kind} {rest}, {zero}")
        signs = f.value(f"icmp slt {kind} {f.value(f'xor {kind} {rest}, {safe}')}, {zero}")
        adjust = f.value(f"and {flag} {uneven}, {signs}")
        lower = f.value(f"sub {kind} {quotient}, {literal_text(node.dtype, 1)}")
        quotient = f.value(f"select {flag} {adjust}, {kind} {lower}, {kind} {quotient}")
        higher = f.value(f"add {kind} {rest}, {safe}")
        rest = f.value(f"select {flag} {adjust}, {kind} {higher}, {kind} {rest}")
    if not wants_quotient:
        return rest  # by 0, 1 and -1 alike it is 0
    if special is None:
        return quotient
    # Here divisor 0 or -1 was replaced by 1: the quotient is a; 0 -> 0 and -1 -> -a, which is a * b in both cases.
    return f.value(f"select {flag} {special}, {kind} {f.value(f'mul {kind} {a}, {b}')}, {kind} {quotient}")


def _quotient(f: FunctionText, dtype: DataType, kind: str, a: str, b: str, signed: bool, is_known: bool) -> str:
    """The quotient rounded towards zero; `b` is not zero. Processors do not divide vectors of integers: those are
    divided as floats. That is exact: a quotient that is no integer is below the next one by 1 / a of itself at least,
    which is more than its rounding error.
    """
    word = "s" if signed else "u"
    if is_known or dtype.lanes == 1 or dtype.bits > 32:
        return f.value(f"{word}div {kind} {a}, {b}")
    real = with_lanes("float" if dtype.bits <= 16 else "double", dtype.lanes)
    reals = [f.value(f"{word}itofp {kind} {operand} to {real}") for operand in (a, b)]
    return f.value(f"fpto{word}i {real} {f.value(f'fdiv {real} {reals[0]}, {reals[1]}')} to {kind}")


def compare(f: FunctionText, node: tir.CompareOp, a: str, b: str, features: Collection[str]) -> str:
    """A `CompareOp` of two operands."""
    dtype = node.a.dtype
    word = _COMPARE[type(node)]
    if dtype.is_float:
        if dtype.is_narrow:
            a, b = widen(f, dtype, a, features), widen(f, dtype, b, features)
        return f.value(f"fcmp {'une' if word == 'ne' else 'o' + word} {compute_type(dtype)} {a}, {b}")
    if word not in ("eq", "ne"):
        word = ("s" if dtype.kind == "int" else "u") + word
    return f.value(f"icmp {word} {register_type(dtype)} {a}, {b}")


def cast(
    f: FunctionText, source: DataType, target: DataType, a: str, features: Collection[str], fits: bool = False
) -> str:
    """`a` of type `source` as `target`; a float that `fits` lies in the range of `whole_dtype(target)`, or is NaN."""
    if source == target:
        return a
    if source.kind == "handle" or target.kind == "handle":
        return _cast_pointer(f, source, target, a)
    if source.is_narrow:
        return cast(f, _compute_dtype(source), target, widen(f, source, a, features), features, fits)
    if target.is_narrow:
        twice = source.element == "float64" and target.element == "float16"
        single = rounded_to_odd(f, source.lanes, a) if twice else cast(f, source, _compute_dtype(target), a, features)
        return narrow(f, target, single, features)
    old, new = register_type(source), register_type(target)
    if target.is_bool:
        how = "fcmp une" if source.is_float else "icmp ne"
        return f.value(f"{how} {old} {a}, {literal_text(source, 0)}")
    if source.is_float and target.is_float:
        return f.value(f"{'fpext' if target.bits > source.bits else 'fptrunc'} {old} {a} to {new}")
    if source.is_float:
        return _float_to_int(f, source, target, a, fits, "neon" in features)
    unsigned = source.kind in ("uint", "bool")
    if target.is_float:
        return f.value(f"{'uitofp' if unsigned else 'sitofp'} {old} {a} to {new}")
    width = 1 if source.is_bool else source.bits
    if target.bits == width:
        return a
    word = "trunc" if target.bits < width else "zext" if unsigned else "sext"
    return f.value(f"{word} {old} {a} to {new}")


def _float_to_int(
    f: FunctionText, source: DataType, target: DataType, a: str, fits: bool, saturates: bool = False
) -> str:
    """Through 32 or 64 bits, saturating there; narrower types keep the low bits. `saturates`: the processor's own
    conversion of vectors does, and makes 0 of NaN.
    """
    old, new = register_type(source), register_type(target)
    if target.kind == "uint" and target.bits == 64:
        positive = f.intrinsic(f"llvm.fptoui.sat.{mangle(new)}.{mangle(old)}", new, (old, a))
        negative = f.intrinsic(f"llvm.fptosi.sat.{mangle(new)}.{mangle(old)}", new, (old, a))
        below = f.value(f"fcmp olt {old} {a}, {literal_text(source, 0.0)}")
        return f.value(f"select {with_lanes('i1', source.lanes)} {below}, {new} {negative}, {new} {positive}")
    bits = whole_dtype(target).bits
    wide = with_lanes(f"i{bits}", source.lanes)
    if saturates:
        found = f.intrinsic(f"llvm.fptosi.sat.{mangle(wide)}.{mangle(old)}", wide, (old, a))
    elif fits:
        found = _number_or_zero(f, source, wide, a, f.value(f"fptosi {old} {a} to {wide}"))
    elif source.lanes > 1:
        found = _vector_to_int(f, source, bits, a)
    else:
        found = f.intrinsic(f"llvm.fptosi.sat.{mangle(wide)}.{mangle(old)}", wide, (old, a))
    return found if bits == target.bits else f.value(f"trunc {wide} {found} to {new}")


def _vector_to_int(f: FunctionText, source: DataType, bits: int, a: str) -> str:
    """The semantics of fptosi.sat, which LLVM lowers lane by lane: NaN gives 0, out-of-range numbers the nearest
    bound.
    """
    old, wide, flag = register_type(source), with_lanes(f"i{bits}", source.lanes), with_lanes("i1", source.lanes)
    target = DataType(f"int{bits}").with_lanes(source.lanes)
    low, high = (literal_text(source, float(end)) for end in (-(2 ** (bits - 1)), 2 ** (bits - 1)))
    above = f.value(f"fcmp ogt {old} {a}, {low}")
    bounded = f.value(f"select {flag} {above}, {old} {a}, {old} {low}")
    whole = f.value(f"freeze {wide} {f.value(f'fptosi {old} {bounded} to {wide}')}")  # any number where it is too large
    large = f.value(f"fcmp oge {old} {a}, {high}")
    whole = f.value(f"select {flag} {large}, {wide} {literal_text(target, 2 ** (bits - 1) - 1)}, {wide} {whole}")
    return _number_or_zero(f, source, wide, a, whole)


def _number_or_zero(f: FunctionText, source: DataType, wide: str, a: str, whole: str) -> str:
    """`whole`, or 0 where `a` is NaN."""
    number = f.value(f"fcmp ord {register_type(source)} {a}, {literal_text(source, 0.0)}")
    return f.value(f"select {with_lanes('i1', source.lanes)} {number}, {wide} {whole}, {wide} zeroinitializer")


def _cast_pointer(f: FunctionText, source: DataType, target: DataType, a: str) -> str:
    if source.kind == "handle" and target.kind == "handle":
        return a
    if source.kind == "handle":
        return f.value(f"ptrtoint ptr {a} to {register_type(target)}")
    return f.value(f"inttoptr {register_type(source)} {a} to ptr")

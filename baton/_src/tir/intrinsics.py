"""The table of TIR's intrinsics: `tir.exp`, `tir.if_then_else`, `tir.call_extern`, ...

A row gives the name, the number and kinds of operands, the result dtype, the NumPy reference and the effect.
`INTRINSICS["tir.exp"]` is the interned `Op` whose `definition` is the row. Names follow TVM v0.19.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from baton._src.ir.expr import Op
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.integer_power import power
from baton._src.tir.intrinsic_meanings import (
    count_leading_zeros,
    dot_bfloat16,
    dot_bytes,
    exp_flushed,
    large_uint,
    popcount,
    q_multiply_shift,
    round_half_away,
    rsqrt,
    sigmoid,
    through_float64,
)
from baton._src.values.dtype import BOOL, DataType

NumPyFunction = Callable[..., Any]


class Operands(Enum):
    """The kinds of operands an intrinsic takes."""

    FLOAT = "floats"
    INT = "integers"
    NUMBER = "numbers"
    ANY = "anything"


class Result(Enum):
    """The dtype of a call."""

    SAME = "that of the first operand"
    BOOL = "bool"
    SECOND = "that of the second operand"
    GIVEN = "stated by the call"


class Effect(Enum):
    """The effect of a call: only a pure call may be moved, merged or dropped."""

    PURE = "pure"
    READ = "reads memory"
    UPDATE = "changes state"
    JUMP = "leaves the function"


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One row. `arity` -1: any number. `numpy` takes NumPy scalars or arrays (lanes) of the operands' dtypes."""

    name: str
    arity: int
    operands: Operands
    result: Result
    numpy: NumPyFunction | None
    effect: Effect = Effect.PURE
    lazy: bool = False
    """Whether operands are evaluated only when needed (`if_then_else`)."""


def _unary(name: str, function: NumPyFunction | None, operands: Operands = Operands.FLOAT) -> Intrinsic:
    return Intrinsic(f"tir.{name}", 1, operands, Result.SAME, function)


def _test(name: str, function: NumPyFunction) -> Intrinsic:
    return Intrinsic(f"tir.{name}", 1, Operands.NUMBER, Result.BOOL, function)


def _binary(name: str, function: NumPyFunction, operands: Operands) -> Intrinsic:
    return Intrinsic(f"tir.{name}", 2, operands, Result.SAME, function)


def _system(name: str, arity: int, effect: Effect) -> Intrinsic:
    return Intrinsic(f"tir.{name}", arity, Operands.ANY, Result.GIVEN, None, effect)


_ROWS = (
    # --- one float
    _unary("exp", np.exp),
    _unary("exp2", np.exp2),
    _unary("exp_flushed", exp_flushed),  # powers to be added up with 1, of numbers up to 0
    _unary("exp10", lambda x: np.power(np.asarray(x).dtype.type(10), x)),
    _unary("expm1", np.expm1),
    _unary("log", np.log),
    _unary("log2", np.log2),
    _unary("log10", np.log10),
    _unary("log1p", np.log1p),
    _unary("sqrt", np.sqrt),
    _unary("rsqrt", rsqrt),
    _unary("sin", np.sin),
    _unary("cos", np.cos),
    _unary("tan", np.tan),
    _unary("sinh", np.sinh),
    _unary("cosh", np.cosh),
    _unary("tanh", np.tanh),
    _unary("asin", np.arcsin),
    _unary("acos", np.arccos),
    _unary("atan", np.arctan),
    _unary("asinh", np.arcsinh),
    _unary("acosh", np.arccosh),
    _unary("atanh", np.arctanh),
    _unary("erf", through_float64(math.erf)),
    _unary("sigmoid", sigmoid),
    _unary("floor", np.floor),
    _unary("ceil", np.ceil),
    _unary("trunc", np.trunc),
    _unary("round", round_half_away),
    _unary("nearbyint", np.rint),
    _unary("fabs", np.abs),
    # --- tests of one number
    _test("isnan", np.isnan),
    _test("isinf", np.isinf),
    _test("isfinite", np.isfinite),
    # --- two operands or more
    _binary("pow", power, Operands.NUMBER),
    _binary("fmod", np.fmod, Operands.FLOAT),
    _binary("atan2", np.arctan2, Operands.FLOAT),
    _binary("hypot", np.hypot, Operands.FLOAT),
    _binary("copysign", np.copysign, Operands.FLOAT),
    _binary("nextafter", np.nextafter, Operands.FLOAT),
    _binary("ldexp", lambda x, n: np.ldexp(x, np.asarray(n).astype("int32")), Operands.FLOAT),
    Intrinsic("tir.fma", 3, Operands.FLOAT, Result.SAME, lambda a, b, c: a * b + c),
    # --- integers
    _binary("bitwise_and", np.bitwise_and, Operands.INT),
    _binary("bitwise_or", np.bitwise_or, Operands.INT),
    _binary("bitwise_xor", np.bitwise_xor, Operands.INT),
    _unary("bitwise_not", np.bitwise_not, Operands.INT),
    _binary("shift_left", np.left_shift, Operands.INT),
    _binary("shift_right", np.right_shift, Operands.INT),
    _unary("popcount", popcount, Operands.INT),
    Intrinsic("tir.clz", 1, Operands.INT, Result.GIVEN, count_leading_zeros),
    Intrinsic("tir.q_multiply_shift", 4, Operands.INT, Result.SAME, q_multiply_shift),
    Intrinsic("tir.q_multiply_shift_per_axis", 7, Operands.ANY, Result.SAME, None),
    Intrinsic("tir.large_uint_imm", 2, Operands.INT, Result.GIVEN, large_uint),
    # --- dot products of what lies side by side in words (int32)
    Intrinsic("tir.dot_u8s8", 3, Operands.INT, Result.SAME, dot_bytes),
    Intrinsic("tir.dot_u7s8", 3, Operands.INT, Result.SAME, dot_bytes),
    Intrinsic("tir.dot_bf16", 3, Operands.ANY, Result.SAME, dot_bfloat16),
    # --- control and hints
    Intrinsic("tir.if_then_else", 3, Operands.ANY, Result.SECOND, None, lazy=True),
    Intrinsic("tir.likely", 1, Operands.ANY, Result.SAME, lambda x: x),
    Intrinsic("tir.ignore_loop_partition", 1, Operands.ANY, Result.SAME, lambda x: x),
    _system("assume", 1, Effect.PURE),
    _system("index_within", 4, Effect.READ),
    _system("leave_if_fault", 1, Effect.JUMP),
    _system("undef", 0, Effect.READ),
    _system("prefetch", -1, Effect.UPDATE),
    _system("ret", 1, Effect.JUMP),
    _system("break_loop", 0, Effect.JUMP),
    _system("continue_loop", 0, Effect.JUMP),
    # --- bits and pointers
    _system("reinterpret", 1, Effect.PURE),
    _system("address_of", 1, Effect.PURE),
    _system("ptr_add", 2, Effect.PURE),
    _system("isnullptr", 1, Effect.PURE),
    _system("tvm_access_ptr", 5, Effect.READ),
    _system("type_annotation", 0, Effect.PURE),
    _system("tvm_tuple", -1, Effect.PURE),
    _system("constant_memory", 1, Effect.PURE),
    _system("lookup_param", 1, Effect.READ),
    _system("tvm_struct_get", 3, Effect.READ),
    _system("tvm_struct_set", 4, Effect.UPDATE),
    _system("vscale", 0, Effect.PURE),
    Intrinsic("tir.vector_bits", 0, Operands.ANY, Result.GIVEN, lambda: np.int32(128)),  # the target's, once lowered
    # --- calls out of TIR
    _system("call_extern", -1, Effect.UPDATE),
    _system("call_pure_extern", -1, Effect.PURE),
    _system("call_llvm_intrin", -1, Effect.UPDATE),
    _system("call_llvm_pure_intrin", -1, Effect.PURE),
    _system("tvm_call_packed", -1, Effect.UPDATE),
    _system("tvm_call_cpacked", -1, Effect.UPDATE),
    _system("tvm_call_packed_lowered", -1, Effect.UPDATE),
    _system("tvm_call_cpacked_lowered", -1, Effect.UPDATE),
    _system("tvm_call_trace_packed", -1, Effect.UPDATE),
    _system("tvm_check_return", 3, Effect.UPDATE),
    _system("tvm_throw_last_error", 0, Effect.UPDATE),
    _system("TVMBackendAllocWorkspace", 5, Effect.UPDATE),
    _system("TVMBackendFreeWorkspace", 3, Effect.UPDATE),
    _system("start_profile_intrinsic", 1, Effect.UPDATE),
    _system("end_profile_intrinsic", 1, Effect.UPDATE),
    _system("tvm_stack_alloca", 2, Effect.UPDATE),
    _system("tvm_stack_make_shape", -1, Effect.READ),
    _system("tvm_stack_make_array", 6, Effect.READ),
    # --- synchronisation
    _system("tvm_storage_sync", -1, Effect.UPDATE),
    # --- vectors
    Intrinsic("tir.vectorlow", 1, Operands.ANY, Result.GIVEN, lambda v: np.squeeze(v[: len(v) // 2])),
    Intrinsic("tir.vectorhigh", 1, Operands.ANY, Result.GIVEN, lambda v: np.squeeze(v[len(v) // 2 :])),
    Intrinsic("tir.vectorcombine", 2, Operands.ANY, Result.GIVEN, lambda a, b: np.hstack([a, b])),
)

INTRINSICS: dict[str, Op] = {row.name: Op(row.name, definition=row) for row in _ROWS}
"""Every intrinsic by its full name, as the `Op` that calls refer to."""


_GIVEN_DTYPES: dict[str, str] = {
    "tir.clz": "int32",
    "tir.assume": "bool",
    "tir.undef": "int32",
    "tir.isnullptr": "bool",
    "tir.address_of": "handle",
    "tir.ptr_add": "handle",
    "tir.tvm_access_ptr": "handle",
    "tir.prefetch": "void",
    "tir.break_loop": "void",
    "tir.continue_loop": "void",
    "tir.vscale": "int32",
    "tir.tvm_call_packed": "int32",
    "tir.tvm_call_cpacked": "int32",
    "tir.tvm_call_packed_lowered": "int32",
    "tir.tvm_call_cpacked_lowered": "int32",
    "tir.tvm_check_return": "int32",
    "tir.tvm_throw_last_error": "handle",
    "tir.TVMBackendAllocWorkspace": "handle",
    "tir.TVMBackendFreeWorkspace": "int32",
    "tir.start_profile_intrinsic": "handle",
    "tir.end_profile_intrinsic": "handle",
    "tir.tvm_tuple": "handle",
    "tir.constant_memory": "handle",
    "tir.lookup_param": "handle",
    "tir.tvm_stack_alloca": "handle",
    "tir.tvm_stack_make_shape": "handle",
    "tir.tvm_stack_make_array": "handle",
    "tir.tvm_storage_sync": "int32",
    "tir.tvm_struct_set": "int32",
}
TRAILING_DTYPE = frozenset(["tir.tvm_struct_get"])
"""Intrinsics whose calls are written with their dtype behind: `T.tvm_struct_get(args, 0, 12, "handle")`."""
_NO_DTYPE = {*_GIVEN_DTYPES, *TRAILING_DTYPE, "tir.ret"}
LEADING_DTYPE = frozenset(row.name for row in _ROWS if row.result is Result.GIVEN and row.name not in _NO_DTYPE)
"""Intrinsics whose calls are written with their dtype in front: `T.call_extern("int32", "f", x)`."""


def result_dtype(row: Intrinsic, args: Sequence[Any]) -> DataType | None:
    """The dtype of a call with these operands, or None where the call has to state it."""
    if row.result is Result.GIVEN:
        if row.name == "tir.ret":
            first: DataType = args[0].dtype
            return first
        known = _GIVEN_DTYPES.get(row.name)
        return None if known is None else DataType(known)
    if len(args) < 1 + (row.result is Result.SECOND):
        return None
    dtype: DataType = args[1 if row.result is Result.SECOND else 0].dtype
    return BOOL.with_lanes(dtype.lanes) if row.result is Result.BOOL else dtype


def misfit(row: Intrinsic, args: Sequence[Any]) -> str | None:
    """Why the operands' dtypes do not fit; None if they do."""
    for place, arg in enumerate(args):
        dtype: DataType = arg.dtype
        exponent = row.name == "tir.ldexp" and place == 1
        fits = {
            Operands.FLOAT: dtype.is_float or (exponent and dtype.is_int),
            Operands.INT: dtype.is_int,
            Operands.NUMBER: dtype.is_int or dtype.is_float,
            Operands.ANY: True,
        }
        if not fits[row.operands]:
            return f"{row.name} takes {row.operands.value}, got {dtype}"
    return None


def intrinsic(name: str) -> Op:
    """The intrinsic `name`, with or without the prefix `tir.`; `DiagnosticError` (`tir-intrinsic`) if unknown."""
    full = name if name.startswith("tir.") else f"tir.{name}"
    found = INTRINSICS.get(full) or OWN_INTRINSICS.get(full)
    if found is None:
        raise fail("tir-intrinsic", f"TIR has no intrinsic {name!r}")
    return found


OWN_INTRINSICS: dict[str, Op] = {}
"""Intrinsics that scripts created by registering something for them."""


def own_intrinsic(name: str) -> Op:
    """The intrinsic of this full name; where there is none, a new one: pure, of any operands, its dtype stated."""
    if name not in INTRINSICS and name not in OWN_INTRINSICS:
        row = Intrinsic(name, -1, Operands.ANY, Result.GIVEN, None)
        OWN_INTRINSICS[name] = Op(name, definition=row)
    return intrinsic(name)


def definition(op: object) -> Intrinsic | None:
    """The row of an intrinsic's `Op`; None for anything else."""
    found = op.definition if isinstance(op, Op) else None
    return found if isinstance(found, Intrinsic) else None


def is_pure_call(call: Any, *allowed: Effect) -> bool:
    """Whether a call is of an intrinsic that has no effect but those allowed."""
    row = definition(call.op)
    return row is not None and row.effect in (Effect.PURE, *allowed)

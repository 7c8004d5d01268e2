"""LLVM's intrinsics by name are TIR's functions of the same meaning.

    call_llvm_pure_intrin("float32", "llvm.fabs", x)        ->      fabs(x)

Kernels that call them are interpreted, vectorised and compiled as others are. What TIR has no function for is refused:
LLVM ends the process over an intrinsic that the target's CPU lacks.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import operators
from baton._src.tir.builders import scalar_functions
from baton._src.tir.builders.scalar_functions import call
from baton._src.tir.expr import IntImm, StringImm
from baton._src.values.dtype import DataType


@dataclass(frozen=True)
class _Row:
    arity: int
    build: Callable[..., PrimExpr]


def _number_of_zeros(x: PrimExpr, zero_is_poison: PrimExpr) -> PrimExpr:
    return operators.cast(x.dtype, scalar_functions.clz(x))


def _without_nan(choose: Callable[[Any, Any], PrimExpr]) -> Callable[[Any, Any], PrimExpr]:
    """LLVM's minnum and maxnum: of a number and a NaN, the number."""

    def build(a: Any, b: Any) -> PrimExpr:
        other = scalar_functions.select(scalar_functions.isnan(b), a, choose(a, b))
        return scalar_functions.select(scalar_functions.isnan(a), b, other)

    return build


def _of_kind(kind: str, choose: Callable[[Any, Any], PrimExpr]) -> Callable[[Any, Any], PrimExpr]:
    """A choice between integers taken as signed ones, or as unsigned ones."""

    def build(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        taken = DataType(f"{kind}{a.dtype.bits}").with_lanes(a.dtype.lanes)
        return operators.cast(a.dtype, choose(operators.cast(taken, a), operators.cast(taken, b)))

    return build


def _dot(total: Any, a: Any, b: Any) -> PrimExpr:
    return call("dot_u8s8", total, a, b)


def _rows() -> dict[str, _Row]:
    f = scalar_functions
    one = ("sqrt", "sin", "cos", "tan", "exp", "exp2", "exp10", "log", "log2", "log10", "floor", "ceil", "trunc")
    rows = {name: _Row(1, getattr(f, name)) for name in (*one, "round", "nearbyint")}
    rows |= {"fabs": _Row(1, f.abs), "rint": _Row(1, f.nearbyint), "roundeven": _Row(1, f.nearbyint)}
    rows |= {"pow": _Row(2, f.pow), "copysign": _Row(2, f.copysign), "ldexp": _Row(2, f.ldexp)}
    rows |= {"powi": _Row(2, lambda x, n: f.pow(x, operators.cast(x.dtype, n)))}
    rows |= {"fma": _Row(3, f.fma), "fmuladd": _Row(3, f.fma)}
    rows |= {"minnum": _Row(2, _without_nan(operators.min)), "maxnum": _Row(2, _without_nan(operators.max))}
    for kind in ("int", "uint"):
        letter = "s" if kind == "int" else "u"
        rows[f"{letter}min"] = _Row(2, _of_kind(kind, operators.min))
        rows[f"{letter}max"] = _Row(2, _of_kind(kind, operators.max))
    rows |= {"abs": _Row(2, lambda x, poison: f.abs(x)), "ctpop": _Row(1, f.popcount)}
    rows |= {"ctlz": _Row(2, _number_of_zeros)}
    rows |= {f"x86.avx512.vpdpbusd.{bits}": _Row(3, _dot) for bits in (128, 256, 512)}
    return {f"llvm.{name}": row for name, row in rows.items()}


_ROWS = _rows()
_NUMBERS = {name: number for number, name in enumerate(_ROWS, 1)}
_SUFFIX = re.compile(r"(\.(v\d+)?(f|i)\d+)+$")
"""The types that LLVM's own text has behind a name: `llvm.fabs.v4f32`."""


def llvm_lookup_intrinsic_id(name: str) -> int:
    """The number that stands for an intrinsic in calls; 0 for one that kernels cannot call."""
    return _NUMBERS.get(name) or _NUMBERS.get(_SUFFIX.sub("", name), 0)


def llvm_get_intrinsic_name(intrin_id: int) -> str:
    """The name of the intrinsic that has this number; empty for none."""
    return next((name for name, number in _NUMBERS.items() if number == intrin_id), "")


def call_llvm_intrin(dtype: object, name: Any, *args: Any) -> PrimExpr:
    """A call of an LLVM intrinsic by name (`llvm.fma`, with types behind it or not) or number, of a stated dtype.

    A number of operands in front of the operands, as TVM's scripts write it, is left out. Error `tir-intrinsic`: TIR
    has no function of that meaning, or it gives another dtype or takes another number of operands.
    """
    number, row = _found(name)
    operands = [operators.convert(a) for a in args]
    if len(operands) == row.arity + 1 and isinstance(operands[0], IntImm):
        operands = operands[1:]
    called = llvm_get_intrinsic_name(number)
    if len(operands) != row.arity:
        raise fail("tir-intrinsic", f"{called} takes {row.arity} operands, got {len(operands)}")
    made = row.build(*operands)
    if made.dtype != DataType(dtype):
        raise fail("tir-intrinsic", f"{called} of these operands gives {made.dtype}, the call says {dtype}")
    return made


call_llvm_pure_intrin = call_llvm_intrin


def _found(name: Any) -> tuple[int, _Row]:
    said = name.value if isinstance(name, (StringImm, IntImm)) else name
    number = llvm_lookup_intrinsic_id(said) if isinstance(said, str) else int(said)
    known = llvm_get_intrinsic_name(number)
    if not known:
        near = difflib.get_close_matches(str(said), _ROWS, 3)
        raise fail(
            "tir-intrinsic",
            f"kernels cannot call LLVM's {said!r}" if number == 0 else f"{number} is not an intrinsic's number",
            help="TIR has functions of its own, T.fma, T.popcount, T.clz, ..."
            + f"; near: {', '.join(near)}" * bool(near),
        )
    return number, _ROWS[known]

"""A product and a sum as one operation, with one rounding: a * b + c, a * b - c, c - a * b.

The processor has it; where it has not, LLVM makes two operations of it. Whether they are one follows from the
expression alone, so that equal expressions have equal bits wherever they stand in a kernel. Left to LLVM (`contract`),
a product that a loop hoists, or that has another reader, is rounded by itself, and `y[0] >= y` does not hold for y[0].
Sums of two products stay as they are: a * b - b * a is 0, and a * b + c * d is c * d + a * b.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.codegen.llvm.text import FunctionText, mangle
from baton._src.codegen.llvm.types import is_narrow, register_type
from baton._src.ir.expr import PrimExpr
from baton._src.tir import expr as tir


def fused_operands(node: Any) -> tuple[PrimExpr, PrimExpr, PrimExpr] | None:
    """The factors and the other term of a sum or difference that has one product; None for other nodes."""
    if not isinstance(node, tir.Add | tir.Sub) or not node.dtype.is_float or is_narrow(node.dtype):
        return None
    match node.a, node.b:
        case tir.Mul(), tir.Mul():
            return None
        case tir.Mul(a=a, b=b), c:
            return a, b, c
        case c, tir.Mul(a=a, b=b):
            return a, b, c
        case _:
            return None


def fused_product(f: FunctionText, node: Any, memo: Mapping[Any, str]) -> str:
    """The value of such a node; its operands are found in `memo`."""
    found = fused_operands(node)
    assert found is not None
    kind = register_type(node.dtype)
    a, b, c = (memo[operand] for operand in found)
    if isinstance(node, tir.Sub):
        if isinstance(node.a, tir.Mul):
            c = f.value(f"fneg {kind} {c}")
        else:
            a = f.value(f"fneg {kind} {a}")
    return f.intrinsic(f"llvm.fmuladd.{mangle(kind)}", kind, (kind, a), (kind, b), (kind, c))

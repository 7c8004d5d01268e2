"""A product and a sum as one operation, with one rounding: a * b + c, a * b - c, c - a * b.

The processor has it; where it has not, LLVM makes two operations of it. Whether they are one follows from the
expression alone, so that equal expressions have equal bits wherever they stand in a kernel. Left to LLVM (`contract`),
a product that a loop hoists, or that has another reader, is rounded by itself, and `y[0] >= y` does not hold for y[0].
Sums of two products stay as they are: a * b - b * a is 0, and a * b + c * d is c * d + a * b. So does a product that
the other term reads, too: x - floor(x) is a fraction, for an x = a * b beyond all fractions as well. A name (`Let`)
stands for its value in all of this.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.codegen.llvm.text import FunctionText, mangle
from baton._src.codegen.llvm.types import register_type
from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import children
from baton._src.tir import expr as tir

MOST_NODES = 128
"""Nodes of the other term that are looked at, so that a long sum is written in time linear in its length."""


Named = Mapping[tir.Var, PrimExpr]
"""The values of the names around a node."""


def fused_operands(node: Node, named: Named) -> tuple[PrimExpr, PrimExpr, PrimExpr] | None:
    """The factors and the other term of a sum or difference that has one product; None for other nodes."""
    if not isinstance(node, tir.Add | tir.Sub) or not node.dtype.is_float or node.dtype.is_narrow:
        return None
    match _value(node.a, named), _value(node.b, named):
        case tir.Mul(), tir.Mul():
            return None
        case (tir.Mul() as product, other) | (other, tir.Mul() as product):
            return None if _may_read(other, product, named) else (product.a, product.b, other)
        case _:
            return None


def _value(expr: PrimExpr, named: Named) -> PrimExpr:
    """What a name stands for, if it is a product; any other expression as it is."""
    found = named.get(expr) if isinstance(expr, tir.Var) else None
    return found if isinstance(found, tir.Mul) else expr


def _may_read(term: PrimExpr, product: tir.Mul, named: Named) -> bool:
    """Whether an expression has the product within it, or is too large to look."""
    pending: list[Node] = [term]
    for _ in range(MOST_NODES):
        if not pending:
            return False
        node = pending.pop()
        if node is product or (isinstance(node, tir.Mul) and structural_equal(node, product)):
            return True
        if isinstance(node, tir.Var):
            pending += [named[node]] if node in named else []
        elif not isinstance(node, tir.BufferLoad):
            pending += children(node)
    return True


def fused_product(f: FunctionText, node: tir.Add | tir.Sub, memo: Mapping[Node, str], named: Named) -> str:
    """The value of such a node; its operands are found in `memo`."""
    found = fused_operands(node, named)
    assert found is not None
    kind = register_type(node.dtype)
    a, b, c = (memo[operand] for operand in found)
    if isinstance(node, tir.Sub):
        if isinstance(_value(node.a, named), tir.Mul):
            c = f.value(f"fneg {kind} {c}")
        else:
            a = f.value(f"fneg {kind} {a}")
    return f.intrinsic(f"llvm.fmuladd.{mangle(kind)}", kind, (kind, a), (kind, b), (kind, c))

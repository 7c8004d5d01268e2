"""Neighbouring numbers, one in each lane of a vector, divided by a constant.

    (base + [0, 1, .. 15]) // 3   ->   base // 3 + (base % 3 + [0, 1, .. 15]) // 3

The right division is one of 16 bits without a sign. Processors do not divide vectors of integers, and multiply those of
64 bits slowly.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.codegen.llvm.arithmetic import binary
from baton._src.codegen.llvm.text import FunctionText, with_lanes
from baton._src.codegen.llvm.types import register_type
from baton._src.codegen.llvm.vectors import splat
from baton._src.ir.node import Node
from baton._src.tir import expr as tir
from baton._src.tir.operators import is_const
from baton._src.values.dtype import DataType

SHORT = DataType("uint16")


def divides_neighbours(node: Node) -> bool:
    """Whether the quotient or remainder is one of neighbours by a constant. Powers of two are shifts anyway."""
    match node:
        case (
            tir.FloorDiv(a=a, b=tir.Broadcast(value=tir.IntImm(value=by)))
            | tir.FloorMod(a=a, b=tir.Broadcast(value=tir.IntImm(value=by)))
        ):
            neighbours = isinstance(a, tir.Ramp) and is_const(a.stride, 1)
            wide = a.dtype.kind == "int" and a.dtype.bits > SHORT.bits
            return neighbours and wide and by > 1 and by & (by - 1) != 0 and by + a.dtype.lanes < 1 << SHORT.bits
        case _:
            return False


def neighbours_divided(f: FunctionText, node: tir.FloorDiv | tir.FloorMod, memo: Mapping[Node, str]) -> str:
    """The quotient or remainder of such a node; operands are found in `memo`."""
    assert isinstance(node.a, tir.Ramp)
    assert isinstance(node.b, tir.Broadcast)
    assert isinstance(node.b.value, tir.IntImm)
    base, by, lanes = node.a.base, node.b.value, node.a.lanes
    kind, wide, short = register_type(base.dtype), register_type(node.dtype), with_lanes("i16", lanes)
    rest = f.value(f"trunc {kind} {binary(f, tir.FloorMod(base, by), memo[base], str(by.value), ())} to i16")
    counts = ", ".join(f"i16 {lane}" for lane in range(lanes))
    near = f.value(f"add nuw {short} {splat(f, SHORT, rest, lanes)}, <{counts}>")
    divisor = splat(f, SHORT, str(by.value), lanes)
    word = "udiv" if isinstance(node, tir.FloorDiv) else "urem"
    found = f.value(f"zext {short} {f.value(f'{word} {short} {near}, {divisor}')} to {wide}")
    if word == "urem":
        return found
    before = splat(f, base.dtype, binary(f, tir.FloorDiv(base, by), memo[base], str(by.value), ()), lanes)
    return f.value(f"add {wide} {before}, {found}")

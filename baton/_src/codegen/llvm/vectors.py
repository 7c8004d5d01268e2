"""Vectors in LLVM IR: broadcasts, ramps, shuffles, and the spelling of their types."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.codegen.llvm.text import FunctionText, with_lanes
from baton._src.codegen.llvm.types import register_type
from baton._src.ir.node import Node
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType


def splat(f: FunctionText, dtype: DataType, operand: str, lanes: int) -> str:
    """A vector of copies of a scalar."""
    kind, wide = register_type(dtype), with_lanes(register_type(dtype), lanes)
    if not operand.startswith("%"):
        return f"splat ({kind} {operand})"
    single = f.value(f"insertelement {wide} poison, {kind} {operand}, i64 0")
    return f.value(f"shufflevector {wide} {single}, {wide} poison, <{lanes} x i32> zeroinitializer")


def ramp(f: FunctionText, node: tir.Ramp, memo: Mapping[Node, str]) -> str:
    """`base + i * stride` in lane i; operands are found in `memo`."""
    element = register_type(node.base.dtype)
    wide = register_type(node.dtype)
    base = splat(f, node.base.dtype, memo[node.base], node.lanes)
    if isinstance(node.stride, tir.IntImm):
        steps = ", ".join(f"{element} {i * node.stride.value}" for i in range(node.lanes))
        return f.value(f"add {wide} {base}, <{steps}>")
    counts = ", ".join(f"{element} {i}" for i in range(node.lanes))
    stride = splat(f, node.stride.dtype, memo[node.stride], node.lanes)
    return f.value(f"add {wide} {base}, {f.value(f'mul {wide} {stride}, <{counts}>')}")


def shuffle(f: FunctionText, node: tir.Shuffle, memo: Mapping[Node, str]) -> str:
    """Chosen lanes of several vectors; operands are found in `memo`."""
    element = register_type(node.dtype.element)
    lanes = [(v, i) for v in node.vectors for i in range(v.dtype.lanes)]
    if len(node.indices) == 1 and lanes[node.indices[0]][0].dtype.lanes == 1:
        return memo[lanes[node.indices[0]][0]]
    if len(node.vectors) == 2 and node.vectors[0].dtype == node.vectors[1].dtype and len(node.indices) > 1:
        wide = register_type(node.vectors[0].dtype)
        if wide.startswith("<"):
            first, second = (memo[v] for v in node.vectors)
            mask = ", ".join(f"i32 {int(i)}" for i in node.indices)
            kind = f"<{len(node.indices)} x i32>"
            return f.value(f"shufflevector {wide} {first}, {wide} {second}, {kind} <{mask}>")
    found = "poison"
    for place, index in enumerate(node.indices):
        vector, lane = lanes[index]
        item = memo[vector]
        if vector.dtype.lanes > 1:
            item = f.value(f"extractelement {register_type(vector.dtype)} {item}, i64 {lane}")
        if len(node.indices) == 1:
            return item
        found = f.value(f"insertelement {register_type(node.dtype)} {found}, {element} {item}, i64 {place}")
    return found


def zero_of(kind: str) -> str:
    """The zero of a type."""
    if kind.startswith("<"):
        return "zeroinitializer"
    return {"float": "0.0", "double": "0.0", "ptr": "null"}.get(kind, "0")


def vector_suffix(wide: str) -> str:
    """`<16 x float>` -> `v16f32`."""
    lanes, _, element = wide[1:-1].partition(" x ")
    return f"v{lanes}" + {"float": "f32", "double": "f64", "ptr": "p0"}.get(element, element)


def memory_align(dtype: DataType) -> int:
    """The alignment every element has."""
    return max(1, dtype.bits // 8)

"""The parts of buffers that statements use, over all of their loops (`tvm.arith._ffi_api.DomainTouched`)."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import Range
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.arith.int_set import IntSet, eval_set
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

Places = dict[Buffer, list[tuple[Any, ...]]]
Touched = list[list[IntSet]]


def domain_touched(
    stmt: Any, buffer: Buffer, consider_loads: bool = True, consider_stores: bool = True
) -> list[Range | None]:
    """A box around what is read, or written, of a buffer: a range for each index, None where an end is not known."""
    reads, writes = _places(stmt)
    used = (reads.get(buffer, []) if consider_loads else []) + (writes.get(buffer, []) if consider_stores else [])
    boxes = [_sets(place, _loops(stmt)) for place in used]
    return [_range(_union(list(sets))) for sets in zip(*boxes)]


def domain_touched_access_map(func: PrimFunc) -> dict[Buffer, tuple[Touched, Touched, Touched]]:
    """For each buffer (sets of indices of each read, of each write, of both)."""
    reads, writes = _places(func.body)
    loops = _loops(func.body)
    found: dict[Buffer, tuple[Touched, Touched, Touched]] = {}
    for buffer in dict.fromkeys((*reads, *writes)):
        own, stored = ([_sets(place, loops) for place in of.get(buffer, [])] for of in (reads, writes))
        found[buffer] = own, stored, [*own, *stored]
    return found


def _places(root: Any) -> tuple[Places, Places]:
    reads: Places = {}
    writes: Places = {}
    for node in post_order(root):
        if isinstance(node, tir.BufferLoad):
            reads.setdefault(node.buffer, []).append(node.indices)
        elif isinstance(node, st.BufferStore):
            writes.setdefault(node.buffer, []).append(node.indices)
    return reads, writes


def _loops(root: Any) -> dict[tir.Var, Range]:
    return {n.loop_var: Range(n.min, n.extent) for n in post_order(root) if isinstance(n, st.For)}


def _sets(place: tuple[Any, ...], loops: dict[tir.Var, Range]) -> list[IntSet]:
    return [eval_set(index, loops) for index in place]


def _union(sets: list[IntSet]) -> IntSet:
    whole = sets[0]
    for other in sets[1:]:
        whole = whole.union(other)
    return whole


def _range(found: IntSet) -> Range | None:
    extent = found.extent()
    return None if found.min is None or extent is None else Range(found.min, extent)

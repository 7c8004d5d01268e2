"""Vectors of which neighbouring lanes load the same element: a shorter run is loaded, and its elements are repeated.

    A[(o * 16 + [0, 1, .. 15]) // 4 + c]        ->   four elements from A[o * 4 + c] on, each for four lanes
    A[(o * 48 + 16 + [0, 1, .. 15]) // 3 + c]   ->   six from A[o * 16 + 5 + c] on, the first for two lanes, then three

A gather takes as long as a load of each lane; enlarged images consist of such vectors.
"""

from __future__ import annotations

from typing import NamedTuple

from baton._src.codegen.llvm.text import FunctionText, with_lanes
from baton._src.ir.expr import PrimExpr
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops


class RepeatedRun(NamedTuple):
    """The first element, how many lanes load each, and how many of the first one's lanes are left of the vector."""

    start: PrimExpr
    times: int
    before: int = 0


def repeated_run(index: PrimExpr, lanes: int) -> RepeatedRun | None:
    """The run whose elements a vector of indices repeats; None if it is something else."""
    if index.dtype.bits < 32:
        return None  # it may wrap between two lanes
    match index:
        case tir.Add(a=inner, b=tir.Broadcast(value=other)) | tir.Add(a=tir.Broadcast(value=other), b=inner):
            found = repeated_run(inner, lanes)
            return None if found is None else found._replace(start=ops.add(found.start, other))
        case tir.Cast(value=inner) if index.dtype.kind == inner.dtype.kind == "int":
            found = repeated_run(inner, lanes)
            return None if found is None else found._replace(start=ops.cast(index.dtype.element, found.start))
        case tir.FloorDiv(a=tir.Ramp(base=base, stride=tir.IntImm(value=1)), b=tir.Broadcast(value=tir.IntImm() as by)):
            before = _lanes_before(base, by.value, lanes) if by.value > 1 else None
            return None if before is None else RepeatedRun(ops.floordiv(base, by), by.value, before)
        case _:
            pass
    return None


def _lanes_before(base: PrimExpr, times: int, lanes: int) -> int | None:
    """How far the first lane is within its repetition, if that is certain; 0 if all lanes are within one."""
    if times % lanes == 0 and _remainder(base, lanes) == 0:
        return 0
    return _remainder(base, times)


def _remainder(expr: PrimExpr, by: int) -> int | None:
    """A number modulo another one, if that is certain."""
    match expr:
        case tir.IntImm(value=value):
            return int(value) % by
        case tir.Mul(a=a, b=b):
            return 0 if 0 in (_remainder(a, by), _remainder(b, by)) else None
        case tir.Add(a=a, b=b) | tir.Sub(a=a, b=b):
            first, second = _remainder(a, by), _remainder(b, by)
            if first is None or second is None:
                return None
            return (first + second if isinstance(expr, tir.Add) else first - second) % by
        case _:
            return None


def repeated_load(f: FunctionText, address: str, element: str, lanes: int, run: RepeatedRun, align: int) -> str:
    """The elements from `address` on, each for the lanes that load it."""
    picks = [(run.before + lane) // run.times for lane in range(lanes)]
    count = picks[-1] + 1
    kind = with_lanes(element, max(2, count))
    if count == 1:
        single = f.value(f"load {element}, ptr {address}, align {align}")
        found = f.value(f"insertelement {kind} poison, {element} {single}, i64 0")
    else:
        found = f.value(f"load {kind}, ptr {address}, align {align}")
    places = ", ".join(f"i32 {pick}" for pick in picks)
    return f.value(f"shufflevector {kind} {found}, {kind} poison, <{lanes} x i32> <{places}>")

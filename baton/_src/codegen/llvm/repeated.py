"""Vectors of which neighbouring lanes load the same element: a shorter run is loaded, and its elements are repeated.

    A[(o * 16 + [0, 1, .. 15]) // 4 + c]   ->   four elements from A[o * 4 + c] on, each for four lanes

A gather takes as long as a load of each lane; enlarged images consist of such vectors.
"""

from __future__ import annotations

from typing import NamedTuple

from baton._src.codegen.llvm.text import FunctionText, with_lanes
from baton._src.ir.expr import PrimExpr
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops


class RepeatedRun(NamedTuple):
    """The first element, and how many lanes load each."""

    start: PrimExpr
    times: int


def repeated_run(index: PrimExpr, lanes: int) -> RepeatedRun | None:
    """The run whose elements a vector of indices repeats; None if it is something else."""
    match index:
        case tir.Add(a=inner, b=tir.Broadcast(value=other)) | tir.Add(a=tir.Broadcast(value=other), b=inner):
            found = repeated_run(inner, lanes)
            return None if found is None else found._replace(start=ops.add(found.start, other))
        case tir.Cast(value=inner) if index.dtype.kind == inner.dtype.kind == "int":
            found = repeated_run(inner, lanes)
            return None if found is None else found._replace(start=ops.cast(index.dtype.element, found.start))
        case tir.FloorDiv(a=tir.Ramp(base=base, stride=tir.IntImm(value=1)), b=tir.Broadcast(value=tir.IntImm() as by)):
            times: int = by.value
            fits = times > 1 and (lanes % times == 0 or times % lanes == 0)
            # The first lane begins a repetition, or all lanes are within one.
            if fits and _is_multiple(base, min(lanes, times)):
                return RepeatedRun(ops.floordiv(base, by), times)
        case _:
            pass
    return None


def _is_multiple(expr: PrimExpr, of: int) -> bool:
    """Whether a number is certainly a multiple of another one."""
    match expr:
        case tir.IntImm(value=value):
            return value % of == 0
        case tir.Mul(a=a, b=b):
            return _is_multiple(a, of) or _is_multiple(b, of)
        case tir.Add(a=a, b=b) | tir.Sub(a=a, b=b):
            return _is_multiple(a, of) and _is_multiple(b, of)
        case _:
            return False


def repeated_load(f: FunctionText, address: str, element: str, lanes: int, times: int, align: int) -> str:
    """Each of the elements from `address` on, so many times."""
    run = with_lanes(element, max(2, lanes // times))
    if times >= lanes:
        single = f.value(f"load {element}, ptr {address}, align {align}")
        found = f.value(f"insertelement {run} poison, {element} {single}, i64 0")
    else:
        found = f.value(f"load {run}, ptr {address}, align {align}")
    picks = ", ".join(f"i32 {lane // times}" for lane in range(lanes))
    return f.value(f"shufflevector {run} {found}, {run} poison, <{lanes} x i32> <{picks}>")

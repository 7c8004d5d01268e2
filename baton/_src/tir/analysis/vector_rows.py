"""The elements that vectors are of, lane by lane, and vectors longer than a row of their buffer.

    A[i, j * 8:j * 8 + 8]           A[i, j * 8 + lane] for lane in 8
    B[0, 0:64] of B[16, 4]          all of B, counted on from row to row

So intrinsics for tiles read the latter (`B.vload([0, 0], "int8x64")`). Other vectors lie within a row.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr, Range
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Broadcast, IntImm, Ramp, Var, literal


def runs_past_row(buffer: Buffer, indices: Sequence[object]) -> bool:
    """Whether an access is a vector that goes on in the next row: neighbours, more of them than a row has."""
    last = indices[-1] if len(indices) > 1 else None
    if not isinstance(last, Ramp) or buffer.strides or not all(isinstance(d, IntImm) for d in buffer.shape):
        return False
    row, step = buffer.shape[-1], last.stride
    assert isinstance(row, IntImm)
    return ops.is_const(step, 1) and last.lanes > row.value


def by_lane(buffer: Buffer, indices: Sequence[PrimExpr]) -> tuple[tuple[PrimExpr, ...], dict[Var, Range]]:
    """The indices of one lane of an access, and the range of the variables in them that say which; no variables for an
    access of one element. What is not told of an axis is all of it.
    """
    if all(index.dtype.lanes == 1 for index in indices):
        return tuple(indices), {}
    rows = _first_axis_passed(buffer, indices)
    lanes: dict[Var, Range] = {}
    found: list[PrimExpr] = []
    lane: Var | None = None
    for axis, (index, dim) in enumerate(zip(indices, buffer.shape)):
        is_whole = axis >= rows
        plain = index if isinstance(index, (Ramp, Broadcast)) else Analyzer().simplify(index)
        if isinstance(plain, Ramp) and not is_whole:
            if lane is None:
                lane = Var("lane", plain.base.dtype)
                lanes[lane] = Range(literal(0, lane.dtype), literal(plain.lanes, lane.dtype))
            found.append(ops.add(plain.base, ops.multiply(ops.cast(plain.base.dtype, lane), plain.stride)))
        elif isinstance(plain, Broadcast) and not is_whole:
            found.append(plain.value)
        elif plain.dtype.lanes == 1 and not is_whole:
            found.append(plain)
        else:
            place = Var("place", dim.dtype)
            lanes[place] = Range(literal(0, dim.dtype), dim)
            found.append(place)
    return tuple(found), lanes


def _first_axis_passed(buffer: Buffer, indices: Sequence[PrimExpr]) -> int:
    """The axis from which on all may be reached by a vector that goes on in the next row; their number if none does."""
    if not runs_past_row(buffer, indices):
        return buffer.ndim
    *starts, last = indices
    if not isinstance(last, Ramp):
        return 0
    count = 1
    for axis in reversed(range(buffer.ndim)):
        dim, first = buffer.shape[axis], last.base if axis == buffer.ndim - 1 else starts[axis]
        count *= dim.value if isinstance(dim, IntImm) else 0
        if not ops.is_const(first, 0):
            return 0
        if last.lanes <= count:
            return axis
    return 0

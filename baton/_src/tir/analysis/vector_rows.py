"""Vectors longer than a row of their buffer: `B[0, 0:64]` of B[16, 4] is all of B, counted on from row to row.

So intrinsics for tiles read them (`B.vload([0, 0], "int8x64")`). Other vectors lie within a row.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IntImm, Ramp


def runs_past_row(buffer: Buffer, indices: Sequence[object]) -> bool:
    """Whether an access is a vector that goes on in the next row: neighbours, more of them than a row has."""
    last = indices[-1] if len(indices) > 1 else None
    if not isinstance(last, Ramp) or buffer.strides or not all(isinstance(d, IntImm) for d in buffer.shape):
        return False
    row, step = buffer.shape[-1], last.stride
    assert isinstance(row, IntImm)
    return isinstance(step, IntImm) and step.value == 1 and last.lanes > row.value

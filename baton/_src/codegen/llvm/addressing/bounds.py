"""Test indices before memory is accessed.

In every build: indices that depend on data (`tir.index_within`, written by `passes.tir.check_indices`), each against
its axis. In checked builds also every access, against the buffer's extent.
"""

from __future__ import annotations

from typing import Any

from baton._src.codegen.llvm.fault import leave_with_fault
from baton._src.codegen.llvm.text import with_lanes
from baton._src.codegen.llvm.vectors import splat
from baton._src.ir.expr import PrimExpr
from baton._src.tir import expr as tir
from baton._src.values.dtype import BOOL, INT64


def check_bounds(writer: Any, buffer: Any, index: PrimExpr) -> None:
    """Leave the kernel with a fault if `index` (for vectors: that of any active lane) is outside the buffer."""
    extent = writer.extents.get(buffer.data)
    if extent is None:
        return
    name = f"{buffer.name}".replace("{", "").replace("}", "")
    message = f"{writer.context.name}: access to {name} out of bounds: element {{0}}, the buffer has {{1}}"
    _require(writer, index, extent, message, index)


def check_index(writer: Any, call: tir.Call) -> str:
    """The operand of `tir.index_within(index, extent, text, shown)`: the index, after the test."""
    index, extent, text, shown = call.args
    assert isinstance(text, tir.StringImm)
    _require(writer, index, extent, text.value, shown)
    operand: str = writer.e.emit(index)
    return operand


def _require(writer: Any, index: PrimExpr, extent: PrimExpr, message: str, shown: PrimExpr) -> None:
    """Leave with `message` about `shown` and `extent` unless 0 <= index < extent in all active lanes."""
    f, e, lanes = writer.f, writer.e, index.dtype.lanes
    wide = with_lanes("i64", lanes)
    where, limit = e.index(index), e.index(extent)
    bound = limit if lanes == 1 else splat(e.f, INT64, limit, lanes)
    outside = f.value(f"icmp uge {wide} {where}, {bound}")
    if e.mask is not None:
        outside = f.value(f"and {with_lanes('i1', lanes)} {outside}, {_mask(e, lanes)}")
    any_ = outside
    bits = ""
    if lanes > 1:
        bits = f.value(f"bitcast <{lanes} x i1> {outside} to i{lanes}")
        any_ = f.value(f"icmp ne i{lanes} {bits}, 0")
    values = e.index(shown)
    bad, good = f.new_label("outside"), f.new_label("inside")
    f.branch_if(any_, bad, good)
    f.place(bad)
    if lanes > 1:
        lane = f.intrinsic(f"llvm.cttz.i{lanes}", f"i{lanes}", (f"i{lanes}", bits), ("i1", "true"))
        values = f.value(f"extractelement {wide} {values}, i{lanes} {lane}")
    leave_with_fault(writer, message, [values, limit])
    f.place(good)


def _mask(e: Any, lanes: int) -> str:
    """The active lanes; for a condition common to all lanes, whether any is active."""
    if e.mask_lanes == lanes:
        return str(e.mask)
    bits = e.f.value(f"bitcast <{e.mask_lanes} x i1> {e.mask} to i{e.mask_lanes}")
    on = str(e.f.value(f"icmp ne i{e.mask_lanes} {bits}, 0"))
    return on if lanes == 1 else splat(e.f, BOOL, on, lanes)

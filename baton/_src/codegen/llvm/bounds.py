"""Checked builds: every access tests its index against the buffer's extent first."""

from __future__ import annotations

from typing import Any

from baton._src.codegen.llvm.fault import leave_with_fault
from baton._src.codegen.llvm.text import with_lanes
from baton._src.ir.expr import PrimExpr


def check_bounds(writer: Any, buffer: Any, index: PrimExpr) -> None:
    """Leave the kernel with a fault if `index` (a vector: any lane that is on) lies outside the buffer."""
    extent = writer.extents.get(buffer.data)
    if extent is None:
        return
    f, e = writer.f, writer.e
    lanes = index.dtype.lanes
    where, limit = e.index(index), e.emit(extent)
    wide = with_lanes("i64", lanes)
    bound = limit if lanes == 1 else e.splat(extent.dtype, limit, lanes)
    outside = f.value(f"icmp uge {wide} {where}, {bound}")
    if e.mask is not None and e.mask_lanes == lanes:
        outside = f.value(f"and <{lanes} x i1> {outside}, {e.mask}")
    shown = where
    if lanes > 1:
        bits = f.value(f"bitcast <{lanes} x i1> {outside} to i{lanes}")
        outside = f.value(f"icmp ne i{lanes} {bits}, 0")
        shown = f.value(f"extractelement {wide} {where}, i64 {lanes - 1}")
    bad, good = f.new_label("outside"), f.new_label("inside")
    f.branch_if(outside, bad, good)
    f.place(bad)
    name = f"{buffer.name}".replace("{", "").replace("}", "")
    message = f"{writer.context.name}: access to {name} out of bounds: element {{0}}, the buffer has {{1}}"
    leave_with_fault(writer, message, [shown, limit])
    f.place(good)

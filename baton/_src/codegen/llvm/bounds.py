"""Test indices before memory is accessed.

In every build: indices that depend on data (`tir.index_within`, written by `passes.tir.check_indices`), each against
its axis. In checked builds also every access, against the buffer's extent: of elements at even distances the first and
the last active one are tested, which tells as much as all of them and takes LLVM less time.
"""

from __future__ import annotations

from typing import TypeGuard

from baton._src.codegen.llvm.addressing.memory import MemoryAccess
from baton._src.codegen.llvm.fault import leave_with_fault, note_fault
from baton._src.codegen.llvm.function_writer import FunctionWriter
from baton._src.codegen.llvm.text import FunctionText, ModuleText, with_lanes
from baton._src.codegen.llvm.vectors import splat
from baton._src.ir.expr import PrimExpr
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.values.dtype import BOOL, INT64

_WORD = 64
"""Most lanes whose mask is a number."""


def check_bounds(writer: FunctionWriter, buffer: Buffer, index: PrimExpr) -> None:
    """Leave the kernel with a fault if `index` (for vectors: that of any active lane) is outside the buffer."""
    extent = writer.extents.get(buffer.data)
    if extent is None:
        return
    name = buffer.name.replace("{", "").replace("}", "")
    message = f"{writer.context.name}: access to {name} out of bounds: element {{0}}, the buffer has {{1}}"
    if _is_run(index):
        _require_run(writer, index, extent, message)
    else:
        _require(writer, index, extent, message, index)


def check_index(writer: FunctionWriter, call: tir.Call) -> str:
    """The operand of `tir.index_within(index, extent, text, shown)`: the index, after the test."""
    index, extent, text, shown = call.args
    assert isinstance(text, tir.StringImm)
    _require(writer, index, extent, text.value, shown)
    return writer.e.emit(index)


def _require(writer: FunctionWriter, index: PrimExpr, extent: PrimExpr, message: str, shown: PrimExpr) -> None:
    """Leave with `message` about `shown` and `extent` unless 0 <= index < extent in all active lanes."""
    f, e, lanes = writer.f, writer.e, index.dtype.lanes
    wide = with_lanes("i64", lanes)
    where, limit = e.index(index), e.index(extent)
    if _is_known_inside(where, 1, limit) or not f.is_news(f"{where} is below {limit} under {e.mask}"):
        return
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
    with f.aside(any_, "outside", "inside"):
        if lanes > 1:
            lane = f.intrinsic(f"llvm.cttz.i{lanes}", f"i{lanes}", (f"i{lanes}", bits), ("i1", "true"))
            values = f.value(f"extractelement {wide} {values}, i{lanes} {lane}")
        leave_with_fault(writer, message, [values, limit])


def _is_run(index: PrimExpr) -> TypeGuard[tir.Ramp]:
    """Whether the elements are at one known distance upwards."""
    if not (isinstance(index, tir.Ramp) and isinstance(index.stride, tir.IntImm)):
        return False
    return index.stride.value > 0 and index.lanes <= _WORD


def _require_run(writer: FunctionWriter, index: tir.Ramp, extent: PrimExpr, message: str) -> None:
    """Leave with `message` about the first active element outside unless the first and the last are inside."""
    f, e = writer.f, writer.e
    assert isinstance(index.stride, tir.IntImm)
    base, limit, stride = e.index(index.base), e.index(extent), index.stride.value
    fact = f"{index.lanes} from {base} by {stride} are below {limit} under {e.mask}"
    if _is_known_inside(base, index.lanes * stride, limit) or not f.is_news(fact):
        return
    bits, first, last = _ends(e, index.lanes)
    outside = [f.value(f"icmp uge i64 {_element(f, base, lane, stride)}, {limit}") for lane in (first, last)]
    any_ = f.value(f"or i1 {outside[0]}, {outside[1]}")
    if e.mask is not None:
        any_ = f.value(f"and i1 {any_}, {f.value(f'icmp ne i64 {bits}, 0')}")
    with f.aside(any_, "outside", "inside"):
        given = f"ptr {f.module.string(message)}, i64 {base}, i64 {stride}, i64 {bits}, i64 {limit}"
        f.line(f"call void {_note_outside(f.module)}({given})")
        writer.leave()


def _is_known_inside(base: str, size: int, limit: str) -> bool:
    """Whether numbers say so: those of sums in registers do."""
    return base.isdecimal() and limit.isdecimal() and int(base) + size <= int(limit)


def _ends(e: MemoryAccess, lanes: int) -> tuple[str, str, str]:
    """The active lanes as bits of an i64, the first of them and the last."""
    every = str((1 << lanes) - 1 if lanes < _WORD else -1)
    if e.mask is None:
        return every, "0", str(lanes - 1)
    if e.mask_lanes != lanes:
        return e.f.value(f"select i1 {_mask(e, 1)}, i64 {every}, i64 0"), "0", str(lanes - 1)
    bits = e.f.value(f"bitcast <{lanes} x i1> {e.mask} to i{lanes}")
    if lanes < _WORD:
        bits = e.f.value(f"zext i{lanes} {bits} to i64")
    first = e.f.intrinsic("llvm.cttz.i64", "i64", ("i64", bits), ("i1", "false"))
    above = e.f.intrinsic("llvm.ctlz.i64", "i64", ("i64", bits), ("i1", "false"))
    return bits, first, e.f.value(f"sub i64 {_WORD - 1}, {above}")


def _element(f: FunctionText, base: str, lane: str, stride: int) -> str:
    """The index in a lane."""
    if lane.startswith("%"):
        steps = lane if stride == 1 else f.value(f"mul i64 {lane}, {stride}")
    else:
        steps = str(int(lane) * stride)
    return base if steps == "0" else f.value(f"add i64 {base}, {steps}")


def _note_outside(module: ModuleText) -> str:
    """What records the first element outside, `void (message, base, stride, active lanes, extent)`."""
    name = "note_outside"
    if name not in module.definitions:
        f = FunctionText(module)
        f.branch("lane")
        f.place("lane")
        where = f.phi("i64", [("%base", "entry"), ("%further", "inside")])
        left = f.phi("i64", [("%bits", "entry"), ("%others", "inside")])
        outside = f.value(f"icmp uge i64 {where}, %limit")
        found = f.value(f"and i1 {outside}, {f.value(f'trunc i64 {left} to i1')}")
        f.branch_if(found, "outside", "inside")
        f.place("inside")
        f.line(f"%further = add i64 {where}, %stride")
        f.line(f"%others = lshr i64 {left}, 1")
        f.branch("lane")
        f.place("outside")
        f.line(f"call void {note_fault(module)}(ptr %message, i64 {where}, i64 %limit, i64 0)")
        f.line("ret void")
        params = "ptr %message, i64 %base, i64 %stride, i64 %bits, i64 %limit"
        module.definitions[name] = f.finish(f"define internal void @{name}({params}) cold noinline #0")
    return f"@{name}"


def _mask(e: MemoryAccess, lanes: int) -> str:
    """The active lanes; for a condition common to all lanes, whether any is active."""
    if e.mask_lanes == lanes:
        return str(e.mask)
    bits = e.f.value(f"bitcast <{e.mask_lanes} x i1> {e.mask} to i{e.mask_lanes}")
    on = e.f.value(f"icmp ne i{e.mask_lanes} {bits}, 0")
    return on if lanes == 1 else splat(e.f, BOOL, on, lanes)

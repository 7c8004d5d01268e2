"""How memory is addressed, read and written: one element, a run of neighbours, every few elements, or any of them.

    A[i], A[ramp(i, 1, 8)], A[ramp(i, 2, 8)], A[i of 8 lanes]

Nothing is read or written for lanes that are masked off.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence

from baton._src.codegen.llvm.addressing.repeated import repeated_load, repeated_run
from baton._src.codegen.llvm.addressing.strided import (
    LARGEST_MASKED_STRIDE,
    LARGEST_STRIDE,
    masked_strided_load,
    strided_load,
)
from baton._src.codegen.llvm.padded import from_memory, to_memory
from baton._src.codegen.llvm.text import FunctionText, with_lanes
from baton._src.codegen.llvm.types import byte_size, memory_type, register_type
from baton._src.codegen.llvm.vectors import memory_align, vector_suffix, zero_of
from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import InternalError
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.operators import is_const
from baton._src.tir.stmt import Allocate, BufferStore
from baton._src.values.dtype import DataType

_INDEX = DataType("int64")
"""The type of addresses; narrower index arithmetic wraps around in its own type."""


class MemoryAccess(ABC):
    """Reads and writes memory for one function. Subclasses emit the operands."""

    def __init__(self, text: FunctionText, features: Collection[str]) -> None:
        self.f = text
        self.features = features
        self.mask: str | None = None
        """The active lanes (`<n x i1>`), or None for all."""
        self.mask_lanes = 1
        self.stack: dict[tir.Var, int] = {}
        """Elements of the buffers on this function's stack."""
        self.own_mask: dict[tir.Var, str] = {}
        """The mask under which a buffer was allocated whose lanes are apart: other lanes have nothing in it to keep."""
        self.check_access: Callable[[tir.BufferLoad], None] | None = None
        """Called before each load in a checked build."""

    @abstractmethod
    def emit(self, expr: PrimExpr) -> str:
        """The operand that holds the value of `expr`."""

    def set_mask(self, mask: str | None, lanes: int) -> None:
        """Restrict loads and stores from here on."""
        self.mask, self.mask_lanes = mask, lanes

    def join_masks(self, condition: str, lanes: int) -> str:
        """`condition` and the mask in force."""
        if self.mask is None or self.mask_lanes != lanes:
            return condition
        return self.f.value(f"and <{lanes} x i1> {self.mask}, {condition}")

    # ----------------------------------------------------------------------------------------- addresses

    def index(self, expr: PrimExpr) -> str:
        """An index as i64 (lanes kept)."""
        operand = self.emit(expr)
        if expr.dtype.bits == 64:
            return operand
        wide = with_lanes("i64", expr.dtype.lanes)
        how = "zext" if expr.dtype.kind in ("uint", "bool") else "sext"
        return self.f.value(f"{how} {register_type(expr.dtype)} {operand} to {wide}")

    def pointer(self, buffer: Buffer, index: PrimExpr) -> str:
        """The address of one element of a flat buffer.

        A constant added to the index is applied last, in bytes: LLVM would canonicalise each address to this form
        anyway.
        """
        kind, start = memory_type(buffer.dtype.element), self.emit(buffer.data)
        first, offset = _apart(index)
        if kind == "ptr" or (offset == 0 and first is not None):
            return self.f.value(f"getelementptr inbounds {kind}, ptr {start}, i64 {self.index(index)}")
        distance = offset * byte_size(buffer.dtype.element)
        if first is None:
            return self.f.value(f"getelementptr inbounds i8, ptr {start}, i64 {distance}") if distance else start
        root = self.f.value(f"getelementptr {kind}, ptr {start}, i64 {self.emit(first)}")
        return self.f.value(f"getelementptr i8, ptr {root}, i64 {distance}")

    def addresses(self, buffer: Buffer, index: PrimExpr, kind: str, lanes: int) -> str:
        """The addresses of some elements, a vector of pointers."""
        return self.f.value(
            f"getelementptr inbounds {kind}, ptr {self.emit(buffer.data)}, <{lanes} x i64> {self.index(index)}"
        )

    # ------------------------------------------------------------------------------------------ reading

    def load(self, node: tir.BufferLoad) -> str:
        """Read one element, or a vector of them."""
        (index,) = node.indices
        if self.check_access is not None:
            self.check_access(node)
        kind, wide = memory_type(node.buffer.dtype.element), memory_type(node.dtype)
        lanes = node.dtype.lanes
        if index.dtype.lanes == 1:
            found = self._load_plain(node, wide)
        elif isinstance(index, tir.Ramp) and is_const(index.stride, 1):
            found = self._load_run(node.buffer, index, wide, lanes)
        else:
            found = (
                self._strided(node.buffer, index, kind, lanes)
                or self._repeated(node.buffer, index, kind, lanes)
                or self._gather(node.buffer, index, kind, lanes)
            )
        return from_memory(self.f, node.dtype, found)

    def _load_plain(self, node: tir.BufferLoad, kind: str) -> str:
        """Load from one address. Under a mask it is read only if some lane is active."""
        (index,) = node.indices
        align = memory_align(node.buffer.dtype)
        if self.mask is None:
            return self.f.value(f"load {kind}, ptr {self.pointer(node.buffer, index)}, align {align}")
        some = self.f.value(f"bitcast <{self.mask_lanes} x i1> {self.mask} to i{self.mask_lanes}")
        some = self.f.value(f"icmp ne i{self.mask_lanes} {some}, 0")
        where = self.index(index)
        then, end, before = self.f.new_label("any"), self.f.new_label("none"), self.f.block
        self.f.branch_if(some, then, end)
        self.f.place(then)
        element = memory_type(node.buffer.dtype.element)
        address = self.f.value(f"getelementptr inbounds {element}, ptr {self.emit(node.buffer.data)}, i64 {where}")
        found = self.f.value(f"load {kind}, ptr {address}, align {align}")
        self.f.branch(end)
        self.f.place(end)
        return self.f.phi(kind, [(found, then), (zero_of(kind), before)])

    def _load_run(self, buffer: Buffer, index: tir.Ramp, wide: str, lanes: int) -> str:
        address = self.pointer(buffer, index.base)
        align = memory_align(buffer.dtype)
        if self.mask is None or self._is_whole(buffer, index):
            return self.f.value(f"load {wide}, ptr {address}, align {align}")
        return self.f.intrinsic(
            f"llvm.masked.load.{vector_suffix(wide)}.p0",
            wide,
            ("ptr", address),
            ("i32", str(align)),
            (f"<{lanes} x i1>", self.mask),
            (wide, "zeroinitializer"),
        )

    def _strided(self, buffer: Buffer, index: PrimExpr, kind: str, lanes: int) -> str | None:
        """Load every second to eighth element without a gather; None if that does not pay."""
        if not isinstance(index, tir.Ramp) or not isinstance(index.stride, tir.IntImm):
            return None
        stride, align = index.stride.value, memory_align(buffer.dtype)
        if not 1 < stride <= LARGEST_STRIDE or kind == "ptr":
            return None
        if self.mask is None:
            return strided_load(self.f, self.pointer(buffer, index.base), kind, lanes, stride, align)
        if "avx512vl" not in self.features or stride > LARGEST_MASKED_STRIDE:
            return None
        return masked_strided_load(self.f, self.pointer(buffer, index.base), kind, lanes, stride, align, self.mask)

    def _repeated(self, buffer: Buffer, index: PrimExpr, kind: str, lanes: int) -> str | None:
        """Load elements for several neighbouring lanes each; None if some lane is masked off, or they are others."""
        run = repeated_run(index, lanes) if self.mask is None and kind != "ptr" else None
        if run is None:
            return None
        return repeated_load(self.f, self.pointer(buffer, run.start), kind, lanes, run, memory_align(buffer.dtype))

    def _gather(self, buffer: Buffer, index: PrimExpr, kind: str, lanes: int) -> str:
        places = self.addresses(buffer, index, kind, lanes)
        wide = with_lanes(kind, lanes)
        return self.f.intrinsic(
            f"llvm.masked.gather.{vector_suffix(wide)}.v{lanes}p0",
            wide,
            (f"<{lanes} x ptr>", places),
            ("i32", str(memory_align(buffer.dtype))),
            (f"<{lanes} x i1>", self.mask or "splat (i1 true)"),
            (wide, "zeroinitializer"),
        )

    # ------------------------------------------------------------------------------------------ writing

    def store(self, stmt: BufferStore) -> None:
        """Write one element, or a vector of them."""
        (index,) = stmt.indices
        operand = self.emit(stmt.value)
        dtype, lanes = stmt.buffer.dtype.element, index.dtype.lanes
        kind = memory_type(dtype)
        wide = with_lanes(kind, stmt.value.dtype.lanes)
        operand = to_memory(self.f, stmt.value.dtype, operand)
        align = memory_align(dtype)
        if lanes == 1:
            if self.mask is not None:
                raise InternalError("code generation: a scalar store under a vector mask")
            self.f.line(f"store {wide} {operand}, ptr {self.pointer(stmt.buffer, index)}, align {align}")
        elif isinstance(index, tir.Ramp) and is_const(index.stride, 1):
            self._store_run(stmt.buffer, index, wide, operand, align)
        else:
            places = self.addresses(stmt.buffer, index, kind, lanes)
            self._scatter(wide, operand, places, align, lanes)

    def _scatter(self, wide: str, operand: str, places: str, align: int, lanes: int) -> None:
        name = self.f.module.declare(
            f"llvm.masked.scatter.{vector_suffix(wide)}.v{lanes}p0",
            "void",
            (wide, f"<{lanes} x ptr>", "i32", f"<{lanes} x i1>"),
        )
        mask = self.mask or "splat (i1 true)"
        self.f.line(f"call void {name}({wide} {operand}, <{lanes} x ptr> {places}, i32 {align}, <{lanes} x i1> {mask})")

    def _store_run(self, buffer: Buffer, index: tir.Ramp, wide: str, operand: str, align: int) -> None:
        lanes, address = index.lanes, self.pointer(buffer, index.base)
        if self.mask is None or self.mask == self.own_mask.get(buffer.data):
            self.f.line(f"store {wide} {operand}, ptr {address}, align {align}")
            return
        if self._is_whole(buffer, index):
            old = self.f.value(f"load {wide}, ptr {address}, align {align}")
            chosen = self.f.value(f"select <{lanes} x i1> {self.mask}, {wide} {operand}, {wide} {old}")
            self.f.line(f"store {wide} {chosen}, ptr {address}, align {align}")
            return
        name = self.f.module.declare(
            f"llvm.masked.store.{vector_suffix(wide)}.p0", "void", (wide, "ptr", "i32", f"<{lanes} x i1>")
        )
        self.f.line(f"call void {name}({wide} {operand}, ptr {address}, i32 {align}, <{lanes} x i1> {self.mask})")

    def _is_whole(self, buffer: Buffer, index: tir.Ramp) -> bool:
        """Whether all lanes of a run lie in a buffer on the stack, so that inactive lanes may be accessed too.

        Masked accesses would prevent LLVM from keeping such a buffer in registers.
        """
        if not isinstance(index.base, tir.IntImm):
            return False
        return 0 <= index.base.value <= self.stack.get(buffer.data, -1) - index.lanes


def keeps_lanes_apart(stmt: Allocate, lanes: int) -> bool:
    """Whether a buffer has a place for each lane, which no other lane reads or writes."""
    for node in post_order(stmt.body):
        if isinstance(node, (tir.BufferLoad, BufferStore)) and node.buffer.data is stmt.buffer_var:
            index = node.indices[0]
            if not isinstance(index, tir.Ramp) or index.lanes != lanes or not is_const(index.stride, 1):
                return False
            if not isinstance(index.base, tir.IntImm) or index.base.value % lanes:
                return False
    return True


def computed_places(indices: Sequence[PrimExpr]) -> list[PrimExpr]:
    """The operands that a load's indices require."""
    # A contiguous run is loaded from its first element; the vector of its indices is not needed.
    firsts = [i.base if isinstance(i, tir.Ramp) and is_const(i.stride, 1) else i for i in indices]
    return [start for i in firsts if (start := _apart(i)[0]) is not None]


def _apart(index: PrimExpr) -> tuple[PrimExpr | None, int]:
    """An index as a part to compute (None: there is none) and a constant to add to it."""
    offset = 0
    while isinstance(index, tir.Add) and isinstance(index.b, tir.IntImm) and index.dtype == _INDEX:
        offset += index.b.value
        index = index.a
    return (None, offset + index.value) if isinstance(index, tir.IntImm) else (index, offset)

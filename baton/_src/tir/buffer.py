"""Buffers: a multi-dimensional view of memory behind a pointer variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from baton._src.ir.array import Array
from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node, binder, init_field, match_part, node, note, part
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.support.unlisted import Unlisted
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import BufferLoad, Call, IntImm, Ramp, Var, literal
from baton._src.tir.intrinsics import intrinsic
from baton._src.tir.operand_rules import size
from baton._src.values.dtype import HANDLE, DataType


@node
class Buffer(Node, Unlisted):
    """Element (i, j, ...) lies `elem_offset + sum(index * stride)` elements behind `data`; no strides: row-major.

    `scope` says where it lives: `global`, `local` (registers when small and constantly indexed), `shared`.
    """

    data: Var = binder()
    dtype: DataType = part(kw_only=True)
    shape: tuple[PrimExpr, ...] = match_part(kw_only=True)
    strides: tuple[PrimExpr, ...] = match_part(kw_only=True, default=())
    elem_offset: PrimExpr | None = match_part(kw_only=True, default=None)
    name: str = note(kw_only=True, default="buffer")
    data_alignment: int = part(kw_only=True, default=64)
    offset_factor: int = part(kw_only=True, default=1)
    buffer_type: str = part(kw_only=True, default="")
    axis_separators: tuple[int, ...] = part(kw_only=True, default=())
    span: Span | None = note(kw_only=True, default=None)

    def __init__(
        self,
        data: Var,
        dtype: object,
        shape: Any,
        strides: Any = (),
        elem_offset: PrimExpr | None = None,
        name: str = "buffer",
        data_alignment: int = 64,
        offset_factor: int = 1,
        buffer_type: str = "",
        axis_separators: Any = (),
        span: Span | None = None,
    ) -> None:
        fields: dict[str, Any] = {
            "data": data,
            "dtype": DataType(dtype),
            "shape": Array(size(literal(d), name) for d in shape),
            "strides": Array(literal(s) for s in strides or ()),
            "elem_offset": elem_offset,
            "name": name,
            "data_alignment": data_alignment,
            "offset_factor": offset_factor,
            "buffer_type": buffer_type,
            "axis_separators": tuple(axis_separators or ()),
            "span": span,
        }
        for key, content in fields.items():
            init_field(self, key, content)

    def scope(self) -> str:
        """The storage scope."""
        return self.data.scope or "global"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, indices: Any) -> Any:
        """`A[i, j]` is an element, `A[i, 0:4]` a region, `A[i, 0:8:2]` a vector (a `Ramp` as index)."""
        found = tuple(indices) if isinstance(indices, (tuple, list)) else (indices,)
        slices = [i for i in found if isinstance(i, slice)]
        if slices and all(i.step is None for i in slices):
            return BufferRegion(self, tuple(_range(i, d) for i, d in zip(found, self.shape, strict=True)))
        return BufferLoad(
            self, tuple(vector_index(i, d) for i, d in zip(found, self.shape, strict=True)) if slices else found
        )

    def vload(self, begin: Any, dtype: object = None, predicate: None = None) -> BufferLoad:
        """The element at `begin`, or as many from there as `dtype` has lanes."""
        return BufferLoad(self, self._lanes_from(begin, self.dtype if dtype is None else DataType(dtype)), predicate)

    def vstore(self, begin: Any, value: Any, predicate: None = None) -> Any:
        """The statement that stores `value`, a scalar or a vector, from `begin` on."""
        content = literal(value, self.dtype)
        return Buffer.storing(self, content, self._lanes_from(begin, content.dtype), predicate)

    storing: ClassVar[Callable[..., Any]]
    """Makes a `BufferStore`; bound by `tir.stmt`, where statements are."""

    def _lanes_from(self, begin: Any, dtype: DataType) -> tuple[PrimExpr, ...]:
        start = tuple(literal(i) for i in (begin if isinstance(begin, (tuple, list)) else (begin,)))
        if dtype.element != self.dtype.element or dtype.lanes % self.dtype.lanes:
            raise fail("tir-dtype", f"{self.name} has elements of {self.dtype}, not of {dtype}")
        lanes = dtype.lanes // self.dtype.lanes
        return start if lanes == 1 else (*start[:-1], Ramp(start[-1], literal(1, start[-1].dtype), lanes))

    def access_ptr(
        self,
        access_mask: int | str,
        ptr_type: object = "handle",
        content_lanes: int = 1,
        offset: Any = 0,
        extent: Any = None,
    ) -> Call:
        """A pointer to the element `offset`, through which `extent` elements are read ("r") or written ("w", "rw").

        With `content_lanes` the call's offset and extent count vectors of so many elements.
        """
        if isinstance(access_mask, str):
            access_mask = sum({"r": 1, "w": 2}.get(letter, 0) for letter in set(access_mask))
        moved = literal(offset) if self.elem_offset is None else self.elem_offset + offset
        count: Any = self._reach() - offset
        if content_lanes > 1:
            moved, count = moved // content_lanes, count // content_lanes
        extent = count if extent is None else extent
        kind = Call(self.dtype.with_lanes(content_lanes), intrinsic("type_annotation"), ())
        parts = [kind, self.data, literal(moved), literal(extent), literal(access_mask)]
        return Call(ptr_type, intrinsic("tvm_access_ptr"), parts)

    def offset_of(self, indices: Any) -> list[PrimExpr]:
        """The number of the element at `indices` in memory, as a list of one."""
        found = [literal(i) for i in indices]
        if len(found) != len(self.shape):
            raise fail("tir-buffer", f"{self.name} has {len(self.shape)} axes, and {len(found)} indices are given")
        place: Any = literal(0)
        for index, dim, stride in zip(found, self.shape, self.strides or [None] * len(found)):
            place = place * dim + index if stride is None else place + index * stride
        return [Analyzer().simplify(place if self.elem_offset is None else place + self.elem_offset)]

    def _reach(self) -> PrimExpr:
        """The number of elements from the first one to the end of the last row, gaps between rows included."""
        return self.strides[0] * self.shape[0] if self.strides else _product(self.shape)

    def get_flattened_buffer(self) -> Buffer:
        """The same memory with one axis."""
        if len(self.shape) == 1 and not self.strides:
            return self
        return self.with_fields(shape=(self._reach(),), strides=(), axis_separators=())


def _product(dims: Iterable[PrimExpr]) -> PrimExpr:
    count: Any = literal(1)
    for dim in dims:
        count = count * dim
    found: PrimExpr = count
    return found


def _range(index: Any, dim: PrimExpr) -> Range:
    if not isinstance(index, slice):
        first = literal(index)
        return Range(first, literal(1, first.dtype))
    first = literal(0 if index.start is None else index.start)
    stop = dim if index.stop is None else literal(index.stop, first.dtype)
    return Range(first, Analyzer().simplify(stop - first))


def vector_index(index: Any, dim: PrimExpr) -> PrimExpr:
    """An index as an expression: a slice is the vector of the indices in it."""
    if not isinstance(index, slice):
        return literal(index)
    first = literal(0 if index.start is None else index.start)
    step = literal(1 if index.step is None else index.step, first.dtype)
    stop = dim if index.stop is None else literal(index.stop, first.dtype)
    lanes = Analyzer().simplify((stop - first + step - 1) // step)
    if not isinstance(lanes, IntImm):
        raise fail("tir-buffer", f"a slice with a step has a constant number of elements, not {lanes}")
    return first if lanes.value == 1 else Ramp(first, step, lanes.value)


def decl_buffer(
    shape: Any,
    dtype: object = None,
    name: str = "buffer",
    data: Var | None = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    span: Span | None = None,
) -> Buffer:
    """A buffer with a fresh pointer variable (unless `data` is given); with an `offset_factor` also a fresh offset."""
    dims = shape if isinstance(shape, (tuple, list)) else (shape,)
    kind = DataType("float32" if dtype is None else dtype)
    pointer = data if data is not None else Var(name, HANDLE, pointee=kind, scope=scope)
    if offset_factor and elem_offset is None:
        elem_offset = Var(f"{name}_elem_offset", literal(dims[0]).dtype if dims else "int32")
    place = elem_offset if elem_offset is None else literal(elem_offset)
    align, factor = (data_alignment if data_alignment > 0 else 64), (offset_factor or 1)
    return Buffer(pointer, kind, dims, strides, place, name, align, factor, buffer_type, axis_separators, span)


@node
class BufferRegion(Node):
    """A box of a buffer: one range an axis."""

    buffer: Buffer
    region: tuple[Range, ...]

    def __post_init__(self) -> None:
        init_field(self, "region", tuple(self.region))


def constant_shape(buffer: Buffer) -> tuple[int, ...] | None:
    """The shape as numbers, or None if any dim is symbolic."""
    dims = buffer.shape
    return tuple(d.value for d in dims if isinstance(d, IntImm)) if all(isinstance(d, IntImm) for d in dims) else None

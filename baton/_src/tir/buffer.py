"""Buffers: a multi-dimensional view of memory behind a pointer variable."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node, binder, init_field, match_part, node, note, part
from baton._src.support.spans import Span
from baton._src.tir.expr import BufferLoad, IntImm, Var, literal
from baton._src.values.dtype import HANDLE, DataType


@node
class Buffer(Node):
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
            "shape": tuple(literal(d) for d in shape),
            "strides": tuple(literal(s) for s in strides or ()),
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

    @property
    def scope(self) -> str:
        return self.data.scope or "global"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, indices: Any) -> BufferLoad:
        found = indices if isinstance(indices, tuple) else (indices,)
        return BufferLoad(self, found)


def decl_buffer(
    shape: Any,
    dtype: object = "float32",
    name: str = "buffer",
    data: Var | None = None,
    strides: Any = (),
    elem_offset: PrimExpr | None = None,
    scope: str = "",
    data_alignment: int = 64,
    offset_factor: int = 1,
) -> Buffer:
    """A buffer with a fresh pointer variable (unless `data` is given)."""
    dims = shape if isinstance(shape, (tuple, list)) else (shape,)
    kind = DataType(dtype)
    pointer = data if data is not None else Var(name, HANDLE, pointee=kind, scope=scope)
    return Buffer(pointer, kind, dims, strides, elem_offset, name, data_alignment, offset_factor)


@node
class BufferRegion(Node):
    """A box of a buffer: one range an axis."""

    buffer: Buffer
    region: tuple[Range, ...]


def constant_shape(buffer: Buffer) -> tuple[int, ...] | None:
    """The shape as numbers, or None if any dim is symbolic."""
    dims = buffer.shape
    return tuple(d.value for d in dims if isinstance(d, IntImm)) if all(isinstance(d, IntImm) for d in dims) else None

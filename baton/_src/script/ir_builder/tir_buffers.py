"""Buffers under a builder: declared, allocated, matched with parameters and regions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from baton._src.script.ir_builder.base import IRBuilder
from baton._src.script.ir_builder.tir_blocks import as_region
from baton._src.script.ir_builder.tir_frames import BlockFrame, current_function, innermost
from baton._src.support.diagnostics import fail
from baton._src.tir import buffer as tir_buffer
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Var
from baton._src.tir.stmt import MatchBufferRegion


def new_buffer(
    shape: Any,
    dtype: object = "float32",
    data: Var | None = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
) -> Buffer:
    """A buffer, not yet named (`T.Buffer`); strides may be names of variables."""
    steps = [Var(s, "int32") if isinstance(s, str) else s for s in strides or ()]
    kind = "" if buffer_type == "default" else buffer_type
    return tir_buffer.decl_buffer(
        shape, dtype, "buffer", data, steps, elem_offset, scope, align, offset_factor, kind, axis_separators
    )


def alloc_buffer(
    shape: Any,
    dtype: object = "float32",
    data: Var | None = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Any = None,
) -> Buffer:
    """Memory of the block, or of the function's root block."""
    options = (data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators)
    made = new_buffer(shape, dtype, *options)
    block = IRBuilder.current().innermost(BlockFrame)
    held = block.head.alloc_buffers if block else current_function("alloc_buffer").root_alloc_buffers
    held.append(made)
    return made


def match_buffer(
    param: Any,
    shape: Any = None,
    dtype: object = "float32",
    data: Var | None = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Any = None,
) -> Buffer:
    """The buffer of a parameter; or, in a block, a view of a region of another buffer."""
    options = (data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators)
    if isinstance(param, Var):
        function = current_function("match_buffer")
        if not any(param is p for p in function.args):
            raise fail("ir-builder", f"{param.name} is not a parameter: give it by T.arg")
        if shape is None:
            raise ValueError("Shape must be specified when binding input param")
        function.buffer_map[param] = new_buffer(shape, dtype, *options)
        return function.buffer_map[param]
    source = as_region(param)
    if shape is None:
        shape, dtype = [box.extent for box in source.region], source.buffer.dtype
    made = new_buffer(shape, dtype, *options)
    head = innermost(BlockFrame, "T.match_buffer of a region", "a block: with T.block(name):").head
    head.match_buffers.append(MatchBufferRegion(made, source=source))
    return made


BUFFER_WORDS: Mapping[str, Any] = MappingProxyType(
    {"Buffer": new_buffer, "alloc_buffer": alloc_buffer, "match_buffer": match_buffer}
)
"""The words that make buffers."""

"""How buffers are written: the arguments of T.match_buffer, T.alloc_buffer, T.Buffer, T.decl_buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.node import Node
from baton._src.support.python_text import tuple_text
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IntImm, Var
from baton._src.tir.stmt import Allocate, AllocateConst, AttrStmt, Block, DeclBuffer, For, LetStmt
from baton._src.tir.thread_axes import launched_axis

ExprText = Callable[[Any], str]


def buffer_args(buffer: Buffer, text: ExprText, with_dtype: bool = False) -> tuple[str, list[str]]:
    """The shape, and the other arguments that differ from the defaults."""
    options = [f'"{buffer.dtype}"'] if with_dtype or buffer.dtype != "float32" else []
    if buffer.strides:
        options.append(f"strides={tuple_text([text(s) for s in buffer.strides])}")
    if buffer.elem_offset is not None:
        options.append(f"elem_offset={text(buffer.elem_offset)}")
    if buffer.scope() != "global":
        options.append(f'scope="{buffer.scope()}"')
    if buffer.data_alignment != 64:
        options.append(f"align={buffer.data_alignment}")
    if buffer.offset_factor != 1:
        options.append(f"offset_factor={buffer.offset_factor}")
    if buffer.buffer_type:
        options.append(f'buffer_type="{buffer.buffer_type}"')
    if buffer.axis_separators:
        options.append(f"axis_separators={list(buffer.axis_separators)}")
    return tuple_text([text(dim) for dim in buffer.shape]), options


def is_default_param(buffer: Buffer) -> bool:
    """Whether a param's buffer can be written in the signature: constant shape, nothing unusual."""
    plain = not buffer.strides and buffer.elem_offset is None
    return plain and all(isinstance(d, IntImm) for d in buffer.shape)


def declared_in(node: Node) -> list[Var]:
    """The variables a node of a function body defines."""
    match node:
        case For():
            return [node.loop_var]
        case LetStmt() | tir.Let():
            return [node.var]
        case Allocate() | AllocateConst():
            return [node.buffer_var]
        case DeclBuffer():
            return [node.buffer.data]
        case Block():
            found = [iv.var for iv in node.iter_vars] + [b.data for b in node.alloc_buffers]
            for match in node.match_buffers:
                found.append(match.buffer.data)
                offset = () if match.buffer.elem_offset is None else (match.buffer.elem_offset,)
                dims = (*match.buffer.shape, *match.buffer.strides, *offset)
                found += [d for d in dims if isinstance(d, Var)]
            return found
        case tir.Reduce():
            return [axis.var for axis in node.axis]
        case AttrStmt() if launched_axis(node) is not None:  # any other attribute's text names its axis' variable
            return [node.node.var]
        case tir.CommReducer():
            return [*node.lhs, *node.rhs]
        case _:
            return []

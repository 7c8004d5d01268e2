"""FlattenBuffer: accesses have one index, into the buffer's memory as a flat array.

    A: (4, 8); A[i, j] = ...        ->      A_1 = T.decl_buffer((32,), data=A.data); A_1[i * 8 + j] = ...

Parameters keep their shapes, against which callers are checked; flat buffers alias their memory. Buffers of bools
become buffers of bytes. Indices keep their type (`flatten_buffers`, for code generation, makes them 64 bits wide).
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite
from baton._src.passes.tir.lowering.flatten_buffers import element_count, flat_block, flat_index
from baton._src.passes.tir.lowering.loop_ranges import with_ranges
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.values.dtype import BOOL, DataType

BYTE = DataType("int8")


@dataclass(frozen=True)
class FlattenBuffer(PrimFuncPass):
    """See the module. Error `tir-view`: blocks have views."""

    def run_function(self, function: PrimFunc, module: IRModule, ctx: PassContext) -> Any:
        flattening = _Flattening(with_ranges(function.body))
        body: st.Stmt = rewrite(function.body, flattening.rule)
        for param in reversed(function.params):
            buffer = function.buffer_map.get(param)
            shown = flattening.flat.get(buffer)
            if shown is not None and shown is not buffer:
                body = st.DeclBuffer(shown, body)
        return function.with_fields(body=body)


class _Flattening:
    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.flat: dict[Any, Buffer] = {}
        """The flat buffers of the buffers visited so far."""

    def rule(self, node: Node) -> Node | None:
        match node:
            case tir.BufferLoad(buffer=buffer, indices=indices):
                load = tir.BufferLoad(self.flattened(buffer), (self.place(buffer, indices),))
                return tir.Cast(BOOL.with_lanes(load.dtype.lanes), load) if buffer.dtype == BOOL else load
            case st.BufferStore(buffer=buffer, value=value, indices=indices):
                held = tir.Cast(BYTE.with_lanes(value.dtype.lanes), value) if buffer.dtype == BOOL else value
                return st.BufferStore(self.flattened(buffer), held, (self.place(buffer, indices),))
            case st.DeclBuffer(buffer=buffer):
                return node.with_fields(buffer=self.flattened(buffer))
            case st.Allocate(extents=extents, dtype=dtype):
                flat = extents if len(extents) == 1 else (self.analyzer.simplify(_product(extents)),)
                return node.with_fields(extents=flat, dtype=BYTE if dtype == BOOL else dtype)
            case st.Block():
                return flat_block(node, self.flattened, self.place)
            case _:
                return None

    def flattened(self, buffer: Buffer) -> Buffer:
        """The same memory over one dim, starting at the pointer."""
        if buffer not in self.flat:
            self.flat[buffer] = self._one_dim(buffer)
        return self.flat[buffer]

    def _one_dim(self, buffer: Buffer) -> Buffer:
        dtype = BYTE if buffer.dtype == BOOL else buffer.dtype
        if _is_row(buffer):
            return buffer if dtype == buffer.dtype else buffer.with_fields(dtype=dtype)
        compact = not buffer.strides and buffer.elem_offset is None
        count = self.analyzer.simplify(_product(buffer.shape) if compact else element_count(buffer))
        if isinstance(count, tir.IntImm) and buffer.shape:
            count = tir.literal(count.value, buffer.shape[0].dtype)
        return buffer.with_fields(dtype=dtype, shape=(count,), strides=(), elem_offset=None, axis_separators=())

    def place(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> PrimExpr:
        """The flat index of an element, as wide as the widest of its indices and dims."""
        if _is_row(buffer):
            return indices[0]
        parts = [*indices, *buffer.shape, *buffer.strides]
        bits = max((p.dtype.bits for p in parts), default=32)
        found: PrimExpr = self.analyzer.simplify(flat_index(buffer, indices, DataType(f"int{bits}")))
        return found


def _is_row(buffer: Buffer) -> bool:
    """Whether an index already is the offset of an element from the pointer."""
    return len(buffer.shape) == 1 and not buffer.strides and buffer.elem_offset is None


def _product(dims: tuple[PrimExpr, ...]) -> PrimExpr:
    return reduce(ops.multiply, dims) if dims else tir.literal(1)


__all__ = ["FlattenBuffer"]

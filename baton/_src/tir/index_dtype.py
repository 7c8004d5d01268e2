"""Indices in another integer dtype: expressions, and whole kernels.

for i: int64 in range(64): B[i * 2] = A[i]          ->      for i: int32 in range(64): B[i * 2] = A[i]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import children, post_order, rewrite, substitute
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.arith.opaque import is_index
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType

ARITHMETIC = (tir.Add, tir.Sub, tir.Mul, tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod, tir.Min, tir.Max)


def parts(index: PrimExpr) -> list[Any]:
    """An index and all it is computed from by integer arithmetic, operands first."""
    return post_order(index, below=lambda n: children(n) if isinstance(n, ARITHMETIC) else ())


def in_dtype(index: PrimExpr, dtype: DataType, counters: Collection[Any] = ()) -> PrimExpr:
    """An index computed in `dtype`; what is no arithmetic of indices is converted: sums of bytes wrap before that.
    `counters`: variables of `dtype` whose values the narrower dtype has, too.
    """
    made: dict[Any, PrimExpr] = {}
    for node in parts(index):
        match node:
            case _ if node.dtype == dtype:
                made[node] = node
            case tir.IntImm(value=value):
                low, high = dtype.int_range
                if not low <= value <= high:
                    raise fail("tir-index", f"the number {value} is no {dtype}")
                made[node] = tir.IntImm(dtype, value)
            case tir.Cast(value=value) if value.dtype == dtype and (
                dtype.bits < node.dtype.bits or (value in counters and is_index(node.dtype))
            ):
                made[node] = value
            case tir.BinaryOp() if isinstance(node, ARITHMETIC) and is_index(node.dtype):
                made[node] = type(node)(made[node.a], made[node.b])
            case _:
                made[node] = tir.Cast(dtype, node)
    return made[index]


def with_index_dtype(function: PrimFunc, dtype: DataType) -> PrimFunc:
    """The kernel with loops, axes of blocks, sizes of buffers and indices in `dtype`; scalar params stay as they are.

    Errors: `tir-index` where a size or an index is a number that `dtype` does not have.
    """
    statements = post_order(function.body, below=lambda n: children(n) if isinstance(n, st.Stmt) else ())
    variables = {v for n in statements for v in _bound_by(n)}
    if all(v.dtype == dtype or v.dtype.kind != "int" for v in (*variables, *_dims_of(function))):
        return function
    return _Retyping(function, dtype).function()


def _bound_by(node: Any) -> Iterator[tir.Var]:
    """The variables of a loop, or of a block's axes."""
    if isinstance(node, st.For):
        yield node.loop_var
    elif isinstance(node, st.Block):
        yield from (axis.var for axis in node.iter_vars)


def _dims_of(function: PrimFunc) -> Iterator[PrimExpr]:
    return (dim for buffer in function.buffer_map.values() for dim in buffer.shape)


class _Retyping:
    def __init__(self, function: PrimFunc, dtype: DataType) -> None:
        self.dtype, self.source = dtype, function
        self.counters: set[tir.Var] = {v for n in post_order(function.body) for v in _bound_by(n) if v.dtype == dtype}
        """Variables that count: a conversion of them to another dtype and back is none."""
        given = set(function.params)
        sizes = {n for b in function.buffer_map.values() for d in b.shape for n in post_order(d)}
        self.sizes = {v: self._cast(v) for v in sizes if isinstance(v, tir.Var) and v not in given and self._other(v)}
        found = [*function.buffer_map.values(), *(b for n in post_order(function.body) for b in _buffers_of(n))]
        self.buffers = {buffer: self._buffer(buffer) for buffer in dict.fromkeys(found)}

    def function(self) -> PrimFunc:
        body = substitute(self.source.body, {**self.sizes, **self.buffers})
        mapping = {var: self.buffers[buffer] for var, buffer in self.source.buffer_map.items()}
        return self.source.with_fields(body=rewrite(rewrite(body, self._binder), self._index), buffer_map=mapping)

    def _other(self, expr: PrimExpr) -> bool:
        return expr.dtype.kind == "int" and expr.dtype.lanes == 1 and expr.dtype != self.dtype

    def _cast(self, var: tir.Var) -> tir.Cast:
        kind = tir.SizeVar if isinstance(var, tir.SizeVar) else tir.Var
        made = kind(var.name, self.dtype)
        self.counters.add(made)
        return tir.Cast(var.dtype, made)

    def _number(self, expr: PrimExpr) -> PrimExpr:
        return in_dtype(expr, self.dtype, self.counters) if self._other(expr) else expr

    def _range(self, domain: Range | None) -> Range | None:
        if domain is None:
            return None
        return Range(self._number(domain.min), self._number(domain.extent))

    def _buffer(self, buffer: Buffer) -> Buffer:
        def sized(dims: Any) -> tuple[PrimExpr, ...]:
            return tuple(self._number(substitute(d, self.sizes)) for d in dims)

        return buffer.with_fields(shape=sized(buffer.shape), strides=sized(buffer.strides))

    def _binder(self, node: Any) -> Any:
        """A loop, or a block, over variables of the dtype; inside they are converted back."""
        if isinstance(node, st.For) and self._other(node.loop_var):
            cast = self._cast(node.loop_var)
            bounds = {"min": self._number(node.min), "extent": self._number(node.extent)}
            return node.with_fields(loop_var=cast.value, body=substitute(node.body, {node.loop_var: cast}), **bounds)
        if not isinstance(node, st.BlockRealize) or not any(self._other(axis.var) for axis in node.block.iter_vars):
            return None
        casts = {axis.var: self._cast(axis.var) for axis in node.block.iter_vars if self._other(axis.var)}
        axes = [
            axis.with_fields(var=casts[axis.var].value, dom=self._range(axis.dom)) if axis.var in casts else axis
            for axis in node.block.iter_vars
        ]
        inner: Any = substitute(node.block.with_fields(iter_vars=()), casts)
        return node.with_fields(block=inner.with_fields(iter_vars=tuple(axes)))

    def _index(self, node: Any) -> Any:
        match node:
            case tir.BufferLoad() | st.BufferStore():
                return node.with_fields(indices=tuple(self._number(i) for i in node.indices))
            case BufferRegion():
                return node.with_fields(region=tuple(self._range(r) for r in node.region))
            case st.Allocate():
                return node.with_fields(extents=tuple(self._number(e) for e in node.extents))
            case st.BlockRealize():
                return node.with_fields(iter_values=tuple(self._number(v) for v in node.iter_values))
            case tir.Cast(value=tir.Cast(dtype=kind, value=tir.Var() as var)) if var in self.counters and is_index(
                kind
            ):
                return var if node.dtype == self.dtype else tir.Cast(node.dtype, var)
            case tir.CompareOp() if self._other(node.a) and self._of_indices(node.a) and self._of_indices(node.b):
                return type(node)(self._number(node.a), self._number(node.b))
            case _:
                return None

    def _of_indices(self, expr: PrimExpr) -> bool:
        """Whether an expression is arithmetic on converted variables and numbers: then it is converted itself."""
        leaves = [n for n in parts(expr) if not isinstance(n, ARITHMETIC)]
        return all(isinstance(n, tir.IntImm) or (isinstance(n, tir.Cast) and n.value in self.counters) for n in leaves)


def _buffers_of(node: Any) -> Iterator[Buffer]:
    """The buffers that a node names."""
    match node:
        case tir.BufferLoad() | st.BufferStore() | BufferRegion() | st.DeclBuffer():
            yield node.buffer
        case st.Block():
            yield from node.alloc_buffers
            yield from (m.buffer for m in node.match_buffers)
        case _:
            return

"""Accesses of a kernel that certainly lie outside of their buffer: `A[i + 1]` in a loop over all of `A`.

An access is refused for an iteration that runs: loops, conditions and block predicates around it are evaluated there.
What depends on data is tested when the kernel runs (`passes.tir.check_indices`); what is undecided is left alone.

Judged are buffers that say how large their memory is: arguments, allocations, and views of all of one. A view of a
part, or of a pointer from elsewhere (`T.Buffer((1,), data=pointer)`), says nothing of what lies beyond it.

Sizes that are not constant may be any from 1 on: an access is refused if its last or first iteration is outside for
all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order, substitute
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import Diagnostic
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.guarded_accesses import Access, Path, guarded_accesses
from baton._src.tir.analysis.iteration_points import Points, Unknown, numbers_of
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.answers import POS_INF, ConstIntBound
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType

_SIZES = (1, 2, 3, 5, 8, 64)
"""For sizes that are not constant: what is outside for all is so for each of these."""


def outside_indices(func: PrimFunc, name: str = "") -> list[Diagnostic]:
    """A finding for each index that is outside in an iteration that runs, in program order."""
    iterations = _Iterations({d: None for b in func.buffer_map.values() for d in b.shape if isinstance(d, tir.Var)})
    counts = _memory(func)
    found: dict[str, Diagnostic] = {}
    for access in guarded_accesses(func.body):
        if not _is_whole(access.node.buffer, counts):
            continue
        for axis, index in enumerate(access.node.indices):
            for end in ends_of(index):
                finding = _finding(access, axis, end, iterations)
                if finding is not None:
                    found.setdefault(finding.message, finding.within(*([f"in PrimFunc {name}"] if name else [])))
    return list(found.values())


def _memory(func: PrimFunc) -> dict[tir.Var, tuple[Any, ...]]:
    """For each pointer to memory of known size the factors of how many bytes there are."""
    found = {b.data: _bytes(b.dtype, b.shape) for b in func.buffer_map.values()}
    for node in post_order(func.body):
        if isinstance(node, st.Block):
            found |= {b.data: _bytes(b.dtype, b.shape) for b in node.alloc_buffers}
        elif isinstance(node, (st.Allocate, st.AllocateConst)):
            found[node.buffer_var] = _bytes(node.dtype, node.extents)
    return found


def _bytes(dtype: DataType, shape: tuple[PrimExpr, ...]) -> tuple[Any, ...]:
    """A number, then the variables and expressions that are multiplied with it."""
    number = math.prod(d.value for d in shape if isinstance(d, tir.IntImm)) * dtype.bits * dtype.lanes
    return (number, *(d for d in shape if not isinstance(d, tir.IntImm)))


def _is_whole(buffer: Buffer, counts: dict[tir.Var, tuple[Any, ...]]) -> bool:
    """Whether a buffer is, or is a view of, all of its memory."""
    there, own = counts.get(buffer.data), _bytes(buffer.dtype, buffer.shape)
    if there is None or len(there) != len(own) or there[0] != own[0]:
        return False
    return all(a is b or structural_equal(a, b) for a, b in zip(there[1:], own[1:]))


class _Iterations:
    """The iterations that run, for each path and size; those of one path are asked for one after the other."""

    def __init__(self, sizes: Iterable[tir.Var]) -> None:
        self.sizes = tuple(sizes)
        self.path: Path | None = None
        self.known: dict[int, Points] = {}

    def of(self, path: Path, size: int) -> Points:
        """Those of `path` while all sizes are `size`; `Unknown` if that cannot be said."""
        if path is not self.path:
            self.path, self.known = path, {}
        if size not in self.known:
            self.known[size] = self._points(path, size)
        return self.known[size]

    def _points(self, path: Path, size: int) -> Points:
        points = Points(path.definitions, numbers_of(path.conditions))
        for var in self.sizes:
            points.fix(var, size)
        for loop in path.loops:
            points.loop(loop.loop_var, loop.min, loop.extent)
        for condition in path.conditions:
            if points.count:
                points.keep(points.value(condition) != 0)
        return points


def ends_of(index: PrimExpr) -> list[PrimExpr]:
    """Scalars between which an index lies: itself, or those of a vector's first and last lane; none if nobody knows."""
    match index:
        case tir.Ramp(base=base, stride=stride, lanes=lanes) if isinstance(lanes, int):
            return [base, ops.add(base, ops.multiply(stride, lanes - 1))]
        case tir.Broadcast(value=value):
            return [value]
        case _:
            return [index] if index.dtype.lanes == 1 else []


@dataclass(frozen=True)
class _Witness:
    """Where an index is outside: values of loop variables, the index, and the least and greatest of all (if known)."""

    values: tuple[tuple[str, Any], ...]
    index: Any
    reach: tuple[int, int] | None


def _finding(access: Access, axis: int, index: PrimExpr, iterations: _Iterations) -> Diagnostic | None:
    extent = access.node.buffer.shape[axis]
    if isinstance(index, tir.IntImm) and isinstance(extent, tir.IntImm) and 0 <= index.value < extent.value:
        return None
    witness = None
    try:
        for size in _SIZES if iterations.sizes else _SIZES[:1]:
            witness = _witness(iterations.of(access.path, size), index, extent, iterations.sizes)
            if witness is None:
                return None
    except Unknown:
        return None
    used = _sizes_used(access, index, extent, iterations.sizes)
    if used:
        witness = _symbolic_witness(access, index, extent, used)
    return None if witness is None else _message(access, axis, index, witness)


def _sizes_used(access: Access, index: PrimExpr, extent: PrimExpr, sizes: tuple[tir.Var, ...]) -> list[tir.Var]:
    path = access.path
    roots = [index, extent, *path.conditions, *path.definitions.values()]
    roots += [end for loop in path.loops for end in (loop.min, loop.extent)]
    used = {n for n in post_order(roots) if isinstance(n, tir.Var)} if sizes else set()
    return [v for v in sizes if v in used]


def _witness(points: Points, index: PrimExpr, extent: PrimExpr, sizes: tuple[tir.Var, ...]) -> _Witness | None:
    """An iteration that is outside; `Unknown` if that cannot be said."""
    if not points.count:
        return None
    where = np.broadcast_to(points.value(index), points.count)
    outside = (where < 0) | (where >= points.value(extent))
    if not outside.any():
        return None
    place = int(np.argmax(outside))
    columns = {v: c for v, c in points.columns.items() if v not in sizes}
    shown = tuple((v.name, int(c[place]) if np.ndim(c) else int(c)) for v, c in columns.items())
    reach = (int(where.min()), int(where.max())) if points.complete else None
    return _Witness(shown, int(where[place]), reach)


def _symbolic_witness(access: Access, index: PrimExpr, extent: PrimExpr, sizes: list[tir.Var]) -> _Witness | None:
    """The first or last iteration of all loops, if it runs and is outside whatever the sizes are."""
    analyzer = Analyzer()
    for var in sizes:
        analyzer.update(var, ConstIntBound(1, POS_INF))
    for last in (True, False):
        at: dict[Any, Any] = {}
        runs = True
        for loop in access.path.loops:
            begin, length = (analyzer.simplify(substitute(e, at)) for e in (loop.min, loop.extent))
            runs = runs and analyzer.prove(ops.greater_equal(length, 1))
            at[loop.loop_var] = analyzer.simplify(ops.subtract(ops.add(begin, length), 1)) if last else begin
        for var, value in access.path.definitions.items():
            at[var] = substitute(value, at)
        if runs and all(analyzer.prove(substitute(c, at)) for c in access.path.conditions):
            where = analyzer.simplify(substitute(index, at))
            if analyzer.prove(ops.less(where, 0)) or analyzer.prove(ops.greater_equal(where, extent)):
                values = tuple((loop.loop_var.name, at[loop.loop_var]) for loop in access.path.loops)
                return _Witness(values, where, None)
    return None


def _message(access: Access, axis: int, index: PrimExpr, witness: _Witness) -> Diagnostic:
    buffer = access.node.buffer
    shape = ", ".join(str(d) for d in buffer.shape) + ("," if buffer.ndim == 1 else "")
    where = " and ".join(f"{name} = {value}" for name, value in witness.values)
    message = f"index {index} of axis {axis} of {buffer.name}, which has the shape ({shape}), is {witness.index}"
    message += f" where {where}" if where else ""
    message += "" if witness.reach is None or not where else f" (it goes from {witness.reach[0]} to {witness.reach[1]})"
    span = access.node.span or next(_spans(access), None)
    way = "shorten the loop, test the index (T.if_then_else, T.where), or declare the buffer as large as it is"
    return Diagnostic("tir-outside", message, span=span, help=way)


def _spans(access: Access) -> Iterator[Any]:
    return (loop.span for loop in reversed(access.path.loops) if loop.span is not None)

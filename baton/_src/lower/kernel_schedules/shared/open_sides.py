"""Stages whose sides are of open size, for when a side is short: code for one value of a size, and for vectors along
either side.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.shared.loops import VECTORIZED, loop, parallel_rows
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st


def in_lines(stage: Stage, along: tir.Var, target: Target) -> st.Stmt:
    """All elements, in vectors along one axis."""
    place = next(n for n, axis in enumerate(stage.spatial) if axis.var is along)
    again = stage.renamed()
    line, rest = again.spatial[place], tuple(axis for n, axis in enumerate(again.spatial) if n != place)
    body = loop(line.var, line.extent, st.BufferStore(again.buffer, again.value, again.indices), VECTORIZED)
    return parallel_rows(rest, as_int64(line.extent), body, target.num_cores)


def with_size(stage: Stage, size: tir.Var, count: int) -> Stage:
    """The stage for one value of a size, over axes of its own."""
    known = {size: ops.const(count, size.dtype)}
    again = stage.renamed()
    axes = tuple(Axis(axis.var, substitute_and_fold(axis.extent, known)) for axis in again.spatial)
    buffer, value = (substitute_and_fold(part, known) for part in (again.buffer, again.value))
    return replace(again, buffer=buffer, spatial=axes, value=value)

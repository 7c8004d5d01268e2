"""A long reduction to fewer results than there are threads, cut in parts that threads take.

s = sum(x[k] for k in n)   ->   p[t] = sum(x[t * (n / 8) + k] for k in n / 8);  s = sum(p[t] for t in 8)
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.shared.affine import merge_trailing
from baton._src.lower.kernel_schedules.shared.loops import WORTH_A_THREAD, constant, i64, product
from baton._src.lower.kernel_schedules.shared.stages import Axis, Kernel, Stage
from baton._src.lower.kernel_schedules.shared.vector_reduce import identity
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import Buffer

PARTS = (8, 6, 4, 3, 2)
"""Numbers of parts, the first of which that divides the reduction evenly is taken."""
LONG = 4 * WORTH_A_THREAD
"""Terms from which on it pays that threads meet twice."""


def in_shared_parts(kernel: Kernel, target: Target) -> Kernel:
    """`kernel` with its only reduction as two, if it is long and has few results."""
    found = [stage for stage in kernel.stages if isinstance(stage, Stage) and stage.reduce]
    if target.num_cores < 2 or len(found) != 1:
        return kernel
    stage = merge_trailing(found[0])
    results, size = constant(product([a.extent for a in stage.spatial])), stage.reduce[0].size
    terms = constant(product([a.extent for a in stage.reduce]))
    if results is None or terms is None or size is None or results >= target.num_cores or results * terms < LONG:
        return kernel
    count = next((n for n in PARTS if size % n == 0 and n >= min(target.num_cores, PARTS[0])), None)
    if count is None or stage.combiner is None:
        return kernel
    parts = _in_parts(stage, count)
    stages = tuple(part for s in kernel.stages for part in (parts if s is found[0] else (s,)))
    return replace(kernel, stages=stages, local=(*kernel.local, parts[0].buffer))


def _in_parts(stage: Stage, count: int) -> tuple[Stage, Stage]:
    first = stage.reduce[0]
    kind = first.var.dtype
    size = (first.size or count) // count
    part, again = (Axis(tir.Var("part", kind), tir.IntImm(kind, count)) for _ in range(2))
    inner = Axis(tir.Var(first.var.name, kind), tir.IntImm(kind, size))
    at = ops.add(ops.multiply(part.var, tir.IntImm(kind, size)), inner.var)
    name, dtype = f"{stage.buffer.name}_parts", stage.value.dtype
    shape = (i64(count), *(a.extent for a in stage.spatial))
    buffer = Buffer(tir.Var(name, "handle", pointee=dtype), dtype, shape, name=name)
    each = replace(
        stage,
        buffer=buffer,
        spatial=(part, *stage.spatial),
        reduce=(inner, *stage.reduce[1:]),
        value=substitute_and_fold(stage.value, {first.var: at}),
        init=identity(stage),
    ).renamed()
    load = tir.BufferLoad(buffer, (again.var, *(a.var for a in stage.spatial)))
    return each, replace(stage, reduce=(again,), value=load)

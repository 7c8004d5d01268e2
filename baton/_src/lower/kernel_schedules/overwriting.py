"""Determine which operands a kernel may write its result over, proven on its stages for any rule that schedules it.

    out[i, j] = x[i, j] + y[j]                       over x
    m[i] = max over k of x[i, k]                     over x: row i reads row i of x only, and is written afterwards
    out[i, j] = exp(x[i, j] - m[i])

Stages run one after the other, or share loops over leading axes (`rows`), or the last one is the epilogue of the stage
before it (`anchors`); cheap ones are inlined into their readers. In each case only the last stage stores an element of
the result, in the iteration that reads the operand at the same address, or an earlier one does as the last to read the
operand (`kept_in_result`). So it suffices that

- the last stage writes the result, does not reduce, and is the only one to access it;
- operand and result have the same shape and dtype;
- every stage that reads the operand, or values computed from it, does so at its own leading indices: the last stage
  then reads exactly the element that it stores, and a reduction reads along the rest of a row.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.shared.affine import same
from baton._src.lower.kernel_schedules.shared.stages import Axis, Kernel, Stage, is_plain, read_kernel
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad, Call, IntImm
from baton._src.tir.prim_func import PrimFunc


def overwritable(function: PrimFunc) -> tuple[tuple[int, int], ...]:
    """Pairs (operand, result) of `function`'s parameters: the result may be written into the operand's memory."""
    kernel = read_kernel(function)
    stages = [s for s in kernel.stages if isinstance(s, Stage)] if isinstance(kernel, Kernel) else []
    if not isinstance(kernel, Kernel) or not stages or len(stages) != len(kernel.stages):
        return ()
    params = [function.buffer_map.get(p) for p in function.params]
    result = stages[-1].buffer
    touched = any(s.buffer is result or result in s.reads for s in stages[:-1]) or result in stages[-1].reads
    if result not in params or stages[-1].reduce or touched:
        return ()
    if any(not is_plain(n) for s in stages for n in _parts(s) if isinstance(n, Call)):
        return ()  # an address may be used to access anything
    written = {s.buffer for s in stages}
    found = [
        place
        for place, operand in enumerate(params)
        if operand is not None and operand not in written and _alike(operand, result) and _by_row(operand, stages)
    ]
    return tuple((place, params.index(result)) for place in found)


def _alike(operand: Buffer, result: Buffer) -> bool:
    """Whether an element has the same offset in both buffers."""
    if operand.dtype != result.dtype or len(operand.shape) != len(result.shape):
        return False
    plain = all(not b.strides and b.elem_offset is None for b in (operand, result))
    return plain and all(same(a, b) for a, b in zip(operand.shape, result.shape))


def _by_row(operand: Buffer, stages: list[Stage]) -> bool:
    """Whether every stage reads the operand, and values computed from it, at its own leading indices."""
    tainted = {operand}
    for stage in stages:
        loads = [n for n in _parts(stage) if isinstance(n, BufferLoad) and n.buffer in tainted]
        if not all(_at_own_place(load, stage) for load in loads):
            return False
        if loads:
            tainted.add(stage.buffer)
    return True


def _parts(stage: Stage) -> list[object]:
    return post_order(stage.value) + ([] if stage.init is None else post_order(stage.init))


def _at_own_place(load: BufferLoad, stage: Stage) -> bool:
    dims = load.buffer.shape
    if not stage.reduce and len(dims) > len(stage.spatial):
        return False
    return all(_is_axis(i, dim, axis, stage) for i, dim, axis in zip(load.indices, dims, stage.spatial))


def _is_axis(index: PrimExpr, dim: PrimExpr, axis: Axis, stage: Stage) -> bool:
    """Whether an index is the axis itself. A dim of extent 1 has only one index; a reduction (which nothing inlines)
    over a kept axis of extent 1 has one row there. The axis of another such stage is the first row of a longer
    operand: who reads the stage reads that row for all of its own.
    """
    single, one_row = isinstance(dim, IntImm) and dim.value == 1, axis.size == 1
    return single or (bool(stage.reduce) if one_row else index is axis.var)

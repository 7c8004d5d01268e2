"""Row kernels whose intermediate lies in the memory of their result.

    powers[i, k] = exp(x[i, k] - top[i])                      out[i, k] = exp(x[i, k] - top[i])
    total[i] = sum over k of powers[i, k]               ->    total[i] = sum over k of out[i, k]
    out[i, k] = powers[i, k] * scale[i]                       out[i, k] = out[i, k] * scale[i]

The result is then written while the CPU is busy computing (stores that wait for memory, one after the other, cost a
quarter of a softmax that leaves L2), and rows of any length, or of an open one, need no memory for all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.lower.kernel_schedules.shared.affine import same
from baton._src.lower.kernel_schedules.shared.stages import Kernel, Stage
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer


def kept_in_result(stages: Sequence[Stage], kernel: Kernel) -> Buffer | None:
    """The intermediate of `stages`, which run row by row, that may lie where the last one writes, or None.

    From its computation on no other tensor of the result's shape may be read: the result may be written over that one
    (`overwriting`).
    """
    last = stages[-1]
    touched = sum(last.buffer in s.reads | s.writes for s in kernel.stages)
    if last.reduce or touched != 1 or not _is_plain(last.buffer):
        return None
    for place, stage in reversed(list(enumerate(stages[:-1]))):
        buffer = stage.buffer
        rest = stages[place + 1 :]
        if stage.reduce or not _alike(buffer, last.buffer) or not _belongs_to(buffer, stages, kernel):
            continue
        others = {b for s in rest for b in s.reads if b is not buffer and _alike(b, last.buffer)}
        if not others and _read_at_own_place(buffer, last) and all(s.reduce or s is last for s in rest):
            return buffer
    return None


def _belongs_to(buffer: Buffer, stages: Sequence[Stage], kernel: Kernel) -> bool:
    """Whether one of the stages computes a buffer of the kernel's, and no other part of the kernel knows it."""
    users = [s for s in kernel.stages if buffer in s.reads | s.writes]
    return buffer in kernel.local and sum(buffer in s.writes for s in users) == 1 and all(s in stages for s in users)


def _read_at_own_place(buffer: Buffer, stage: Stage) -> bool:
    loads = [load for load in stage.loads if load.buffer is buffer]
    return bool(loads) and all(_is_own(load, stage) for load in loads)


def _is_own(load: tir.BufferLoad, stage: Stage) -> bool:
    return all(index is axis.var for index, axis in zip(load.indices, stage.spatial, strict=True))


def _alike(a: Buffer, b: Buffer) -> bool:
    return (
        a.dtype == b.dtype
        and len(a.shape) == len(b.shape)
        and _is_plain(a)
        and all(same(x, y) for x, y in zip(a.shape, b.shape))
    )


def _is_plain(buffer: Buffer) -> bool:
    return not buffer.strides and buffer.elem_offset is None

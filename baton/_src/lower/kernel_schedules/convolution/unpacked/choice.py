"""Which tasks of a convolution that does not pack its input take the fewest steps, and how they add many channels.

Each run of a task's points reads what it sees of all input channels, and so do the next run and the next phase. Where
that is more than the first-level cache holds, it comes from the second level each time, which takes as long as the
multiply-adds. Then all runs add some of the channels before the others (`Task.depth`): what is seen of them stays near,
and sums go to the scratch and back between them.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from baton._src.ir.cpu import Cpu
from baton._src.lower.kernel_schedules.convolution.unpacked.tasks import (
    Task,
    UnpackedConv,
    even_rows,
    lines_tap,
    padded,
    steps_of,
)
from baton._src.lower.kernel_schedules.products.tiles import TileShape
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer

MOST_VECTORS = 8
"""Vectors of a run of points: enough independent sums for one channel alone."""
SCRATCH, SCRATCH_OF_PHASES = 1 << 12, 1 << 13
"""Elements of the scratch of a task: half a first-level cache; all of it for phases of several taps, whose sums take
long.
"""
SHARE_OF_CACHE = 3
"""What a task sees of some input channels takes at most the first-level cache divided by this, beside its sums."""
SPARED = 1
"""First-level caches that what a task sees of all channels may take before they are added in parts."""
MOST_ROWS, MOST_WIDE, MOST_TALL = 4, 3, 12
"""Output channels, vectors and lines of runs of several lines."""
SPARE = 3
"""Registers for other than sums and weights."""
FEWER, WORTH = 0.67, 1.12
"""Loads for a multiply-add, by those of other runs, and steps, that runs of several lines may take: a load that crosses
a line of the cache delays what waits for it by more than is counted.
"""
LEAST_TERMS = 32
"""Terms of a sum between two of its moves from the scratch and back, at least."""


def choose_task(conv: UnpackedConv, shape: TileShape, cpu: Cpu, most_lines: int | None = None) -> Task | None:
    """The task, of at most so many lines, that takes the fewest steps on a CPU; None where there is no whole vector of
    points.
    """
    lines = conv.sizes[1] if most_lines is None else most_lines
    room = SCRATCH if conv.planes == 1 or conv.terms == conv.reduce[0].size else SCRATCH_OF_PHASES
    best: tuple[float, Task] | None = None
    for vectors in range(1, min(MOST_VECTORS, conv.extent(lines) // shape.lanes) + 1):
        rows = even_rows(conv.sizes[0], min(shape.rows, shape.heights(vectors)[-1]))
        for count in range(1, lines + 1):
            extent = conv.extent(count)
            if count > 1 and rows * padded(extent, shape.lanes) * conv.planes > room:
                break
            if extent < vectors * shape.lanes:
                continue
            task = Task(rows, count, vectors)
            cost = steps_of(conv, task, shape)
            if best is None or cost < best[0]:
                best = (cost, task)
    if best is None:
        return None
    tall = _tall_task(conv, shape, best, lines)
    return replace(best[1], depth=_depth(conv, best[1], shape, cpu)) if tall is None else tall


def _tall_task(conv: UnpackedConv, shape: TileShape, flat: tuple[float, Task], most_lines: int) -> Task | None:
    """The best task whose runs have several lines, if they load much less than those of the `flat` task. It has more
    than so many lines only if those of one run are more.
    """
    found, (channels, lines, columns) = lines_tap(conv), conv.sizes
    if found is None or (conv.planes > 1 and conv.terms == conv.reduce[0].size):
        return None
    taps, best = found[0].size or 1, None
    for rows in {channels, even_rows(channels, MOST_ROWS)}:
        for vectors in range(1, min(MOST_WIDE, columns // shape.lanes) + 1):
            most = (shape.registers - SPARE - rows * taps) // (rows * vectors)
            if rows > MOST_ROWS or min(most, lines) < 2:
                continue
            tall = even_rows(lines, min(most, MOST_TALL))
            runs = min(SCRATCH // (rows * conv.planes * conv.pitch * tall), most_lines // tall)
            count = min(lines, max(1, runs) * tall)
            task = Task(rows, count, vectors, tall=tall)
            loads = (tall + (taps - 1) * found[1]) / (tall * taps * rows)
            cost = steps_of(conv, task, shape)
            if loads * flat[1].rows <= FEWER and (best is None or cost < best[0]):
                best = (cost, task)
    return best[1] if best is not None and best[0] <= WORTH * flat[0] else None


def _depth(conv: UnpackedConv, task: Task, shape: TileShape, cpu: Cpu) -> int | None:
    """Input channels that all runs add before the next ones; None where what a task sees of all stays near, where it is
    one run, where sums would move more often than worth it, or where weights come from memory, in long streams.
    """
    size, seen = conv.reduce[0].size, _seen_of_one(conv, task.lines)
    runs = conv.planes * conv.extent(task.lines) / (task.vectors * shape.lanes)
    if not size or not seen or len(conv.reduce) < 2 or runs < 2 or _bytes(conv.weight.buffer) > cpu.l2_bytes // 2:
        return None
    each, room = seen * conv.data.dtype.itemsize, cpu.l1_bytes // SHARE_OF_CACHE
    sums = conv.planes * task.rows * padded(conv.extent(task.lines), shape.lanes) * conv.data.dtype.itemsize
    most = max(room // each, -(-LEAST_TERMS * size // conv.terms))
    if size * each + sums <= SPARED * cpu.l1_bytes or most * each > 2 * room or most >= size:
        return None
    return -(-size // -(-size // most))


def _bytes(buffer: Buffer) -> int:
    return prod(dim.value if isinstance(dim, tir.IntImm) else 1 for dim in buffer.shape) * buffer.dtype.itemsize


def _seen_of_one(conv: UnpackedConv, lines: int) -> int | None:
    """The elements of an input channel that so many lines see; None where channels are not a dim of their own."""
    indices, shape, channel = conv.data.indices, conv.data.buffer.shape, conv.reduce[0].var
    using = [n for n, index in enumerate(indices) if depends(index, channel)]
    if len(using) != 1 or coefficient(indices[using[0]], channel) != 1:
        return None
    seen = 1
    for index, dim in zip(indices[using[0] + 1 :], shape[using[0] + 1 :]):
        if not isinstance(dim, tir.IntImm):
            return None
        size = dim.value
        for axis in conv.outer:
            size -= (axis.size or 1) - 1 if coefficient(index, axis.var) == 1 else 0
        if conv.lines is not None and depends(index, conv.lines.var):
            size -= conv.sizes[1] - lines
        seen *= size
    return seen

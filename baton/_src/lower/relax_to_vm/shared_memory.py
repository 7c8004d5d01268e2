"""Avoid kernel calls that only move elements: contiguous splits and concatenations share memory instead.

    a, b = split(x)         a and b are parts of x's memory, if they are contiguous (the axes before have extent 1)
    y = concat(a, b)        a and b are written into y's memory, by whichever kernels compute them

This is recognised in the kernels themselves, so it applies to any operator that does this (split, strided_slice,
concat, stack, ...). Only intermediates share memory: parameters, constants and results keep their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from baton._src.lower.kernel_schedules.shared.affine import coefficient
from baton._src.lower.kernel_schedules.shared.stages import Axis, Kernel, Stage, read_kernel
from baton._src.lower.relax_to_vm.abstract_values import KernelCall, Pending, memory_of
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import Buffer, constant_shape
from baton._src.tir.expr import GE, BufferLoad, Call, IntImm
from baton._src.tir.prim_func import PrimFunc


@dataclass(frozen=True, slots=True)
class Part:
    """Contiguous elements of a kernel's parameter: which parameter, and where they begin."""

    param: int
    start: int


@dataclass(frozen=True, slots=True)
class Moves:
    """What a kernel moves. `cuts`: for each output the part of an argument that it is; `joined`: the only output is
    these arguments concatenated, the first at offset 0.
    """

    cuts: tuple[Part, ...] = ()
    joined: tuple[Part, ...] = ()


Alias = tuple[Pending, int]
"""The value whose memory another one shares, and the byte offset in it."""


def without_moves(
    calls: Sequence[KernelCall], outputs: Sequence[Pending]
) -> tuple[list[KernelCall], dict[Pending, Alias]]:
    """Return the remaining calls, and the memory of the results of the removed ones (or of the operands of joins)."""
    if any(place >= 0 for call in calls for place in call.inplace):
        return list(calls), {}
    known: dict[PrimFunc, Moves | None] = {}
    fixed = set(outputs)
    aliases: dict[Pending, Alias] = {}
    left = []
    for call in calls:
        if call.function not in known:
            known[call.function] = moves_of(call.function)
        moves = known[call.function]
        found = None if moves is None else _aliases(call, moves, fixed, aliases)
        if found is None:
            left.append(call)
        else:
            aliases.update(found)
    return left, aliases


def _aliases(
    call: KernelCall, moves: Moves, fixed: set[Pending], aliases: dict[Pending, Alias]
) -> dict[Pending, Alias] | None:
    """The memory that the values of a call that only moves would share; None if one of them cannot."""
    dtype = call.outputs[0].dtype
    if dtype.bits % 8:
        return None
    size = dtype.itemsize
    found: dict[Pending, Alias] = {}
    if moves.joined:
        for part in moves.joined:
            value = memory_of(call.args[part.param])
            if not isinstance(value, Pending) or value in fixed or value in aliases or value in found:
                return None
            found[value] = (call.results[0], part.start * size)
        return None if call.results[0] in fixed else found
    for result, part in zip(call.results, moves.cuts):
        source = memory_of(call.args[part.param])
        if not isinstance(source, Pending) or source in fixed or result in fixed:
            return None
        found[result] = (source, part.start * size)
    return found


# ------------------------------------------------------------------------------------------------- reading


def moves_of(function: PrimFunc) -> Moves | None:
    """What the kernel moves, if it does nothing else; None otherwise."""
    kernel = read_kernel(function)
    if not isinstance(kernel, Kernel) or kernel.local:
        return None
    params = [function.buffer_map.get(p) for p in function.params]
    stages = {s.buffer: s for s in kernel.stages if isinstance(s, Stage) and not s.reduce}
    if len(stages) != len(kernel.stages) or None in params:
        return None
    written = [b for b in params if b in stages]
    if len(written) != len(stages) or params[len(params) - len(written) :] != written:
        return None
    parts = [_cut(stages[b], params) for b in written]
    cuts = tuple(p for p in parts if p is not None)
    if len(cuts) == len(parts):
        return Moves(cuts=cuts)
    joined = _joined(stages[written[0]], params) if len(written) == 1 else None
    return None if joined is None else Moves(joined=joined)


def _cut(stage: Stage, params: list[Buffer | None]) -> Part | None:
    if not isinstance(stage.value, BufferLoad):
        return None
    start = _distance(stage.value, stage)
    return None if start is None or start < 0 else Part(params.index(stage.value.buffer), start)


def _joined(stage: Stage, params: list[Buffer | None]) -> tuple[Part, ...] | None:
    """Read `x2 if i >= s2 else x1 if i >= s1 else x0`, where each operand is one contiguous piece."""
    shape = constant_shape(stage.buffer)
    pieces: list[tuple[int, BufferLoad]] = []
    axis: Axis | None = None
    value = stage.value
    while isinstance(value, Call) and getattr(value.op, "name", "") == "tir.if_then_else":
        condition, chosen, value = value.args
        if not isinstance(condition, GE) or not isinstance(condition.b, IntImm) or not isinstance(chosen, BufferLoad):
            return None
        found = next((a for a in stage.spatial if a.var is condition.a), None)
        if found is None or axis not in (None, found):
            return None
        axis = found
        pieces.append((condition.b.value, chosen))
    if shape is None or axis is None or not isinstance(value, BufferLoad):
        return None
    pieces.append((0, value))
    place = stage.spatial.index(axis)
    if any(dim != 1 for dim in shape[:place]):
        return None
    begins = [begin for begin, _ in reversed(pieces)]
    row = _count(shape[place + 1 :])
    parts: list[Part] = []
    for begin, end, (_, load) in zip(begins, [*begins[1:], shape[place]], reversed(pieces)):
        inside = constant_shape(load.buffer)
        fixed = replace(axis, extent=IntImm(axis.var.dtype, end - begin))
        seen = replace(stage, spatial=tuple(fixed if a is axis else a for a in stage.spatial))
        if inside is None or _count(inside) != (end - begin) * row or load.buffer not in params:
            return None
        if _distance(load, seen, {axis: begin}) != -begin * row:
            return None
        parts.append(Part(params.index(load.buffer), begin * row))
    return tuple(parts)


def _distance(load: BufferLoad, stage: Stage, start: Mapping[Axis, int] | None = None) -> int | None:
    """The offset, in elements, between where an element is read and where it is written, if it is the same for all.

    `start`: the first index of each axis, by the buffer's own strides; 0 if not given.
    """
    source, target = constant_shape(load.buffer), constant_shape(stage.buffer)
    plain = all(not b.strides and b.elem_offset is None for b in (load.buffer, stage.buffer))
    if source is None or target is None or load.buffer.dtype != stage.buffer.dtype or not plain:
        return None
    for axis, stride in zip(stage.spatial, _strides(target)):
        if axis.size != 1 and _step(load, axis, source) != stride:
            return None
    begins = {a.var: n for a, n in (start or {}).items()}
    first = {a.var: IntImm(a.var.dtype, begins.get(a.var, 0)) for a in stage.spatial}
    total = -sum(begins.get(a.var, 0) * stride for a, stride in zip(stage.spatial, _strides(target)))
    for index, stride in zip(load.indices, _strides(source)):
        place = substitute_and_fold(index, first)
        if not isinstance(place, IntImm):
            return None
        total += place.value * stride
    return total


def _step(load: BufferLoad, axis: Axis, shape: tuple[int, ...]) -> int | None:
    total = 0
    for index, stride in zip(load.indices, _strides(shape)):
        move = coefficient(index, axis.var)
        if move is None:
            return None
        total += move * stride
    return total


def _strides(shape: Sequence[int]) -> list[int]:
    return [_count(shape[place + 1 :]) for place in range(len(shape))]


def _count(shape: Sequence[int]) -> int:
    total = 1
    for dim in shape:
        total *= dim
    return total

"""Rewrite copies after a reshape over the axes of their source.

    B[n, c, h, w] = A[f // 784, f // 49 % 16, f % 7, ..]        f = ((n * C + c) * H + h) * W + w

becomes B'[i, j, ..] = A[i, j, ..] over new axes, where B' shares the memory of B: schedule rules recognise this form.
The same is done where only single axes are split, whatever the extents of the others:

    B[n, c, h, w] = A[n, c // 16, h, w, c % 16]
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends
from baton._src.lower.kernel_schedules.shared.loops import i64
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer


def over_source_axes(stage: Stage) -> Stage:
    """Return a stage that stores plain loads with one axis per index of the source, if these are the digits of the flat
    index; else return it unchanged.
    """
    load = stage.value
    if stage.reduce or stage.buffer.strides or not isinstance(load, tir.BufferLoad):
        return stage
    axes = _source_axes(stage, load)
    if axes is None:
        return _with_axes_apart(stage, load)
    old, spatial = stage.buffer, tuple(axes.values())
    buffer = Buffer(old.data, old.dtype, tuple(a.extent for a in spatial), (), old.elem_offset, old.name)
    indices = tuple(axes[n].var if n in axes else index for n, index in enumerate(load.indices))
    return replace(stage, buffer=buffer, spatial=spatial, value=tir.BufferLoad(load.buffer, indices))


def _with_axes_apart(stage: Stage, load: tir.BufferLoad) -> Stage:
    """The stage with each axis that the load splits replaced by one axis per digit."""
    digits = {n: _digit(index) for n, index in enumerate(load.indices)}
    indices, spatial = list(load.indices), []
    for axis in stage.spatial:
        using = {n: d for n, d in digits.items() if d[0] is axis.var}
        parts = _digit_axes(using, axis.extent) if len(using) > 1 else None
        rest = [index for n, index in enumerate(load.indices) if n not in using]
        if parts is None or any(depends(index, axis.var) for index in rest):
            spatial.append(axis)
            continue
        for n, part in parts.items():
            indices[n] = part.var
        spatial += parts.values()
    if len(spatial) == len(stage.spatial):
        return stage
    old = stage.buffer
    buffer = Buffer(old.data, old.dtype, tuple(a.extent for a in spatial), (), old.elem_offset, old.name)
    return replace(stage, buffer=buffer, spatial=tuple(spatial), value=tir.BufferLoad(load.buffer, tuple(indices)))


def _source_axes(stage: Stage, load: tir.BufferLoad) -> dict[int, Axis] | None:
    """One axis per index of the load, keyed by position, outermost first; None unless the indices are all digits of the
    flat index.
    """
    sizes = [a.size for a in stage.spatial if a.size is not None]
    digits = {n: _digit(index) for n, index in enumerate(load.indices) if not isinstance(index, tir.IntImm)}
    if len(sizes) < len(stage.spatial) or not any(d > 1 or m for _, d, m in digits.values()):
        return None
    if not all(_is_flat(base, stage, sizes) for base, _, _ in digits.values()):
        return None
    return _digit_axes(digits, i64(prod(sizes)))


def _digit_axes(digits: dict[int, tuple[PrimExpr, int, int | None]], total: PrimExpr) -> dict[int, Axis] | None:
    """One axis per digit of a number below `total`, keyed by digit, outermost first; None unless all digits are
    present.
    """
    above: int | None = None
    axes: dict[int, Axis] = {}
    for n in sorted(digits, key=lambda n: -digits[n][1]):
        _, divisor, modulus = digits[n]
        extent = _quotient(total, divisor) if above is None else i64(above // divisor)
        if extent is None or (above or divisor) % divisor or (modulus is None and above is not None):
            return None
        if modulus is not None and not (isinstance(extent, tir.IntImm) and extent.value == modulus):
            return None
        axes[n] = Axis(tir.Var(f"d{n}", "int64"), extent)
        above = divisor
    return axes if above == 1 else None


def _quotient(total: PrimExpr, divisor: int) -> PrimExpr | None:
    """`total / divisor`, if that is certainly whole."""
    prove, total = Analyzer(), as_int64(total)
    if not prove.can_prove_equal(ops.floormod(total, i64(divisor)), i64(0)):
        return None
    return as_int64(prove.simplify(ops.floordiv(total, i64(divisor))))


def _digit(index: PrimExpr) -> tuple[PrimExpr, int, int | None]:
    """(f, d, m) if the expression is f // d % m; m is None for f // d."""
    modulus, divisor = None, 1
    match index:
        case tir.FloorMod(a=digits, b=tir.IntImm(value=count)):
            index, modulus = digits, count
        case _:
            pass
    while True:
        match index:
            case tir.FloorDiv(a=above, b=tir.IntImm(value=count)):
                index, divisor = above, divisor * count
            case _:
                return index, divisor, modulus


def _is_flat(expr: PrimExpr, stage: Stage, sizes: list[int]) -> bool:
    """Whether an expression enumerates the points of the stage in row-major order."""
    by = 1
    for axis, size in zip(reversed(stage.spatial), reversed(sizes)):
        if size > 1 and coefficient(expr, axis.var) != by:
            return False
        by *= size
    rest = substitute_and_fold(expr, {a.var: tir.IntImm(a.var.dtype, 0) for a in stage.spatial})
    return isinstance(rest, tir.IntImm) and rest.value == 0

"""Powers that softmax and log-sum-exp add up: subnormal ones count as 0, and one division serves all of a row.

    top[i] = max over k of x[i, k]        powers[i, k] = exp(x[i, k] - top[i])        total[i] = sum over k of powers

A total is at least 1, so that what is below the smallest normal number is lost in it anyway, and of powers / total no
more than that number is lost. Some processors take a hundred cycles for an operation on a subnormal number. Powers that
are used in any other way keep their values.

Powers are multiplied by 1 / total, which is no subnormal number and is computed once (its rounding costs less than that
of a power). Vectors are divided at a tenth of the rate at which they are multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.lower.kernel_schedules.shared.affine import same
from baton._src.lower.kernel_schedules.shared.stages import Kernel, Stage
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir.analysis.same_value import same_value
from baton._src.tir.buffer import Buffer
from baton._src.tir.intrinsics import intrinsic


def flush_powers(kernel: Kernel) -> Kernel:
    """The kernel with `exp_flushed` for the powers that are only added up, or divided by their sum."""
    stages = [s for s in kernel.stages if isinstance(s, Stage)]
    tops = {s.buffer: s for s in stages if _folds(s, tir.Max) and _writers(kernel, s.buffer) == 1}
    if not tops:
        return kernel
    flushed = {s: _flushed(kernel, s, tops) for s in stages}
    powers = {s.buffer for s, f in flushed.items() if f is not s and not s.reduce}
    return replace(
        kernel, stages=tuple(_weighing(flushed[s], powers) if isinstance(s, Stage) else s for s in kernel.stages)
    )


def _weighing(stage: Stage, powers: set[Buffer]) -> Stage:
    """The stage with multiplications by a reciprocal for what it divides of flushed powers: their quotients by totals.

    Narrow floats would lose a bit of the reciprocal.
    """

    def by_reciprocal(node: Node) -> Node | None:
        match node:
            case tir.Div(dtype=dtype, a=tir.BufferLoad() as power, b=total) if (
                power.buffer in powers and dtype.bits >= 32
            ):
                return tir.Mul(power, tir.Div(tir.FloatImm(dtype, 1.0), total))
            case _:
                return None

    return replace(stage, value=rewrite(stage.value, by_reciprocal)) if powers & stage.reads else stage


def _folds(stage: Stage, combiner: type[tir.BinaryOp]) -> bool:
    return stage.combiner is combiner and bool(stage.reduce)


def _writers(kernel: Kernel, buffer: Buffer) -> int:
    return sum(buffer in s.writes for s in kernel.stages)


def _flushed(kernel: Kernel, stage: Stage, tops: dict[Buffer, Stage]) -> Stage:
    match stage.value:
        case tir.Call(op=Op(name="tir.exp"), args=(exponent,)) as call:
            raised, load = _less_its_top(exponent)
            top = tops.get(load.buffer) if isinstance(load, tir.BufferLoad) else None
            if raised is None or not isinstance(load, tir.BufferLoad) or top is None or not kernel.lasts(top, stage):
                return stage
            if any(_adds_up(stage, a) or _only_weighs(kernel, stage, a) for a in _rows(stage, raised, top, load)):
                return replace(stage, value=tir.Call(call.dtype, intrinsic("exp_flushed"), call.args))
        case _:
            pass
    return stage


def _less_its_top(exponent: PrimExpr) -> tuple[PrimExpr, PrimExpr] | tuple[None, None]:
    """(a, b) of a - b, also where that is guarded against two equal infinities; else nothing."""
    match exponent:
        case tir.Select(
            condition=tir.EQ(a=here, b=top), true_value=tir.FloatImm(value=0), false_value=tir.Sub(a=a, b=b)
        ) if same_value(here, a) and same_value(top, b):
            return a, b
        case tir.Sub(a=a, b=b):
            return a, b
        case _:
            return None, None


def _rows(stage: Stage, raised: PrimExpr, top: Stage, load: tir.BufferLoad) -> Iterator[set[tir.Var]]:
    """The axes of the stage along which `load` has the maximum of `raised`."""
    axes = (*stage.spatial, *stage.reduce)
    place = dict(zip(top.indices, load.indices, strict=True))
    alike = [[a.var for a in axes if same(a.extent, r.extent)] for r in top.reduce]
    for along in product(*alike):
        moved = substitute_and_fold(top.value, {**place, **{r.var: a for r, a in zip(top.reduce, along)}})
        if len(set(along)) == len(along) and same_value(moved, raised):
            yield set(along)


def _adds_up(stage: Stage, along: set[tir.Var]) -> bool:
    """Whether a stage is a sum with the power of the maximum, which is 1, among its terms."""
    from_zero = isinstance(stage.init, tir.FloatImm) and stage.init.value == 0
    return _folds(stage, tir.Add) and from_zero and along <= {a.var for a in stage.reduce}


def _only_weighs(kernel: Kernel, powers: Stage, along: set[tir.Var]) -> bool:
    """Whether all that is done with the powers of a stage is to add them up and to divide them by the sums."""
    if powers.reduce or powers.buffer not in kernel.local or _writers(kernel, powers.buffer) > 1:
        return False
    readers = [s for s in kernel.stages if powers.buffer in s.reads]
    sums = [s for s in readers if isinstance(s, Stage) and _is_total(s, powers, along)]
    totals = {s.buffer for s in sums if _writers(kernel, s.buffer) == 1}
    others = [s for s in readers if s not in sums]
    return bool(totals) and all(isinstance(s, Stage) and _only_divides(s, powers.buffer, totals) for s in others)


def _is_total(stage: Stage, powers: Stage, along: set[tir.Var]) -> bool:
    load = stage.value
    if not isinstance(load, tir.BufferLoad) or load.buffer is not powers.buffer:
        return False
    place = dict(zip(powers.indices, load.indices, strict=True))
    axes = {index for axis in along if isinstance(index := place[axis], tir.Var)}
    return len(axes) == len(along) and _adds_up(stage, axes)


def _only_divides(stage: Stage, powers: Buffer, totals: set[Buffer]) -> bool:
    """Whether the stage reads the powers only to divide them by their sums."""
    nodes = post_order(stage.value)
    divided = {n.a for n in nodes if isinstance(n, tir.Div) and getattr(n.b, "buffer", None) in totals}
    return all(n in divided for n in nodes if isinstance(n, tir.BufferLoad) and n.buffer is powers)

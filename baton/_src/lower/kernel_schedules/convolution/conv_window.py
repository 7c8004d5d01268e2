"""A convolution's windows on its input, read from the kernel: strides, dilation, and padding as limits.

    data = if_then_else(i*s + r*d >= b and i*s + r*d < extent + b, X[.., i*s + r*d - b, ..], 0)

becomes the plain load and one `Window` for each spatial axis. Taps that fall outside contribute nothing to a sum, so a
schedule that leaves them out needs neither the condition nor a padded copy of the input.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import Op, PrimExpr
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends
from baton._src.lower.kernel_schedules.shared.inline import replace_loads
from baton._src.lower.kernel_schedules.shared.stages import Axis, Kernel, Stage
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer

Terms = dict[tir.Var, int]


@dataclass(frozen=True, eq=False)
class Window:
    """Output point i sees input point i * stride + r * dilation - begin through tap r, if that is in [0, extent);
    `whole`: it always is.
    """

    axis: Axis
    tap: Axis | None
    stride: int
    dilation: int
    begin: int
    extent: PrimExpr
    whole: bool = False

    @property
    def taps(self) -> int:
        return 1 if self.tap is None else int(self.tap.size or 1)

    @property
    def size(self) -> int:
        """The extent as a number: of windows that are read as known ones."""
        assert isinstance(self.extent, tir.IntImm)
        return self.extent.value

    def points(self, tap: int, start: int, count: int) -> tuple[int, int]:
        """The range of points among start, ..., start + count - 1 that see the input through a tap."""
        if self.whole:
            return 0, count
        inside = [
            p for p in range(count) if 0 <= (start + p) * self.stride + tap * self.dilation - self.begin < self.size
        ]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)

    def range_at(self, point: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """The taps [first, last) through which an output point sees the input."""
        size = self.axis.size
        zero, every = tir.IntImm("int64", 0), tir.IntImm("int64", self.taps)
        first: PrimExpr = zero
        last: PrimExpr = every
        if self.whole:
            return first, last
        place = ops.subtract(self.begin, ops.multiply(point, tir.IntImm("int64", self.stride)))
        if self.begin > 0:
            first = ops.max(zero, self._steps(place))
        furthest = None if size is None else (size - 1) * self.stride + (self.taps - 1) * self.dilation - self.begin
        if furthest is None or not isinstance(self.extent, tir.IntImm) or furthest >= self.size:
            last = ops.max(first, ops.min(every, self._steps(ops.add(place, as_int64(self.extent)))))
        elif self.begin > 0:
            last = ops.max(first, every)
        return first, last

    def _steps(self, distance: PrimExpr) -> PrimExpr:
        """How many taps it takes to get over a distance, rounded up."""
        if self.dilation == 1:
            return distance
        return ops.floordiv(ops.add(distance, self.dilation - 1), self.dilation)


def with_border_inside(kernel: Kernel, conv: Stage) -> tuple[Kernel, Stage]:
    """The kernel with a padding stage that only `conv` reads made part of `conv`'s value."""
    for stage in kernel.stages:
        if not isinstance(stage, Stage) or stage.reduce or stage.buffer not in kernel.local:
            continue
        readers = [s for s in kernel.stages if stage.buffer in s.reads]
        if readers != [conv] or bordered(stage.value) is None or not kernel.lasts(stage, conv):
            continue
        found = replace(conv, value=replace_loads(conv.value, stage.buffer, stage))
        stages = tuple(found if s is conv else s for s in kernel.stages if s is not stage)
        return replace(kernel, stages=stages), found
    return kernel, conv


def bordered(value: PrimExpr) -> tuple[list[PrimExpr], tir.BufferLoad] | None:
    """(conditions, load) of a load with zeros where the conditions do not hold; None if `value` is something else."""
    conditions: list[PrimExpr] = []
    if isinstance(value, tir.Call) and isinstance(value.op, Op) and value.op.name == "tir.if_then_else":
        condition, value, other = value.args
        if not isinstance(other, (tir.FloatImm, tir.IntImm)) or other.value != 0:
            return None
        stack = [condition]
        while stack:
            item = stack.pop()
            if isinstance(item, tir.And):
                stack += [item.a, item.b]
            else:
                conditions.append(item)
    return (conditions, value) if isinstance(value, tir.BufferLoad) else None


def linear(expr: PrimExpr, axes: tuple[Axis, ...]) -> tuple[Terms, int] | None:
    """`expr` as a sum of axes times numbers and a number; None if it is no such thing."""
    terms: Terms = {}
    for axis in axes:
        factor = coefficient(expr, axis.var)
        if factor is None:
            return None
        if factor:
            terms[axis.var] = factor
    rest = substitute_and_fold(expr, {a.var: tir.IntImm(a.var.dtype, 0) for a in axes})
    if not isinstance(rest, tir.IntImm):
        rest = Analyzer().simplify(rest)  # symbolic extents cancel out
    return (terms, rest.value) if isinstance(rest, tir.IntImm) else None


def read_windows(
    stage: Stage, data: PrimExpr, spatial: tuple[Axis, ...], symbolic: bool = False
) -> tuple[tir.BufferLoad, list[Window]] | None:
    """The plain load behind `data` and the window of each of the `spatial` axes, in order; `symbolic`: of inputs of
    unknown extents, too.
    """
    found = bordered(data)
    if found is None:
        return None
    conditions, load = found
    axes = (*stage.spatial, *stage.reduce)
    places = [linear(index, axes) for index in load.indices]
    dims = [_dim_of(axis, load, places) for axis in spatial]
    # A border along another axis (the depth of a volume) is none that windows leave out.
    if not all(any(d is not None and _is_limit(c, load, d, places[d], axes) for d in dims) for c in conditions):
        return None
    windows = []
    for axis, dim in zip(spatial, dims):
        window = None if dim is None else _window(axis, stage, places[dim], load.buffer.shape[dim])
        if window is None or not (symbolic or isinstance(window.extent, tir.IntImm)):
            return None
        windows.append(replace(window, whole=not conditions))
    return load, windows


def _dim_of(axis: Axis, load: tir.BufferLoad, places: list[tuple[Terms, int] | None]) -> int | None:
    """The one dim of the load whose index the axis is part of."""
    using = [
        d
        for d, place in enumerate(places)
        if (depends(load.indices[d], axis.var) if place is None else axis.var in place[0])
    ]
    return using[0] if len(using) == 1 else None


def _window(axis: Axis, stage: Stage, place: tuple[Terms, int] | None, extent: PrimExpr) -> Window | None:
    if place is None:
        return None
    terms, offset = place
    taps = [a for a in stage.reduce if a.var in terms]
    if len(terms) != 1 + len(taps) or len(taps) > 1 or any(f < 0 for f in terms.values()):
        return None
    tap = taps[0] if taps else None
    if tap is not None and tap.size is None:
        return None
    return Window(axis, tap, terms[axis.var], 1 if tap is None else terms[tap.var], -offset, extent)


def _is_limit(
    condition: PrimExpr, load: tir.BufferLoad, dim: int, place: tuple[Terms, int] | None, axes: tuple[Axis, ...]
) -> bool:
    """Whether a condition only says that the load's index is inside this dim."""
    if place is None or not isinstance(condition, (tir.GE, tir.LT)):
        return False
    limit = ops.subtract(condition.a, condition.b)
    if isinstance(condition, tir.LT):
        limit = ops.add(limit, ops.cast(limit.dtype, load.buffer.shape[dim]))
    return place == linear(limit, axes)

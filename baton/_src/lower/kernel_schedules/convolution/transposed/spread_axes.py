"""How the result of a transposed convolution is spread over its input, read off the loops of its stage.

    X[n, c, (y + r - b) / s] * W[c, o, k - 1 - r]   where s divides y + r - b

is one `Spread` for each axis: result y, tap r, stride s, begin b. Only what reads like this is one.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.conv_window import Terms, bordered, linear
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends, known_step, step
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops


@dataclass(frozen=True, eq=False)
class Spread:
    """One axis: result `axis` sees input (axis + tap - begin) / stride, if that is a whole number in [0, extent)."""

    axis: Axis
    tap: Axis
    stride: int
    begin: int
    extent: int

    def behind(self, phase: int) -> int:
        """The first tap that a phase sees."""
        return (self.begin - phase) % self.stride

    def ahead(self, phase: int) -> int:
        """The input that point 0 of a phase sees through that tap."""
        return (phase + self.behind(phase) - self.begin) // self.stride

    @property
    def first(self) -> int:
        """The first input that any phase sees."""
        return min(self.ahead(f) for f in range(self.stride))

    @property
    def points(self) -> int:
        """How many points each phase has."""
        assert self.axis.size is not None
        return -(-self.axis.size // self.stride)

    @property
    def reach(self) -> int:
        """The furthest that a point sees beyond `first`, over all phases."""
        size = self.tap.size or 1
        return max(self.ahead(f) - self.first + (size - 1 - self.behind(f)) // self.stride for f in range(self.stride))


def read_spreads(stage: Stage) -> tuple[list[Spread], tir.BufferLoad, tir.BufferLoad] | None:
    """How the input is spread along each of the last axes, the input's load, and the weight's."""
    if stage.combiner is not tir.Add or not isinstance(stage.value, tir.Mul) or stage.init is None:
        return None
    if not stage.buffer.dtype.is_float or stage.buffer.dtype.bits < 32 or stage.buffer.strides:
        return None
    for data, weight in ((stage.value.a, stage.value.b), (stage.value.b, stage.value.a)):
        found = bordered(data)
        if found is None or not found[0] or not isinstance(weight, tir.BufferLoad) or weight.buffer.strides:
            continue
        conditions, load = found
        if load.buffer.strides or load.dtype != stage.buffer.dtype or weight.dtype != load.dtype:
            return None
        spreads = _spreads(stage, conditions, load, weight)
        if spreads is not None and any(s.stride > 1 for s in spreads):
            return spreads, load, weight
    return None


def _spreads(
    stage: Stage, conditions: list[PrimExpr], load: tir.BufferLoad, weight: tir.BufferLoad
) -> list[Spread] | None:
    axes = (*stage.spatial, *stage.reduce)
    found: list[Spread] = []
    known: list[tuple[PrimExpr, Spread, Terms]] = []
    places = list(zip(load.indices, load.buffer.shape))
    for index, dim in places:
        stride, at = 1, index
        if isinstance(index, tir.FloorDiv) and isinstance(index.b, tir.IntImm):
            stride, at = index.b.value, index.a
        place = linear(at, axes)
        if place is None:
            return None
        terms, offset = place
        points = [a for a in stage.spatial if a.var in terms]
        taps = [a for a in stage.reduce if a.var in terms]
        if stride == 1 and len(terms) == 1 and offset == 0 and not found:
            continue  # batch and channels come first
        if len(points) != 1 or len(taps) != 1 or len(terms) != 2 or set(terms.values()) != {1}:
            return None
        if points[0].size is None or taps[0].size is None or not isinstance(dim, tir.IntImm):
            return None
        found.append(Spread(points[0], taps[0], stride, -offset, dim.value))
        known.append((at, found[-1], terms))
    if not found or tuple(s.axis for s in found) != stage.spatial[-len(found) :]:
        return None
    if not all(_is_known(c, known, axes) for c in conditions):
        return None
    if not all(s.stride == 1 or any(_is_multiple(c, s, terms, axes) for c in conditions) for _, s, terms in known):
        return None  # repeated instead of spread
    return found if _mirrored(stage, found, weight) else None


def _is_known(condition: PrimExpr, known: Sequence[tuple[PrimExpr, Spread, Terms]], axes: tuple[Axis, ...]) -> bool:
    """Whether a condition says that a place is inside its dim, or a multiple of the stride."""
    if isinstance(condition, tir.EQ):
        return any(_is_multiple(condition, s, terms, axes) for _, s, terms in known)
    if not isinstance(condition, (tir.GE, tir.LT)):
        return False
    place = linear(ops.subtract(condition.a, condition.b), axes)
    if place is None:
        return False
    for _, s, terms in known:
        if place[0] != terms:
            continue
        if isinstance(condition, tir.GE):
            return place[1] == -s.begin
        return (s.extent - 1) * s.stride < -s.begin - place[1] <= s.extent * s.stride
    return False


def _is_multiple(condition: PrimExpr, spread: Spread, terms: Terms, axes: tuple[Axis, ...]) -> bool:
    """Whether a condition says that a place is a multiple of the stride."""
    inner = condition.a if isinstance(condition, tir.EQ) and _is_zero(condition.b) else None
    if not (isinstance(inner, tir.FloorMod) and isinstance(inner.b, tir.IntImm)):
        return False
    return linear(inner.a, axes) == (terms, -spread.begin) and inner.b.value == spread.stride


def _is_zero(value: PrimExpr) -> bool:
    return isinstance(value, tir.IntImm) and value.value == 0


def _mirrored(stage: Stage, spreads: list[Spread], weight: tir.BufferLoad) -> bool:
    """Whether the weight is read backwards along each tap, alone on its dim, and not along the points."""
    if any(depends(weight, s.axis.var) for s in spreads):
        return False
    for spread in spreads:
        using = [i for i in weight.indices if depends(i, spread.tap.var)]
        if len(using) != 1 or coefficient(using[0], spread.tap.var) != -1:
            return False
        place = linear(using[0], (spread.tap,))
        if place is None or place[1] != (spread.tap.size or 0) - 1:
            return False
    lead = stage.spatial[: -len(spreads)]
    others = [a for a in stage.reduce if all(a is not s.tap for s in spreads)]
    return all(known_step(weight, a) is not None for a in lead) and all(step(weight, a) is not None for a in others)

"""Values of knobs: splits, orders or annotations of loops, or any value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from baton._src.support.diagnostics import fail


class Entity:
    """A value of a knob; `kind` names it in logs, `value` is what is written there."""

    kind = ""

    def __init__(self, value: Any) -> None:
        self.value = value

    def feature(self) -> list[float]:
        """The value as numbers, for models of costs."""
        return list(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entity) and (self.kind, self.value) == (other.kind, other.value)

    def __hash__(self) -> int:
        return hash((self.kind, repr(self.value)))

    def __repr__(self) -> str:
        return repr(self.value)


class SplitEntity(Entity):
    """Extents of the loops that one is split into, outermost first; -1 is what remains."""

    kind = "sp"

    def __init__(self, size: Sequence[int]) -> None:
        super().__init__([int(n) for n in size])
        self.size = self.value

    def apply(self, sch: Any, op: Any, axis: Any) -> list[Any]:
        """Split an axis of a stage; the new axes, outermost first."""
        found = []
        for place in range(1, len(self.size)):
            outer, axis = sch[op].split(axis, factor=math.prod(self.size[place:]))
            found.append(outer)
        return [*found, axis]


class ReorderEntity(Entity):
    """An order of loops: the place in the definition of each, outermost first."""

    kind = "re"

    def __init__(self, perm: Sequence[int]) -> None:
        super().__init__([int(n) for n in perm])
        self.perm = self.value

    def apply(self, sch: Any, op: Any, axes: Sequence[Any]) -> list[Any]:
        """Order axes of a stage; the axes in their new order."""
        if len(axes) != len(self.perm):
            raise fail("autotvm-knob", f"{len(axes)} axes are not ordered by {self.perm}")
        ordered = [axes[place] for place in self.perm]
        sch[op].reorder(*ordered)
        return ordered


class AnnotateEntity(Entity):
    """Marks of loops: "none", "unroll" or "vec" for each."""

    kind = "an"

    def __init__(self, anns: Sequence[str]) -> None:
        super().__init__([str(a) for a in anns])
        self.anns = self.value

    def apply(
        self,
        sch: Any,
        op: Any,
        axes: Sequence[Any],
        axis_lens: Sequence[int] | None = None,
        max_unroll: int | None = None,
        vec_size: Sequence[int] | None = None,
        cfg: Any = None,
        source: Any = None,
    ) -> list[Any]:
        """Mark axes of a stage. Loops longer than `max_unroll`, or of no size in `vec_size`, stay as they are."""
        for place, (mark, axis) in enumerate(zip(self.anns, axes)):
            extent = None if axis_lens is None else axis_lens[place]
            if mark == "unroll" and (max_unroll is None or extent is None or extent <= max_unroll):
                sch[op].unroll(axis)
            elif mark == "vec" and (vec_size is None or extent is None or extent in vec_size):
                sch[op].vectorize(axis)
            elif mark not in ("none", "unroll", "vec"):
                raise fail("autotvm-knob", f"loops on CPUs have no annotation {mark!r}")
        return list(axes)

    def feature(self) -> list[float]:
        """For each mark a row of zeros with a one at its number."""
        return [float(place == _MARKS.index(mark)) for mark in self.anns for place in range(len(_MARKS))]


_MARKS = [
    "none", "vec", "unroll", "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
    "vthread", "fuse",
]  # fmt: skip
"""TVM's marks of loops, in the order of its numbers."""


class OtherOptionEntity(Entity):
    """Any value."""

    kind = "ot"

    def __init__(self, val: Any) -> None:
        super().__init__(val)
        self.val = val

    def feature(self) -> list[float]:
        """The number. Error `autotvm-knob`: it is none."""
        if not isinstance(self.val, (int, float)):
            raise fail("autotvm-knob", f"{self.val!r} is not a number, so it has no feature")
        return [float(self.val)]

    def __repr__(self) -> str:
        return str(self.val)


_KINDS: dict[str, Any] = {cls.kind: cls for cls in (SplitEntity, ReorderEntity, AnnotateEntity, OtherOptionEntity)}


def entity(kind: str, value: Any) -> Entity:
    """The value of a knob as a log has it."""
    if kind not in _KINDS:
        raise fail("autotvm-record", f"there is no kind of knob {kind!r}", help=f"one of {', '.join(_KINDS)}")
    found: Entity = _KINDS[kind](value)
    return found

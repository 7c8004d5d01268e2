"""What a stage tells of itself by TVM's names: its axes, how they were made, where it is computed and stored.

Nothing of it is noted: everything follows from the primitives in `Stage.history`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import cached_property
from typing import Any, TypeAlias

from baton._src.ir.expr import PrimExpr
from baton._src.support.dataclass import dataclass
from baton._src.te.tensor import Operation, Same
from baton._src.tir.expr import IterVar

Step: TypeAlias = tuple[Any, ...]
"""A primitive as it was applied: (its name, its arguments..., axes made)."""


class AttachType(IntEnum):
    """Where a stage is computed, by TVM's numbers."""

    GROUP_ROOT = 1
    INLINE = 2
    SCOPE = 4


@dataclass(frozen=True, eq=False)
class Split(Same):
    """An axis that became two; of `factor` and `nparts`, one was given."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: PrimExpr | int | None
    nparts: PrimExpr | int | None


@dataclass(frozen=True, eq=False)
class Fuse(Same):
    """Two axes that became one."""

    outer: IterVar
    inner: IterVar
    fused: IterVar


class StageFacts(Same):
    """Answers that follow from a stage's history."""

    op: Operation
    origin: Operation
    history: list[Step]
    root_axes: list[IterVar]
    copied_to = ""
    """Of a copy: the memory that it was made for."""
    is_output = False
    """Whether its result is one of the schedule's."""
    group: object = None
    """The `te.group.Group` of stages it was put into last."""

    @property
    def origin_op(self) -> Operation:
        """The operation before anything changed the stage."""
        return self.origin

    @property
    def relations(self) -> list[Split | Fuse]:
        """How axes were made of others, in order. Of several axes fused at once, each with those before it."""
        found: list[Split | Fuse] = []
        for what, *step in self.history:
            if what == "split":
                parent, factor, nparts, outer, inner = step
                found.append(Split(parent, outer, inner, factor, nparts))
            elif what == "fuse":
                axes, fused = step
                found += self._fuses.setdefault(fused, [*_fused(list(axes), fused)])
        return found

    @cached_property
    def _fuses(self) -> dict[IterVar, list[Fuse]]:
        """By the axis made, so that axes between are the same whenever they are asked for."""
        return {}

    @property
    def all_iter_vars(self) -> list[IterVar]:
        """The axes there were at the beginning and those made since, in order."""
        made: list[IterVar] = list(self.root_axes)
        for relation in self.relations:
            made += [relation.outer, relation.inner] if isinstance(relation, Split) else [relation.fused]
        return made

    @property
    def scope(self) -> str:
        """Where its result is kept, as far as it was said."""
        return next((str(step[1]) for step in reversed(self.history) if step[0] == "set_scope"), self.copied_to)

    @property
    def double_buffered(self) -> bool:
        """Whether two copies of its buffer were asked for."""
        return any(step[0] == "double_buffer" for step in self.history)

    @property
    def store_predicate(self) -> None:
        """Which GPU threads store: CPUs have none."""


def _fused(axes: list[IterVar], fused: IterVar) -> Iterator[Fuse]:
    """The steps from several axes to one; those between are axes of no loop."""
    first = axes[0]
    for axis in axes[1:-1]:
        between = IterVar(None, f"{first.var.name}.{axis.var.name}.fused", axis.iter_type)
        yield Fuse(first, axis, between)
        first = between
    if len(axes) > 1:
        yield Fuse(first, axes[-1], fused)

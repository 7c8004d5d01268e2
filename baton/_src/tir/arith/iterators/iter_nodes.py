"""The nodes that maps of iterators are made of (`tvm.arith.IterMark` and what goes with it), and how maps are checked.

An index is a sum of pieces `(mark // lower_factor) % extent * scale`, and a base. A mark is a loop, or a sum of pieces
that take each of their values once: what loops are fused to.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node, init_field, node
from baton._src.ir.traverse import post_order
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm, Var, literal
from baton._src.values.dtype import DataType


class IterMapExpr(PrimExpr):
    """Base class of indices as maps of iterators; printed as TVM does."""

    __slots__ = ()

    def __str__(self) -> str:
        return repr(self)


@node
class IterMark(Node):
    """An expression that takes each value in [0, extent)."""

    source: PrimExpr
    extent: PrimExpr

    def __post_init__(self) -> None:
        init_field(self, "extent", literal(self.extent, self.source.dtype))

    def __repr__(self) -> str:
        return f"IterMark({self.source}, extent={self.extent})"

    __str__ = __repr__


@node
class IterSplitExpr(IterMapExpr):
    """`(source // lower_factor) % extent * scale`; by default all of a mark."""

    source: IterMark
    lower_factor: PrimExpr
    extent: PrimExpr
    scale: PrimExpr

    def __init__(
        self,
        source: IterMark,
        lower_factor: Any = 1,
        extent: Any = None,
        scale: Any = 1,
        dtype: DataType | None = None,
    ) -> None:
        init_field(self, "source", source)
        init_field(self, "dtype", dtype or source.source.dtype)
        init_field(self, "span", None)
        given = {"lower_factor": lower_factor, "extent": source.extent if extent is None else extent, "scale": scale}
        for name, number in given.items():
            init_field(self, name, literal(number, self.dtype))

    def __repr__(self) -> str:
        numbers = f"lower_factor={self.lower_factor}, extent={self.extent}, scale={self.scale}"
        return f"IterSplit({self.source}, {numbers})"


@node
class IterSumExpr(IterMapExpr):
    """The sum of `args`, and `base`."""

    args: tuple[IterSplitExpr, ...]
    base: PrimExpr

    def __post_init__(self) -> None:
        init_field(self, "args", tuple(self.args))
        init_field(self, "base", literal(self.base, self.args[0].dtype if self.args else None))
        init_field(self, "dtype", self.base.dtype)

    def __repr__(self) -> str:
        return f"IterSum([{', '.join(map(str, self.args))}], {self.base})"


class IterMapLevel(enum.IntEnum):
    """The required property of a map: bijective, surjective, or none."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str) -> IterMapLevel:
        """By name, in any case."""
        names = {"bijective": IterMapLevel.Bijective, "surjective": IterMapLevel.Surjective}
        found = {**names, "nocheck": IterMapLevel.NoCheck}.get(name.lower())
        if found is None:
            raise ValueError(f"{name!r} is not a level of iterator maps: bijective, surjective, nocheck")
        return found


NEVER = IntImm("bool", 0)


@dataclass(frozen=True)
class IterMapResult:
    """The indices as sums of iterators, or why they are none: `errors`. (Nothing is ever padded here.)"""

    indices: tuple[IterSumExpr, ...] = ()
    errors: tuple[str, ...] = ()
    padding_predicate: PrimExpr = NEVER


Domains = Mapping[Var, Range]


def marks_of(indices: Sequence[IterSumExpr]) -> dict[IterMark, list[IterSplitExpr]]:
    """The pieces of each mark in the indices and in marks inside; what is fused comes before what it is fused of."""
    inner_first: dict[IterMark, None] = {}
    for index in indices:
        inner_first |= dict.fromkeys(n for n in post_order(index) if isinstance(n, IterMark))
    found: dict[IterMark, list[IterSplitExpr]] = {mark: [] for mark in reversed(inner_first)}
    for whole in (*indices, *(mark.source for mark in found)):
        for piece in whole.args if isinstance(whole, IterSumExpr) else ():
            found[piece.source].append(piece)
    return found

"""What the primitives of a schedule are given and give: blocks by name, loops by variable."""

from __future__ import annotations

from dataclasses import dataclass

from baton._src.tir.expr import Var


@dataclass(frozen=True, eq=False)
class BlockRV:
    """A block, by name."""

    name: str


@dataclass(frozen=True, eq=False)
class LoopRV:
    """A loop, by its variable."""

    var: Var

"""What the primitives of a schedule are given and give: blocks by name, loops by variable."""

from __future__ import annotations

from dataclasses import dataclass, field

from baton._src.tir.expr import Var


@dataclass(frozen=True, eq=False)
class BlockRV:
    """A block, by name."""

    name: str


def block_name(block: BlockRV | str) -> str:
    """The name of a block that is given by a handle or by name."""
    return block if isinstance(block, str) else block.name


@dataclass(frozen=True, eq=False)
class LoopRV:
    """A loop, by its variable."""

    var: Var


@dataclass(frozen=True, eq=False)
class InlineRV(LoopRV):
    """No loop at all: sampling chose to compute a block where it is read (TVM's decision -2)."""

    var: Var = field(default_factory=lambda: Var("inline"))

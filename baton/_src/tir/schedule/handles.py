"""Arguments and results of a schedule's primitives: blocks by name, loops by variable."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Var
from baton._src.tir.schedule.tree import refuse


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


@dataclass(frozen=True, eq=False)
class RootRV(LoopRV):
    """No loop at all: sampling chose to leave a block where it is (TVM's decision -1)."""

    var: Var = field(default_factory=lambda: Var("root"))


class ExprRV(int):
    """A number that sampling chose: an int that remembers in traces where it comes from."""


def handles_in(given: Any) -> list[BlockRV | LoopRV]:
    """The blocks and loops among arguments or results, which may be lists."""
    if isinstance(given, list | tuple):
        return [handle for part in given for handle in handles_in(part)]
    return [given] if isinstance(given, BlockRV | LoopRV) else []


class RemovedHandles:
    """The handles removed by `remove_rv`: individually, other handles of the same block stay valid."""

    def __init__(self) -> None:
        self._by_id: dict[int, Any] = {}

    def copy(self) -> RemovedHandles:
        """Those so far."""
        made = RemovedHandles()
        made._by_id.update(self._by_id)
        return made

    def add(self, handle: Any) -> None:
        """Remove a handle. Error `schedule`: it is not a handle, or was removed before."""
        if not isinstance(handle, BlockRV | LoopRV | ExprRV):
            raise refuse(f"remove_rv takes a block, loop or number that the schedule gave, not {handle!r}")
        self.require_kept("remove_rv", handle)
        self._by_id[id(handle)] = handle

    def require_kept(self, primitive: str, given: Any) -> None:
        """Refuse arguments that contain a removed handle."""
        if not self._by_id:
            return
        if isinstance(given, list | tuple):
            for part in given:
                self.require_kept(primitive, part)
        elif id(given) in self._by_id:
            raise refuse(
                f"{primitive} was given {_shown(given)}, which remove_rv has removed",
                help="get a new handle with get_block or get_loops",
            )


def _shown(handle: Any) -> str:
    match handle:
        case BlockRV(name=name):
            return f"the handle of block {name}"
        case LoopRV(var=var):
            return f"the handle of the loop over {var.name}"
        case _:
            return f"the number {handle}"

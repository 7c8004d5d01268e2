"""The program of a schedule as a tree of references (`Schedule.state`, `Schedule.get_sref`).

baton's schedules refer to blocks and loops by name; these are views of the current program, for scripts that traverse
it. They do not follow later primitives.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.conditions.block_scope import BlockScope, block_scope
from baton._src.tir.schedule.srefs import StmtSRef
from baton._src.tir.schedule.tree import path_to, refuse


class ScheduleDebugMask(IntFlag):
    """The checks of TVM's schedules after each primitive. baton checks every primitive in any case."""

    VERIFY_SREF_TREE = 1
    VERIFY_CACHED_FLAGS = 2


def debug_mask_of(given: Any) -> int:
    """`"all"`, `"none"` or a mask as a number. Error `ValueError`: it is none of it."""
    if isinstance(given, str):
        known = {"all": int(~ScheduleDebugMask(0)), "none": 0}
        if given not in known:
            raise ValueError(f'debug_mask is "all", "none" or a number, not {given!r}')
        return known[given]
    if not isinstance(given, int) or isinstance(given, bool):
        raise ValueError(f'debug_mask is "all", "none" or a number, not {given!r}')
    return int(given)


class ScheduleState:
    """The kernels of a module, with references to their blocks and loops.

    `debug_mask` is as in `debug_mask_of`; it and `enable_check` have no effect.
    """

    def __init__(self, mod: IRModule | PrimFunc, *, debug_mask: str | int = "none", enable_check: bool = True) -> None:
        self.mod = IRModule({"main": mod}) if isinstance(mod, PrimFunc) else mod
        self.debug_mask = debug_mask_of(debug_mask)
        self.enable_check = enable_check

    def get_sref(self, stmt: st.Block | st.For) -> StmtSRef | None:
        """The reference of a block or loop; None if it is not part of the kernels (any more).

        Error `schedule`: it is neither block nor loop.
        """
        if not isinstance(stmt, st.Block | st.For):
            raise refuse(f"references are to blocks and loops, not to a {type(stmt).__name__}")
        kernels = (f for f in self.mod.functions.values() if isinstance(f, PrimFunc))
        around = next((f.body for f in kernels if stmt in st.statements(f.body)), None)
        if around is None:
            return None
        found: StmtSRef | None = None
        place = -1
        path = path_to(around, stmt)
        for above, item in zip([None, *path], path):
            if isinstance(above, st.SeqStmt):
                place = above.seq.index(item)
            if isinstance(item, st.Block | st.For):
                found, place = StmtSRef(item, found, place), -1
        return found

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """The dependencies between the blocks directly inside a block."""
        if self.get_sref(block_sref.stmt) is None:
            raise refuse("the block is part of none of the module's kernels")
        return block_scope(self.get_sref, block_sref)


class BlockDependenceInfo:
    """The dependencies between the blocks of a module's kernels, by the block they are in."""

    def __init__(self, mod: IRModule | PrimFunc) -> None:
        self._state = ScheduleState(mod)
        self.mod = self._state.mod

    def get_sref(self, block: st.Block) -> StmtSRef | None:
        """The reference of a block; None if it is in none of the kernels."""
        return self._state.get_sref(block)

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """The dependencies between the blocks directly inside a block."""
        return self._state.get_block_scope(block_sref)

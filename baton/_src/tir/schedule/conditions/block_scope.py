"""Dependencies between the blocks in one scope: which blocks read or overwrite what earlier ones wrote or read.

block B writes T; block C reads T, writes U        ->        Dependency(B, C, RAW)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.tir import stmt as st
from baton._src.tir.schedule.srefs import StmtSRef
from baton._src.tir.schedule.tree import blocks_directly_in, refuse


class DepKind(IntEnum):
    """The reason why a block must run after another."""

    RAW = 0
    """It reads what the other writes."""
    WAW = 1
    """Both write the same buffer."""
    WAR = 2
    """It writes what the other reads."""
    OPAQUE = 3


@dataclass(frozen=True)
class Dependency:
    """`dst` runs after `src`."""

    src: StmtSRef
    dst: StmtSRef
    kind: DepKind


@dataclass(frozen=True)
class BlockScope:
    """The dependencies between the blocks directly inside a block."""

    dependencies: Sequence[Dependency]

    def get_deps_by_src(self, block: StmtSRef) -> list[Dependency]:
        """The dependencies of other blocks on this block."""
        return [found for found in self.dependencies if found.src == block]

    def get_deps_by_dst(self, block: StmtSRef) -> list[Dependency]:
        """The dependencies of this block on others."""
        return [found for found in self.dependencies if found.dst == block]


def block_scope(get_sref: Callable[[st.Block], StmtSRef | None], scope: StmtSRef) -> BlockScope:
    """The dependencies inside of a block; `get_sref` gives the references of those in it. Error `schedule`: it is a
    loop.
    """
    if not isinstance(scope.stmt, st.Block):
        raise refuse("dependencies are between the blocks inside of a block, not of a loop")
    found = (get_sref(realize.block) for realize in blocks_directly_in(scope.stmt))
    ordered = [sref for sref in found if sref is not None]
    pairs = ((src, dst) for n, dst in enumerate(ordered) for src in ordered[:n])
    return BlockScope([Dependency(src, dst, kind) for src, dst in pairs for kind in _kinds(src.stmt, dst.stmt)])


def _kinds(src: Any, dst: Any) -> list[DepKind]:
    """The kinds of dependency of one block on another."""
    written, read = {w.buffer for w in src.writes}, {r.buffer for r in src.reads}
    writes, reads = {w.buffer for w in dst.writes}, {r.buffer for r in dst.reads}
    found = {DepKind.RAW: written & reads, DepKind.WAW: written & writes, DepKind.WAR: read & writes}
    return [kind for kind, shared in found.items() if shared]

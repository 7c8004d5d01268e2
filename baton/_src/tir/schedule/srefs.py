"""References to the blocks and loops of a program, with where they stand."""

from __future__ import annotations

from baton._src.support.dataclass import dataclass
from baton._src.tir import stmt as st


@dataclass(frozen=True)
class StmtSRef:
    """A block or loop of the program. `seq_index` is its place in the sequence it stands in, -1 without one."""

    stmt: st.Block | st.For
    parent: StmtSRef | None
    seq_index: int = -1

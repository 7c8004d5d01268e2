"""Loops around blocks that primitives make."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.expr import IterVar


def nest_over(axes: Sequence[IterVar], block: st.Block) -> st.Stmt:
    """A loop `ax0`, `ax1`, ... for each axis of the block, outermost first; the axes start at 0."""
    loops = [tir.Var(f"ax{n}", axis.var.dtype) for n, axis in enumerate(axes)]
    made: st.Stmt = st.BlockRealize(tuple(loops), tir.IntImm("bool", 1), block)
    for var, axis in zip(reversed(loops), reversed(axes)):
        made = st.For(var, 0, axis.extent, st.ForKind.SERIAL, made)
    return made

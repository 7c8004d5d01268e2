"""Primitives of `Schedule` on loops: their nesting, how their iterations run, their annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.tir import stmt as st
from baton._src.tir.expr import Var
from baton._src.tir.operand_rules import THREAD_TAGS
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.handles import BlockRV, ExprRV, LoopRV, block_name
from baton._src.tir.schedule.primitives.recording import recorded
from baton._src.tir.schedule.transformations import loops as nests
from baton._src.tir.schedule.tree import find_block, find_loop, refuse, replace


class LoopPrimitives:
    """A base class of `Schedule`; `func` is the current function."""

    func: PrimFunc

    def _set(self, body: st.Stmt, loops_chosen: bool = True) -> None:
        raise NotImplementedError

    def get(self, rand_var_or_sref: BlockRV | LoopRV | ExprRV | str) -> Any:
        """The `Block`, `For` or number that a handle refers to."""
        raise NotImplementedError

    @recorded
    def split(
        self,
        loop: LoopRV,
        factors: Sequence[Any],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Split a loop into nested loops of these extents; one factor may be None. Extents not known to divide are
        guarded, unless `disable_predication` says that they do divide: nothing runs beyond the end then, or the program
        is wrong. Loops of one iteration are replaced by 0 in axis bindings unless `preserve_unit_iters`.
        """
        predicated = not disable_predication
        body, made = nests.split(self.func.body, loop.var, factors, preserve_unit_iters, predicated)
        self._set(body)
        return [LoopRV(v) for v in made]

    @recorded
    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Fuse perfectly nested loops, none of whose extents depends on another one. Loops of one iteration are
        replaced by 0 in axis bindings unless `preserve_unit_iters`.
        """
        body, made = nests.fuse(self.func.body, [h.var for h in loops], preserve_unit_iters)
        self._set(body)
        return LoopRV(made)

    @recorded
    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Reorder loops of one chain. One loop, or none, is in order."""
        self._set(nests.reorder(self.func.body, [h.var for h in ordered_loops]))

    @recorded
    def vectorize(self, loop: LoopRV) -> None:
        """Vectorise a loop."""
        self._set(nests.set_kind(self.func.body, loop.var, st.ForKind.VECTORIZED))

    @recorded
    def parallel(self, loop: LoopRV) -> None:
        """Run the iterations of a loop in parallel."""
        self._set(nests.set_kind(self.func.body, loop.var, st.ForKind.PARALLEL))

    @recorded
    def unroll(self, loop: LoopRV) -> None:
        """Unroll a loop."""
        self._set(nests.set_kind(self.func.body, loop.var, st.ForKind.UNROLLED))

    @recorded
    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Bind a loop to GPU threads (or virtual ones, `vthread`). On CPUs its iterations run serially."""
        if thread_axis not in THREAD_TAGS:
            raise refuse(f"{thread_axis!r} names no threads", help=f"there are: {', '.join(sorted(THREAD_TAGS))}")
        self._set(nests.bind(self.func.body, loop.var, thread_axis))

    @recorded
    def annotate(self, block_or_loop: LoopRV | BlockRV | str, ann_key: str, ann_val: Any) -> None:
        """Set an annotation of a loop or block: a text, a number, or a list or dict of them. One that is there stays
        as it is, as in TVM: `unannotate` removes it.
        """
        found = self.get(block_or_loop)
        value = nests.annotation_value(ann_val)
        if ann_key not in found.annotations:
            self._set(nests.annotate(self.func.body, found, ann_key, value))

    @recorded
    def unannotate(self, block_or_loop: LoopRV | BlockRV | str, ann_key: str) -> None:
        """Remove an annotation of a loop or block."""
        found = self.get(block_or_loop)
        if ann_key not in found.annotations:
            known = ", ".join(found.annotations) or "none"
            raise refuse(f"there is no annotation {ann_key!r} to remove", help=f"there are: {known}")
        self._set(nests.annotate(self.func.body, found, ann_key, None))

    @recorded
    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV | str) -> LoopRV:
        """Add a loop of one iteration around a block or loop."""
        target: st.For | st.BlockRealize
        if isinstance(block_or_loop, LoopRV):
            target = find_loop(self.func.body, block_or_loop.var)
            var = Var("u", target.loop_var.dtype)
        else:
            target = find_block(self.func.body, block_name(block_or_loop))
            var = Var("u", "int32")
        self._set(replace(self.func.body, {target: st.For(var, 0, 1, st.ForKind.SERIAL, target)}))
        return LoopRV(var)

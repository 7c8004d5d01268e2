"""`Schedule`: TVM's `tir.Schedule` over one PrimFunc (or a module of them).

    sch = Schedule(func)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, [None, 12])
    sch.reorder(i0, j, k, i1)
    sch.vectorize(j)
    sch.func

Each primitive checks that it preserves the meaning, and raises `DiagnosticError` (`schedule`) if that cannot be proven.
Blocks are named; a loop handle stays valid until a primitive replaces the loop.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.support.diagnostics import ScheduleError, fail
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.handles import BlockRV, ExprRV, InlineRV, LoopRV, RemovedHandles, RootRV
from baton._src.tir.schedule.handles import block_name as _name
from baton._src.tir.schedule.module_functions import ModuleFunctions, with_unique_names
from baton._src.tir.schedule.primitives.buffer_primitives import BufferPrimitives
from baton._src.tir.schedule.primitives.look_primitives import LookPrimitives
from baton._src.tir.schedule.primitives.loop_primitives import LoopPrimitives
from baton._src.tir.schedule.primitives.recording import recorded
from baton._src.tir.schedule.primitives.sample_primitives import SamplePrimitives, random_from
from baton._src.tir.schedule.primitives.tile_primitives import TilePrimitives
from baton._src.tir.schedule.rules import RulePrimitives
from baton._src.tir.schedule.srefs import StmtSRef
from baton._src.tir.schedule.state import ScheduleState, debug_mask_of
from baton._src.tir.schedule.traces.trace import Trace
from baton._src.tir.schedule.transformations import compute_at, inline, reduction, reverse_inline, rfactor
from baton._src.tir.schedule.tree import find_block, find_loop, realizes, refuse
from baton._src.tir.schedule.views import require_one_name
from baton._src.tir.text.printer import marked_script

_OPTIONS = {"seed", "debug_mask", "error_render_level", "enable_check"}
"""Options of TVM's schedules. `debug_mask` and `enable_check` have no effect: every primitive is checked."""

_RENDER_LEVELS = ("detail", "fast", "none")


class Schedule(
    ModuleFunctions,
    LookPrimitives,
    LoopPrimitives,
    BufferPrimitives,
    TilePrimitives,
    SamplePrimitives,
    RulePrimitives,
):
    """See the module. `func` is the current function: that of `work_on`, else the module's only PrimFunc, its entry
    function or `main`. Handles of blocks and loops stay those of their functions.
    """

    def __init__(self, mod: PrimFunc | IRModule, func_name: str | None = None, **options: Any) -> None:
        unknown = set(options) - _OPTIONS
        if unknown:
            raise TypeError(f"Schedule has no option {sorted(unknown)[0]!r}")
        self._take(mod, func_name)
        self.trace = Trace()
        self.depth = 0
        """The nesting depth of primitives: those called by others are not recorded."""
        self.decision: Any = None
        self.removed = RemovedHandles()
        self._random: random.Random = random_from(options.get("seed"))
        self.debug_mask = debug_mask_of(options.get("debug_mask", "none"))
        self.error_render_level = options.get("error_render_level", "detail")
        """Whether errors show the program: `detail`, or `fast` and `none`, which do not."""
        if self.error_render_level not in _RENDER_LEVELS:
            message = f"error_render_level is one of {', '.join(_RENDER_LEVELS)}, not {self.error_render_level!r}"
            raise fail("schedule", message, kind=ValueError)

    def show(self, *args: Any, **kwargs: Any) -> None:
        """Print the current module, with the options of its own `show`, and then the trace."""
        self.mod.show(*args, **kwargs)
        self.trace.show()

    def show_in(self, error: ScheduleError, primitive: str, given: Sequence[Any]) -> None:
        """Add the program to an error, with the loops and blocks given to the primitive underlined."""
        if self.error_render_level != "detail":
            return
        loops = {h.var for h in given if isinstance(h, LoopRV)}
        blocks = {h if isinstance(h, str) else h.name for h in given if isinstance(h, str | BlockRV)}

        def is_given(node: Node) -> bool:
            return node.name_hint in blocks if isinstance(node, st.Block) else getattr(node, "loop_var", None) in loops

        func, name = self.func, self._name
        marked = [node for node in st.statements(func.body) if isinstance(node, st.Block | st.For) and is_given(node)]
        if marked:
            error.program = lambda: f"{primitive} was refused in\n\n{marked_script(func, name, marked)}"

    def copy(self) -> Schedule:
        """An independent copy of the schedule."""
        level = self.error_render_level
        made = Schedule(self.mod, self._name, error_render_level=level, debug_mask=self.debug_mask)
        made._module, made._is_decided = self._module, self._is_decided
        made._functions.update(self._functions)
        made.trace = Trace(self.trace.insts, self.trace.decisions)
        made.removed = self.removed.copy()
        made.seed(self.fork_seed())
        return made

    # --------------------------------------------------------------------------------------------- looking

    def get(self, rand_var_or_sref: BlockRV | LoopRV | ExprRV | StmtSRef | str) -> Any:
        """The `Block`, `For` or number that a handle refers to."""
        given = rand_var_or_sref
        self.removed.require_kept("get", given)
        if isinstance(given, StmtSRef):
            return given.stmt
        if isinstance(given, ExprRV):
            return int(given)
        with self.in_function_of(given):
            if isinstance(given, BlockRV | str):
                return find_block(self.func.body, _name(given)).block
            return find_loop(self.func.body, given.var)

    @property
    def state(self) -> ScheduleState:
        """The current program as a tree of references."""
        return ScheduleState(self.mod, debug_mask=self.debug_mask)

    def get_sref(self, rand_var_or_stmt: BlockRV | LoopRV | st.Block | st.For) -> StmtSRef:
        """The reference of a block or loop in the current program. Error `schedule`: it is not part of that."""
        given = rand_var_or_stmt
        found = self.state.get_sref(self.get(given) if isinstance(given, BlockRV | LoopRV) else given)
        if found is None:
            raise refuse("the statement is not part of the program", help="an earlier primitive replaced it")
        return found

    def remove_rv(self, rand_var: BlockRV | LoopRV | ExprRV) -> None:
        """Invalidate a handle: primitives refuse it from now on. Other handles of the same block or loop stay valid."""
        self.removed.add(rand_var)

    def realize(self, block: BlockRV | str) -> st.BlockRealize:
        """A block with its axis bindings and its condition."""
        self.removed.require_kept("realize", block)
        with self.in_function_of(block):
            return find_block(self.func.body, _name(block))

    # ---------------------------------------------------------------------------------------------- blocks

    @recorded
    def compute_inline(self, block: BlockRV | str) -> None:
        """Inline an elementwise block into its readers."""
        self._set(inline.compute_inline(self.func.body, _name(block), self._params()), loops_chosen=False)

    @recorded
    def reverse_compute_inline(self, block: BlockRV | str) -> None:
        """Inline an elementwise block into the producer of its input."""
        self._set(
            reverse_inline.reverse_compute_inline(self.func.body, _name(block), self._params()), loops_chosen=False
        )

    @recorded
    def compute_at(
        self, block: BlockRV | str, loop: LoopRV | None, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Move a block into a loop, for what each iteration needs of it. (If sampling chose so, it stays, or is
        inlined; without a loop it stays, too.)
        """
        if loop is None or isinstance(loop, RootRV):
            return
        if isinstance(loop, InlineRV):
            self._set(inline.compute_inline(self.func.body, _name(block), self._params()), loops_chosen=False)
            return
        self._set(compute_at.compute_at(self.func.body, _name(block), loop.var, preserve_unit_loops, index))

    @recorded
    def reverse_compute_at(
        self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Move a block into a loop, for what each iteration computes. (If sampling chose so, it stays, or is inlined
        into its producer.)
        """
        if isinstance(loop, RootRV):
            return
        if isinstance(loop, InlineRV):
            changed = reverse_inline.reverse_compute_inline(self.func.body, _name(block), self._params())
            self._set(changed, loops_chosen=False)
            return
        self._set(compute_at.reverse_compute_at(self.func.body, _name(block), loop.var, preserve_unit_loops, index))

    @recorded
    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Move the initialisation of a reduction to a block before a loop."""
        body, name = reduction.decompose_reduction(self.func.body, _name(block), loop.var)
        self._set(body)
        return BlockRV(name)

    @recorded
    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """Reduce each iteration of the loop separately, then combine the partial results; returns the block of the
        former.
        """
        return self._rfactored(loop, factor_axis)

    def rfactor_over_axes(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """`rfactor`, and the results of the iterations combined in loops over the block's axes; traces lack it."""
        return self._rfactored(loop, factor_axis, over_axes=True)

    def _rfactored(self, loop: LoopRV, factor_axis: int, over_axes: bool = False) -> BlockRV:
        inside = realizes(find_loop(self.func.body, loop.var))
        named = [r.block.name_hint for r in inside if r.block.init is not None]
        if len(named) != 1:
            raise refuse(
                f"{len(named)} reductions with initialisation are inside the loop over {loop.var.name}, not one"
            )
        body, name = rfactor.rfactor(self.func.body, named[0], loop.var, factor_axis, over_axes=over_axes)
        self._set(body)
        return BlockRV(name)

    @recorded
    def enter_postproc(self) -> None:
        """Mark that the following steps are postprocessing, after the choices of tuning; nothing changes."""

    def _params(self) -> set[Buffer]:
        return set(self.func.buffer_map.values())

    def _set(self, body: st.Stmt, loops_chosen: bool = True) -> None:
        """Continue with `body`. A kernel whose loops were scheduled here is compiled unchanged, not by the rules."""
        require_one_name(self.func.body)
        func = self.func.with_fields(body=with_unique_names(body))
        self.func = func.with_fields(loops_chosen=True) if loops_chosen else func

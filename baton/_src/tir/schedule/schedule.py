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

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order, rewrite
from baton._src.support.diagnostics import ScheduleError
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IntImm
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule import compute_at, inline, reduction, reverse_inline, rfactor
from baton._src.tir.schedule.buffer_primitives import BufferPrimitives
from baton._src.tir.schedule.handles import BlockRV, ExprRV, InlineRV, LoopRV, RemovedHandles
from baton._src.tir.schedule.handles import block_name as _name
from baton._src.tir.schedule.loop_primitives import LoopPrimitives
from baton._src.tir.schedule.recording import recorded
from baton._src.tir.schedule.rules import RulePrimitives
from baton._src.tir.schedule.sample_primitives import SamplePrimitives
from baton._src.tir.schedule.state import ScheduleState, StmtSRef, debug_mask_of
from baton._src.tir.schedule.tile_primitives import TilePrimitives
from baton._src.tir.schedule.trace import Trace
from baton._src.tir.schedule.tree import blocks_directly_in, find_block, find_loop, path_to, realizes, refuse
from baton._src.tir.schedule.views import require_one_name
from baton._src.tir.text.printer import marked_script

_OPTIONS = {"seed", "debug_mask", "error_render_level", "enable_check"}
"""Options of TVM's schedules. `debug_mask` and `enable_check` have no effect: every primitive is checked."""

_RENDER_LEVELS = ("detail", "fast", "none")


class Schedule(LoopPrimitives, BufferPrimitives, TilePrimitives, SamplePrimitives, RulePrimitives):
    """See the module. `func` is the current function."""

    def __init__(self, mod: PrimFunc | IRModule, func_name: str | None = None, **options: Any) -> None:
        unknown = set(options) - _OPTIONS
        if unknown:
            raise TypeError(f"Schedule has no option {sorted(unknown)[0]!r}")
        self._module: IRModule | None = None
        self._name = func_name or "main"
        found: Any = mod
        if isinstance(mod, IRModule):
            kernels = [v.name_hint for v, f in mod.functions.items() if isinstance(f, PrimFunc)]
            self._name = func_name or ("main" if "main" in kernels or not kernels else kernels[0])
            self._module = mod
            found = mod[self._name]
        if not isinstance(found, PrimFunc):
            raise refuse("a Schedule needs a PrimFunc or a module with one")
        self.func: PrimFunc = found.with_fields(body=_with_unique_names(found.body))
        self.trace = Trace()
        self.depth = 0
        """The nesting depth of primitives: those called by others are not recorded."""
        self.decision: Any = None
        self.removed = RemovedHandles()
        self._random = random.Random(options.get("seed"))
        self.debug_mask = debug_mask_of(options.get("debug_mask", "none"))
        self.error_render_level = options.get("error_render_level", "detail")
        """Whether errors show the program: `detail`, or `fast` and `none`, which do not."""
        if self.error_render_level not in _RENDER_LEVELS:
            raise refuse(f"error_render_level is one of {', '.join(_RENDER_LEVELS)}, not {self.error_render_level!r}")

    @property
    def mod(self) -> IRModule:
        """The module with the current function."""
        if self._module is None:
            return IRModule({self._name: self.func})
        return self._module.with_function(self._module.get_global_var(self._name), self.func)

    @property
    def func_working_on(self) -> GlobalVar:
        """The name of the function that primitives work on."""
        return self.mod.get_global_var(self._name)

    def work_on(self, func_name: str) -> None:
        """Switch to another function of the module."""
        if func_name == self._name:
            return
        self._module = self.mod
        found = self._module[func_name]
        if not isinstance(found, PrimFunc):
            raise refuse(f"{func_name} is not a PrimFunc")
        self._name = func_name
        self.func = found.with_fields(body=_with_unique_names(found.body))

    def show(self, *args: Any, **kwargs: Any) -> None:
        """Print the current module, with the options of its own `show`."""
        self.mod.show(*args, **kwargs)

    def show_in(self, error: ScheduleError, primitive: str, given: Sequence[Any]) -> None:
        """Add the program to an error, with the loops and blocks given to the primitive underlined."""
        if self.error_render_level != "detail":
            return
        loops = {h.var for h in given if isinstance(h, LoopRV)}
        blocks = {h if isinstance(h, str) else h.name for h in given if isinstance(h, str | BlockRV)}

        def is_given(node: Any) -> bool:
            return node.name_hint in blocks if isinstance(node, st.Block) else getattr(node, "loop_var", None) in loops

        func, name = self.func, self._name
        marked = [node for node in post_order(func.body) if isinstance(node, st.Block | st.For) and is_given(node)]
        if marked:
            error.program = lambda: f"{primitive} was refused in\n\n{marked_script(func, name, marked)}"

    def copy(self) -> Schedule:
        """An independent copy of the schedule."""
        level = self.error_render_level
        made = Schedule(self.mod, self._name, error_render_level=level)
        made._module = self._module
        made.trace = Trace(self.trace.insts, self.trace.decisions)
        made.removed = self.removed.copy()
        made.seed(self.fork_seed())
        return made

    # --------------------------------------------------------------------------------------------- looking

    @recorded
    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The block called `name`, of the current function or of another."""
        if func_name is not None:
            self.work_on(func_name)
        find_block(self.func.body, name)
        return BlockRV(name)

    @recorded
    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """The loops around a block up to the next block outside, outermost first."""
        path = path_to(self.func.body, find_block(self.func.body, _name(block)))[:-1]
        found: list[LoopRV] = []
        for item in path:
            if isinstance(item, st.Block):
                found = []
            elif isinstance(item, st.For):
                found.append(LoopRV(item.loop_var))
        return found

    @recorded
    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV | str) -> list[BlockRV]:
        """The blocks directly inside a block or loop."""
        return [BlockRV(r.block.name_hint) for r in blocks_directly_in(self.get(block_or_loop))]

    @recorded
    def get_producers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks whose results a block reads."""
        read = {r.buffer for r in self.get(block).reads}
        return [BlockRV(b.name_hint) for b in self._beside(block) if read & {w.buffer for w in b.writes}]

    @recorded
    def get_consumers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks that read a block's results."""
        written = {w.buffer for w in self.get(block).writes}
        return [BlockRV(b.name_hint) for b in self._beside(block) if written & {r.buffer for r in b.reads}]

    def _beside(self, block: BlockRV | str) -> list[st.Block]:
        """The other blocks directly inside the enclosing block."""
        realize = find_block(self.func.body, _name(block))
        around = [n for n in path_to(self.func.body, realize) if isinstance(n, st.Block)]
        return [r.block for r in blocks_directly_in(around[-1]) if r is not realize] if around else []

    def get(self, rand_var_or_sref: BlockRV | LoopRV | ExprRV | str) -> Any:
        """The `Block`, `For` or number that a handle refers to."""
        self.removed.require_kept("get", rand_var_or_sref)
        if isinstance(rand_var_or_sref, ExprRV):
            return IntImm("int32", int(rand_var_or_sref))
        if isinstance(rand_var_or_sref, (BlockRV, str)):
            return find_block(self.func.body, _name(rand_var_or_sref)).block
        return find_loop(self.func.body, rand_var_or_sref.var)

    @property
    def state(self) -> ScheduleState:
        """The current program as a tree of references."""
        return ScheduleState(self.mod, self.func.body)

    def get_sref(self, rand_var_or_stmt: BlockRV | LoopRV | st.Block | st.For) -> StmtSRef:
        """The reference of a block or loop in the current program."""
        given = rand_var_or_stmt
        return self.state.get_sref(self.get(given) if isinstance(given, BlockRV | LoopRV) else given)

    def remove_rv(self, rand_var: BlockRV | LoopRV | ExprRV) -> None:
        """Invalidate a handle: primitives refuse it from now on. Other handles of the same block or loop stay valid."""
        self.removed.add(rand_var)

    def realize(self, block: BlockRV | str) -> st.BlockRealize:
        """A block with its axis bindings and its condition."""
        self.removed.require_kept("realize", block)
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
        """Move a block into a loop, for what each iteration needs of it. (Without a loop it stays; if sampling chose
        so, it is inlined.)
        """
        if loop is None:
            return
        if isinstance(loop, InlineRV):
            self._set(inline.compute_inline(self.func.body, _name(block), self._params()), loops_chosen=False)
            return
        self._set(compute_at.compute_at(self.func.body, _name(block), loop.var, preserve_unit_loops, index))

    @recorded
    def reverse_compute_at(
        self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Move a block into a loop, for what each iteration computes."""
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
        func = self.func.with_fields(body=_with_unique_names(body))
        self.func = func.with_fields(loops_chosen=True) if loops_chosen else func


def _with_unique_names(body: st.Stmt) -> st.Stmt:
    """The body with unique block names (the first keeps its name)."""
    taken: set[str] = set()

    def rule(node: Any) -> Any:
        if not isinstance(node, st.Block):
            return None
        name, count = node.name_hint, 0
        while name in taken:
            count += 1
            name = f"{node.name_hint}_{count}"
        taken.add(name)
        return None if name == node.name_hint else node.with_fields(name_hint=name)

    found: st.Stmt = rewrite(body, rule)
    return found

"""The schedule rules of TVM for CPUs, made of primitives: scripts put them into spaces.

    space_generator.PostOrderApply(sch_rules=[schedule_rule.AutoInline(...), ...], postprocs=[postproc....])

Where a script names none, baton's own rules schedule whole kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from baton._src.driver.tvm_names.tuning.meta_schedule.block_facts import (
    TILED,
    called,
    extent_of,
    indices_of,
    is_output,
    is_plainly_bound,
    is_read,
    is_root,
    lengths,
    loop_kind,
    loops_around,
    reuses,
    tried,
)
from baton._src.driver.tvm_names.tuning.meta_schedule.kernel_parts import ScheduleRule
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import ScheduleError, fail
from baton._src.tir import expr as tir
from baton._src.tir.operators import is_const
from baton._src.tir.schedule.handles import BlockRV, LoopRV
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.tree import blocks_directly_in

COMPUTE_PRODUCER = "meta_schedule.random_compute_producer"


class AutoInline(ScheduleRule):
    """Blocks that compute element by element are inlined into their readers, or else into their producer.

    `require_injective`, `require_ordered`: each element is read at most once, and in order. `disallow_op` names
    operations that are not to be computed repeatedly (`tir.exp`).
    """

    def __init__(
        self,
        into_producer: bool,
        into_consumer: bool,
        inline_const_tensor: bool,
        disallow_if_then_else: bool,
        require_injective: bool,
        require_ordered: bool,
        disallow_op: Sequence[str] | None = None,
    ) -> None:
        self.into_producer, self.into_consumer = into_producer, into_consumer
        self.inline_const_tensor = inline_const_tensor
        self.disallow_if_then_else = disallow_if_then_else
        self.require_injective, self.require_ordered = require_injective, require_ordered
        self.disallow_op = tuple(disallow_op or ())

    def apply(self, sch: Schedule, block: BlockRV) -> Sequence[Schedule]:
        if is_root(sch, block):
            return [sch]
        node = sch.get(block)
        elementwise = len(node.writes) == 1 and all(axis.iter_type == "spatial" for axis in node.iter_vars)
        is_constant = not node.reads
        if not elementwise or not (self.inline_const_tensor if is_constant else self._may_move(node)):
            return [sch]
        inlined = (self.into_consumer or is_constant) and not is_output(sch, block) and tried(sch.compute_inline, block)
        if not inlined and self.into_producer and len(sch.get_producers(block)) == 1:
            tried(sch.reverse_compute_inline, block)
        return [sch]

    def _may_move(self, node: Any) -> bool:
        names = called(node)
        if (self.disallow_if_then_else and "tir.if_then_else" in names) or names.intersection(self.disallow_op):
            return False
        read, written = indices_of(node)
        axes = [index for index in written if isinstance(index, tir.Var)]
        used = [[n for index in at for n in post_order(index) if n in axes] for at in read]
        if self.require_injective and not all(set(axes) <= set(of) for of in used):
            return False
        return not self.require_ordered or all(of == sorted(of, key=axes.index) for of in used)


class InlineConstantScalars(ScheduleRule):
    """Blocks that store one constant are inlined."""

    def apply(self, sch: Schedule, block: BlockRV) -> Sequence[Schedule]:
        node = sch.get(block)
        sizes = [d for w in node.writes for d in w.buffer.shape]
        is_scalar = len(node.writes) == 1 and all(is_const(d, 1) for d in sizes)
        if not node.reads and is_scalar and not is_root(sch, block) and not is_output(sch, block):
            tried(sch.compute_inline, block)
        return [sch]


class ReuseType(NamedTuple):
    """Whether copies are made ("no", "may", "must"), at which levels of tiles (from 1), and in which memory."""

    req: str
    levels: Sequence[int]
    scope: str


class MultiLevelTiling(ScheduleRule):
    """Blocks that use elements several times are computed in tiles of tiles: a letter of `structure` (S, R) is a level.

    `reuse_write` is about a copy of what the block writes, which is copied back at a level, or about the block that
    reads it, which is computed there; `reuse_read` is about copies of what it reads.
    """

    def __init__(
        self,
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None,
        filter_fn: Callable[[Any, Any], bool] | None = None,
    ) -> None:
        if not structure or set(structure) - {"S", "R"}:
            raise fail("api", f"a structure has the letters S and R, not {structure!r}", kind=ValueError)
        self.structure, self.tile_binds = structure, tuple(tile_binds or ())
        self.most = -1 if max_innermost_factor is None else max_innermost_factor
        self.vector_load_lens = vector_load_lens
        self.reuse_read, self.reuse_write = reuse_read, reuse_write
        self.filter_fn = filter_fn

    def apply(self, sch: Schedule, block: BlockRV) -> Sequence[Schedule]:
        wanted = reuses(sch, block) if self.filter_fn is None else self.filter_fn(sch.get(block), sch.get_sref(block))
        if is_root(sch, block) or not wanted or TILED in sch.get(block).annotations:
            return [sch]
        sch.annotate(block, TILED, self.structure)
        tiles = self._tiled(sch, block)
        found = [sch] if tiles is None else self._written(sch, block, tiles)
        return found if tiles is None else [made for one in found for made in self._read(one, block, tiles)]

    def _tiled(self, sch: Schedule, block: BlockRV) -> list[list[LoopRV]] | None:
        """The loops of each level, outermost level first; None if a loop is open, or neither spatial nor reduced."""
        if any(loop_kind(loop) == "O" or extent_of(loop) is None for loop in loops_around(sch, block)):
            return None
        levels = {kind: [n for n, letter in enumerate(self.structure) if letter == kind] for kind in "SR"}
        tiles: list[list[LoopRV]] = [[] for _ in self.structure]
        for loop in sch.get_loops(block):
            kind = loop_kind(sch.get(loop))
            places = levels[kind]
            if len(places) > 1:
                factors = sch.sample_perfect_tile(loop, n=len(places), max_innermost_factor=self.most)
                parts = sch.split(loop, factors=factors)
            else:
                parts = [loop]
            for place, part in zip(places, parts):
                tiles[place].append(part)
        sch.reorder(*(loop for level in tiles for loop in level))
        for place, thread in enumerate(self.tile_binds):
            fused = sch.fuse(*tiles[place])
            sch.bind(fused, thread)
            tiles[place] = [fused]
        return tiles

    def _written(self, sch: Schedule, block: BlockRV, tiles: list[list[LoopRV]]) -> list[Schedule]:
        reuse = self.reuse_write
        if reuse is None or reuse.req == "no":
            return [sch]
        found: list[Schedule] = []
        readers = sch.get_consumers(block)
        for place in self._places(reuse, tiles):
            one = sch.copy()
            one.seed(sch.fork_seed())
            copied = readers[0] if len(readers) == 1 else one.cache_write(block, 0, reuse.scope)
            if tried(one.reverse_compute_at, copied, place, True):
                found.append(one)
        return [sch, *found] if reuse.req == "may" else found or [sch]

    def _read(self, sch: Schedule, block: BlockRV, tiles: list[list[LoopRV]]) -> list[Schedule]:
        reuse = self.reuse_read
        if reuse is None or reuse.req == "no":
            return [sch]
        found: list[Schedule] = [sch] if reuse.req == "may" else []
        for place in self._places(reuse, tiles):
            one = sch.copy()
            one.seed(sch.fork_seed())
            for number in range(len(one.get(block).reads)):
                copied = one.cache_read(block, number, reuse.scope, [block])
                one.compute_at(copied, place, True)
            found.append(one)
        return found or [sch]

    def _places(self, reuse: ReuseType, tiles: list[list[LoopRV]]) -> list[LoopRV]:
        """The innermost loops of the levels; blocks without a reduction have none in levels of it."""
        if not all(1 <= level <= len(tiles) for level in reuse.levels):
            message = f"the levels {list(reuse.levels)} are not all of the structure {self.structure!r}"
            raise fail("api", message, help="levels count from 1", kind=ValueError)
        return [tiles[level - 1][-1] for level in reuse.levels if tiles[level - 1]]


class AddRFactor(ScheduleRule):
    """Reductions with little else to do in parallel are computed in two steps, in each of two ways, or in one."""

    def __init__(self, max_jobs_per_core: int = 16, max_innermost_factor: int | None = None) -> None:
        self.jobs = max_jobs_per_core
        self.most = -1 if max_innermost_factor is None else max_innermost_factor
        self.cores = 1

    def _initialize_with_tune_context(self, context: Any) -> None:
        self.cores = context.target.num_cores

    def apply(self, sch: Schedule, block: BlockRV) -> Sequence[Schedule]:
        if is_root(sch, block) or TILED in sch.get(block).annotations or not self._pays(sch, block):
            return [sch]
        original = sch.copy()
        try:
            count = self._fused(sch, block)
            loop = sch.get_loops(block)[count]
            parts = sch.split(loop, sch.sample_perfect_tile(loop, n=2, max_innermost_factor=self.most))
        except ScheduleError:
            return [original]
        found: list[Schedule] = []
        for part in parts:
            one = sch.copy()
            one.seed(sch.fork_seed())
            if tried(one.rfactor, part, count):
                one.annotate(block, COMPUTE_PRODUCER, 1)
                found.append(one)
        return [*found, original]

    def _pays(self, sch: Schedule, block: BlockRV) -> bool:
        counted = lengths(sch, block)
        if sch.get(block).init is None or counted is None or not is_plainly_bound(sch, block):
            return False
        spatial, reduced = counted
        if reuses(sch, block):
            return spatial < reduced and spatial <= self.jobs * self.cores
        return reduced > 1

    def _fused(self, sch: Schedule, block: BlockRV) -> int:
        """Fuse the loops of the reduction, innermost; how many others there are."""
        loops = sch.get_loops(block)
        kinds = [loop_kind(sch.get(loop)) for loop in loops]
        spatial = [loop for loop, kind in zip(loops, kinds) if kind != "R"]
        reduced = [loop for loop, kind in zip(loops, kinds) if kind == "R"]
        sch.reorder(*spatial, *reduced)
        sch.fuse(*reduced)
        return len(spatial)


class RandomComputeLocation(ScheduleRule):
    """Where blocks that others read are computed is drawn."""

    def apply(self, sch: Schedule, block: BlockRV) -> Sequence[Schedule]:
        if is_root(sch, block):
            return [sch]
        if sch.get(block).annotations.get(COMPUTE_PRODUCER):
            sch.unannotate(block, COMPUTE_PRODUCER)
            movers = sch.get_producers(block)
        else:
            movers = [block] if self._may_move(sch, block) else []
        for mover in movers:
            sch.compute_at(mover, sch.sample_compute_location(mover), preserve_unit_loops=True)
        return [sch]

    def _may_move(self, sch: Schedule, block: BlockRV) -> bool:
        around = loops_around(sch, block)
        alone = bool(around) and len(blocks_directly_in(around[0])) == 1
        return alone and TILED not in sch.get(block).annotations and is_read(sch, block)


class ParallelizeVectorizeUnroll(ScheduleRule):
    """Kernels are marked for the postprocessor that runs outer loops in parallel, inner ones in vectors, and unrolls
    others.
    """

    def __init__(
        self,
        max_jobs_per_core: int = 16,
        max_vectorize_extent: int = 16,
        unroll_max_steps: Sequence[int] | None = None,
        unroll_explicit: bool = True,
    ) -> None:
        self.jobs, self.vectorize = max_jobs_per_core, max_vectorize_extent
        self.steps, self.explicit = tuple(unroll_max_steps or ()), unroll_explicit
        self.cores = 1

    def _initialize_with_tune_context(self, context: Any) -> None:
        self.cores = context.target.num_cores

    def apply(self, sch: Schedule, block: BlockRV) -> Sequence[Schedule]:
        if not is_root(sch, block):
            return [sch]
        if self.jobs != -1:
            sch.annotate(block, "meta_schedule.parallel", self.jobs * self.cores)
        if self.vectorize != -1:
            sch.annotate(block, "meta_schedule.vectorize", self.vectorize)
        if self.steps:
            chosen = sch.sample_categorical(self.steps, [1.0 / len(self.steps)] * len(self.steps))
            sch.annotate(block, f"meta_schedule.unroll_{'explicit' if self.explicit else 'implicit'}", chosen)
        return [sch]

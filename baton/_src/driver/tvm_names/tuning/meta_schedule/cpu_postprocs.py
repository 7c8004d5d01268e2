"""The postprocessors of TVM for CPUs: they do to candidates what schedule rules asked for by annotations."""

from __future__ import annotations

from baton._src.driver.tvm_names.tuning.meta_schedule.block_facts import (
    extent_of,
    loop_kind,
    loops_around,
    tried,
)
from baton._src.driver.tvm_names.tuning.meta_schedule.kernel_parts import Postproc
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.handles import BlockRV
from baton._src.tir.schedule.schedule import Schedule


class DisallowDynamicLoop(Postproc):
    """Candidates with loops of open extents are not measured."""

    def apply(self, sch: Schedule) -> bool:
        kernels = [f for f in sch.mod.functions.values() if isinstance(f, PrimFunc)]
        loops = (n for f in kernels for n in st.statements(f.body) if isinstance(n, st.For))
        return all(isinstance(loop.extent, tir.IntImm) for loop in loops)


class RewriteReductionBlock(Postproc):
    """Reductions begin in blocks of their own, before the outermost loop that reduces."""

    def apply(self, sch: Schedule) -> bool:
        blocks = [n.name_hint for n in st.statements(sch.func.body) if isinstance(n, st.Block) and n.init is not None]
        for name in blocks:
            block = sch.get_block(name)
            reducing = [loop_kind(loop) != "S" for loop in loops_around(sch, block)]
            if any(reducing):
                sch.decompose_reduction(block, sch.get_loops(block)[reducing.index(True)])
        return True


class RewriteParallelVectorizeUnroll(Postproc):
    """What `ParallelizeVectorizeUnroll` marked a kernel with is done to the loops around each of its blocks."""

    def apply(self, sch: Schedule) -> bool:
        root = sch.get_block("root")
        jobs, lanes = (_taken(sch, root, f"meta_schedule.{what}") for what in ("parallel", "vectorize"))
        explicit, implicit = (_taken(sch, root, f"meta_schedule.unroll_{how}") for how in ("explicit", "implicit"))
        for block in sch.get_child_blocks(root) if any((jobs, lanes, explicit, implicit)) else ():
            _rewrite(sch, block, jobs or 0, lanes or 0)
            steps = explicit or implicit
            around = sch.get_loops(block)
            if steps and around:
                sch.annotate(around[0], "pragma_auto_unroll_max_step", steps)
                sch.annotate(around[0], "pragma_unroll_explicit", int(bool(explicit)))
        return True


def _taken(sch: Schedule, block: BlockRV, key: str) -> int | None:
    """The number that a block is annotated with, which it is no longer."""
    found = sch.get(block).annotations.get(key)
    if found is None:
        return None
    sch.unannotate(block, key)
    return int(found)


def _rewrite(sch: Schedule, block: BlockRV, jobs: int, lanes: int) -> None:
    """Run the outermost loops in parallel, up to `jobs`, and the innermost ones in vectors, up to `lanes`."""
    loops = sch.get_loops(block)
    around = loops_around(sch, block)
    inner = _fusible(around[::-1], lanes)
    outer = min(_fusible(around, jobs), len(loops) - inner)
    if outer:
        tried(sch.parallel, sch.fuse(*loops[:outer]))
    if inner:
        tried(sch.vectorize, sch.fuse(*loops[len(loops) - inner :]))


def _fusible(loops: list[st.For], most: int) -> int:
    """How many of the loops, the first ones, are one nest of plain spatial loops with no more iterations than this."""
    total = 1
    for count, loop in enumerate(loops):
        extent = extent_of(loop)
        is_plain = loop.kind is st.ForKind.SERIAL and not loop.annotations and not isinstance(loop.body, st.SeqStmt)
        if extent is None or not is_plain or loop_kind(loop) != "S" or total * extent > most:
            return count
        total *= extent
    return len(loops)


def default_postprocs() -> list[Postproc]:
    """Those that candidates of a script's rules are ended by, unless it names others."""
    return [DisallowDynamicLoop(), RewriteParallelVectorizeUnroll(), RewriteReductionBlock()]

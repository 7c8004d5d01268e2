"""InjectSoftwarePipeline: overlap the parts of a loop's iterations, according to its annotations.

for i in range(8, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
    load(b, i); use(b, i)
becomes
load(b[0], 0)
for i in range(7): load(b[(i + 1) % 2], i + 1); use(b[i % 2], i)
use(b[1], 7)

A part of stage `s` runs `s` iterations late; the order gives the position of each part in an iteration of the result.
Buffers of the loop's own block that live over several stages have a version for each. Stages for asynchronous copies
(`software_pipeline_async_stages`) have no effect: on CPUs copies are synchronous.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, rewrite, substitute
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.ssa import converted
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import access_regions, pointer_arguments
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, BufferRegion, decl_buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.values.dtype import HANDLE

_STAGE, _ORDER = "software_pipeline_stage", "software_pipeline_order"
_KEYS = (_STAGE, _ORDER, "software_pipeline_async_stages")
_TRUE = tir.IntImm("bool", 1)


@dataclass(frozen=True)
class InjectSoftwarePipeline(PrimFuncPass):
    """See the module. Error `tir-pipeline`: annotations that do not fit the loop, or a part that would run before what
    it needs."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        found = _injected(body)
        return found if found is body else converted(found, function)


def _injected(stmt: st.Stmt) -> st.Stmt:
    """The statement with its outermost annotated loops pipelined; a part of one may contain others."""
    outermost = post_order(stmt, below=lambda node: () if _is_annotated(node) else children(node))
    found: st.Stmt = substitute(stmt, {loop: _Pipeline(loop).statement() for loop in outermost if _is_annotated(loop)})
    return found


def _is_annotated(node: Node) -> bool:
    return isinstance(node, st.For) and _STAGE in node.annotations


class _Pipeline:
    """One loop: its parts in their order, the stage of each and its place in an iteration of the result."""

    def __init__(self, loop: st.For) -> None:
        self.loop = loop
        if loop.kind not in (st.ForKind.SERIAL, st.ForKind.UNROLLED):
            raise self._wrong(
                f"iterations of a {loop.kind.name.lower()} loop have no order, so they cannot be pipelined"
            )
        self.parts, self.own = _parts(loop)
        self.stages = self._numbers(_STAGE)
        order = self._numbers(_ORDER)
        if sorted(order) != list(range(len(order))) or min(self.stages) < 0:
            raise self._wrong("stages must be 0 or more, and the order a permutation of 0, 1, ..")
        self.sequence = sorted(range(len(order)), key=order.__getitem__)
        self.last = max(self.stages)
        self.access = [_accessed(part) for part in self.parts]
        self._check_dependences(order)
        self.versions = {buffer: self._versioned(buffer) for buffer in self.own}

    def _numbers(self, key: str) -> list[int]:
        given = [int(number) for number in self.loop.annotations.get(key, ())]
        if len(given) != len(self.parts):
            raise self._wrong(f"{key} has {len(given)} numbers for {len(self.parts)} statements")
        return given

    def _check_dependences(self, order: Sequence[int]) -> None:
        """Check that a part that uses what an earlier one writes still runs after it, also across iterations if the
        memory outlives one.
        """
        for late, (reads, writes) in enumerate(self.access):
            for early in range(late):
                known, made = self.access[early]
                shared = (made & (reads | writes)) | (known & writes)
                kept = self.stages[early] == self.stages[late] and order[early] < order[late]
                if kept or not shared:
                    continue
                if self.stages[early] >= self.stages[late] or not shared <= {buffer.data for buffer in self.own}:
                    names = ", ".join(sorted(data.name for data in shared))
                    raise self._wrong(f"statements {early} and {late} both use {names}, and would be reordered")

    def _versioned(self, buffer: Buffer) -> Buffer:
        """The buffer with an axis for its versions in front, if its elements live over several stages."""
        users = [stage for stage, used in zip(self.stages, self.access) if buffer.data in used[0] | used[1]]
        count = max(users) - min(users) + 1 if users else 1
        if count == 1:
            return buffer
        if buffer.strides or any(n is buffer.data for part in self.parts for n in pointer_arguments(part)):
            raise self._wrong(f"{buffer.name} has strides, or its pointer is used: there cannot be versions of it")
        return decl_buffer((count, *buffer.shape), buffer.dtype, buffer.name, scope=buffer.scope())

    # --------------------------------------------------------------------------------------------- the result

    def statement(self) -> st.Stmt:
        """Iterations that fill the pipeline, the loop, and those that empty it."""
        extent, zero = self.loop.extent, ops.const(0, self.loop.extent.dtype)
        before = [self._step(tir.IntImm(extent.dtype, t), 0, t, False) for t in range(self.last)]
        rest = Analyzer().simplify(ops.max(ops.subtract(extent, self.last), zero))
        var = self.loop.loop_var.copy()
        inside = self._step(ops.add(ops.subtract(var, self.loop.min), self.last), 0, self.last, True)
        kept = {key: value for key, value in self.loop.annotations.items() if key not in _KEYS}
        middle = st.For(var, self.loop.min, rest, self.loop.kind, st.stmt_seq(*inside), annotations=kept)
        after = [self._drain(ops.add(extent, t), t) for t in range(self.last)]
        found = st.stmt_seq(*(s for step in before for s in step), middle, *(s for step in after for s in step))
        if not self.own:
            return found
        buffers = list(self.versions.values())
        reads, writes = ([r for r in regions if r.buffer not in buffers] for regions in access_regions(found))
        return st.BlockRealize((), _TRUE, st.Block((), reads, writes, "", found, alloc_buffers=buffers))

    def _step(self, time: PrimExpr, first: int, last: int, is_full: bool) -> list[st.Stmt]:
        """One step of the pipeline: the parts of stages `first` to `last`, each in its current iteration."""
        found = []
        for number in self.sequence:
            stage = self.stages[number]
            if first <= stage <= last:
                iteration = Analyzer().simplify(ops.subtract(time, stage))
                part = self._part(number, iteration)
                found.append(part if is_full else _only_if(ops.less(iteration, self.loop.extent), part))
        return found

    def _drain(self, time: PrimExpr, late: int) -> list[st.Stmt]:
        """The parts that remain `late` iterations after the last one began."""
        parts = self._step(time, late + 1, self.last, True)
        return [_only_if(ops.greater_equal(time, self.last), part) for part in parts]

    def _part(self, number: int, iteration: PrimExpr) -> st.Stmt:
        """A part in one iteration, on the versions of buffers for that iteration."""
        value = Analyzer().simplify(ops.add(self.loop.min, iteration))
        moved: st.Stmt = rewrite(self.parts[number], lambda node: self._redirected(node, iteration))
        found: st.Stmt = substitute_and_fold(moved, {self.loop.loop_var: value})
        return found

    def _redirected(self, node: Node, iteration: PrimExpr) -> Any:
        old = getattr(node, "buffer", None)
        new = self.versions.get(old) if isinstance(old, Buffer) else None
        if old is None or new is None or new is old:
            return None
        place = Analyzer().simplify(ops.floormod(iteration, ops.cast(iteration.dtype, new.shape[0])))
        match node:
            case tir.BufferLoad():
                return tir.BufferLoad(new, (place, *node.indices))
            case st.BufferStore():
                return st.BufferStore(new, node.value, (place, *node.indices))
            case BufferRegion():
                return BufferRegion(new, (Range(place, ops.const(1, place.dtype)), *node.region))
            case _:
                raise self._wrong(f"{old.name} is redeclared by a {type(node).__name__}")

    def _wrong(self, message: str) -> DiagnosticError:
        return fail("tir-pipeline", f"the loop over {self.loop.loop_var.name}: {message}", span=self.loop.span)


def _parts(loop: st.For) -> tuple[list[st.Stmt], list[Buffer]]:
    """The statements of the loop's body, with blocks without axes flattened, and the buffers of these blocks."""
    own: list[Buffer] = []

    def opened(stmt: st.Stmt) -> list[st.Stmt]:
        match stmt:
            case st.SeqStmt(seq=seq):
                return [part for one in seq for part in opened(one)]
            case st.BlockRealize(predicate=tir.IntImm(value=1), block=block) if (
                isinstance(block.body, st.SeqStmt) and not block.iter_vars and not block.match_buffers
            ):
                own.extend(block.alloc_buffers)
                return opened(block.body)
            case _:
                return [stmt]

    return [_injected(part) for part in opened(loop.body)], own


def _accessed(part: st.Stmt) -> tuple[set[tir.Var], set[tir.Var]]:
    """The memory that a statement reads and writes, by pointer; accesses through pointers count as both."""
    blocks = [n for n in post_order(part) if isinstance(n, st.Block)]
    held = {pointer for pointer in pointer_arguments(part) if pointer.dtype == HANDLE}
    reads, writes = ({r.buffer.data for r in regions} | held for regions in access_regions(part))
    reads |= {r.buffer.data for block in blocks for r in block.reads}
    return reads, writes | {r.buffer.data for block in blocks for r in block.writes}


def _only_if(condition: PrimExpr, part: st.Stmt) -> st.Stmt:
    known = Analyzer().simplify(condition)
    if not isinstance(known, tir.IntImm):
        return st.IfThenElse(known, part)
    return part if known.value else st.Evaluate(tir.IntImm("int32", 0))


__all__ = ["InjectSoftwarePipeline"]

"""Inlining in a kernel: intermediate buffers of elementwise stages disappear into the stages that read them.

    for i: T[i] = A[i] + 1                    for i: B[i] = exp(A[i] + 1)
    for i: B[i] = exp(T[i])             ->

A stage is inlined if it writes every element of an allocated buffer once and does not reduce, and if no work is done
again: every reader reads each element once, or the stage merely moves elements (reshape, transpose, broadcast). A stage
read by a reduction that visits its elements many times (a convolution's padding, a softmax's exp) keeps its buffer.

What has to be tested of a buffer's size and of the indices into it, for all that a build knows, is noted before it goes
(`passes.tir.check_sizes`); one with indices that are to be tested where they are used stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, rebuild, rewrite
from baton._src.passes.shared.kernel_stages import Stage, read_stage, root_block
from baton._src.passes.tir.access_scope import may_miss, open_dims
from baton._src.passes.tir.lowering.check_sizes import INLINED, tests_of_inlined
from baton._src.support.trampoline import Task, run
from baton._src.tir.analysis.regions import point_regions, viewed_buffers
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad, Call, Cast, IntImm, Var
from baton._src.tir.intrinsics import is_pure_call
from baton._src.tir.operators import is_const
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BufferStore, SeqStmt, Stmt, stmt_list


def inline_elementwise(function: PrimFunc) -> PrimFunc:
    """`function` with its elementwise intermediate stages inlined; the same object if there is nothing to inline."""
    root = root_block(function)
    if root is None or not root.alloc_buffers:
        return function
    steps = stmt_list(root.body)
    inlined, tests = _decided(function, steps, frozenset(root.alloc_buffers))
    if not inlined:
        return function
    gone = {stage.statement for stage in inlined.values()}
    kept = [_written_out(s, inlined) for s in steps if s not in gone]
    body = kept[0] if len(kept) == 1 else SeqStmt(tuple(kept))
    allocated = tuple(b for b in root.alloc_buffers if b not in inlined)
    block = root.with_fields(body=body, alloc_buffers=allocated)
    if tests:
        tests = [*root.annotations.get(INLINED, ()), *tests]
        block = block.with_fields(annotations={**root.annotations, INLINED: tests})
    return function.with_fields(body=function.body.with_fields(block=block))


def _decided(
    function: PrimFunc, steps: Sequence[Stmt], allocated: frozenset[Buffer]
) -> tuple[dict[Buffer, Stage], list[PrimExpr]]:
    """The stages to inline, by the buffer they write, and what is to be tested of those buffers."""
    inlined = _Inliner(steps, allocated).decide()
    if not open_dims([*function.buffer_map.values(), *inlined]):
        return inlined, []
    tests, kept = tests_of_inlined(function, inlined)
    return _decided(function, steps, allocated - kept) if kept else (inlined, tests)


class _Step:
    """A statement, and what is asked about it again and again."""

    def __init__(self, statement: Stmt) -> None:
        self.stage = read_stage(statement)
        self.loads: dict[Buffer, list[BufferLoad]] = {}
        self.axes = {a.var: a for a in self.stage.block.iter_vars} if self.stage is not None else {}
        for load in _loads(self.stage.value) if self.stage is not None else ():
            self.loads.setdefault(load.buffer, []).append(load)


class _Inliner:
    """Decides which stages are inlined, first to last, without writing any out: a chain would be written out anew at
    each of its links. What is asked of a stage's value with everything inlined in it is kept up in a few numbers."""

    def __init__(self, statements: Sequence[Stmt], allocated: frozenset[Buffer]) -> None:
        self.steps = [_Step(s) for s in statements]
        self.allocated = allocated
        self.readers = _readers(statements)
        self.writers = _writers(statements)
        self.inlined: dict[Buffer, Stage] = {}
        self.moves: dict[Buffer, bool] = {}
        """Whether an inlined stage's value is an element of another buffer, or a constant."""
        self.constant: dict[Buffer, bool] = {}
        self.sizes: dict[Buffer, int] = {}
        """At least how many nodes the value has, written out."""
        self.last_writes: dict[Buffer, int] = {}
        """The last step that writes anything the value reads."""

    def decide(self) -> dict[Buffer, Stage]:
        """The stages to inline, by the buffer they write."""
        for number, step in enumerate(self.steps):
            stage = step.stage
            if stage is None or stage.buffer not in self.allocated or self.writers.get(stage.buffer) != [number]:
                continue
            users = [u for u in self.readers.get(stage.buffer, []) if u != number]
            if not users or users[0] < number or stage.buffer in step.loads or not stage.covers_buffer:
                continue
            last_write = max((self._last_write(b) for b in step.loads), default=-1)
            if last_write > number:
                continue  # what it reads changes before its readers run
            if self._may_inline(stage, [self.steps[u] for u in users]):
                self._inline(step, stage, last_write)
        return self.inlined

    def _last_write(self, buffer: Buffer) -> int:
        if buffer in self.inlined:
            return self.last_writes[buffer]
        return max(self.writers.get(buffer, ()), default=-1)

    def _inline(self, step: _Step, stage: Stage, last_write: int) -> None:
        buffer = stage.buffer
        self.moves[buffer] = self._only_moves(stage.value)
        self.constant[buffer] = all(self.constant.get(b, False) for b in step.loads)
        within = sum(self.sizes[b] for b in step.loads if b in self.inlined)
        self.sizes[buffer] = min(within + 1, _CHEAP + 1)
        self.last_writes[buffer] = last_write
        self.inlined[buffer] = stage

    def _may_inline(self, stage: Stage, users: list[_Step]) -> bool:
        moves = self._only_moves(stage.value)
        total = 0
        for user in users:
            if user.stage is None:
                return False
            loads = user.loads.get(stage.buffer, [])
            total += len(loads)
            axes = [(var, axis.dom) for var, axis in user.axes.items()]
            for load in loads:
                if may_miss(load, axes):
                    return False  # the check of an index is made where its buffer is read
                mentioned = {n for index in load.indices for n in post_order(index) if isinstance(n, Var)}
                again = any(var not in mentioned and not _is_single(axis) for var, axis in user.axes.items())
                if again and not (moves and not user.stage.reduces):
                    return False
        return moves or total == 1 or self._is_cheap(stage, total)

    def _only_moves(self, value: PrimExpr) -> bool:
        """Whether the value is an element of another buffer, or a constant. The place of the element may be data, but
        none that is computed: done again for each reader, of which some compute the next place, that is exponential in
        the length of a chain (the ways through decision trees)."""
        loads = _loads(value)
        while isinstance(value, Cast):
            value = value.value
        if isinstance(value, BufferLoad):
            return all(self.moves.get(load.buffer, True) for load in loads)
        return isinstance(value, IntImm) or all(self.constant.get(load.buffer, False) for load in loads)

    def _is_cheap(self, stage: Stage, uses: int) -> bool:
        """Whether doing it `uses` times costs less than storing it: a little arithmetic, no function calls."""
        if sum(self.sizes.get(load.buffer, 0) for load in _loads(stage.value)) * uses > _CHEAP:
            return False
        nodes = post_order(_with_inlined(stage.value, self.inlined))
        return not any(isinstance(n, Call) for n in nodes) and len(nodes) * uses <= _CHEAP


_CHEAP = 48


def _written_out(statement: Stmt, inlined: Mapping[Buffer, Stage]) -> Stmt:
    """The statement with everything inlined that it reads, and the regions of its block as they are then."""
    changed = _with_inlined(statement, inlined)
    found: Stmt = statement if changed is statement else rewrite(changed, _current_regions)
    return found


def _with_inlined(root: Any, inlined: Mapping[Buffer, Stage]) -> Any:
    """Stages' values in place of the elements of their buffers, and so on in those: each is written out where it is
    read, once, so that a chain takes time in proportion to its length."""

    def write(value: Any, names: Mapping[Any, Any]) -> Task[Any]:
        changed: dict[Any, Any] = dict(names)
        for item in post_order(value):
            if item in names:
                continue
            rebuilt = rebuild(item, changed) if changed else item
            if isinstance(rebuilt, BufferLoad) and rebuilt.buffer in inlined:
                stage = inlined[rebuilt.buffer]
                rebuilt = yield write(stage.value, dict(zip(stage.indices, rebuilt.indices)))
            if rebuilt is not item:
                changed[item] = rebuilt
        return changed.get(value, value)

    return run(write(root, {}))


def _readers(steps: Sequence[Stmt]) -> dict[Buffer, list[int]]:
    """By buffer the steps that read it (or pass it on in any other way than storing to it)."""
    found: dict[Buffer, dict[int, None]] = {}
    for number, step in enumerate(steps):
        for item in post_order(step):
            if isinstance(item, BufferLoad):
                found.setdefault(item.buffer, {})[number] = None
        for buffer in viewed_buffers(step):
            found.setdefault(buffer, {})[number] = None
    return {buffer: list(numbers) for buffer, numbers in found.items()}


def _writers(steps: Sequence[Stmt]) -> dict[Buffer, list[int]]:
    """By buffer the steps that write it; a buffer whose pointer escapes counts as written twice."""
    found: dict[Buffer, list[int]] = {}
    for number, step in enumerate(steps):
        nodes = post_order(step)
        for buffer in viewed_buffers(step):
            found.setdefault(buffer, []).append(number)
        for item in nodes:
            if isinstance(item, BufferStore):
                found.setdefault(item.buffer, []).append(number)
            elif isinstance(item, Call) and not is_pure_call(item):
                for buffer in {n for n in nodes if isinstance(n, Buffer)}:
                    found.setdefault(buffer, []).extend((number, number))
    return found


def _loads(value: PrimExpr) -> list[BufferLoad]:
    return [n for n in post_order(value) if isinstance(n, BufferLoad)]


def _is_single(axis: Any) -> bool:
    extent = axis.dom.extent
    return is_const(extent, 1)


def _current_regions(block: Any) -> Block | None:
    """A block with the regions that its new body reads."""
    if not isinstance(block, Block):
        return None
    reads, writes = point_regions(block.body)
    if block.init is not None:
        written = {w.buffer for w in writes}
        reads = [r for r in reads if r.buffer not in written]
    return block.with_fields(reads=tuple(reads), writes=tuple(writes))

"""InlineElementwise: intermediate buffers of elementwise stages disappear into the stages that read them.

    for i: T[i] = A[i] + 1                    for i: B[i] = exp(A[i] + 1)
    for i: B[i] = exp(T[i])             ->

A stage is inlined if it writes every element of an allocated buffer once and does not reduce, and if no work is done
again: every reader reads each element once, or the stage merely moves elements (reshape, transpose, broadcast). A stage
read by a reduction that visits its elements many times (a convolution's padding, a softmax's exp) keeps its buffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.passes.shared.kernel_stages import Stage, read_stage, root_block, statements
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad, Call, Cast, IntImm, Var
from baton._src.tir.intrinsics import Effect, definition
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.regions import point_regions
from baton._src.tir.stmt import Block, BufferStore, SeqStmt, Stmt
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class InlineElementwise(FunctionPass):
    """See the module."""

    function_class = PrimFunc

    def run_function(self, function: PrimFunc, module: Any, ctx: PassContext) -> PrimFunc:
        return inline_elementwise(function)


def inline_elementwise(function: PrimFunc) -> PrimFunc:
    """`function` with its elementwise intermediate stages inlined; the same object if there is nothing to inline."""
    root = root_block(function)
    if root is None or not root.alloc_buffers:
        return function
    steps: list[Stmt | None] = list(statements(root.body))
    readers = _readers(steps)
    writers = _writers(steps)
    inlined: set[Buffer] = set()
    changed: set[int] = set()
    for number in range(len(steps)):
        step = steps[number]
        stage = None if step is None else read_stage(step)
        if stage is None or stage.buffer not in root.alloc_buffers or writers.get(stage.buffer) != [number]:
            continue
        users = [u for u in readers.get(stage.buffer, []) if u != number]
        if not users or users[0] < number or not _may_inline(stage, [steps[u] for u in users]):
            continue
        if any(w > number for load in _loads(stage.value) for w in writers.get(load.buffer, ())):
            continue  # what it reads changes before its readers run
        for user in users:
            steps[user] = _with_inlined(steps[user], stage)
            changed.add(user)
        for buffer in {n.buffer for n in post_order(stage.value) if isinstance(n, BufferLoad)}:
            found = readers.setdefault(buffer, [])
            found[:] = sorted({*(u for u in found if u != number), *users})
        steps[number] = None
        inlined.add(stage.buffer)
    if not inlined:
        return function
    # Regions once at the end: a long chain would compute those of its last reader at every step.
    kept = [rewrite(s, _current_regions) if n in changed else s for n, s in enumerate(steps) if s is not None]
    body = kept[0] if len(kept) == 1 else SeqStmt(tuple(kept))
    allocated = tuple(b for b in root.alloc_buffers if b not in inlined)
    realize: Any = function.body
    block = root.with_fields(body=body, alloc_buffers=allocated)
    return function.with_fields(body=realize.with_fields(block=block))


def _readers(steps: list[Any]) -> dict[Buffer, list[int]]:
    """By buffer the steps that read it (or pass it on in any other way than storing to it)."""
    found: dict[Buffer, dict[int, None]] = {}
    for number, step in enumerate(steps):
        for item in post_order(step):
            if isinstance(item, BufferLoad):
                found.setdefault(item.buffer, {})[number] = None
    return {buffer: list(numbers) for buffer, numbers in found.items()}


def _writers(steps: list[Any]) -> dict[Buffer, list[int]]:
    """By buffer the steps that write it; a buffer whose pointer escapes counts as written twice."""
    found: dict[Buffer, list[int]] = {}
    for number, step in enumerate(steps):
        nodes = post_order(step)
        for item in nodes:
            if isinstance(item, BufferStore):
                found.setdefault(item.buffer, []).append(number)
            elif isinstance(item, Call) and not _is_pure(item):
                for buffer in {n for n in nodes if isinstance(n, Buffer)}:
                    found.setdefault(buffer, []).extend((number, number))
    return found


def _is_pure(call: Call) -> bool:
    row = definition(call.op)
    return row is not None and row.effect is Effect.PURE


def _may_inline(stage: Stage, users: list[Any]) -> bool:
    if not stage.covers_buffer or any(n.buffer is stage.buffer for n in _loads(stage.value)):
        return False
    moves = _only_moves(stage.value)
    total = 0
    for user in users:
        reader = read_stage(user)
        if reader is None:
            return False
        loads = [n for n in _loads(reader.value) if n.buffer is stage.buffer]
        total += len(loads)
        axes = {axis.var: axis for axis in reader.block.iter_vars}
        for load in loads:
            mentioned = {n for index in load.indices for n in post_order(index) if isinstance(n, Var)}
            again = any(var not in mentioned and not _is_single(axis) for var, axis in axes.items())
            if again and not (moves and not reader.reduces):
                return False
    return moves or total == 1 or _is_cheap(stage.value, total)


def _loads(value: PrimExpr) -> list[BufferLoad]:
    return [n for n in post_order(value) if isinstance(n, BufferLoad)]


def _is_single(axis: Any) -> bool:
    extent = axis.dom.extent
    return isinstance(extent, IntImm) and extent.value == 1


def _only_moves(value: PrimExpr) -> bool:
    """Whether the value is an element of another buffer, or a constant."""
    while isinstance(value, Cast):
        value = value.value
    return isinstance(value, (BufferLoad, IntImm)) or not _loads(value)


def _is_cheap(value: PrimExpr, uses: int) -> bool:
    """Whether doing it `uses` times costs less than storing it: a little arithmetic, no function calls."""
    nodes = post_order(value)
    return not any(isinstance(n, Call) for n in nodes) and len(nodes) * uses <= 48


def _with_inlined(user: Any, stage: Stage) -> Stmt:
    """The reader with the stage's value in place of its buffer's elements."""
    names: list[Any] = list(stage.indices)

    def rule(node: Any) -> Any:
        if isinstance(node, BufferLoad) and node.buffer is stage.buffer:
            return substitute(stage.value, dict(zip(names, node.indices)))
        return None

    found: Stmt = rewrite(user, rule)
    return found


def _current_regions(block: Any) -> Block | None:
    """A block with the regions that its new body reads."""
    if not isinstance(block, Block):
        return None
    reads, writes = point_regions(block.body)
    if block.init is not None:
        written = {w.buffer for w in writes}
        reads = [r for r in reads if r.buffer not in written]
    return block.with_fields(reads=tuple(reads), writes=tuple(writes))

"""Inline elementwise stages into their consumers, instead of writing them to memory first.

A stage is inlined if it only moves or converts elements (reshape, transpose, cast, broadcast), or if each of its
elements is used about once: by elementwise stages that read it at their own point, or by a reduction that reads each
element once. Costly stages (exp, division) with several readers stay: the row rule keeps them in a buffer of one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from baton._src.ir.expr import Op, PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order, rebuild, rewrite
from baton._src.lower.kernel_schedules.shared.stages import Kernel, Opaque, Stage
from baton._src.passes.tir.access_scope import may_miss
from baton._src.passes.tir.lowering.fold import fold
from baton._src.support.trampoline import Task, run
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer

COSTLY_CALLS = frozenset(
    {"tir.exp", "tir.exp_flushed", "tir.tanh", "tir.erf", "tir.sigmoid", "tir.log", "tir.pow", "tir.sqrt", "tir.rsqrt"}
)
CHEAP = 6
"""Operations that are cheaper to repeat than a round trip through memory."""


def inline_elementwise(kernel: Kernel) -> Kernel:
    """Return `kernel` with elementwise stages inlined into their readers, in linear time however long a chain of them
    is.
    """
    inliner = _Inliner(kernel)
    for place, stage in enumerate(kernel.stages):
        if isinstance(stage, Stage) and inliner.may_inline(place, stage):
            inliner.inline(stage)
    return inliner.result() if inliner.inlined else kernel


class _Inliner:
    """Decides first to last which stages to inline, and substitutes them at the end: substituting at once would copy a
    chain at each of its links. What later decisions need to know about a value is kept in a few numbers.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.local = set(kernel.local)
        self.loads = [s.loads if isinstance(s, Stage) else [] for s in kernel.stages]
        self.readers: dict[Buffer, list[int]] = {}
        self.writers: dict[Buffer, list[int]] = {}
        for place, stage in enumerate(kernel.stages):
            reads = {load.buffer for load in self.loads[place]} if isinstance(stage, Stage) else stage.reads
            for found, buffers in ((self.readers, reads), (self.writers, stage.writes)):
                for buffer in buffers:
                    found.setdefault(buffer, []).append(place)
        self.inlined: dict[Buffer, Stage] = {}
        self.costs: dict[Buffer, int] = {}
        self.movements: dict[Buffer, bool] = {}
        self.calls: dict[Buffer, bool] = {}
        """Whether the value of an inlined stage has a call in it, conditions among them."""
        self.checks: dict[Buffer, bool] = {}
        """Whether an inlined stage checks the indices it is read at."""
        self.last_writes: dict[Buffer, int] = {}
        """The last stage that writes anything the value reads."""

    def may_inline(self, place: int, stage: Stage) -> bool:
        """Whether the stage should be computed where it is used."""
        users = [n for n in self.readers.get(stage.buffer, ()) if n != place]
        if stage.reduce or stage.buffer not in self.local or not users or users[0] < place:
            return False
        readers = [self.kernel.stages[n] for n in users]
        if any(isinstance(r, Opaque) for r in readers) or len(self.writers[stage.buffer]) > 1:
            return False
        misses = any(isinstance(r, Stage) and self._may_miss(r, n, stage.buffer) for r, n in zip(readers, users))
        if misses and not self._checks_alike(stage):
            return False  # an index is checked where its buffer is read
        # Nothing may overwrite what the stage reads before the last reader has read it.
        if self._last_write(self.loads[place]) > place and self._is_overwritten(stage, place, users[-1]):
            return False
        if self._is_movement(stage.value) and not self._has_call(stage.value):
            if not _place_cost(stage.value) or self._cost(stage) <= CHEAP:
                return True
        if len(users) == 1:
            uses = [load for load in self.loads[users[0]] if load.buffer is stage.buffer]
            if len(uses) == 1 and _reads_each_once(readers[0], uses[0]):
                return True
        return self._cost(stage) <= CHEAP and all(isinstance(r, Stage) and not r.reduce for r in readers)

    def _checks_alike(self, stage: Stage) -> bool:
        """Whether the value always loads at each of the stage's axes, along as many elements: an index of the stage is
        then checked there.
        """
        if self._has_call(stage.value) or any(isinstance(n, tir.Select) for n in post_order(stage.value)):
            return False
        checked = {
            index
            for load in stage.loads
            if self.checks.get(load.buffer, True)
            for index, dim in zip(load.indices, load.buffer.shape)
            if any(index is axis.var and structural_equal(axis.extent, dim) for axis in stage.spatial)
        }
        return all(axis.var in checked for axis in stage.spatial)

    def _may_miss(self, reader: Stage, place: int, buffer: Buffer) -> bool:
        axes = [(a.var, Range(tir.IntImm(a.var.dtype, 0), a.extent)) for a in (*reader.spatial, *reader.reduce)]
        return any(load.buffer is buffer and may_miss(load, axes) for load in self.loads[place])

    def inline(self, stage: Stage) -> None:
        """Record that the stage is inlined, and the properties of its value with everything inlined in it."""
        buffer, loads = stage.buffer, stage.loads
        self.costs[buffer] = self._cost(stage)
        self.movements[buffer] = self._is_movement(stage.value)
        self.calls[buffer] = self._has_call(stage.value)
        self.checks[buffer] = self._checks_alike(stage)
        self.last_writes[buffer] = self._last_write(loads)
        self.inlined[buffer] = stage

    def result(self) -> Kernel:
        """Return the kernel with every inlined stage substituted in its readers."""
        left = [s for s in self.kernel.stages if not (isinstance(s, Stage) and s.buffer in self.inlined)]
        return replace(self.kernel, stages=tuple(self._written(s) if isinstance(s, Stage) else s for s in left))

    def _written(self, stage: Stage) -> Stage:
        value = run(self._write(stage.value, None))
        return stage if value is stage.value else replace(stage, value=value)

    def _write(self, value: PrimExpr, places: Mapping[tir.Var, PrimExpr] | None) -> Task[PrimExpr]:
        """`value` with the values of inlined stages substituted; if it is itself one of these, at `places` of its axes,
        and folded.
        """
        changed: dict[Node, PrimExpr] = dict((places or {}).items())
        for item in post_order(value):
            if item in changed or isinstance(item, Buffer):
                continue  # buffers are known by identity; no axis is in their shapes, which folding would change
            rebuilt = rebuild(item, changed) if changed else item
            inner = self.inlined.get(rebuilt.buffer) if isinstance(rebuilt, tir.BufferLoad) else None
            if inner is not None:
                at = dict(zip((a.var for a in inner.spatial), rebuilt.indices))
                rebuilt = yield self._write(inner.value, at)
            elif places is not None:
                folded = fold(rebuilt)
                rebuilt = rebuilt if folded is None else folded
            if rebuilt is not item:
                changed[item] = rebuilt
        found: PrimExpr = changed.get(value, value)
        return found

    def _cost(self, stage: Stage) -> int:
        own = expression_cost(stage.value) + _place_cost(stage.value)
        return own + sum(self.costs.get(load.buffer, 0) for load in stage.loads)

    def _is_movement(self, value: PrimExpr) -> bool:
        while isinstance(value, tir.Cast):
            value = value.value
        return self.movements.get(value.buffer, True) if isinstance(value, tir.BufferLoad) else is_movement(value)

    def _has_call(self, value: PrimExpr) -> bool:
        for node in post_order(value):
            if isinstance(node, tir.Call) or (isinstance(node, tir.BufferLoad) and self.calls.get(node.buffer, False)):
                return True
        return False

    def _last_write(self, loads: list[tir.BufferLoad]) -> int:
        """The last stage that writes anything read by a value with these loads."""
        last = -1
        for load in loads:
            written = self.writers.get(load.buffer, ())
            last = max(last, self.last_writes[load.buffer] if load.buffer in self.inlined else max(written, default=-1))
        return last

    def _is_overwritten(self, stage: Stage, begin: int, end: int) -> bool:
        """Whether a stage after `begin`, up to `end`, writes what the value reads; only tested if some later stage
        writes it.
        """
        seen: set[Buffer] = set()
        work = [load.buffer for load in stage.loads]
        while work:
            buffer = work.pop()
            if buffer in seen:
                continue
            seen.add(buffer)
            if buffer in self.inlined:
                work += [load.buffer for load in self.inlined[buffer].loads]
            elif any(begin < place <= end for place in self.writers.get(buffer, ())):
                return True
        return False


def is_movement(value: PrimExpr) -> bool:
    """Whether the value is one loaded element, possibly converted or selected."""
    match value:
        case tir.BufferLoad() | tir.IntImm() | tir.FloatImm():
            return True
        case tir.Cast(value=inner):
            return is_movement(inner)
        case _:
            return False


def _reads_each_once(reader: Stage | Opaque, load: tir.BufferLoad) -> bool:
    """Whether every axis of the reader occurs in the load's indices, so that it reads no element twice."""
    if isinstance(reader, Opaque):
        return False
    used = {n for index in load.indices for n in post_order(index) if isinstance(n, tir.Var)}
    return all(axis.var in used or axis.size == 1 for axis in (*reader.spatial, *reader.reduce))


def expression_cost(value: PrimExpr) -> int:
    """Roughly how many instructions a value takes, loads and index arithmetic aside."""
    return sum(_instructions(node) for node in post_order(value, below=_data_operands))


def _place_cost(value: PrimExpr) -> int:
    """The cost of computing the address of a moved element when the index is itself data. It would be paid again in
    each reader; where readers use the element to find the next address (paths through decision trees), it would grow
    exponentially with the length of the chain.
    """
    while isinstance(value, tir.Cast):
        value = value.value
    nodes = [post_order(index) for index in value.indices] if isinstance(value, tir.BufferLoad) else []
    return sum(_instructions(n) for found in nodes if any(isinstance(n, tir.BufferLoad) for n in found) for n in found)


def _instructions(node: Node) -> int:
    match node:
        case tir.Call(op=Op(name=name)):
            return 12 if name in COSTLY_CALLS else 2
        case tir.Div() | tir.FloorDiv() | tir.Mod() | tir.FloorMod():
            return 6
        case tir.BinaryOp() | tir.CompareOp() | tir.Select():
            return 1
        case _:
            return 0


def _data_operands(node: Node) -> list[PrimExpr]:
    """Children without the indices of loads."""
    match node:
        case tir.BufferLoad():
            return []
        case tir.Call(args=args):
            return [a for a in args if isinstance(a, PrimExpr)]
        case tir.BinaryOp(a=a, b=b) | tir.CompareOp(a=a, b=b) | tir.LogicalOp(a=a, b=b):
            return [a, b]
        case tir.Select(condition=c, true_value=a, false_value=b):
            return [c, a, b]
        case tir.Cast(value=value) | tir.Broadcast(value=value):
            return [value]
        case tir.Not(a=a):
            return [a]
        case tir.Let(value=value, body=body):
            return [value, body]
        case _:
            return []


def replace_loads(value: PrimExpr, buffer: Buffer, stage: Stage) -> PrimExpr:
    """`value` with each load of `buffer` replaced by the stage's value at that index."""

    def rule(node: Node) -> Node | None:
        if isinstance(node, tir.BufferLoad) and node.buffer is buffer:
            return stage.at(node.indices)
        return None

    found: PrimExpr = rewrite(value, rule)
    return found

"""Compute elementwise stages where they are used, instead of writing them to memory first.

A stage is inlined if it only moves or converts elements (reshape, transpose, cast, broadcast), or if each of its
elements is used about once: by elementwise stages that read it at their own point, or by a reduction that reads each
element once. Costly stages (exp, division) with several readers stay: the row rule keeps them in a buffer of one row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.traverse import post_order, rewrite
from baton._src.lower.kernel_schedules.stages import Kernel, Opaque, Stage
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer

COSTLY_CALLS = frozenset(
    {"tir.exp", "tir.tanh", "tir.erf", "tir.sigmoid", "tir.log", "tir.pow", "tir.sqrt", "tir.rsqrt"}
)
CHEAP = 6
"""Operations that are cheaper to repeat than a round trip through memory."""


def inline_elementwise(kernel: Kernel) -> Kernel:
    """`kernel` with elementwise stages merged into their readers."""
    stages = list(kernel.stages)
    local = set(kernel.local)
    place = 0
    while place < len(stages):
        stage = stages[place]
        if isinstance(stage, Stage) and not stage.reduce and stage.buffer in local:
            readers = [s for s in stages if s is not stage and stage.buffer in s.reads]
            if _may_inline(stage, readers, stages):
                stages = [_inlined(s, stage) if s in readers else s for s in stages if s is not stage]
                continue
        place += 1
    return replace(kernel, stages=tuple(stages))


def _may_inline(stage: Stage, readers: list[Stage | Opaque], stages: list[Stage | Opaque]) -> bool:
    if not readers or any(isinstance(r, Opaque) for r in readers):
        return False
    # Nothing may overwrite what the stage reads before the last reader has read it.
    begin = stages.index(stage)
    for other in stages[begin + 1 : stages.index(readers[-1]) + 1]:
        if other.writes & stage.reads:
            return False
    if sum(other.buffer is stage.buffer for other in stages if isinstance(other, Stage)) > 1:
        return False
    if is_movement(stage.value) and not _reads_conditionally(stage.value):
        return True
    cost = expression_cost(stage.value)
    if len(readers) == 1 and isinstance(readers[0], Stage):
        reader = readers[0]
        uses = [load for load in reader.loads if load.buffer is stage.buffer]
        if len(uses) == 1 and _reads_each_once(reader, uses[0]):
            return True
    return cost <= CHEAP and all(isinstance(r, Stage) and not r.reduce for r in readers)


def is_movement(value: PrimExpr) -> bool:
    """Whether the value is one loaded element, possibly converted or chosen."""
    match value:
        case tir.BufferLoad() | tir.IntImm() | tir.FloatImm():
            return True
        case tir.Cast(value=inner):
            return is_movement(inner)
        case _:
            return False


def _reads_conditionally(value: PrimExpr) -> bool:
    return any(isinstance(n, tir.Call) for n in post_order(value))


def _reads_each_once(reader: Stage, load: tir.BufferLoad) -> bool:
    """Whether every axis of the reader occurs in the load's indices, so that no element is read twice for it."""
    used = {n for index in load.indices for n in post_order(index) if isinstance(n, tir.Var)}
    return all(axis.var in used or axis.size == 1 for axis in (*reader.spatial, *reader.reduce))


def expression_cost(value: PrimExpr) -> int:
    """Roughly how many instructions a value takes, loads and index arithmetic aside."""
    cost = 0
    for node in post_order(value, below=_data_operands):
        match node:
            case tir.Call(op=Op(name=name)):
                cost += 12 if name in COSTLY_CALLS else 2
            case tir.Div() | tir.FloorDiv() | tir.Mod() | tir.FloorMod():
                cost += 6
            case tir.BinaryOp() | tir.CompareOp() | tir.Select():
                cost += 1
            case _:
                pass
    return cost


def _data_operands(node: Any) -> list[Any]:
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


def _inlined(reader: Stage | Opaque, stage: Stage) -> Stage | Opaque:
    if not isinstance(reader, Stage):
        return reader
    return replace(reader, value=replace_loads(reader.value, stage.buffer, stage))


def replace_loads(value: PrimExpr, buffer: Buffer, stage: Stage) -> PrimExpr:
    """`value` with loads of `buffer` replaced by the stage's value there."""

    def rule(node: Any) -> Any:
        if isinstance(node, tir.BufferLoad) and node.buffer is buffer:
            return stage.at(node.indices)
        return None

    found: PrimExpr = rewrite(value, rule)
    return found

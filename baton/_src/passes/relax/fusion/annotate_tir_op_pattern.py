"""AnnotateTIROpPattern: every PrimFunc gets its fusion class as `op_pattern`.

LegalizeOps writes the operator's own class; a PrimFunc without one is looked at (`tir_pattern`):

    B[i, j] = A[i, j] + 1        elementwise (0)
    B[i, j] = A[j]               broadcast (1)
    B[i, j] = A[j, i + 1]        injective (2)
    B[i] += A[i, k]              reduction (3)
    C[i, j] += A[i, k] * B[k, j] takes elementwise operators in behind it (4)
    anything else                opaque (8)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from baton._src.ir.op_def import Fusion
from baton._src.ir.traverse import post_order
from baton._src.passes.shared.kernel_stages import Stage, kernel_stages
from baton._src.tir.expr import BufferLoad, Call, Mul
from baton._src.tir.intrinsics import Effect, definition
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class AnnotateTIROpPattern(FunctionPass):
    """See the module."""

    function_class = PrimFunc

    def run_function(self, function: PrimFunc, module: object, ctx: PassContext) -> PrimFunc:
        if "op_pattern" in function.attrs:
            return function
        return function.with_attr("op_pattern", int(tir_pattern(function)))


def tir_pattern(function: PrimFunc) -> Fusion:
    """The fusion class that the blocks of a PrimFunc show: the worst of its stages; opaque for other forms."""
    stages = kernel_stages(function)
    if not stages:
        return Fusion.OPAQUE
    found = [_stage_pattern(s) for s in stages]
    anchors = [p for p in found if p > Fusion.INJECTIVE]
    return Fusion.OPAQUE if len(anchors) > 1 else max(found)


def _stage_pattern(stage: Stage) -> Fusion:
    if not set(stage.indices) <= set(stage.variables):
        return Fusion.OPAQUE
    nodes = post_order(stage.value)
    if any(isinstance(n, Call) and not _is_plain_call(n) for n in nodes):
        return Fusion.OPAQUE
    loads = [n for n in nodes if isinstance(n, BufferLoad) and n.buffer is not stage.buffer]
    if stage.reduces:
        products = any(isinstance(n, Mul) for n in nodes) and len({load.buffer for load in loads}) > 1
        return Fusion.OUT_EWISE_FUSABLE if products else Fusion.COMM_REDUCE
    if not loads:
        return Fusion.ELEMWISE
    return max(_access_pattern(load.indices, stage.indices) for load in loads)


def _access_pattern(read: tuple[object, ...], written: tuple[object, ...]) -> Fusion:
    """How one input is read where one output element is written."""
    if len(read) == len(written) and all(a is b for a, b in zip(read, written)):
        return Fusion.ELEMWISE
    position = {index: number for number, index in enumerate(written)}
    places = [position.get(index, -1) for index in read]
    in_order = all(a < b for a, b in pairwise(places)) and -1 not in places
    return Fusion.BROADCAST if in_order else Fusion.INJECTIVE


def _is_plain_call(call: Call) -> bool:
    """Whether the call is of a scalar function."""
    row = definition(call.op)
    return row is not None and row.effect is Effect.PURE

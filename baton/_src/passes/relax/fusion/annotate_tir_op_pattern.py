"""AnnotateTIROpPattern: every PrimFunc gets its fusion class as `op_pattern`.

A PrimFunc that has a class keeps it (in pipelines LegalizeOps sets the operator's); others are analysed
(`tir_pattern`):

    B[i, j] = A[i, j] + V[j]     elementwise (0): one operand is read where the result is written
    B[i, j] = V[j]               broadcast (1)
    B[i, j] = A[j, i + 1]        injective (2)
    B[i] += A[i, k]              reduction (3)
    C[i, j] += A[i, k] * B[k, j] out-elementwise-fusable (4), as is pooling
                                 and an elementwise computation on a reduction's result (softmax)
    anything else                opaque (8)
"""

from __future__ import annotations

from itertools import pairwise

from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import Fusion
from baton._src.ir.traverse import post_order
from baton._src.passes.shared.kernel_stages import Stage, kernel_stages
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import BufferLoad, Call, Mul, Var
from baton._src.tir.intrinsics import is_pure_call
from baton._src.tir.operators import is_const
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
    """The fusion class of a PrimFunc, from its blocks: the worst of its stages; opaque for other forms."""
    results = set(function.buffer_map.values())
    found = Fusion.ELEMWISE
    stages = kernel_stages(function)
    for stage in stages:
        pattern = _stage_pattern(stage)
        if pattern <= Fusion.INJECTIVE and found is Fusion.COMM_REDUCE and stage.buffer in results:
            found = Fusion.OUT_EWISE_FUSABLE
        else:
            found = max(found, pattern)
    return found if stages else Fusion.OPAQUE


def _stage_pattern(stage: Stage) -> Fusion:
    if not set(stage.indices) <= set(stage.variables):
        return Fusion.OPAQUE
    nodes = post_order(stage.value)
    if any(isinstance(n, Call) and not is_pure_call(n) for n in nodes):
        return Fusion.OPAQUE
    loads = [n for n in nodes if isinstance(n, BufferLoad)]
    found = {_access_pattern(load, stage.indices) for load in loads}
    if Fusion.OPAQUE not in found:
        mixed = found == {Fusion.ELEMWISE, Fusion.BROADCAST}
        return Fusion.ELEMWISE if mixed or not found else max(found)
    if not stage.reduces:
        return Fusion.OPAQUE
    return Fusion.COMM_REDUCE if _is_plain_reduction(stage, loads) else Fusion.OUT_EWISE_FUSABLE


def _is_plain_reduction(stage: Stage, loads: list[BufferLoad]) -> bool:
    """Whether a reduction reads each element for one result only: no product of operands, no window."""
    others = {load.buffer for load in loads if load.buffer is not stage.buffer}
    if len(others) > 1 and any(isinstance(n, Mul) for n in post_order(stage.value)):
        return False
    reduced = {a.var for a in stage.block.iter_vars if a.iter_type != "spatial"}
    mentions = [i for load in loads for i in load.indices if any(n in reduced for n in post_order(i))]
    return all(index in reduced for index in mentions)


def _access_pattern(load: BufferLoad, written: tuple[PrimExpr, ...]) -> Fusion:
    """How one input is read to compute one output element; opaque if several of its elements are read."""
    read = load.indices
    if len(read) == len(written) and all(a is b for a, b in zip(read, written)):
        return Fusion.ELEMWISE
    position = {index: number for number, index in enumerate(written)}
    single = [is_const(dim, 1) and is_const(index, 0) for dim, index in zip(load.buffer.shape, read)]
    places = [position.get(index, -1) for index, skipped in zip(read, single) if not skipped]
    if -1 not in places and all(a < b for a, b in pairwise(places)):
        return Fusion.BROADCAST
    variables = (n for index in read for n in post_order(index) if isinstance(n, Var))
    return Fusion.INJECTIVE if all(v in position for v in variables) else Fusion.OPAQUE

"""`te.gradient`: derivatives of computations, from the result back to what it was computed of.

    y = compute((n,), lambda i: sum(A[i, k] * x[k], axis=k))
    [dx] = gradient(y, [x], head=h)                             # dx[k] = sum over i of h[i] * A[i, k]

Each load `X[index]` in a computation gives its tensor, at the place `a`, the sum of head * (derivative of the element
by the load) over the iterations with `index == a`, which are solved for (`index_equations`). Reductions other than
sums go on with pairs of values and derivatives.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.te.computation import compute
from baton._src.te.derivative import guarded
from baton._src.te.prim_func import computed_operations
from baton._src.te.pullback import pulled_back
from baton._src.te.shown import kind_text
from baton._src.te.tensor import ComputeOp, Operation, Tensor
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer

Key = tuple[Operation, int]


def gradient(output: Tensor, inputs: Tensor | Sequence[Tensor], head: Tensor | None = None) -> list[Tensor]:
    """The derivatives of `output` by each of `inputs`, multiplied by `head`.

    Shapes: head is prefix + output.shape, the results are prefix + input.shape. Without a head they are Jacobians,
    output.shape + input.shape. What `output` does not depend on has the derivative 0.
    Error `te-gradient`: integers, a head that does not fit, or a function whose derivative is not known.
    """
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for tensor in (output, *wanted):
        if not tensor.dtype.is_float:
            raise fail("te-gradient", f"{tensor.name} is {tensor.dtype}: derivatives are by and of floats")
    start = _identity(output) if head is None else head
    prefix = _prefix(start, output)
    heads = _heads(output, start, len(prefix), wanted)
    return [_total(heads[_key(t)]) if _key(t) in heads else _zeros(prefix, t) for t in wanted]


def _heads(output: Tensor, start: Tensor, rank: int, wanted: Sequence[Tensor]) -> dict[Key, list[Tensor]]:
    """The parts of the derivative by each tensor, from `output` back; their first `rank` axes are the head's prefix."""
    heads: dict[Key, list[Tensor]] = {_key(output): [start]}
    passing = _depending(output, {_key(t) for t in wanted})
    needed = passing | {t.op for t in wanted}
    for op in reversed([op for op in computed_operations([output]) if op in passing]):
        for place in range(op.num_outputs):
            if (op, place) not in heads:
                continue
            if not isinstance(op, ComputeOp):
                raise fail("te-gradient", f"{op.name} is a {type(op).__name__}: derivatives are of te.compute only")
            total = _total(heads[op, place])
            heads[op, place] = [total]
            for tensor, part in pulled_back(total, rank, op, place, needed):
                heads.setdefault(_key(tensor), []).append(part)
    return heads


def _key(tensor: Tensor) -> Key:
    return tensor.op, tensor.value_index


def _identity(output: Tensor) -> Tensor:
    """The derivative of `output` by itself, output.shape + output.shape."""
    rank = output.ndim

    def element(*at: PrimExpr) -> PrimExpr:
        same = [ops.equal(a, b) for a, b in zip(at[:rank], at[rank:])]
        return guarded(tuple(same), ops.const(1, output.dtype))

    made: Tensor = compute((*output.shape, *output.shape), element, name="identity")
    return made


def _prefix(head: Tensor, output: Tensor) -> tuple[PrimExpr, ...]:
    """The axes of a head before those of the output."""
    rank = head.ndim - output.ndim
    pairs = zip(head.shape[max(rank, 0) :], output.shape)
    if rank < 0 or not all(Analyzer().can_prove_equal(a, b) for a, b in pairs) or head.dtype != output.dtype:
        kinds = f"{kind_text(head)}, {kind_text(output)}"
        raise fail("te-gradient", f"the head {head.name} does not fit {output.name}: {kinds}")
    return head.shape[:rank]


def _depending(output: Tensor, wanted: Collection[Key]) -> set[Operation]:
    """The operations that depend on the `wanted` tensors."""
    found: set[Operation] = set()
    for op in computed_operations([output]):
        if any(_key(t) in wanted or t.op in found for t in op.input_tensors):
            found.add(op)
    return found


def _total(parts: Sequence[Tensor]) -> Tensor:
    """The elementwise sum."""
    first, *rest = parts
    if not rest:
        return first

    def element(*at: PrimExpr) -> PrimExpr:
        found: PrimExpr = first(*at)
        for other in rest:
            found = ops.add(found, other(*at))
        return found

    made: Tensor = compute(first.shape, element, name=f"{first.name}_sum")
    return made


def _zeros(prefix: Sequence[PrimExpr], tensor: Tensor) -> Tensor:
    shape = (*prefix, *tensor.shape)
    made: Tensor = compute(shape, lambda *at: ops.const(0, tensor.dtype), name=f"{tensor.name}_grad")
    return made

"""`te.gradient`: derivatives of computations, from the result back to what it was computed of.

    y = compute((n,), lambda i: sum(A[i, k] * x[k], axis=k))
    [dx] = gradient(y, [x], head=h)                             # dx[k] = sum over i of h[i] * A[i, k]

Each load `X[index]` in a computation gives its tensor, at the place `a`, the sum of head * (derivative of the element
by the load) over the iterations with `index == a`, which are solved for (`index_equations`). Reductions other than
sums go on with pairs of values and derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import substitute
from baton._src.support.diagnostics import fail
from baton._src.te import reduction
from baton._src.te.computation import compute, reduce_axis
from baton._src.te.derivative import guarded, shares
from baton._src.te.index_equations import solve
from baton._src.te.prim_func import computed_operations
from baton._src.te.shown import kind_text
from baton._src.te.tensor import ComputeOp, Tensor
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Add, CommReducer, IterVar, ProducerLoad, Reduce, Var
from baton._src.tir.same_value import same_values

Key = tuple[Any, int]


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
    heads: dict[Key, list[Tensor]] = {_key(output): [start]}
    passing = _depending(output, {_key(t) for t in wanted})
    needed = passing | {t.op for t in wanted}
    for op in reversed(computed_operations([output])):
        for place in range(op.num_outputs):
            given = heads.get((op, place))
            if given is None or op not in passing:
                continue
            if not isinstance(op, ComputeOp):
                raise fail("te-gradient", f"{op.name} is a {type(op).__name__}: derivatives are of te.compute only")
            heads[op, place] = given = [_total(given)]
            for tensor, part in _pulled_back(given[0], prefix, op, place, needed):
                heads.setdefault(_key(tensor), []).append(part)
    return [_total(heads[_key(t)]) if _key(t) in heads else _zeros(prefix, t) for t in wanted]


def _key(tensor: Tensor) -> Key:
    return tensor.op, tensor.value_index


def _identity(output: Tensor) -> Tensor:
    rank = output.ndim

    def element(*at: Any) -> PrimExpr:
        same = [ops.equal(a, b) for a, b in zip(at[:rank], at[rank:])]
        return guarded(tuple(same), ops.const(1, output.dtype))

    made: Tensor = compute((*output.shape, *output.shape), element, name="identity")
    return made


def _prefix(head: Tensor, output: Tensor) -> tuple[PrimExpr, ...]:
    rank = head.ndim - output.ndim
    pairs = zip(head.shape[max(rank, 0) :], output.shape)
    if rank < 0 or not all(Analyzer().can_prove_equal(a, b) for a, b in pairs) or head.dtype != output.dtype:
        kinds = f"{kind_text(head)}, {kind_text(output)}"
        raise fail("te-gradient", f"the head {head.name} does not fit {output.name}: {kinds}")
    return head.shape[:rank]


def _depending(output: Tensor, wanted: set[Key]) -> set[Any]:
    """The operations computed of `wanted` tensors."""
    found: set[Any] = set()
    for op in computed_operations([output]):
        if any(_key(t) in wanted or t.op in found for t in op.input_tensors):
            found.add(op)
    return found


def _total(parts: Sequence[Tensor]) -> Tensor:
    first, *rest = parts
    if not rest:
        return first

    def element(*at: Any) -> PrimExpr:
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


def _pulled_back(
    head: Tensor, prefix: Sequence[PrimExpr], op: ComputeOp, place: int, needed: set[Any]
) -> list[tuple[Tensor, Tensor]]:
    """What an operation hands to each tensor it reads, one part for each place it reads it at."""
    body, rank = op.body[place], len(prefix)
    at = tuple(axis.var for axis in op.axis)
    if isinstance(body, Reduce) and not _is_sum(body.combiner):
        found = []
        for tensor in op.input_tensors:
            if _takes_part(tensor, needed):
                jacobian = _jacobian(op, body, place, tensor)
                found.append((tensor, _contracted(head, rank, jacobian, op, tensor)))
        return found
    source = body.source[0] if isinstance(body, Reduce) else body
    where = (body.condition,) if isinstance(body, Reduce) and not ops.is_const(body.condition, 1) else ()
    axes = (*op.axis, *op.reduce_axis)
    parts = []
    for load, weight in _by_place(source, needed):
        sizes = (*prefix, *load.producer.shape)

        def element(*given: Any, load: ProducerLoad = load, weight: PrimExpr = weight) -> PrimExpr:
            value = guarded(where, ops.multiply(weight, head(*given[:rank], *at)))
            return _over_iterations(load, given[rank:], axes, value)

        parts.append((load.producer, compute(sizes, element, name=f"{load.producer.name}_grad")))
    return parts


def _takes_part(tensor: Tensor, needed: set[Any]) -> bool:
    return tensor.dtype.is_float and tensor.op in needed


def _by_place(source: PrimExpr, needed: set[Any]) -> list[tuple[ProducerLoad, PrimExpr]]:
    """The loads of an element that count, each place once, and the element's derivative by it."""
    found: list[tuple[ProducerLoad, PrimExpr]] = []
    for load, weight in shares(source, lambda n: isinstance(n, ProducerLoad) and _takes_part(n.producer, needed)):
        assert isinstance(load, ProducerLoad)
        for number, (other, so_far) in enumerate(found):
            if _key(other.producer) == _key(load.producer) and same_values(other.indices, load.indices):
                found[number] = (other, ops.add(so_far, weight))
                break
        else:
            found.append((load, weight))
    return found


def _over_iterations(load: ProducerLoad, wanted: Sequence[Any], axes: Sequence[IterVar], value: PrimExpr) -> PrimExpr:
    """The sum of `value` over the iterations in which `load` reads the place `wanted`."""
    solution = solve(load.indices, wanted, load.producer.shape, axes)
    left = [axis for axis in axes if axis.var not in solution.values]
    at_place = guarded(tuple(solution.conditions), substitute(value, solution.values))
    return _summed(at_place, left)


def _summed(value: PrimExpr, axes: Sequence[IterVar]) -> PrimExpr:
    """The sum over axes, which become reduced ones of their own."""
    if not axes:
        return value
    fresh, renamed = _fresh(axes)
    total: PrimExpr = reduction.sum(substitute(value, renamed), axis=fresh)
    return total


def _fresh(axes: Sequence[IterVar]) -> tuple[list[IterVar], dict[Var, PrimExpr]]:
    made = [reduce_axis(axis.dom, axis.var.name) for axis in axes]
    return made, {old.var: new.var for old, new in zip(axes, made)}


# --------------------------------------------------------------------------------- reductions that are no sums


def _is_sum(combiner: CommReducer) -> bool:
    result = combiner.result[0]
    operands = {combiner.lhs[0], combiner.rhs[0]}
    plain = len(combiner.result) == 1 and isinstance(result, Add) and {result.a, result.b} == operands
    return plain and ops.is_const(combiner.identity_element[0], 0)


def _jacobian(op: ComputeOp, body: Reduce, place: int, tensor: Tensor) -> Tensor:
    """The derivative of every result by every element of `tensor`: reduced along with the values."""
    rank = len(op.axis)
    fresh, renamed = _fresh(op.reduce_axis)

    def element(*at: Any) -> Any:
        known = {**renamed, **{axis.var: var for axis, var in zip(op.axis, at)}}
        changes = [substitute(_change(part, tensor, at[rank:]), known) for part in body.source]
        values = [substitute(part, known) for part in body.source]
        where = substitute(body.condition, known)
        start = [substitute(part, known) for part in body.init]
        begin = [*(ops.const(0, v.dtype) for v in start), *start] or None
        return _dual(body.combiner)((*changes, *values), axis=fresh, where=where, init=begin)

    made = compute((*op.output(place).shape, *tensor.shape), element, name=f"{op.name}_by_{tensor.name}")
    found: Tensor = made[place]
    return found


def _change(part: PrimExpr, tensor: Tensor, wanted: Sequence[PrimExpr]) -> PrimExpr:
    """How a term changes with the element of `tensor` at a place."""
    total = ops.const(0, part.dtype)
    for load, weight in _by_place(part, {tensor.op}):
        if _key(load.producer) == _key(tensor):
            here = tuple(ops.equal(index, place) for index, place in zip(load.indices, wanted))
            total = ops.add(total, guarded(here, weight))
    return total


def _dual(combiner: CommReducer) -> reduction.Reducer:
    """The reduction of (changes, values): values as before, changes by the derivative of the combination."""
    count = len(combiner.result)
    operands = (*combiner.lhs, *combiner.rhs)

    def combine(x: Sequence[PrimExpr], y: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        values = dict(zip(operands, (*x[count:], *y[count:])))
        changes = dict(zip(operands, (*x[:count], *y[:count])))
        found = []
        for result in combiner.result:
            total = ops.const(0, result.dtype)
            for leaf, weight in shares(result, lambda n: isinstance(n, Var) and n in changes):
                assert isinstance(leaf, Var)
                total = ops.add(total, ops.multiply(substitute(weight, values), changes[leaf]))
            found.append(total)
        return *found, *(substitute(result, values) for result in combiner.result)

    def identity(*dtypes: Any) -> tuple[PrimExpr, ...]:
        return *(ops.const(0, dtype) for dtype in dtypes[:count]), *combiner.identity_element

    return reduction.comm_reducer(combine, identity, "derivative")


def _contracted(head: Tensor, rank: int, jacobian: Tensor, op: ComputeOp, tensor: Tensor) -> Tensor:
    """The sum over the operation's results of head * derivative."""
    at = tuple(axis.var for axis in op.axis)

    def element(*given: Any) -> PrimExpr:
        return _summed(ops.multiply(head(*given[:rank], *at), jacobian(*at, *given[rank:])), op.axis)

    made: Tensor = compute((*head.shape[:rank], *tensor.shape), element, name=f"{tensor.name}_grad")
    return made

"""What one computation adds to the derivatives of the tensors that it reads, for `te.gradient`.

Elements and sums of them give each load its part (`_of_elements`). Of another reduction, the derivative of every result
by every element is computed along with the values, and contracted with the head (`_of_reduction`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import substitute
from baton._src.te import reduction
from baton._src.te.computation import compute
from baton._src.te.derivative import Conditions, guarded, shares
from baton._src.te.index_equations import solve
from baton._src.te.tensor import ComputeOp, Operation, Tensor
from baton._src.tir import operators as ops
from baton._src.tir.analysis.same_value import same_values
from baton._src.tir.expr import Add, CommReducer, IterVar, ProducerLoad, Reduce, Var
from baton._src.values.dtype import DataType

Part = tuple[Tensor, Tensor]
"""A tensor that is read, and what is added to its derivative."""


def pulled_back(head: Tensor, rank: int, op: ComputeOp, place: int, needed: Collection[Operation]) -> list[Part]:
    """What the result number `place` of an operation, weighed by `head`, adds to tensors of the `needed` operations.

    `head` has `rank` axes before those of the result, and so have the parts before those of the tensors.
    """
    body = op.body[place]
    if isinstance(body, Reduce) and not _is_sum(body.combiner):
        return _of_reduction(head, rank, op, place, needed)
    return _of_elements(head, rank, op, place, needed)


def _of_elements(head: Tensor, rank: int, op: ComputeOp, place: int, needed: Collection[Operation]) -> list[Part]:
    """A part for each place at which the elements read a tensor."""
    at = tuple(axis.var for axis in op.axis)
    parts = []
    for source, where, axes in _terms(op, place):
        for load, weight in _by_place(source, needed):

            def element(
                *given: Var,
                load: ProducerLoad = load,
                weight: PrimExpr = weight,
                where: Conditions = where,
                axes: Sequence[IterVar] = axes,
            ) -> PrimExpr:
                value = guarded(where, ops.multiply(weight, head(*given[:rank], *at)))
                return _over_iterations(load, given[rank:], axes, value)

            sizes = (*head.shape[:rank], *load.producer.shape)
            parts.append((load.producer, compute(sizes, element, name=f"{load.producer.name}_grad")))
    return parts


def _terms(op: ComputeOp, place: int) -> Iterator[tuple[PrimExpr, Conditions, Sequence[IterVar]]]:
    """What an element is the sum of: (a term, the conditions under which it counts, the axes that it is summed over
    with those of the element).
    """
    body = op.body[place]
    if not isinstance(body, Reduce):
        yield body, (), op.axis
        return
    where = () if ops.is_const(body.condition, 1) else (body.condition,)
    yield body.source[0], where, (*op.axis, *op.reduce_axis)
    for start in body.init:
        yield start, (), op.axis


def _of_reduction(head: Tensor, rank: int, op: ComputeOp, place: int, needed: Collection[Operation]) -> list[Part]:
    """A part for each tensor, the sum over the operation's results of head * derivative."""
    return [
        (tensor, _contracted(head, rank, _jacobian(op, place, tensor), op, tensor))
        for tensor in op.input_tensors
        if _takes_part(tensor, needed)
    ]


def _takes_part(tensor: Tensor, needed: Collection[Operation]) -> bool:
    return tensor.dtype.is_float and tensor.op in needed


def _is_same(one: Tensor, other: Tensor) -> bool:
    return one.op is other.op and one.value_index == other.value_index


def _by_place(source: PrimExpr, needed: Collection[Operation]) -> list[tuple[ProducerLoad, PrimExpr]]:
    """The loads of an element that count, each place once, and the element's derivative by it."""
    found: list[tuple[ProducerLoad, PrimExpr]] = []
    for load, weight in shares(source, lambda n: isinstance(n, ProducerLoad) and _takes_part(n.producer, needed)):
        assert isinstance(load, ProducerLoad)
        for number, (other, so_far) in enumerate(found):
            if _is_same(other.producer, load.producer) and same_values(other.indices, load.indices):
                found[number] = (other, ops.add(so_far, weight))
                break
        else:
            found.append((load, weight))
    return found


def _over_iterations(load: ProducerLoad, wanted: Sequence[Var], axes: Sequence[IterVar], value: PrimExpr) -> PrimExpr:
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
    made = [IterVar(axis.dom, Var(axis.var.name, axis.extent.dtype), "reduce") for axis in axes]
    return made, {old.var: new.var for old, new in zip(axes, made)}


# --------------------------------------------------------------------------------- reductions that are no sums


def _is_sum(combiner: CommReducer) -> bool:
    result = combiner.result[0]
    operands = {combiner.lhs[0], combiner.rhs[0]}
    plain = len(combiner.result) == 1 and isinstance(result, Add) and {result.a, result.b} == operands
    return plain and ops.is_const(combiner.identity_element[0], 0)


def _jacobian(op: ComputeOp, place: int, tensor: Tensor) -> Tensor:
    """The derivative of every result by every element of `tensor`: reduced along with the values."""
    body, rank = op.body[place], len(op.axis)
    assert isinstance(body, Reduce)
    fresh, renamed = _fresh(op.reduce_axis)

    def element(*at: PrimExpr) -> Sequence[PrimExpr]:
        known = {**renamed, **{axis.var: var for axis, var in zip(op.axis, at)}}
        changes = [substitute(_change(part, tensor, at[rank:]), known) for part in body.source]
        values = [substitute(part, known) for part in body.source]
        where = substitute(body.condition, known)
        start = [_change(part, tensor, at[rank:]) for part in body.init] + list(body.init)
        begin = [substitute(part, known) for part in start] or None
        return _dual(body.combiner)((*changes, *values), axis=fresh, where=where, init=begin)

    made = compute((*op.output(place).shape, *tensor.shape), element, name=f"{op.name}_by_{tensor.name}")
    return made[place]


def _change(part: PrimExpr, tensor: Tensor, wanted: Sequence[PrimExpr]) -> PrimExpr:
    """How a term changes with the element of `tensor` at a place."""
    total = ops.const(0, part.dtype)
    for load, weight in _by_place(part, {tensor.op}):
        if _is_same(load.producer, tensor):
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

    def identity(*dtypes: DataType) -> tuple[PrimExpr, ...]:
        return *(ops.const(0, dtype) for dtype in dtypes[:count]), *combiner.identity_element

    return reduction.comm_reducer(combine, identity, "derivative")


def _contracted(head: Tensor, rank: int, jacobian: Tensor, op: ComputeOp, tensor: Tensor) -> Tensor:
    """The sum over the operation's results of head * derivative."""
    at = tuple(axis.var for axis in op.axis)

    def element(*given: PrimExpr) -> PrimExpr:
        return _summed(ops.multiply(head(*given[:rank], *at), jacobian(*at, *given[rank:])), op.axis)

    made: Tensor = compute((*head.shape[:rank], *tensor.shape), element, name=f"{tensor.name}_grad")
    return made

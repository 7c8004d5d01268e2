"""Indexing by tensors of indices: index_tensor (Relay: adv_index), unravel_index, invert_permutation,
take_backward.

    index_tensor(data, (i, j))  out[p..., k...] = data[i[p...], j[p...], k...]; indices broadcast against each other

Negative indices count from the end. Source: facts relax-ops-passes-vm §1 (manipulate, grad), relay-language §6 level
3.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import broadcast_shapes, check_operand
from baton._src.ops.dims import show_shape
from baton._src.ops.index.gathering import from_either_end
from baton._src.ops.index.take import TakeAttrs, in_range, indices_info
from baton._src.ops.index.take import infer as infer_take
from baton._src.ops.loop_nests import both, load, loops, store
from baton._src.ops.precision import wide
from baton._src.ops.row_major import split_index
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir.stmt import Evaluate, Stmt


def check_indices(call: OpCall[Any], x: TensorInfo, indices: list[TensorInfo]) -> None:
    """Integers, and no more tensors of them than `x` has axes."""
    if not indices:
        call.fail("needs at least one tensor of indices", code="op-argument")
    for at in indices:
        if not at.dtype.is_void and not at.dtype.is_int:
            call.fail(f"indices must be integers, got {at.dtype}", code="op-dtype")
    if x.ndim >= 0 and len(indices) > x.ndim:
        call.fail(f"{len(indices)} tensors of indices for data of rank {x.ndim}")


def indexed_info(call: OpCall[Any], x: TensorInfo, indices: list[TensorInfo]) -> Info:
    """What the indices name: their common shape, then the axes of `x` that they leave."""
    check_indices(call, x, indices)
    ranks = [at.ndim for at in indices]
    rank = -1 if min(ranks) < 0 or x.ndim < 0 else max(ranks) + x.ndim - len(indices)
    shapes = [at.shape for at in indices]
    common: Any = shapes[0]
    for shape in shapes[1:]:
        common = None if common is None or shape is None else broadcast_shapes(call, common, shape)
    if common is None or x.shape is None:
        return TensorInfo(None, x.dtype, rank, x.vdevice)
    return TensorInfo((*common, *x.shape[len(indices) :]), x.dtype, vdevice=x.vdevice)


def index_tensors(call: OpCall[Any], position: int) -> list[TensorInfo]:
    found = call.args[position]
    fields = found.fields if isinstance(found, TupleInfo) else ()
    tensors = [f for f in fields if isinstance(f, TensorInfo)]
    if not tensors or len(tensors) != len(fields):
        call.fail(f"{call.op.inputs[position].name} must be a tuple of tensors, got {found}", code="op-argument")
    return tensors


def infer_index_tensor(call: OpCall[Any]) -> Info:
    """The common shape of the indices, then what they leave of the data's."""
    return indexed_info(call, call.tensor(0), index_tensors(call, 1))


def infer_adv_index(call: OpCall[Any]) -> Info:
    """The same; the data comes first in the tuple."""
    first, *rest = index_tensors(call, 0)
    return indexed_info(call, first, rest)


def indexed(x: k.Tensor, indices: Any, shape: Any) -> k.Tensor:
    """One read an element."""
    rank = len(shape) - (x.ndim - len(indices))

    def body(*i: Any) -> Any:
        outer = i[:rank]
        where = [
            from_either_end(at(*k.broadcast_indices(at, outer, shape[:rank])), x.shape[n])
            for n, at in enumerate(indices)
        ]
        return x(*where, *i[rank:])

    return k.compute(shape, body, "index_tensor")


def _reference(x: Any, indices: Any) -> Any:
    return np.array(x[tuple(np.asarray(i).astype(np.int64) for i in indices)], order="C")  # of rank 0, too


INDEX_TENSOR: OpDef[Any] = OpDef(
    "index_tensor",
    inputs=(Input("data"), Input("indices", "tensors that broadcast against each other", kind="tensors")),
    infer=infer_index_tensor,
    compute=lambda inputs, a, out: indexed(inputs[0], inputs[1], out.shape),
    reference=lambda inputs, a: _reference(inputs[0], inputs[1]),
    gradient=NotApplicable("not offered"),
    fusion=Fusion.INJECTIVE,
    relay_name=NotApplicable("Relay's is adv_index"),
    samples=lambda: (
        Sample((Arr((3, 4, "m")), (Arr(("n", 1), "int64", 0, 3), Arr((5,), "int64", -4, 4)))),
        Sample((Arr((3, 4)), (Arr((2,), "int32", 0, 3),))),
    ),
    summary="Elements picked by one tensor of indices for each leading axis.",
)

ADV_INDEX: OpDef[Any] = OpDef(
    "adv_index",
    inputs=(Input("inputs", "the data, then tensors of indices", kind="tensors"),),
    infer=infer_adv_index,
    compute=lambda inputs, a, out: indexed(inputs[0][0], inputs[0][1:], out.shape),
    reference=lambda inputs, a: _reference(inputs[0][0], inputs[0][1:]),
    gradient=NotApplicable("not offered"),
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (Sample(((Arr((3, 4)), Arr((2, 1), "int64", 0, 3), Arr((3,), "int64", 0, 4)),)),),
    summary="Elements picked by one tensor of indices for each leading axis.",
)


def infer_unravel(call: OpCall[Any]) -> Info:
    """A row for each axis of the shape."""
    at, shape = indices_info(call, 0), call.tensor(1)
    if not shape.dtype.is_void and not shape.dtype.is_int:
        call.fail(f"the shape must hold integers, got {shape.dtype}", code="op-dtype")
    if at.shape is None or shape.shape is None:
        return TensorInfo(None, at.dtype, at.ndim + 1 if at.ndim >= 0 else -1, at.vdevice)
    if len(shape.shape) != 1:
        call.fail(f"the shape must be a tensor of rank 1, got {show_shape(shape.shape)}")
    if shape.shape[0] == 0:
        call.fail("the shape must have elements: nothing has a position in a scalar")
    return TensorInfo((shape.shape[0], *at.shape), at.dtype, vdevice=at.vdevice)


_BEYOND = "position {0} is out of range for a shape of {1} elements"


def compute_unravel(inputs: Any, a: Any, out: Any) -> Any:
    """Remainders of quotients."""
    at, shape = inputs
    count = getattr(out.shape[0], "value", out.shape[0])
    if not isinstance(count, int):
        return _unravel_unknown_rank(at, shape, out)

    extents = [k.index(shape(k.index(n))) for n in range(count)]
    total = reduce(k.tir.Mul, extents, k.index(1))

    def body(row: Any, *i: Any) -> Any:
        parts = split_index(k.within(k.index(at(*i)), total, _BEYOND), extents)
        return reduce(
            lambda rest, n: k.select(k.tir.EQ(row, k.index(n)), k.cast(out.dtype, parts[n]), rest),
            range(count - 1),
            k.cast(out.dtype, parts[-1]),
        )

    return k.compute(out.shape, body, "unravel_index")


def _unravel_unknown_rank(at: Any, shape: Any, out: Any) -> Any:
    """A row's quotient is by the product of the extents behind it."""
    one = k.index(1)

    def product(row: Any) -> Any:
        axis = k.reduce_axis(out.shape[0])
        return k.reduce_product(k.if_then_else(k.tir.GT(axis.var, row), k.index(shape(axis.var)), one), [axis])

    behind = k.compute(out.shape[:1], product, "behind")
    axis = k.reduce_axis(out.shape[0])
    total = k.compute((), lambda: k.reduce_product(k.index(shape(axis.var)), [axis]), "total")

    def body(row: Any, *i: Any) -> Any:
        position = k.within(k.index(at(*i)), total(), _BEYOND)
        return k.cast(out.dtype, position // behind(row) % k.index(shape(row)))

    return k.compute(out.shape, body, "unravel_index")


UNRAVEL_INDEX: OpDef[Any] = OpDef(
    "unravel_index",
    inputs=(Input("indices"), Input("shape", "a tensor of rank 1")),
    infer=infer_unravel,
    compute=compute_unravel,
    reference=lambda inputs, a: np.stack(np.unravel_index(inputs[0], tuple(inputs[1]))).astype(inputs[0].dtype),
    gradient=NotApplicable("indices are not differentiable"),
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (Sample((Arr((5,), "int64", 0, 24), Arr((3,), "int64", values=(2, 3, 4)))),),
    summary="Convert row-major (flat) indices to coordinates.",
)


def infer_invert(call: OpCall[Any]) -> Info:
    """The operand itself."""
    x = indices_info(call, 0)
    if x.ndim not in (-1, 1):
        call.fail(f"takes a tensor of rank 1, got {show_shape(x.shape, x.ndim)}")
    return x


def compute_invert(inputs: Any, a: Any, out: Any) -> Any:
    """out[x[i]] = i; then each is looked at again: one that another has overwritten stands there twice."""
    (x,) = inputs
    twice = "{0} stands in a permutation more than once"

    def body(ins: Any, outs: Any) -> Stmt:
        def place(i: Any) -> Any:
            return from_either_end(load(ins[0], i), x.shape[0])

        def again(i: Any) -> Stmt:
            moved = k.index(load(outs[0], place(i))) - i
            return Evaluate(k.within(moved, k.index(1), twice, k.index(load(ins[0], i))))

        write = loops(x.shape, lambda i: store(outs[0], [place(i)], k.cast(out.dtype, i)))
        return both(write, loops(x.shape, again, "j"))

    return extern(tuple(x.shape), [x], body, "invert_permutation", out.dtype)


def reference_invert(inputs: Any, a: Any) -> Any:
    """Each number's place."""
    (x,) = inputs
    at = np.where(x < 0, x.astype(np.int64) + len(x), x)
    if not np.array_equal(np.sort(at), np.arange(len(x))):
        raise ValueError(f"{x} is not a permutation of 0 to {len(x) - 1}")
    return np.argsort(at).astype(x.dtype)


INVERT_PERMUTATION: OpDef[Any] = OpDef(
    "invert_permutation",
    inputs=(Input("data", "a permutation of 0, 1, ..., n - 1"),),
    infer=infer_invert,
    compute=compute_invert,
    reference=reference_invert,
    gradient=NotApplicable("indices are not differentiable"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    samples=lambda: (Sample((Arr((4,), "int32", values=(2, 0, 3, 1)),)),),
    summary="The inverse of a permutation.",
)


@attrs
class TakeBackwardAttrs(Attrs):
    """As `take`'s."""

    axis: Any = attr(None, "the axis to index; None: the flattened tensor")
    mode: str = attr("clip", "indices outside", relay_only=True)


def infer_take_backward(call: OpCall[Any]) -> Info:
    """The shape of the data. The gradient has the shape of what is taken: it is read where that stands."""
    x, at = call.tensor(1), call.args[2]
    check_operand(call, 0, infer_take(replace(call, args=(x, at), attrs=TakeAttrs(call.attrs.axis), values=())))
    return x


def compute_take_backward(inputs: Any, a: TakeBackwardAttrs, out: Any) -> Any:
    """Zeros, then every part of the gradient added where it was taken from."""
    grad, x, at = inputs
    rank = at.ndim if isinstance(at, k.Tensor) else 0
    axis = None if a.axis is None else a.axis % x.ndim
    total: Any = k.index(1)
    for dim in x.shape:
        total = total * k.index(dim)

    def body(ins: Any, outs: Any) -> Stmt:
        source, result = ins[0], outs[0]

        def index(*i: Any) -> Any:
            value = load(ins[1], *i) if rank or len(ins) > 1 else at
            return in_range(value, total if axis is None else x.shape[axis], a.mode)

        def add(*i: Any) -> Stmt:
            if axis is None:
                where = split_index(index(*i), x.shape)
            else:
                where = [*i[:axis], index(*i[axis : axis + rank]), *i[axis + rank :]]
            value = k.cast(x.dtype, k.wide(load(result, *where)) + k.wide(load(source, *i)))
            return store(result, where, value)

        zeros = loops(x.shape, lambda *i: store(result, i, k.const(0, x.dtype)))
        return both(zeros, loops(grad.shape, add, "u"))

    operands = [grad, at] if isinstance(at, k.Tensor) else [grad]
    return extern(tuple(x.shape), operands, body, "take_backward", out.dtype)


def reference_take_backward(inputs: Any, a: TakeBackwardAttrs) -> Any:
    """`numpy.add.at`."""
    grad, x, at = inputs
    at = np.asarray(at).astype(np.int64)
    extent = x.size if a.axis is None else x.shape[a.axis]
    at = at % extent if a.mode == "wrap" else np.clip(at, 0, extent - 1)
    found = wide(np.zeros_like(x))
    if a.axis is None:
        np.add.at(found.reshape(-1), at, grad)
    else:
        axis = a.axis % x.ndim
        np.add.at(found, (*(slice(None),) * axis, at), grad)
    return found.astype(x.dtype)


TAKE_BACKWARD = OpDef(
    "grad.take_backward",
    TakeBackwardAttrs,
    inputs=(Input("output_grad"), Input("x"), Input("indices")),
    infer=infer_take_backward,
    compute=compute_take_backward,
    reference=reference_take_backward,
    gradient=NotApplicable("is a gradient itself"),
    fusion=Fusion.OPAQUE,
    samples=lambda: (
        Sample((Arr((2, 5, "m")), Arr((4, "m")), Arr((2, 5), "int64", 0, 4)), TakeBackwardAttrs(axis=0)),
        Sample((Arr((3, 2)), Arr((3, 4)), Arr((2,), "int32", 0, 4)), TakeBackwardAttrs(axis=-1)),
        Sample((Arr((5,)), Arr((3, 4)), Arr((5,), "int32", 0, 12)), TakeBackwardAttrs()),
    ),
    summary="The gradient of take with respect to its data.",
)

TENSOR_INDICES: tuple[OpDef[Any], ...] = (INDEX_TENSOR, ADV_INDEX, UNRAVEL_INDEX, INVERT_PERMUTATION, TAKE_BACKWARD)

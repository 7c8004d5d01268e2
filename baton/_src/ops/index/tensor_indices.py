"""Indexing by tensors of indices: index_tensor (Relay: adv_index), invert_permutation.

    index_tensor(data, (i, j))  out[p..., k...] = data[i[p...], j[p...], k...]; indices broadcast against each other

Negative indices count from the end. Source: facts relax-ops-passes-vm §1 (manipulate), relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import broadcast_shapes
from baton._src.ops.index.gathering import from_either_end
from baton._src.ops.index.take import indices_info
from baton._src.ops.loop_nests import both, load, loops, store
from baton._src.ops.operand_checks import check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Evaluate, Stmt
from baton._src.values.tensor import AnyArray


def check_indices(call: OpCall[Attrs], x: TensorInfo, indices: list[TensorInfo]) -> None:
    """Integers, and no more tensors of them than `x` has axes."""
    if not indices:
        call.fail("needs at least one tensor of indices", code="op-argument")
    for at in indices:
        if not at.dtype.is_void and not at.dtype.is_int:
            call.fail(f"indices must be integers, got {at.dtype}", code="op-dtype")
    if x.ndim >= 0 and len(indices) > x.ndim:
        call.fail(f"{len(indices)} tensors of indices for data of rank {x.ndim}")


def indexed_info(call: OpCall[Attrs], x: TensorInfo, indices: list[TensorInfo]) -> Info:
    """The shape of the indexed result: the indices' common shape, then the axes of `x` that are not indexed."""
    check_indices(call, x, indices)
    ranks = [at.ndim for at in indices]
    rank = -1 if min(ranks) < 0 or x.ndim < 0 else max(ranks) + x.ndim - len(indices)
    shapes = [at.shape for at in indices]
    common = shapes[0]
    for shape in shapes[1:]:
        common = None if common is None or shape is None else broadcast_shapes(call, common, shape)
    if common is None or x.shape is None:
        return TensorInfo(None, x.dtype, rank, x.vdevice)
    return TensorInfo((*common, *x.shape[len(indices) :]), x.dtype, vdevice=x.vdevice)


def index_tensors(call: OpCall[Attrs], position: int) -> list[TensorInfo]:
    """The fields of an operand that must be a tuple of tensors; anything else is an error of the call."""
    found = call.args[position]
    fields = found.fields if isinstance(found, TupleInfo) else ()
    tensors = [f for f in fields if isinstance(f, TensorInfo)]
    if not tensors or len(tensors) != len(fields):
        call.fail(f"{call.op.inputs[position].name} must be a tuple of tensors, got {found}", code="op-argument")
    return tensors


def infer_index_tensor(call: OpCall[Attrs]) -> Info:
    """The common shape of the indices, then what they leave of the data's."""
    return indexed_info(call, call.tensor(0), index_tensors(call, 1))


def infer_adv_index(call: OpCall[Attrs]) -> Info:
    """The same; the data comes first in the tuple."""
    first, *rest = index_tensors(call, 0)
    return indexed_info(call, first, rest)


def indexed(x: k.Tensor, indices: Sequence[k.Tensor], shape: Sequence[Dim]) -> k.Tensor:
    """One read an element."""
    rank = len(shape) - (x.ndim - len(indices))

    def body(*i: k.Scalar) -> k.Scalar:
        outer = i[:rank]
        where = [
            from_either_end(at(*k.broadcast_indices(at, outer, shape[:rank])), x.shape[n])
            for n, at in enumerate(indices)
        ]
        return x(*where, *i[rank:])

    return k.compute(shape, body, "index_tensor")


def _reference(x: AnyArray, indices: Sequence[AnyArray]) -> AnyArray:
    return np.array(x[tuple(np.asarray(i).astype(np.int64) for i in indices)], order="C")  # of rank 0, too


def gradient_index_tensor(b: CallMaker, args: Exprs, a: Attrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Elements picked several times get several contributions; indices get no gradient."""
    data, indices = args
    return [b.op("index_put", b.full_like(data, 0), indices, grad, accumulate=True), None]


INDEX_TENSOR: Definition = OpDef(
    "index_tensor",
    inputs=(Input("data"), Input("indices", "tensors that broadcast against each other", kind="tensors")),
    infer=infer_index_tensor,
    compute=lambda inputs, a, out: indexed(inputs[0], inputs[1], out.shape),
    reference=lambda inputs, a: _reference(inputs[0], inputs[1]),
    gradient=gradient_index_tensor,
    fusion=Fusion.INJECTIVE,
    relay_name=NotApplicable("Relay's is adv_index"),
    samples=lambda: (
        Sample((Arr((3, 4, "m")), (Arr(("n", 1), "int64", 0, 3), Arr((5,), "int64", -4, 4)))),
        Sample((Arr((3, 4)), (Arr((2,), "int32", 0, 3),))),
    ),
    summary="Elements picked by one tensor of indices for each leading axis.",
)

ADV_INDEX: Definition = OpDef(
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


def infer_invert(call: OpCall[Attrs]) -> Info:
    """The operand itself."""
    x = indices_info(call, 0)
    check_ranks(call, 1)
    return x


def compute_invert(inputs: Sequence[k.Tensor], a: Attrs, out: k.Result) -> k.Tensor:
    """out[x[i]] = i; then each is looked at again: one that another has overwritten stands there twice."""
    (x,) = inputs
    twice = "{0} stands in a permutation more than once"

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        def place(i: k.Scalar) -> k.Scalar:
            return from_either_end(load(ins[0], i), x.shape[0])

        def again(i: k.Scalar) -> Stmt:
            moved = k.index(load(outs[0], place(i))) - i
            return Evaluate(k.within(moved, k.index(1), twice, k.index(load(ins[0], i))))

        write = loops(x.shape, lambda i: store(outs[0], [place(i)], k.cast(out.dtype, i)))
        return both(write, loops(x.shape, again, "j"))

    return extern(tuple(x.shape), [x], body, "invert_permutation", out.dtype)


def reference_invert(inputs: Sequence[AnyArray], a: Attrs) -> AnyArray:
    """Each number's place."""
    (x,) = inputs
    at = np.where(x < 0, x.astype(np.int64) + len(x), x)
    if not np.array_equal(np.sort(at), np.arange(len(x))):
        raise ValueError(f"{x} is not a permutation of 0 to {len(x) - 1}")
    return np.argsort(at).astype(x.dtype)


INVERT_PERMUTATION: Definition = OpDef(
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


TENSOR_INDICES: tuple[Definition, ...] = (INDEX_TENSOR, ADV_INDEX, INVERT_PERMUTATION)

"""Operators that join tensors: concat (Relay: concatenate) along an axis that exists, stack along a new one.

Operands agree in dtype, rank and all other dims.

Source: facts relax-ops-passes-vm §1, relay-language §6 levels 1 and 3.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.global_info import VDevice
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef, kind_in_words
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.broadcasting import same_dtype, same_vdevice
from baton._src.ops.dims import DimMath, as_dim, is_any, show_shape
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.row_major import flattened
from baton._src.ops.said_dims import KnownTensor, said_dims
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

FEW = 8
"""Operands of which an element is looked for one after the other."""


@attrs
class ConcatAttrs(Attrs):
    """The axis."""

    axis: int | None = attr(0, "the axis along which operands follow each other; None: they are flattened first")


@attrs
class StackAttrs(Attrs):
    """The axis."""

    axis: int = attr(0, "position of the new axis in the result")


def tensors_of(call: OpCall[Attrs]) -> list[TensorInfo]:
    """The fields of the only operand, which must be a tuple of tensors, at least one."""
    fields = call.args[0]
    if not isinstance(fields, TupleInfo) or not fields.fields:
        call.fail(f"takes a tuple of one or more tensors, got {kind_in_words(fields)}", code="op-argument")
    for field in fields.fields:
        if not isinstance(field, TensorInfo):
            call.fail(f"takes a tuple of tensors, one field is {kind_in_words(field)}", code="op-argument")
    return [f for f in fields.fields if isinstance(f, TensorInfo)]


def common_rank(call: OpCall[Attrs], tensors: Sequence[TensorInfo]) -> int:
    """The rank of all operands; -1 if no one's is known."""
    ranks = {t.ndim for t in tensors if t.ndim >= 0}
    if len(ranks) > 1:
        shapes = ", ".join(show_shape(t.shape, t.ndim) for t in tensors)
        call.fail(f"operands must have the same rank, got {shapes}", help="expand_dims or reshape makes ranks equal")
    return ranks.pop() if ranks else -1


def _joinable(tensors: Sequence[TensorInfo]) -> str:
    """The axis along which tensors of known shapes could be joined instead."""
    shapes = [t.shape for t in tensors]
    if all(s is not None and all(isinstance(d, int) for d in s) for s in shapes):
        for axis in range(len(shapes[0] or ())):
            if len({(*s[:axis], *s[axis + 1 :]) for s in shapes if s is not None}) == 1:
                return f"axis={axis} would do"
    return "reshape or slice the operands first"


def common_dim(call: OpCall[Attrs], tensors: Sequence[TensorInfo], axis: int) -> Dim | None:
    """The extent all operands have along `axis`; None if undecided."""
    math = DimMath(call.prover)
    found: Dim | None = None
    for tensor in tensors:
        if tensor.shape is None:
            continue
        dim = tensor.shape[axis]
        if found is None:
            found = dim
            continue
        same = math.equal(found, dim)
        if same is False:
            shapes = ", ".join(show_shape(t.shape, t.ndim) for t in tensors)
            call.fail(
                f"operands differ along axis {axis}: {shapes}",
                help=f"all axes but the joined one must agree; {_joinable(tensors)}",
            )
        if same is None and not (is_any(found) or is_any(dim)):
            return None
        found = math.unify(found, dim)
    return found


def infer_concat(call: OpCall[ConcatAttrs]) -> Info:
    """The dims of the operands, added up along the axis."""
    tensors = tensors_of(call)
    dtype, device = same_dtype(call, tensors), same_vdevice(call, tensors)
    if call.attrs.axis is None:
        return _infer_flat(call, tensors, dtype, device)
    rank = common_rank(call, tensors)
    if rank < 0:
        return TensorInfo(None, dtype, -1, device)
    axis = normal_axis(call, call.attrs.axis, rank)
    common = ((i, common_dim(call, tensors, i)) for i in range(rank) if i != axis)
    others = {i: d for i, d in common if d is not None}
    if any(t.shape is None for t in tensors) or len(others) < rank - 1:
        return TensorInfo(None, dtype, rank, device)
    total = DimMath(call.prover).total(t.shape[axis] for t in tensors if t.shape is not None)
    shape = tuple(total if i == axis else others[i] for i in range(rank))
    return TensorInfo(shape, dtype, vdevice=device)


def _infer_flat(call: OpCall[Attrs], tensors: Sequence[TensorInfo], dtype: DataType, device: VDevice | None) -> Info:
    if any(t.shape is None for t in tensors):
        return TensorInfo(None, dtype, 1, device)
    math = DimMath(call.prover)
    total = math.total(math.product(t.shape) for t in tensors if t.shape is not None)
    return TensorInfo((total,), dtype, vdevice=device)


def compute_concat(inputs: tuple[tuple[k.Tensor, ...]], attributes: ConcatAttrs, out: k.Result) -> k.Tensor:
    """Every element is read from the operand whose stretch it lies in."""
    tensors = [flattened(x) for x in inputs[0]] if attributes.axis is None else list(inputs[0])
    axis = 0 if attributes.axis is None else from_front(attributes.axis, len(out.shape))
    starts = starts_of([x.shape[axis] for x in tensors])

    def body(*indices: k.Scalar) -> k.Scalar:
        return _in_stretch(indices[axis], starts, lambda n: _read(tensors[n], indices, axis, starts[n]))

    return k.compute(out.shape, body, "T_concat", axes="ax")


def _in_stretch(position: k.Scalar, starts: Sequence[k.Scalar], element: Callable[[int], k.Scalar]) -> k.Scalar:
    """`element` of the number of the stretch that a position lies in. Stretches are tested from the last one on; many
    of them by halves, so that an element takes few tests.
    """

    def choose(first: int, last: int) -> k.Scalar:
        if first == last:
            return element(first)
        middle = last if last - first < FEW else (first + last + 1) // 2
        return k.if_then_else(position >= starts[middle], choose(middle, last), choose(first, middle - 1))

    return choose(0, len(starts) - 1)


def starts_of(extents: Sequence[Dim]) -> list[k.Scalar]:
    """Where each stretch begins."""
    found = [k.index(0)]
    for extent in extents[:-1]:
        found.append(found[-1] + k.index(extent))
    return found


def _read(x: k.Tensor, indices: k.Indices, axis: int, start: k.Scalar) -> k.Scalar:
    return x(*(i - start if a == axis else i for a, i in enumerate(indices)))


def reference_concat(inputs: tuple[tuple[AnyArray, ...]], attributes: ConcatAttrs) -> AnyArray:
    """`numpy.concatenate`."""
    return np.concatenate([np.asarray(x) for x in inputs[0]], axis=attributes.axis)


def gradient_concat(b: CallMaker, args: Exprs, attributes: ConcatAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The gradient cut where the operands met; flattened ones get their shapes back."""
    fields = list(args[0].struct_info.fields)
    if attributes.axis is not None:
        return [_cut(b, args[0], [_extent(field, attributes.axis) for field in fields], attributes.axis, grad)]
    items = [b.item(args[0], n) for n in range(len(fields))]
    sizes = [_size(field) for field in fields]
    flat = b.tuple(*(b.op("flatten", item) for item in items)) if any(s is None for s in sizes) else args[0]
    parts = _cut(b, flat, sizes, 0, grad)
    return [b.tuple(*(b.op("reshape", b.item(parts, n), b.shape_of(item)) for n, item in enumerate(items)))]


def _extent(field: KnownTensor, axis: int) -> Dim | None:
    """The extent of an operand along the joined axis; None if no number or variable says it."""
    dims = said_dims(field)
    return None if dims is None or is_any(dims[axis]) else dims[axis]


def _size(field: KnownTensor) -> Dim | None:
    """The number of its elements, likewise."""
    dims = said_dims(field)
    return None if dims is None or any(map(is_any, dims)) else prod(dims)


def _cut(b: CallMaker, operands: GraphExpr, extents: Sequence[Dim | None], axis: int, grad: GraphExpr) -> GraphExpr:
    """`grad` in parts of these extents, those of the operands."""
    if len(extents) == 1:
        return b.tuple(grad)
    known = [extent for extent in extents if extent is not None]
    if len(known) < len(extents):
        return b.tuple(*(_part_like(b, operands, axis, grad, n) for n in range(len(extents))))
    places = [as_dim(place) for place in accumulate(known, operator.add)]
    if all(isinstance(p, int) for p in places):
        return b.op("split", grad, indices_or_sections=tuple(places[:-1]), axis=axis)
    parts = zip([0, *places], places)
    return b.tuple(*(b.op("strided_slice", grad, (axis,), (p,), (q,), assume_inbound=True) for p, q in parts))


def _part_like(b: CallMaker, operands: GraphExpr, axis: int, grad: GraphExpr, number: int) -> GraphExpr:
    """The part of one operand, where no variables name the extents: the end of what it and those before it gave."""
    before = [b.item(operands, n) for n in range(number + 1)]
    whole = b.op("slice_like", grad, b.op("concat", b.tuple(*before), axis=axis), axes=(axis,))
    turned = b.op("slice_like", b.op("flip", whole, axis=axis), before[-1], axes=(axis,))
    return b.op("flip", turned, axis=axis)


CONCAT = OpDef(
    "concat",
    ConcatAttrs,
    inputs=(Input("tensors", "what to join", kind="tensors", relay_name="data"),),
    infer=infer_concat,
    compute=compute_concat,
    reference=reference_concat,
    gradient=gradient_concat,
    fusion=Fusion.INJECTIVE,
    layout=FollowsInput(axis="axis"),
    relay_name="concatenate",
    samples=lambda: (
        Sample(((Arr(("n", 4)), Arr((2, 4)), Arr(("m", 4))),), ConcatAttrs(axis=0)),
        Sample(((Arr(("n", 1, 3)), Arr(("n", 5, 3))),), ConcatAttrs(axis=-2)),
        Sample(((Arr((2, 0)), Arr((2, 3))),), ConcatAttrs(axis=1)),
        Sample(((Arr((3,), "int64", -9, 9),),), ConcatAttrs()),
        Sample(((Arr((2, 3)), Arr((4,))),), ConcatAttrs(axis=None)),
        Sample((tuple(Arr((n % 3, 2)) for n in range(2 * FEW + 1)),), ConcatAttrs()),
    ),
    summary="Concatenate tensors along an axis.",
)


def infer_stack(call: OpCall[StackAttrs]) -> Info:
    """The operands' common shape with a new axis."""
    tensors = tensors_of(call)
    dtype, device = same_dtype(call, tensors), same_vdevice(call, tensors)
    rank = common_rank(call, tensors)
    if rank < 0:
        return TensorInfo(None, dtype, -1, device)
    axis = normal_axis(call, call.attrs.axis, rank + 1)
    common = [d for i in range(rank) if (d := common_dim(call, tensors, i)) is not None]
    if len(common) < rank:
        return TensorInfo(None, dtype, rank + 1, device)
    shape = (*common[:axis], len(tensors), *common[axis:])
    return TensorInfo(shape, dtype, vdevice=device)


def compute_stack(inputs: tuple[tuple[k.Tensor, ...]], attributes: StackAttrs, out: k.Result) -> k.Tensor:
    """Every element is read from the operand whose number it has along the new axis."""
    tensors = list(inputs[0])
    axis, starts = from_front(attributes.axis, len(out.shape)), [k.index(n) for n in range(len(tensors))]

    def body(*indices: k.Scalar) -> k.Scalar:
        rest = [i for a, i in enumerate(indices) if a != axis]
        return _in_stretch(indices[axis], starts, lambda n: tensors[n](*rest))

    return k.compute(out.shape, body, "T_stack", axes="ax")


def gradient_stack(b: CallMaker, args: Exprs, attributes: StackAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """One slice an operand."""
    fields = args[0].struct_info.fields
    axis = from_front(attributes.axis, fields[0].ndim + 1)
    if len(fields) == 1:
        return [b.tuple(b.op("squeeze", grad, axis=(axis,)))]
    parts = b.op("split", grad, indices_or_sections=len(fields), axis=axis)
    return [b.tuple(*(b.op("squeeze", b.item(parts, i), axis=(axis,)) for i in range(len(fields))))]


STACK = OpDef(
    "stack",
    StackAttrs,
    inputs=(Input("tensors", "what to stack", kind="tensors", relay_name="data"),),
    infer=infer_stack,
    compute=compute_stack,
    reference=lambda inputs, a: np.stack([np.asarray(x) for x in inputs[0]], axis=a.axis),
    gradient=gradient_stack,
    fusion=Fusion.INJECTIVE,
    samples=lambda: (
        Sample(((Arr(("n", 4)), Arr(("n", 4))),), StackAttrs()),
        Sample(((Arr(("n", 4)), Arr(("n", 4)), Arr(("n", 4))),), StackAttrs(axis=-1)),
        Sample(((Arr(()), Arr(())),), StackAttrs()),
        Sample(((Arr(("n",)),) * (2 * FEW + 1),), StackAttrs(axis=1)),
    ),
    summary="Stack tensors of equal shape along a new axis.",
)


JOINS = (CONCAT, STACK)

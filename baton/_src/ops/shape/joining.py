"""Operators that join tensors or take them apart: concat (Relay: concatenate), stack, split.

`concat`: along an axis that exists; `stack`: along a new one. `split`: into equal parts (the last may be shorter) or at
the given places. Operands agree in dtype, rank and all other dims. Source: facts relax-ops-passes-vm §1,
relay-language §6 levels 1 and 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.broadcasting import same_dtype, same_vdevice
from baton._src.ops.dims import DimMath, is_any, show_shape
from baton._src.ops.layouts import follows_input
from baton._src.ops.samples import Arr, Sample


@attrs
class ConcatAttrs(Attrs):
    """Where."""

    axis: Any = attr(0, "the axis along which operands follow each other; None: they are flattened first")


@attrs
class StackAttrs(Attrs):
    """Where."""

    axis: int = attr(0, "position of the new axis in the result")


def tensors_of(call: OpCall[Any]) -> list[TensorInfo]:
    """The fields of the only operand, which must be a tuple of tensors, at least one."""
    fields = call.args[0]
    if not isinstance(fields, TupleInfo) or not fields.fields:
        call.fail(f"takes a tuple of one or more tensors, got {fields}", code="op-argument")
    for field in fields.fields:
        if not isinstance(field, TensorInfo):
            call.fail(f"takes a tuple of tensors, one field is {field}", code="op-argument")
    return [f for f in fields.fields if isinstance(f, TensorInfo)]


def common_rank(call: OpCall[Any], tensors: Sequence[TensorInfo]) -> int:
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


def common_dim(call: OpCall[Any], tensors: Sequence[TensorInfo], axis: int) -> Dim | None:
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
    others = {i: common_dim(call, tensors, i) for i in range(rank) if i != axis}
    if any(t.shape is None for t in tensors) or any(d is None for d in others.values()):
        return TensorInfo(None, dtype, rank, device)
    total = DimMath(call.prover).total(t.shape[axis] for t in tensors if t.shape is not None)
    shape = tuple(total if i == axis else others[i] for i in range(rank))
    return TensorInfo(shape, dtype, vdevice=device)  # type: ignore[arg-type]


def _infer_flat(call: OpCall[Any], tensors: Sequence[TensorInfo], dtype: Any, device: Any) -> Info:
    if any(t.shape is None for t in tensors):
        return TensorInfo(None, dtype, 1, device)
    math = DimMath(call.prover)
    total = math.total(math.product(t.shape) for t in tensors if t.shape is not None)
    return TensorInfo((total,), dtype, vdevice=device)


def compute_concat(inputs: Any, attributes: ConcatAttrs, out: Any) -> Any:
    """Every element is read from the operand whose stretch it lies in."""
    tensors = [_flat(x) for x in inputs[0]] if attributes.axis is None else list(inputs[0])
    axis = 0 if attributes.axis is None else from_front(attributes.axis, len(out.shape))
    starts = _starts([x.shape[axis] for x in tensors])

    def body(*indices: Any) -> Any:
        found = _read(tensors[0], indices, axis, starts[0])
        for x, start in zip(tensors[1:], starts[1:]):
            found = k.if_then_else(indices[axis] >= start, _read(x, indices, axis, start), found)
        return found

    return k.compute(out.shape, body, "concatenate")


def _flat(x: k.Tensor) -> k.Tensor:
    """`x` along one axis."""
    if x.ndim == 1:
        return x
    total: Any = k.index(1)
    for dim in x.shape:
        total = total * k.index(dim)

    def body(i: Any) -> Any:
        found: list[Any] = []
        rest = i
        for dim in reversed(x.shape):
            found.insert(0, rest % k.index(dim))
            rest = rest // k.index(dim)
        return x(*found)

    return k.compute((total,), body, "flat")


def _starts(extents: Sequence[Any]) -> list[Any]:
    """Where each stretch begins."""
    found: list[Any] = [k.index(0)]
    for extent in extents[:-1]:
        found.append(found[-1] + k.index(extent))
    return found


def _read(x: k.Tensor, indices: Any, axis: int, start: Any) -> Any:
    return x(*(i - start if a == axis else i for a, i in enumerate(indices)))


def reference_concat(inputs: Any, attributes: ConcatAttrs) -> Any:
    """`numpy.concatenate`."""
    return np.concatenate([np.asarray(x) for x in inputs[0]], axis=attributes.axis)


def gradient_concat(b: Any, args: Any, attributes: ConcatAttrs, out: Any, grad: Any) -> list[Any]:
    """The gradient cut where the operands met."""
    axis, places, at = attributes.axis, [], 0
    fields = list(args[0].struct_info.fields)
    for field in fields:
        at = field.shape[axis] + at
        places.append(getattr(at, "value", at))
    if len(fields) == 1:
        return [b.tuple(grad)]
    if all(isinstance(p, int) for p in places):
        return [b.op("split", grad, indices_or_sections=tuple(places[:-1]), axis=axis)]
    parts = zip([0, *places], places)
    return [b.tuple(*(b.op("strided_slice", grad, (axis,), (p,), (q,), assume_inbound=True) for p, q in parts))]


CONCAT = OpDef(
    "concat",
    ConcatAttrs,
    inputs=(Input("tensors", "what to join", kind="tensors", relay_name="data"),),
    infer=infer_concat,
    compute=compute_concat,
    reference=reference_concat,
    gradient=gradient_concat,
    fusion=Fusion.INJECTIVE,
    layout=follows_input(axis="axis"),
    relay_name="concatenate",
    samples=lambda: (
        Sample(((Arr(("n", 4)), Arr((2, 4)), Arr(("m", 4))),), ConcatAttrs(axis=0)),
        Sample(((Arr(("n", 1, 3)), Arr(("n", 5, 3))),), ConcatAttrs(axis=-2)),
        Sample(((Arr((2, 0)), Arr((2, 3))),), ConcatAttrs(axis=1)),
        Sample(((Arr((3,), "int64", -9, 9),),), ConcatAttrs()),
        Sample(((Arr((2, 3)), Arr((4,))),), ConcatAttrs(axis=None)),
    ),
    summary="Tensors one after the other along an axis.",
)


def infer_stack(call: OpCall[StackAttrs]) -> Info:
    """The operands' common shape with a new axis."""
    tensors = tensors_of(call)
    dtype, device = same_dtype(call, tensors), same_vdevice(call, tensors)
    rank = common_rank(call, tensors)
    if rank < 0:
        return TensorInfo(None, dtype, -1, device)
    axis = normal_axis(call, call.attrs.axis, rank + 1)
    common = [common_dim(call, tensors, i) for i in range(rank)]
    if any(d is None for d in common):
        return TensorInfo(None, dtype, rank + 1, device)
    shape = (*common[:axis], len(tensors), *common[axis:])
    return TensorInfo(shape, dtype, vdevice=device)  # type: ignore[arg-type]


def compute_stack(inputs: Any, attributes: StackAttrs, out: Any) -> Any:
    """Every element is read from the operand whose number it has along the new axis."""
    tensors = list(inputs[0])
    axis = from_front(attributes.axis, len(out.shape))

    def body(*indices: Any) -> Any:
        rest = [i for a, i in enumerate(indices) if a != axis]
        found = tensors[0](*rest)
        for number, x in enumerate(tensors[1:], start=1):
            found = k.if_then_else(indices[axis] >= k.index(number), x(*rest), found)
        return found

    return k.compute(out.shape, body, "stack")


def gradient_stack(b: Any, args: Any, attributes: StackAttrs, out: Any, grad: Any) -> list[Any]:
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
    ),
    summary="Tensors of one shape along a new axis.",
)


@attrs
class SplitAttrs(Attrs):
    """Where to cut."""

    indices_or_sections: Any = attr(doc="the number of equal parts, or the places where parts begin")
    axis: int = attr(0, "the axis to cut")

    def __post_init__(self) -> None:
        given = self.indices_or_sections
        set_attr(self, "indices_or_sections", tuple(given) if isinstance(given, (tuple, list)) else int(given))


def part_count(attributes: SplitAttrs) -> int:
    """How many parts there are."""
    given = attributes.indices_or_sections
    return given if isinstance(given, int) else len(given) + 1


def infer_split(call: OpCall[SplitAttrs]) -> Info:
    """The dims of every part."""
    x, given = call.tensor(0), call.attrs.indices_or_sections
    parts = part_count(call.attrs)
    if parts < 1:
        call.fail(f"the number of parts must be positive, got {given}", code="op-attribute")
    if x.ndim == 0:
        call.fail("a scalar cannot be split")
    axis = normal_axis(call, call.attrs.axis, x.ndim) if x.ndim >= 0 else 0
    if x.shape is None:
        return TupleInfo((TensorInfo(None, x.dtype, x.ndim, x.vdevice),) * parts)
    math = DimMath(call.prover)
    places = cuts(math, x.shape[axis], given)
    if isinstance(given, int) and isinstance(x.shape[axis], int) and _overshoots(x.shape[axis], given):
        call.fail(f"axis {axis} of {show_shape(x.shape)} cannot be cut into {given} parts that fill it")
    if parts > 1 and not math.same(math.multiply(places[1], parts), x.shape[axis]):
        math.at_most(places[-2], x.shape[axis])  # assumed: the last part begins within the axis
    fields = []
    for start, stop in pairwise(places):
        extent = math.subtract(stop, start)
        extent = max(extent, 0) if isinstance(extent, int) else extent
        shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
        fields.append(TensorInfo(shape, x.dtype, vdevice=x.vdevice))
    return TupleInfo(tuple(fields))


def _overshoots(total: Any, parts: int) -> bool:
    each = -(-total // parts)
    return bool(total > 0 and each * (parts - 1) >= total)


def cuts(math: DimMath, total: Dim, given: Any) -> list[Dim]:
    """Where the parts begin, and the end of the last."""
    if isinstance(given, int):
        each = math.ceil_divide(total, given)
        return [0, *(math.multiply(each, i) for i in range(1, given)), total]
    return [0, *(math.minimum(p, total) if isinstance(total, int) else p for p in given), total]


def refuse_uneven(call: OpCall[SplitAttrs]) -> None:
    """Relay's parts are equal if their number is given, and otherwise begin in order and within the axis."""
    x, given = call.tensor(0), call.attrs.indices_or_sections
    if x.shape is None or not -x.ndim <= call.attrs.axis < x.ndim:
        return
    extent = x.shape[call.attrs.axis]
    where = f"axis {call.attrs.axis} of {show_shape(x.shape)}"
    if isinstance(given, int):
        if isinstance(extent, int) and given > 0 and extent % given:
            help = f"say where the parts begin: indices_or_sections=({', '.join(map(str, _evenly(extent, given)))},)"
            call.fail(f"{where} cannot be cut into {given} equal parts", help=help)
    elif any(stop < start for start, stop in pairwise((0, *given))):
        call.fail(f"the parts of {where} must begin in ascending order, got {given}", code="op-attribute")
    elif isinstance(extent, int) and given and given[-1] > extent:
        call.fail(f"{where} ends before a part begins: the parts begin at {given}", code="op-attribute")


def _evenly(total: int, parts: int) -> list[int]:
    """Where parts begin that differ by one at most."""
    return [total * i // parts for i in range(1, parts)]


def compute_split(inputs: Any, attributes: SplitAttrs, out: Any) -> Any:
    """Each part is read from its start on."""
    x = inputs[0]
    axis = from_front(attributes.axis, x.ndim)
    extents = [field.shape[axis] for field in out.fields]
    return tuple(
        _part(x, field.shape, axis, start, number)
        for number, (field, start) in enumerate(zip(out.fields, _starts(extents)))
    )


def _part(x: k.Tensor, shape: Any, axis: int, start: Any, number: int) -> k.Tensor:
    return k.compute(shape, lambda *i: x(*(j + start if a == axis else j for a, j in enumerate(i))), f"split_{number}")


def reference_split(inputs: Any, attributes: SplitAttrs) -> Any:
    """`numpy.split` at the places."""
    x, given = inputs[0], attributes.indices_or_sections
    if isinstance(given, int):
        each = -(-x.shape[attributes.axis] // given)
        given = tuple(each * i for i in range(1, given))
    return tuple(np.ascontiguousarray(part) for part in np.split(x, list(given), axis=attributes.axis))


def gradient_split(b: Any, args: Any, attributes: SplitAttrs, out: Any, grad: Any) -> list[Any]:
    """The gradients of the parts, joined."""
    return [b.op("concat", grad, axis=attributes.axis)]


SPLIT = OpDef(
    "split",
    SplitAttrs,
    inputs=(Input("x", "what to cut", relay_name="data"),),
    infer=infer_split,
    relay_rule=refuse_uneven,
    compute=compute_split,
    reference=reference_split,
    gradient=gradient_split,
    fusion=Fusion.INJECTIVE,
    layout=follows_input(axis="axis"),
    outputs=part_count,
    samples=lambda: (
        Sample((Arr(("n", 6)),), SplitAttrs(indices_or_sections=3, axis=1)),
        Sample((Arr((6, "m")),), SplitAttrs(indices_or_sections=(1, 4), axis=0)),
        Sample((Arr((5,)),), SplitAttrs(indices_or_sections=2, axis=-1), in_relay=False),
        Sample((Arr((2, 4), "int32"),), SplitAttrs(indices_or_sections=1, axis=1)),
    ),
    summary="A tensor cut into parts along an axis.",
)

JOINS = (CONCAT, STACK, SPLIT)

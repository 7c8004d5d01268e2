"""Operators that take tensors apart: split, into equal parts (in Relax the last may be shorter) or at given places.

Source: facts relax-ops-passes-vm §1, relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from operator import index

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, InRelax, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.said_dims import said_dims
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.joining import starts_of
from baton._src.ops.shape.targets import target_numbers
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import AnyArray


@attrs
class SplitAttrs(Attrs):
    """Where to cut."""

    indices_or_sections: int | tuple[Dim, ...] = attr(doc="the number of equal parts, or the indices at which to split")
    axis: int = attr(0, "the axis to cut")

    def __post_init__(self) -> None:
        given = self.indices_or_sections
        found = tuple(_place(p) for p in given) if isinstance(given, (tuple, list)) else index(given)
        set_attr(self, "indices_or_sections", found)


def _place(given: Dim) -> Dim:
    """Where a part begins: a number, or an expression of sizes."""
    return given if isinstance(given, PrimExpr) else index(given)


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
    _refuse_disorder(call)
    if x.ndim == 0:
        call.fail("a scalar cannot be split")
    axis = normal_axis(call, call.attrs.axis, x.ndim) if x.ndim >= 0 else 0
    if x.shape is None:
        return TupleInfo((TensorInfo(None, x.dtype, x.ndim, x.vdevice),) * parts)
    math = DimMath(call.prover)
    extent = x.shape[axis]
    if isinstance(given, int) and isinstance(extent, int) and _overshoots(extent, given):
        call.fail(f"axis {axis} of {show_shape(x.shape)} cannot be cut into {given} parts that fill it")
    places = cuts(math, extent, given)
    if parts > 1 and not math.same(math.multiply(places[1], parts), extent):
        math.at_most(places[-2], _last_start(math, extent, given))  # assumed, and checked in a run
    fields = []
    for start, stop in pairwise(places):
        size = math.subtract(stop, start)
        size = max(size, 0) if isinstance(size, int) else size
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        fields.append(TensorInfo(shape, x.dtype, vdevice=x.vdevice))
    return TupleInfo(tuple(fields))


def _last_start(math: DimMath, total: Dim, given: int | tuple[Dim, ...]) -> Dim:
    """Where the last part begins at most: it may be empty if its place was given, or if all parts are."""
    return math.maximum(math.subtract(total, 1), 0) if isinstance(given, int) else total


def _overshoots(total: int, parts: int) -> bool:
    each = -(-total // parts)
    return total > 0 and each * (parts - 1) >= total


def cuts(math: DimMath, total: Dim, given: int | tuple[Dim, ...]) -> list[Dim]:
    """Where the parts begin, and the end of the last."""
    if isinstance(given, int):
        each = math.ceil_divide(total, given)
        return [0, *(math.multiply(each, i) for i in range(1, given)), total]
    return [0, *(math.minimum(p, total) if isinstance(total, int) else p for p in given), total]


def _refuse_disorder(call: OpCall[SplitAttrs]) -> None:
    """Parts follow each other: each is read from where the one before it ends."""
    given, at_most = call.attrs.indices_or_sections, DimMath(call.prover).at_most
    if not isinstance(given, int) and any(at_most(start, stop) is False for start, stop in pairwise((0, *given))):
        help = "places count from the front; strided_slice cuts pieces that overlap or count from the end"
        call.fail(f"the parts must begin in ascending order, got {given}", code="op-attribute", help=help)


def refuse_uneven(call: OpCall[SplitAttrs]) -> None:
    """Relay's parts are equal if their number is given, and otherwise begin within the axis."""
    x, given = call.tensor(0), call.attrs.indices_or_sections
    if x.shape is None or not -x.ndim <= call.attrs.axis < x.ndim:
        return
    extent = x.shape[call.attrs.axis]
    where = f"axis {call.attrs.axis} of {show_shape(x.shape)}"
    if isinstance(given, int):
        if isinstance(extent, int) and given > 0 and extent % given:
            places = ", ".join(map(str, _evenly(extent, given))) if given <= extent else "..."
            help = f"say where the parts begin: indices_or_sections=({places},)"
            call.fail(f"{where} cannot be cut into {given} equal parts", help=help)
    elif isinstance(extent, int) and given and given[-1] > extent:
        call.fail(f"{where} ends before a part begins: the parts begin at {given}", code="op-attribute")


def infer_even_split(call: OpCall[SplitAttrs]) -> Info:
    """As split; that the parts are equal is assumed, and checked in a run."""
    refuse_uneven(call)
    x, given = call.tensor(0), call.attrs.indices_or_sections
    if x.shape is not None and isinstance(given, int) and given > 0 and x.ndim > 0:
        DimMath(call.prover).divides(given, x.shape[normal_axis(call, call.attrs.axis, x.ndim)])
    return infer_split(call)


def split_to_relax(args: Exprs, a: SplitAttrs) -> InRelax:
    """Relay's parts are equal: where it takes a run to know the axis, the run checks it."""
    dims = said_dims(args[0].struct_info_)
    is_known = dims is not None and isinstance(dims[a.axis], IntImm)
    return (args, a) if is_known or not isinstance(a.indices_or_sections, int) else (args, a, EVEN_SPLIT)


def _evenly(total: int, parts: int) -> list[int]:
    """Where parts begin that differ by one at most."""
    return [total * i // parts for i in range(1, parts)]


def compute_split(inputs: Sequence[k.Tensor], attributes: SplitAttrs, out: k.Results) -> tuple[k.Tensor, ...]:
    """Each part is read from its start on."""
    x = inputs[0]
    axis = from_front(attributes.axis, x.ndim)
    extents = [field.shape[axis] for field in out.fields]
    name = "T_split_sections" if isinstance(attributes.indices_or_sections, int) else "T_split"
    return tuple(_part(x, field.shape, axis, start, name) for field, start in zip(out.fields, starts_of(extents)))


def _part(x: k.Tensor, shape: Sequence[Dim], axis: int, start: k.Scalar, name: str) -> k.Tensor:
    return k.compute(shape, lambda *i: x(*(j + start if a == axis else j for a, j in enumerate(i))), name, axes="ax")


def reference_split(inputs: Sequence[AnyArray], attributes: SplitAttrs) -> tuple[AnyArray, ...]:
    """`numpy.split` at the places."""
    x, given = inputs[0], attributes.indices_or_sections
    if isinstance(given, int):
        each = -(-x.shape[attributes.axis] // given)
        given = tuple(each * i for i in range(1, given))
    places = target_numbers((), 0, given)
    return tuple(np.ascontiguousarray(part) for part in np.split(x, places, axis=attributes.axis))


def gradient_split(b: CallMaker, args: Exprs, attributes: SplitAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The gradients of the parts, joined."""
    return [b.op("concat", grad, axis=attributes.axis)]


SPLIT = OpDef(
    "split",
    SplitAttrs,
    inputs=(Input("x", "what to cut", relay_name="data"),),
    infer=infer_split,
    relay_rule=refuse_uneven,
    relay_to_relax=split_to_relax,
    compute=compute_split,
    reference=reference_split,
    gradient=gradient_split,
    fusion=Fusion.INJECTIVE,
    layout=FollowsInput(axis="axis"),
    outputs=part_count,
    samples=lambda: (
        Sample((Arr(("n", 6)),), SplitAttrs(indices_or_sections=3, axis=1)),
        Sample((Arr((6, "m")),), SplitAttrs(indices_or_sections=(1, 4), axis=0)),
        Sample((Arr((5,)),), SplitAttrs(indices_or_sections=2, axis=-1), in_relay=False),
        Sample((Arr((2, 4), "int32"),), SplitAttrs(indices_or_sections=1, axis=1)),
    ),
    summary="Split a tensor into parts along an axis.",
)

EVEN_SPLIT = replace(
    SPLIT,
    name="split_evenly",
    infer=infer_even_split,
    relay_rule=None,
    relay_to_relax=None,
    relay_name=NotApplicable("it is what Relay's split becomes"),
    samples=lambda: (Sample((Arr(("n", 6)),), SplitAttrs(indices_or_sections=3, axis=1)),),
    summary="Split a tensor into equal parts along an axis, whose extent may be symbolic but must be divisible.",
)

SPLITS = (SPLIT, EVEN_SPLIT)

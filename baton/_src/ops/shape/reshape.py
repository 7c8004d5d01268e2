"""Reshape: the same elements in the same order, another shape.

Relax takes the target as an argument (at most one -1, which is inferred); Relay as the attribute `newshape`, whose
special values are 0 (copy this dim; a real zero with `allowzero`), -1 (infer), -2 (copy all that are left), -3 (merge
the next two), -4 (split this dim into the two that follow). `dyn.reshape` takes it as a tensor. Source: facts
relax-ops-passes-vm §1, relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.structural import structural_equal
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, as_dim, as_dims
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.row_major import element_count, flat_index, split_index
from baton._src.ops.said_dims import said_dims
from baton._src.ops.samples import Arr, Sample, SampleDim, Shape
from baton._src.ops.shape.reshape_target import resolve, resolve_numbers, target_rank
from baton._src.ops.shape.targets import as_shape, is_computed, of_unknown_dims, target_dims, target_numbers
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import AnyArray


@attrs
class ReshapeAttrs(Attrs):
    """Relay's target."""

    newshape: tuple[int, ...] | None = attr(None, "the target, with special values 0, -1, -2, -3, -4", relay_only=True)
    allowzero: bool = attr(False, "0 means an empty axis", relay_only=True)

    def __post_init__(self) -> None:
        set_attr(self, "newshape", as_shape(self.newshape))
        set_attr(self, "allowzero", bool(self.allowzero))


def infer(call: OpCall[ReshapeAttrs]) -> Info:
    """The target, resolved; the number of elements must be able to agree."""
    x = call.tensor(0)
    relay = len(call.args) == 1 or isinstance(call.args[1], TensorInfo)
    target = target_dims(call, 1, "newshape")
    if target is None:
        return of_unknown_dims(call, 1, x.dtype, x.vdevice)
    shape = resolve(call, x, target, relay)
    return TensorInfo(shape, x.dtype, target_rank(target) if shape is None else -1, x.vdevice)


def compute(inputs: Sequence[k.Tensor], attributes: Attrs, out: k.Result) -> k.Tensor:
    """Every element is read where its row-major position lies in the operand; where dims are symbolic, within as few of
    them as it takes, for a division by them is dear: (h, w) become (h * 2, w // 2) together, but each by itself.
    """
    x = inputs[0]
    shape = k.dims(out.shape)
    is_open = any(not isinstance(d, IntImm) for d in shape)
    runs = _runs(x.shape, shape) if is_open else [(slice(0, len(x.shape)), slice(0, len(shape)))]

    def source(*i: k.Scalar) -> k.Scalar:
        found: list[k.Scalar] = []
        for old, new in runs:
            found += split_index(flat_index(i[new], shape[new]), x.shape[old])
        return x(*found)

    return k.compute(shape, source, "T_reshape", axes="ax")


def _runs(old: Sequence[Dim], new: Sequence[Dim]) -> list[tuple[slice, slice]]:
    """Neighbouring dims of both shapes that hold as many elements, as short as can be shown, in order."""
    prove, found = Analyzer(), [(0, 0)]
    ends = {n: element_count(new[:n]) for n in range(1, len(new) + 1)}
    for m in range(1, len(old) + 1):
        count = element_count(old[:m])
        end = next((n for n, c in ends.items() if n > found[-1][1] and prove.can_prove_equal(count, c)), None)
        if end is not None:
            found.append((m, end))
    fewer = min(len(old) - found[-1][0], len(new) - found[-1][1])
    same = next((n for n in range(fewer) if not structural_equal(old[-1 - n], new[-1 - n])), fewer)
    found += [(len(old) - n, len(new) - n) for n in range(same, -1, -1)]
    return [(slice(a, b), slice(c, d)) for (a, c), (b, d) in pairwise(dict.fromkeys(found))]


def reference(
    inputs: tuple[AnyArray] | tuple[AnyArray, AnyArray | tuple[int, ...]], attributes: ReshapeAttrs
) -> AnyArray:
    """`numpy.reshape`."""
    x = inputs[0]
    target = target_numbers(inputs, 1, attributes.newshape)
    if len(inputs) == 2 and isinstance(inputs[1], tuple):
        return np.reshape(x, target)
    return np.reshape(x, resolve_numbers(x.shape, target, attributes.allowzero))


def gradient(b: CallMaker, args: Exprs, attributes: Attrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The gradient in the shape of the operand; nothing towards the target."""
    return [b.op("reshape", grad, b.shape_of(args[0])), *(None for _ in args[1:])]


def relax_builder(make: OpBuilder, x: Given, shape: Given) -> Made:
    """A 0 in Relax's target is the operand's dim at its place, a -1 in a list what remains of it: calls hold the dims
    themselves where they are known (a shape expression is what a program says, and stays, so that texts read back). An
    operand without elements keeps its 0: no elements.
    """
    target = getattr(shape, "values", shape)
    dims = said_dims(x.struct_info_) if isinstance(x, GraphExpr) else None
    if dims is None or not isinstance(target, (int, list, tuple)):
        return make(x, shape)
    wanted = [target] if isinstance(target, int) else list(target)
    if not any(_is(d, 0) for d in dims):
        wanted = [dims[i] if _is(d, 0) and i < len(dims) else d for i, d in enumerate(wanted)]
    gaps = [i for i, d in enumerate(wanted) if _is(d, -1)]
    if len(gaps) == 1 and target is shape and all(isinstance(d, (int, np.integer, PrimExpr)) for d in wanted):
        wanted[gaps[0]] = _rest(dims, [d for d in wanted if not _is(d, -1)])
    return make(x, wanted)


def _is(dim: object, number: int) -> bool:
    return as_dim(dim) == number if isinstance(dim, (int, IntImm)) else False


def _rest(dims: Sequence[Dim], others: Sequence[Dim]) -> Dim:
    """The dim that fills a target with `others`; -1 where that leaves a remainder, or may do so."""
    math = DimMath(Analyzer())
    whole, part = math.product(as_dims(dims)), math.product(as_dims(others))
    if _is(part, 0):
        return -1
    rest = math.floor_divide(whole, part)
    return rest if math.equal(math.multiply(rest, part), whole) else -1


def relay_builder(make: OpBuilder, data: Given, newshape: Given, allowzero: bool = False) -> Made:
    """A target that is a tensor makes it `dyn.reshape`."""
    if is_computed(newshape):
        return make.op("dyn.reshape", data, newshape, allowzero=allowzero)
    return make(data, newshape=newshape, allowzero=allowzero)


def samples() -> tuple[Sample, ...]:
    def relay(shape: tuple[SampleDim, ...], *target: int) -> Sample:
        return Sample((Arr(shape),), ReshapeAttrs(newshape=target))

    return (
        Sample((Arr(("n", 4)), Shape((4, "n"))), ReshapeAttrs()),
        Sample((Arr((2, 3, 4)), Shape((6, -1))), ReshapeAttrs()),
        Sample((Arr(("n", 2, 4)), Shape(("n", 8))), ReshapeAttrs()),
        Sample((Arr((4,), "int64"), Shape((2, 2))), ReshapeAttrs()),
        Sample((Arr((1,)), Shape(())), ReshapeAttrs()),
        relay((2, 3, 4), 0, -1),
        relay((2, 3, 4), -3, 4),
        relay((2, 3, 4), -4, 1, 2, -2),
        relay((2, 3, 4), -4, -1, 1, -1),
        relay(("n", 4), -1),
        relay(("n", 3, 4), 0, -3),
    )


RESHAPE = OpDef(
    "reshape",
    ReshapeAttrs,
    inputs=(
        Input("x", relay_name="data"),
        Input("shape", "the target", kind="shape", relay_name="newshape", languages=("relax",)),
    ),
    infer=infer,
    reference=reference,
    relay_builder=relay_builder,
    relax_builder=relax_builder,
    samples=samples,
    compute=compute,
    fusion=Fusion.INJECTIVE,
    gradient=gradient,
)

DYN_RESHAPE = OpDef(
    "dyn.reshape",
    ReshapeAttrs,
    inputs=(Input("data"), Input("newshape", "the target, a tensor of rank 1")),
    infer=infer,
    reference=reference,
    in_relax=False,
    shape_values=(1,),
    samples=lambda: (),
    summary="Reshape to a target computed at run time.",
    compute=compute,
    fusion=Fusion.INJECTIVE,
    gradient=gradient,
)

RESHAPES = (RESHAPE, DYN_RESHAPE)

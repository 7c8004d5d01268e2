"""Operators that move, add or drop axes: permute_dims (Relay: transpose), expand_dims, squeeze.

`permute_dims`: result axis i is operand axis axes[i]; None reverses. `expand_dims`: unit axes where the *result* has
them. `squeeze`: drops unit axes (all of them if none is named); naming an axis that is not 1 is an error. Source:
facts relax-ops-passes-vm §1, relay-language §6 levels 1 and 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, InRelax, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import as_axes, axis_number, from_front, normal_axes
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layouts import Permutes
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.targets import is_computed
from baton._src.values.tensor import AnyArray
from baton._src.values.transposed import transposed


@attrs
class PermuteAttrs(Attrs):
    """The order."""

    axes: tuple[int, ...] | None = attr(None, "operand axis for each result axis; None reverses")

    def __post_init__(self) -> None:
        set_attr(self, "axes", as_axes(self.axes) or None if self.axes is not None else None)


def infer_permute(call: OpCall[PermuteAttrs]) -> Info:
    """The dims in their new order."""
    x, axes = call.tensor(0), call.attrs.axes
    if x.ndim < 0:
        return TensorInfo(None, x.dtype, -1 if axes is None else len(axes), x.vdevice)
    order = tuple(range(x.ndim))[::-1] if axes is None else normal_axes(call, axes, x.ndim, "axes")
    if len(order) != x.ndim:
        call.fail(f"axes {axes} must name all {x.ndim} axes of {show_shape(x.shape, x.ndim)}", code="op-axis")
    if x.shape is None:
        return TensorInfo(None, x.dtype, x.ndim, x.vdevice)
    return TensorInfo(tuple(x.shape[a] for a in order), x.dtype, vdevice=x.vdevice)


def _order(axes: Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim))[::-1] if axes is None else tuple(from_front(a, ndim) for a in axes)


def compute_permute(inputs: Sequence[k.Tensor], attributes: PermuteAttrs, out: k.Result) -> k.Tensor:
    """Indices in the operand's order."""
    (x,) = inputs
    order = _order(attributes.axes, x.ndim)
    return k.compute(out.shape, lambda *i: x(*(i[order.index(a)] for a in range(x.ndim))), "T_transpose", axes="ax")


def gradient_permute(b: CallMaker, args: Exprs, attributes: PermuteAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The inverse order."""
    if attributes.axes is None:
        return [b.op("permute_dims", grad)]
    order = _order(attributes.axes, len(attributes.axes))
    return [b.op("permute_dims", grad, axes=tuple(order.index(a) for a in range(len(order))))]


PERMUTE_DIMS = OpDef(
    "permute_dims",
    PermuteAttrs,
    inputs=(Input("x", relay_name="data"),),
    infer=infer_permute,
    compute=compute_permute,
    reference=lambda inputs, a: transposed(inputs[0], a.axes),
    gradient=gradient_permute,
    fusion=Fusion.INJECTIVE,
    layout=Permutes(),
    relay_name="transpose",
    samples=lambda: (
        Sample((Arr(("n", 4)),), PermuteAttrs()),
        Sample((Arr(("n", 3, "m")),), PermuteAttrs(axes=(1, -1, 0))),
        Sample((Arr((2,)),), PermuteAttrs(axes=(0,))),
        Sample((Arr((2, 3), "int8", -9, 9),), PermuteAttrs()),
    ),
    summary="Permute the axes.",
)


@attrs
class ExpandDimsAttrs(Attrs):
    """Where unit axes go."""

    axis: int | tuple[int, ...] = attr(doc="positions of the new axes in the result")
    num_newaxis: int = attr(1, "how many axes go there", relay_only=True)

    def __post_init__(self) -> None:
        if self.axis is None:
            raise TypeError("the new axes have to be named: axis is an integer or several of them")
        set_attr(self, "axis", axis_number(self.axis) if isinstance(self.axis, int) else as_axes(self.axis))


def new_axes(attributes: ExpandDimsAttrs, ndim: int) -> tuple[int, ...]:
    """Positions in the result, not yet checked. Relay's single axis counts from the operand's end plus one."""
    axis = attributes.axis
    if isinstance(axis, int):
        if attributes.num_newaxis == 1:
            return (axis,)
        first = axis if axis >= 0 else axis + ndim + 1
        return tuple(range(first, first + attributes.num_newaxis))
    return tuple(axis)


def infer_expand(call: OpCall[ExpandDimsAttrs]) -> Info:
    """The operand's dims with ones between them."""
    x = call.tensor(0)
    if x.ndim < 0:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    if call.attrs.num_newaxis < 0:
        call.fail(f"num_newaxis is 0 or more, got {call.attrs.num_newaxis}", code="op-attribute")
    axes = new_axes(call.attrs, x.ndim)
    rank = x.ndim + len(axes)
    places = set(normal_axes(call, axes, rank))
    if x.shape is None:
        return TensorInfo(None, x.dtype, rank, x.vdevice)
    kept = iter(x.shape)
    return TensorInfo(tuple(1 if i in places else next(kept) for i in range(rank)), x.dtype, vdevice=x.vdevice)


def compute_expand(inputs: Sequence[k.Tensor], attributes: ExpandDimsAttrs, out: k.Result) -> k.Tensor:
    """New axes are not read."""
    x = inputs[0]
    rank = len(out.shape)
    places = {from_front(a, rank) for a in new_axes(attributes, x.ndim)}
    return k.compute(out.shape, lambda *i: x(*(i[a] for a in range(rank) if a not in places)), "expand_dims")


def reference_expand(inputs: Sequence[AnyArray], attributes: ExpandDimsAttrs) -> AnyArray:
    """`numpy.expand_dims`."""
    return np.expand_dims(inputs[0], new_axes(attributes, np.ndim(inputs[0])))


def relax_expand(make: OpBuilder, x: Given, axis: Given) -> Made:
    """One axis is a list of one in Relax, where calls are compared by their attributes."""
    return make(x, axis=axis if axis is None or isinstance(axis, Iterable) else (axis,))


def relay_expand(make: OpBuilder, data: Given, axis: Given, num_newaxis: int = 1) -> Made:
    """An axis that is computed makes it `dyn.expand_dims`."""
    if is_computed(axis):
        return make.op("dyn.expand_dims", data, axis, num_newaxis=num_newaxis)
    return make(data, axis=axis, num_newaxis=num_newaxis)


def relay_squeeze(make: OpBuilder, data: Given, axis: Given = None) -> Made:
    """Axes that are computed make it `dyn.squeeze`."""
    return make.op("dyn.squeeze", data, axis) if is_computed(axis) else make(data, axis=axis)


def expand_to_relax(args: Exprs, attributes: ExpandDimsAttrs) -> InRelax:
    """Every new axis by its number, from the end that Relay's one counts from."""
    axis, count = attributes.axis, attributes.num_newaxis
    if not isinstance(axis, int):
        return args, attributes
    first = axis if axis >= 0 else axis + 1 - count
    return args, ExpandDimsAttrs(tuple(range(first, first + count)))


EXPAND_DIMS = OpDef(
    "expand_dims",
    ExpandDimsAttrs,
    inputs=(Input("x", relay_name="data"),),
    infer=infer_expand,
    compute=compute_expand,
    reference=reference_expand,
    gradient=lambda b, args, a, out, grad: [b.op("squeeze", grad, axis=new_axes(a, args[0].struct_info.ndim))],
    fusion=Fusion.BROADCAST,
    relax_builder=relax_expand,
    relay_builder=relay_expand,
    relay_to_relax=expand_to_relax,
    samples=lambda: (
        Sample((Arr(("n", 4)),), ExpandDimsAttrs(axis=1)),
        Sample((Arr(("n", 4)),), ExpandDimsAttrs(axis=(0, -1))),
        Sample((Arr(()),), ExpandDimsAttrs(axis=0)),
        Sample((Arr((2, 3)),), ExpandDimsAttrs(axis=-1, num_newaxis=2)),
    ),
    summary="Insert axes of extent 1.",
)


@attrs
class SqueezeAttrs(Attrs):
    """Which axes go."""

    axis: tuple[int, ...] | None = attr(None, "the axes of extent 1 to remove; None: all of them")

    def __post_init__(self) -> None:
        set_attr(self, "axis", as_axes(self.axis))


def infer_squeeze(call: OpCall[SqueezeAttrs]) -> Info:
    """The dims that stay."""
    x, axis = call.tensor(0), call.attrs.axis
    if x.ndim < 0:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    if axis is not None:
        gone = normal_axes(call, axis, x.ndim)
        if x.shape is None:
            return TensorInfo(None, x.dtype, x.ndim - len(gone), x.vdevice)
        math = DimMath(call.prover)
        for a in gone:
            dim = x.shape[a]
            if math.equal(dim, 1) is False:
                help = "take one element of the axis, or reshape"
                call.fail(
                    f"axis {a} of {show_shape(x.shape)} has extent {dim}, only extent 1 can be squeezed", help=help
                )
        return TensorInfo(tuple(d for i, d in enumerate(x.shape) if i not in gone), x.dtype, vdevice=x.vdevice)
    if x.shape is None or any(not isinstance(d, int) for d in x.shape):
        return TensorInfo(() if x.ndim == 0 else None, x.dtype, 0 if x.ndim == 0 else -1, x.vdevice)
    return TensorInfo(tuple(d for d in x.shape if d != 1), x.dtype, vdevice=x.vdevice)


def _gone(attributes: SqueezeAttrs, shape: Sequence[Dim]) -> tuple[int, ...]:
    if attributes.axis is None:
        return tuple(i for i, d in enumerate(shape) if k.is_one(d))
    return tuple(from_front(a, len(shape)) for a in attributes.axis)


def compute_squeeze(inputs: Sequence[k.Tensor], attributes: SqueezeAttrs, out: k.Result) -> k.Tensor:
    """Dropped axes are read at 0."""
    x = inputs[0]
    gone = _gone(attributes, x.shape)

    def body(*indices: k.Scalar) -> k.Scalar:
        kept = iter(indices)
        return x(*(k.index(0) if a in gone else next(kept) for a in range(x.ndim)))

    return k.compute(out.shape, body, "T_squeeze", axes="ax")


SQUEEZE = OpDef(
    "squeeze",
    SqueezeAttrs,
    inputs=(Input("x", relay_name="data"),),
    infer=infer_squeeze,
    compute=compute_squeeze,
    reference=lambda inputs, a: np.squeeze(inputs[0], _gone(a, inputs[0].shape)),
    gradient=lambda b, args, a, out, grad: [b.op("reshape", grad, b.shape_of(args[0]))],
    fusion=Fusion.INJECTIVE,
    relay_builder=relay_squeeze,
    samples=lambda: (
        Sample((Arr((1, "n", 1)),), SqueezeAttrs(axis=(0, -1))),
        Sample((Arr((1, 3, 1)),), SqueezeAttrs()),
        Sample((Arr((2, 3)),), SqueezeAttrs()),
    ),
    summary="Remove axes of extent 1.",
)

MOVED = (PERMUTE_DIMS, EXPAND_DIMS, SQUEEZE)

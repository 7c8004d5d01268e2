"""The gradient of convolution: towards the data a transposed convolution, towards the kernel an operator of its own.

Layouts that are not channels first are transposed before and after.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Gradients
from baton._src.ir.tensor_info import Dim
from baton._src.ops.linear_axes import known_dims, named_dims
from baton._src.ops.mixed_dtypes import like_operands, like_result
from baton._src.ops.nn.convolution.depth_multiplier import depth_multiplier
from baton._src.ops.nn.convolution.geometry import Geometry
from baton._src.ops.windows import SPATIAL
from baton._src.support.diagnostics import fail


def gradient(b: CallMaker, args: Exprs, a: Geometry, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """[towards data, towards weight]"""
    sizes = [named_dims(t.struct_info, "a convolution") for t in (*args, out)]
    found = _in_any_layout(b, like_result(b, args, grad), a, sizes, grad)
    return like_operands(b, found, args, grad)


def _in_any_layout(
    b: CallMaker, args: Exprs, a: Geometry, sizes: Sequence[Sequence[Dim]], grad: GraphExpr
) -> list[GraphExpr]:
    letters = SPATIAL[a.spatial]
    plain = ("NC" + letters, "OI" + letters)
    layouts = (a.data_layout, a.kernel_layout, a.out_layout or a.data_layout)
    if layouts == (*plain, plain[0]):
        return _channels_first(b, args, a, sizes, grad)
    if any(sorted(given) != sorted(order) for given, order in zip(layouts, (*plain, plain[0]))):
        raise fail("op-gradient", f"the gradient of a convolution is for layouts without blocks, not {layouts}")
    first = [_in_order(b, arg, given, order) for arg, given, order in zip(args, layouts, plain)]
    ordered = [
        tuple(dims[given.index(letter)] for letter in order)
        for dims, given, order in zip(sizes, layouts, (*plain, plain[0]))
    ]
    found = _channels_first(b, first, a, ordered, _in_order(b, grad, layouts[2], plain[0]))
    return [_in_order(b, value, order, given) for value, order, given in zip(found, plain, layouts)]


def _in_order(b: CallMaker, x: GraphExpr, given: str, wanted: str) -> GraphExpr:
    """`x` with its axes in another order."""
    return x if given == wanted else b.op("permute_dims", x, axes=tuple(given.index(letter) for letter in wanted))


def _channels_first(
    b: CallMaker, args: Exprs, a: Geometry, sizes: Sequence[Sequence[Dim]], grad: GraphExpr
) -> list[GraphExpr]:
    x, w = args
    letters = SPATIAL[a.spatial]
    outputs, inner, *kernel = known_dims(sizes[1], "a convolution")
    has_multiplier = depth_multiplier(a, {"O": outputs, "I": inner}) > 1
    if has_multiplier:
        w = b.op("reshape", w, b.shape((outputs * inner, 1, *kernel)))
    to_data = b.op(
        f"nn.conv{a.spatial}d_transpose",
        grad,
        w,
        strides=a.strides,
        padding=a.padding,
        output_padding=_left_over(a, sizes[0][2:], kernel),
        dilation=a.dilation,
        groups=a.groups,
        data_layout="NC" + letters,
        kernel_layout="IO" + letters,
    )
    to_kernel = _towards_kernel(b, x, a, kernel, grad)
    return [to_data, b.op("reshape", to_kernel, b.shape((outputs, inner, *kernel))) if has_multiplier else to_kernel]


def _left_over(a: Geometry, extents: Sequence[Dim], kernel: Sequence[int]) -> tuple[int, ...]:
    """How many elements of the padded data are behind the last window, by axis: with strides of 1 none are."""
    found = []
    for i, (extent, taps, stride) in enumerate(zip(extents, kernel, a.strides)):
        (size,) = known_dims((extent if stride > 1 else 0,), "a convolution with strides")
        found.append((size + a.padding[i] + a.padding[i + a.spatial] - (taps - 1) * a.dilation[i] - 1) % stride)
    return tuple(found)


def _towards_kernel(b: CallMaker, x: GraphExpr, a: Geometry, kernel: Sequence[int], grad: GraphExpr) -> GraphExpr:
    """Of one axis as of two, the first of one element."""
    geometry = {name: getattr(a, name) for name in ("strides", "padding", "dilation")}
    if a.spatial != 1:
        name = f"nn.conv{a.spatial}d_backward_weight"
        return b.op(name, grad, x, kernel_size=kernel, groups=a.groups, **geometry)
    flat = {name: (1, *geometry[name]) for name in ("strides", "dilation")}
    padding = (0, geometry["padding"][0], 0, geometry["padding"][1])
    planes = [b.op("expand_dims", t, axis=(2,)) for t in (grad, x)]
    found = b.op(
        "nn.conv2d_backward_weight", *planes, kernel_size=(1, *kernel), groups=a.groups, padding=padding, **flat
    )
    return b.op("squeeze", found, axis=(2,))

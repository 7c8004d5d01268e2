"""nn.conv2d_backward_weight, and 3d: the gradient of a convolution towards its kernel, groups included.

    dw[o, i, r] = sum over n, s of grad[n, o, s] * x[n, g * I + i, s * stride + r * dilation - begin]

g is the group of o. `out_layout` is the layout of `grad` (TVM's builder calls it `grad_layout`); `kernel_size` must be
given, as the data may be larger than what the windows cover. Source: facts relay-language §6 level 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_vdevice
from baton._src.ops.canonical_axes import from_canonical, to_canonical
from baton._src.ops.dims import DimMath
from baton._src.ops.layout_names import whole
from baton._src.ops.linalg.products import product_dtype, result_dtype, rounded
from baton._src.ops.nn.convolution.convolution import Conv2DAttrs, Conv3DAttrs, ConvAttrs
from baton._src.ops.nn.convolution.geometry import kernel_size, orders
from baton._src.ops.nn.convolution.weight_gradient_planes import compute_planes, serves_planes
from baton._src.ops.nn.convolution.weight_gradient_products import decompose, decompose_volumes
from baton._src.ops.operand_checks import check_layout_rank
from baton._src.ops.positional import by_name
from baton._src.ops.precision import accumulator
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import SPATIAL, np_padded, padded, window_extent
from baton._src.values.tensor import AnyArray


def infer(call: OpCall[ConvAttrs]) -> Info:
    """A kernel: output channels of the gradient, input channels of a group, `kernel_size`."""
    grad, x, a = call.tensor(0), call.tensor(1), call.attrs
    data, kernel, out = orders(a)
    if a.kernel_size is None:
        call.fail("needs kernel_size", code="op-attribute")
    if not (data.is_plain and kernel.is_plain and out.is_plain):
        call.fail("takes layouts without blocks", code="op-attribute")
    check_layout_rank(call, 0, out, "out_layout")
    check_layout_rank(call, 1, data, "data_layout")
    dtype, device = product_dtype(call, grad, x, a.out_dtype), same_vdevice(call, (grad, x))
    if grad.shape is None or x.shape is None:
        return TensorInfo(None, dtype, kernel.rank, device)
    math = DimMath(call.prover)
    given, read = out.canonical(math, grad.shape), data.canonical(math, x.shape)
    outputs, inputs = given["C"], read["C"]
    _check_windows(call, math, given, read)
    if a.channels is not None and math.equal(outputs, a.channels) is False:
        call.fail(f"channels is {a.channels}, but the gradient has {outputs}")
    for count in (outputs, inputs):
        if math.divides(a.groups, count) is False:
            call.fail(f"{count} channels cannot be divided into {a.groups} groups")
    extents: dict[str, Dim] = {"O": outputs, "I": math.floor_divide(inputs, a.groups)}
    extents |= dict(zip(SPATIAL[a.spatial], a.kernel_size))
    return TensorInfo(kernel.physical(math, extents), dtype, vdevice=device)


def _check_windows(call: OpCall[ConvAttrs], math: DimMath, grad: dict[str, Dim], data: dict[str, Dim]) -> None:
    """The gradient has the images of the data, and no more elements than there are windows."""
    a = call.attrs
    if math.equal(grad["N"], data["N"]) is False:
        call.fail(f"{grad['N']} images of the gradient for {data['N']} of the data")
    for n, (letter, taps) in enumerate(zip(SPATIAL[a.spatial], kernel_size(a))):
        begin, end = a.padding[n], a.padding[n + a.spatial]
        most = window_extent(math, data[letter], taps, a.strides[n], a.dilation[n], begin, end)
        if math.at_most(grad[letter], most) is False:
            call.fail(f"the gradient has {grad[letter]} elements along {letter}, the data only {most} windows")


def compute(inputs: Sequence[k.Tensor], a: ConvAttrs, out: k.Result) -> k.Tensor:
    """A padding stage (if any), then one reduction over images and places."""
    grad, x = inputs
    data, kernel, result = orders(a)
    if a.spatial == 2 and serves_planes(
        a, grad.shape, x.shape, grad.dtype == x.dtype == out.dtype and out.dtype.is_float
    ):
        return compute_planes(inputs, a, out)
    letters = SPATIAL[a.spatial]
    source = padded(x, data, letters, a.padding[: a.spatial], a.padding[a.spatial :], 0)
    kept = accumulator(out.dtype)
    axes = {c: k.reduce_axis(grad.shape[result.position(c)], f"r{c.lower()}") for c in f"N{letters}"}
    each = k.index(grad.shape[result.position("C")]) // k.index(a.groups)
    inner = k.index(x.shape[data.position("C")]) // k.index(a.groups)

    def body(*indices: k.Scalar) -> k.Scalar:
        at = kernel.split(indices)
        place = {c: axis.var for c, axis in axes.items()}
        channel = at["I"] if a.groups == 1 else whole(at["O"]) // k.divisor(each) * inner + whole(at["I"])
        met = {
            c: place[c] * k.index(stride) + whole(at[c]) * k.index(dilation)
            for c, stride, dilation in zip(letters, a.strides, a.dilation)
        }
        seen = k.cast(kept, source(*data.indices({"C": channel, "N": place["N"], **met})))
        slope = k.cast(kept, grad(*result.indices({"C": at["O"], **place})))
        return k.reduce_sum(slope * seen, list(axes.values()))

    return rounded(k.compute(out.shape, body, "conv_backward_weight"), out.dtype)


def reference(inputs: Sequence[AnyArray], a: ConvAttrs) -> AnyArray:
    """Tap by tap."""
    data, kernel, out = orders(a)
    dtype, letters, count = result_dtype(inputs[1], a.out_dtype), SPATIAL[a.spatial], a.spatial
    kept = accumulator(dtype).numpy
    slope, x = (to_canonical(v, o, f"NC{letters}").astype(kept) for v, o in zip(inputs, (out, data)))
    x = np_padded(x, ((0, 0), (0, 0), *zip(a.padding[:count], a.padding[count:])))
    n, o, *places = slope.shape
    slope = slope.reshape(n, a.groups, o // a.groups, -1) if slope.size else slope
    x = x.reshape(n, a.groups, x.shape[1] // a.groups, *x.shape[2:])
    found = np.zeros((o, x.shape[2], *kernel_size(a)), kept)
    for tap in np.ndindex(*kernel_size(a)) if slope.size and x.size else ():
        ends = tuple(slice(t * d, t * d + (e - 1) * s + 1, s) for t, d, e, s in zip(tap, a.dilation, places, a.strides))
        met = x[(slice(None),) * 3 + ends].reshape(*x.shape[:3], -1)
        found[(slice(None), slice(None), *tap)] = np.einsum("ngos,ngis->goi", slope, met).reshape(o, x.shape[2])
    return from_canonical(found.astype(dtype.numpy), kernel, f"OI{letters}")


def relay_builder(make: OwnMaker, grad: GraphExpr, data: GraphExpr, *geometry: object, **options: object) -> GraphExpr:
    """TVM's order: strides, padding, dilation, groups, channels, kernel_size, then three layouts and the dtype."""
    names = "strides padding dilation groups channels kernel_size grad_layout data_layout kernel_layout out_dtype"
    given = by_name(make.definition.name, names.split(), geometry, options)
    return make(grad, data, out_layout=given.pop("grad_layout", "NCHW"), **given)


CONV2D_BACKWARD_WEIGHT = OpDef(
    "nn.conv2d_backward_weight",
    Conv2DAttrs,
    inputs=(Input("grad", "the gradient of the result"), Input("data", "the images")),
    infer=infer,
    compute=compute,
    reference=reference,
    decompose=decompose,
    gradient=NotApplicable("of second order"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    relay_builder=relay_builder,
    samples=lambda: (
        Sample(
            (Arr(("n", 4, 5, 6)), Arr(("n", 3, 5, 6))),
            Conv2DAttrs(padding=1, kernel_size=3, out_layout="NCHW"),
            rtol=1e-4,
            atol=1e-4,
        ),
        Sample(
            (Arr((2, 3, 3, 4)), Arr((2, 7, 6, 4))),
            Conv2DAttrs(
                strides=2,
                padding=(0, 1, 0, 1),
                groups=2,
                kernel_size=(3, 2),
                data_layout="NHWC",
                kernel_layout="HWIO",
                out_layout="NHWC",
            ),
            rtol=1e-4,
            atol=1e-4,
        ),
        Sample(
            (Arr((1, 4, 2, 2)), Arr((1, 4, 6, 6))),
            Conv2DAttrs(dilation=2, groups=4, kernel_size=3),
            rtol=1e-4,
            atol=1e-4,
        ),
    ),
    summary="The gradient of a 2D convolution with respect to its kernel.",
)

CONV3D_BACKWARD_WEIGHT = OpDef(
    "nn.conv3d_backward_weight",
    Conv3DAttrs,
    inputs=(Input("grad", "the gradient of the result"), Input("data", "the volumes")),
    infer=infer,
    compute=compute,
    reference=reference,
    decompose=decompose_volumes,
    gradient=NotApplicable("of second order"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=lambda: (
        Sample(
            (Arr(("n", 4, 3, 2, 5)), Arr(("n", 6, 6, 4, 5))),
            Conv3DAttrs(strides=(2, 1, 1), padding=(1, 0, 1), groups=2, kernel_size=(3, 3, 3)),
            rtol=1e-4,
            atol=1e-4,
        ),
    ),
    summary="The gradient of a 3D convolution with respect to its kernel.",
)

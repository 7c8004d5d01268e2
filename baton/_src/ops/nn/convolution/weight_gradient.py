"""nn.conv2d_backward_weight: the gradient of a convolution towards its kernel, groups included.

    dw[o, i, r] = sum over n, s of grad[n, o, s] * x[n, g * I + i, s * stride + r * dilation - begin]

g is the group of o. `out_layout` is the layout of `grad` (TVM's builder calls it `grad_layout`); `kernel_size` must be
given, as the data may be larger than what the windows cover. Source: facts relay-language §6 level 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_vdevice
from baton._src.ops.canonical_axes import from_canonical, to_canonical
from baton._src.ops.dims import DimMath
from baton._src.ops.linalg.products import product_dtype, result_dtype, rounded
from baton._src.ops.nn.convolution.convolution import Conv2DAttrs
from baton._src.ops.nn.convolution.geometry import orders
from baton._src.ops.nn.convolution.weight_gradient_products import decompose
from baton._src.ops.precision import accumulator
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import np_padded, padded, window_extent


def infer(call: OpCall[Conv2DAttrs]) -> Info:
    """A kernel: output channels of the gradient, input channels of a group, `kernel_size`."""
    grad, x, a = call.tensor(0), call.tensor(1), call.attrs
    data, kernel, out = orders(a)
    if a.kernel_size is None:
        call.fail("needs kernel_size", code="op-attribute")
    if not (data.is_plain and kernel.is_plain and out.is_plain):
        call.fail("takes layouts without blocks", code="op-attribute")
    for t, order, name in ((grad, out, "grad"), (x, data, "data")):
        if t.ndim not in (-1, order.rank):
            call.fail(f"{name} has rank {t.ndim}, but its layout {order.name} has {order.rank} axes")
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
        if isinstance(count, int) and count % a.groups:
            call.fail(f"{count} channels cannot be divided into {a.groups} groups")
    extents: dict[str, Dim] = {"O": outputs, "I": math.floor_divide(inputs, a.groups)}
    extents |= dict(zip("HW", a.kernel_size))
    return TensorInfo(kernel.physical(math, extents), dtype, vdevice=device)


def _check_windows(call: OpCall[Conv2DAttrs], math: DimMath, grad: dict[str, Dim], data: dict[str, Dim]) -> None:
    """The gradient has the images of the data, and no more elements than there are windows."""
    a = call.attrs
    if math.equal(grad["N"], data["N"]) is False:
        call.fail(f"{grad['N']} images of the gradient for {data['N']} of the data")
    for n, letter in enumerate("HW"):
        begin, end = a.padding[n], a.padding[n + 2]
        most = window_extent(math, data[letter], a.kernel_size[n], a.strides[n], a.dilation[n], begin, end)
        if math.at_most(grad[letter], most) is False:
            call.fail(f"the gradient has {grad[letter]} elements along {letter}, the data only {most} windows")


def compute(inputs: Any, a: Conv2DAttrs, out: Any) -> Any:
    """A padding stage (if any), then one reduction over images and places."""
    grad, x = inputs
    data, kernel, result = orders(a)
    source = padded(x, data, "HW", a.padding[:2], a.padding[2:], 0)
    kept = accumulator(out.dtype)
    axes = {letter: k.reduce_axis(grad.shape[result.position(letter)], f"r{letter.lower()}") for letter in "NHW"}
    each = k.index(grad.shape[result.position("C")]) // k.index(a.groups)
    inner = k.index(x.shape[data.position("C")]) // k.index(a.groups)

    def body(*indices: Any) -> Any:
        at = kernel.split(indices)
        n, i, j = (axes[letter].var for letter in "NHW")
        channel = at["I"] if a.groups == 1 else at["O"] // k.divisor(each) * inner + at["I"]
        places = {
            letter: place * k.index(a.strides[m]) + at[letter] * k.index(a.dilation[m])
            for m, (letter, place) in enumerate((("H", i), ("W", j)))
        }
        seen = k.cast(kept, source(*data.indices({"N": n, "C": channel, **places})))
        slope = k.cast(kept, grad(*result.indices({"N": n, "C": at["O"], "H": i, "W": j})))
        return k.reduce_sum(slope * seen, list(axes.values()))

    return rounded(k.compute(out.shape, body, "conv2d_backward_weight"), out.dtype)


def reference(inputs: Any, a: Conv2DAttrs) -> Any:
    """Tap by tap."""
    data, kernel, out = orders(a)
    dtype = result_dtype(inputs[1], a.out_dtype)
    kept = accumulator(dtype).numpy
    slope, x = to_canonical(inputs[0], out, "NCHW").astype(kept), to_canonical(inputs[1], data, "NCHW").astype(kept)
    top, left, bottom, right = a.padding
    x = np_padded(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    n, o, rows, columns = slope.shape
    slope = slope.reshape(n, a.groups, o // a.groups, rows, columns)
    x = x.reshape(n, a.groups, x.shape[1] // a.groups, *x.shape[2:])
    found = np.zeros((o, x.shape[2], *a.kernel_size), kept)
    for r, c in np.ndindex(*a.kernel_size) if slope.size else ():
        ends: Any = tuple(
            slice(t * d, t * d + (e - 1) * s + 1, s)
            for t, d, e, s in zip((r, c), a.dilation, (rows, columns), a.strides)
        )
        tap = np.einsum("ngohw,ngihw->goi", slope, x[(slice(None),) * 3 + ends])
        found[:, :, r, c] = tap.reshape(o, x.shape[2])
    return from_canonical(found.astype(dtype.numpy), kernel, "OIHW")


def relay_builder(make: Any, grad: Any, data: Any, *geometry: Any, grad_layout: str = "NCHW", **options: Any) -> Any:
    """TVM's order: strides, padding, dilation, groups, channels, kernel_size, then three layouts and the dtype."""
    names = "strides padding dilation groups channels kernel_size grad_layout data_layout kernel_layout out_dtype"
    given = {**dict(zip(names.split(), geometry)), **options}
    return make(grad, data, out_layout=given.pop("grad_layout", grad_layout), **given)


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

"""image.dilation2d: the greatest sum of pixels and a structuring element, window by window (grey-scale morphology).

    out[n, c, y, x] = max over (i, j) of data[n, c, y * stride + i * dilation, ...] + weight[c, i, j]

Padding counts as 0. Layouts NCHW with kernels IHW, NHWC with HWI. Source: facts relay-language §6 level 2.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.layout_names import layout_over, whole
from baton._src.ops.operand_checks import check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import both_sides, np_padded, padded, steps, window_extent
from baton._src.values.dtype import VOID, DataType
from baton._src.values.tensor import AnyArray

_KERNELS = {"NCHW": "IHW", "NHWC": "HWI"}


@attrs
class DilationAttrs(Attrs):
    """Geometry and layouts."""

    strides: tuple[int, ...] = attr(1, "strides of the window")
    padding: tuple[int, ...] = attr(0, "padding: one value, one per axis, or begins then ends")
    dilations: tuple[int, ...] = attr(1, "dilation of the window")
    data_layout: str = attr("NCHW", "NCHW or NHWC")
    kernel_layout: str = attr("IHW", "IHW or HWI")
    out_dtype: DataType = attr(None, "dtype of the result; None: that of the data")

    def __post_init__(self) -> None:
        set_attr(self, "strides", steps(self.strides, 2, "strides"))
        set_attr(self, "dilations", steps(self.dilations, 2, "dilations"))
        set_attr(self, "padding", both_sides(self.padding, 2))
        set_attr(self, "out_dtype", DataType(self.out_dtype or VOID))


def infer(call: OpCall[DilationAttrs]) -> Info:
    """Extents as those of a convolution, channels as the data."""
    x, w, a = call.tensor(0), call.tensor(1), call.attrs
    if _KERNELS.get(a.data_layout) != a.kernel_layout:
        message = f"layouts {a.data_layout!r} and {a.kernel_layout!r} are neither NCHW and IHW nor NHWC and HWI"
        call.fail(message, code="op-attribute")
    check_ranks(call, 4, 3)
    dtype = x.dtype if a.out_dtype.is_void else a.out_dtype
    if x.shape is None or w.shape is None:
        return TensorInfo(None, dtype, 4, x.vdevice)
    math = DimMath(call.prover)
    place, kernel = a.data_layout.index, a.kernel_layout.index
    if math.equal(x.shape[place("C")], w.shape[kernel("I")]) is False:
        call.fail(f"data {show_shape(x.shape)} and weight {show_shape(w.shape)} differ in their channels")
    shape = list(x.shape)
    for i, letter in enumerate("HW"):
        begin, end = a.padding[i], a.padding[i + 2]
        extent, window = x.shape[place(letter)], w.shape[kernel(letter)]
        size = window_extent(math, extent, window, a.strides[i], a.dilations[i], begin, end)
        if window == 0 or (isinstance(size, int) and size <= 0):
            message = f"the weight {show_shape(w.shape)} does not fit into the padded data {show_shape(x.shape)}"
            call.fail(message, help=f"its {letter} must be 1 or more, and padding {a.padding} wide enough")
        shape[place(letter)] = size
    return TensorInfo(tuple(shape), dtype, vdevice=x.vdevice)


def compute(inputs: Sequence[k.Tensor], a: DilationAttrs, out: k.Result) -> k.Tensor:
    """A border of zeros, then one reduction."""
    x, w = inputs
    order = layout_over(a.data_layout, "NCHW", "data_layout")
    source = padded(x, order, "HW", list(a.padding[:2]), list(a.padding[2:]), 0)
    taps = [k.reduce_axis(w.shape[a.kernel_layout.index(letter)], f"r{letter.lower()}") for letter in "HW"]

    def body(*indices: k.Scalar) -> k.Scalar:
        at = order.split(indices)
        tap: dict[str, k.Scalar] = {"I": whole(at["C"]), "H": taps[0].var, "W": taps[1].var}
        for i, letter in enumerate("HW"):
            at[letter] = whole(at[letter]) * a.strides[i] + taps[i].var * a.dilations[i]
        pixel, element = source(*order.indices(at)), w(*(tap[letter] for letter in a.kernel_layout))
        return k.reduce_max(k.cast(out.dtype, pixel) + k.cast(out.dtype, element), taps)

    return k.compute(out.shape, body, "dilation2d")


def reference(inputs: Sequence[AnyArray], a: DilationAttrs) -> AnyArray:
    """Tap by tap."""
    dtype = k.DataType(inputs[0].dtype) if a.out_dtype.is_void else a.out_dtype
    x, w = (convert(v, dtype) for v in inputs)
    if a.data_layout == "NHWC":
        x, w = np.moveaxis(x, 3, 1), np.moveaxis(w, 2, 0)
    p = a.padding
    x = np_padded(x, ((0, 0), (0, 0), (p[0], p[2]), (p[1], p[3])))
    spans = [(w.shape[1 + i] - 1) * a.dilations[i] for i in (0, 1)]
    values: list[AnyArray] = []
    for i, j in np.ndindex(*w.shape[1:]):
        rows = slice(i * a.dilations[0], x.shape[2] - spans[0] + i * a.dilations[0], a.strides[0])
        columns = slice(j * a.dilations[1], x.shape[3] - spans[1] + j * a.dilations[1], a.strides[1])
        values.append(x[:, :, rows, columns] + w[None, :, i, j, None, None])
    found = functools.reduce(np.maximum, values)
    found = found if a.data_layout == "NCHW" else np.moveaxis(found, 1, 3)
    return np.ascontiguousarray(found)


DILATION2D = OpDef(
    "image.dilation2d",
    DilationAttrs,
    inputs=(Input("data", "the images"), Input("weight", "the structuring elements, one a channel")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 3, 6, "w")), Arr((3, 2, 3))), DilationAttrs()),
        Sample((Arr((1, 2, 7, 8)), Arr((2, 3, 2))), DilationAttrs(2, 1, 2)),
        Sample((Arr((1, 5, 6, 2)), Arr((2, 2, 2))), DilationAttrs(1, (1, 0, 0, 1), 1, "NHWC", "HWI")),
    ),
    summary="Grey-scale dilation: the maximum over windows of pixels plus a structuring element.",
)

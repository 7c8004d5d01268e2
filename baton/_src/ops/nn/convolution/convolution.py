"""Convolution over one, two or three spatial axes, in any layout, with groups, strides, padding and dilation.

`y[n,o,s] = sum over i,r of x[n, g*I+i, s*stride + r*dilation - begin] * w[o,i,r]`, with I = C / groups and g the
group of o. Kernels are (O, I, spatial...). Output extent: (x + begin + end - (k - 1) * dilation - 1) / stride + 1,
rounded down. Channels may be blocked ("NCHW16c", "OIHW16i16o"). Source: facts relax-ops-passes-vm §1 (nn),
relay-language §6 level 2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from baton._src.ir.attrs import attr, attrs
from baton._src.ir.op_def import Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layout_names import AxisOrder, Place, Split, whole
from baton._src.ops.layouts import Anchor
from baton._src.ops.linalg.products import rounded
from baton._src.ops.nn.convolution.depth_multiplier import decompose, depth_multiplier
from baton._src.ops.nn.convolution.geometry import (
    Extents,
    Geometry,
    infer_extents,
    infer_kernel,
    normalise_geometry,
    orders,
)
from baton._src.ops.nn.convolution.gradient import gradient
from baton._src.ops.nn.convolution.reference import convolve
from baton._src.ops.precision import accumulator
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import SPATIAL, padded, window_extent, windows
from baton._src.tir.expr import IterVar
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class ConvAttrs(Geometry):
    """Geometry and layouts; `spatial` is the number of spatial axes."""

    spatial: ClassVar[int] = 2

    strides: tuple[int, ...] = attr(1, "strides: one value, or one per axis")
    padding: tuple[int, ...] = attr(0, "zero padding: one value, one per axis, or begins then ends")
    dilation: tuple[int, ...] = attr(1, "dilation of the kernel")
    groups: int = attr(1, "the number of independent groups of channels")
    channels: Dim | None = attr(None, "number of output channels", relay_only=True)
    kernel_size: tuple[int, ...] | None = attr(None, "spatial extents of the kernel", relay_only=True)
    data_layout: str = attr("", "layout of the data")
    kernel_layout: str = attr("", "layout of the kernel")
    out_layout: str = attr("", "layout of the result; empty: that of the data")
    out_dtype: DataType = attr("", "dtype of the result; empty: that of the data")

    def __post_init__(self) -> None:
        normalise_geometry(self, "OI")


@attrs
class Conv1DAttrs(ConvAttrs):
    """One spatial axis (W)."""

    spatial: ClassVar[int] = 1

    data_layout: str = attr("NCW", "layout of the data")
    kernel_layout: str = attr("OIW", "layout of the kernel")


@attrs
class Conv2DAttrs(ConvAttrs):
    """Two spatial axes (H, W)."""

    data_layout: str = attr("NCHW", "layout of the data")
    kernel_layout: str = attr("OIHW", "layout of the kernel")


@attrs
class Conv3DAttrs(ConvAttrs):
    """Three spatial axes (D, H, W)."""

    spatial: ClassVar[int] = 3

    data_layout: str = attr("NCDHW", "layout of the data")
    kernel_layout: str = attr("OIDHW", "layout of the kernel")


def infer(call: OpCall[ConvAttrs]) -> Info:
    """The result's shape from the formula."""
    return infer_extents(call, _result)


def _result(call: OpCall[ConvAttrs], math: DimMath, data: Extents, weights: Extents) -> Extents:
    a = call.attrs
    multiplier = depth_multiplier(a, weights)
    if multiplier > 1:
        weights = {**weights, "O": math.multiply(weights["O"], multiplier), "I": 1}
    _check_channels(call, math, data, weights)
    result: Extents = {"N": data["N"], "C": weights["O"]}
    for i, letter in enumerate(SPATIAL[a.spatial]):
        begin, end = a.padding[i], a.padding[i + a.spatial]
        size = window_extent(math, data[letter], weights[letter], a.strides[i], a.dilation[i], begin, end)
        if isinstance(size, int) and size <= 0:
            shapes = [show_shape(call.tensor(n).shape) for n in (0, 1)]
            call.fail(
                f"the kernel {shapes[1]} is larger than the padded data {shapes[0]}",
                help=f"pad more than {a.padding}, use a smaller kernel, or see whether the layouts are the data's",
            )
        result[letter] = size
    return result


def _check_channels(call: OpCall[ConvAttrs], math: DimMath, data: Extents, kernel: Extents) -> None:
    groups = call.attrs.groups
    if call.attrs.channels is not None and math.equal(kernel["O"], call.attrs.channels) is False:
        call.fail(
            f"channels is {call.attrs.channels}, but the kernel has {kernel['O']} output channels",
            help="leave channels out: the kernel says it",
        )
    if "I" in kernel and math.equal(data["C"], math.multiply(kernel["I"], groups)) is False:
        call.fail(
            f"the data has {data['C']} channels, the kernel takes {kernel['I']} in each of {groups} group(s)",
            help="data channels must be kernel input channels times groups; they are counted in the layouts "
            f"{call.attrs.data_layout} and {call.attrs.kernel_layout}",
        )
    if math.divides(groups, kernel["O"]) is False:
        call.fail(
            f"{kernel['O']} output channels cannot be divided into {groups} groups",
            help="groups must divide the output channels",
        )


def infer_inputs(call: OpCall[ConvAttrs]) -> Sequence[TensorInfo | None]:
    """A kernel of unknown type: (channels, C / groups, kernel_size...)."""
    a = call.attrs
    return infer_kernel(call, lambda math, c, o: {"O": o, "I": math.floor_divide(c, a.groups)})


def compute(inputs: Sequence[k.Tensor], attributes: ConvAttrs, out: k.Result) -> k.Tensor:
    """A padding stage (if any), then one reduction over input channels and taps."""
    x, w = inputs
    a = attributes
    data, kernel, result = orders(a)
    letters = SPATIAL[a.spatial]
    source = padded(x, data, letters, a.padding[: a.spatial], a.padding[a.spatial :], 0)
    taps = [k.reduce_axis(w.shape[kernel.position(letter)], f"r{at}") for letter, at in zip(letters, "yxz")]
    kept = accumulator(out.dtype)
    outputs = w.shape[kernel.position("O")] * kernel.block("O")
    inner = w.shape[kernel.position("I")] * kernel.block("I")
    depthwise = k.is_one(inner) and a.groups > 1
    channel, channel_axes = (k.index(0), []) if depthwise else _channel_axes(inner, data)

    def body(*indices: k.Scalar) -> k.Scalar:
        at = result.split(indices)
        windows = {
            letter: _scaled(whole(at[letter]), a.strides[i]) + _scaled(taps[i].var, a.dilation[i])
            for i, letter in enumerate(letters)
        }
        read = {"N": at["N"], "C": _data_channel(at["C"], channel, a.groups, outputs, inner, depthwise), **windows}
        weight = {"O": at["C"], "I": channel, **{letter: taps[i].var for i, letter in enumerate(letters)}}
        value = k.cast(kept, source(*data.indices(read))) * k.cast(kept, w(*kernel.indices(weight)))
        return k.reduce_sum(value, [*channel_axes, *taps])

    name, axes = _names(a, result, letters)
    found = k.compute(out.shape, body, name, "", axes=axes, **windows(out.shape, result, letters))
    return rounded(found, out.dtype)


def _names(a: ConvAttrs, result: AxisOrder, letters: str) -> tuple[str, list[str] | None]:
    """Those of the block and its loops; layouts in blocks have loops that are numbered."""
    if not result.is_plain:
        return f"conv{a.spatial}d", None
    words = {"N": "nn", "C": "ff", **dict(zip(letters, ("yy", "xx", "zz")))}
    order = sorted(words, key=result.position)
    name = f"{'group_' if a.groups > 1 else ''}conv{a.spatial}d_{''.join(order).lower()}"
    return name, [words[letter] for letter in order]


def _scaled(value: k.Scalar, factor: int) -> k.Scalar:
    return value if factor == 1 else value * factor


def _channel_axes(inner: k.Scalar, data: AxisOrder) -> tuple[Place, list[IterVar]]:
    """The input channel that is summed over: one axis, or two where the data is blocked."""
    block = data.block("C")
    if block == 1:
        axis = k.reduce_axis(inner, "rc")
        return axis.var, [axis]
    outer, within = k.reduce_axis(inner // block, "rco"), k.reduce_axis(block, "rci")
    return Split(outer.var, within.var, block), [outer, within]


def _data_channel(
    out: Place, channel: Place, groups: int, outputs: k.Scalar, inner: k.Scalar, depthwise: bool
) -> Place:
    """Which channel of the data output channel `out` reads for input channel `channel` of its group."""
    if groups == 1:
        return channel
    each = k.index(outputs) // groups
    if depthwise and k.is_one(each):
        return out
    group = whole(out) if k.is_one(each) else whole(out) // k.divisor(each)
    if depthwise:
        return group
    if isinstance(out, Split) and isinstance(channel, Split) and out.block == channel.block:
        size, blocks = _known(outputs), _known(inner)
        if size is not None and blocks is not None and not (size // groups % out.block or blocks % out.block):
            # Whole blocks in each group: numbers of blocks suffice.
            several = size // groups // out.block
            first = (out.outer if several == 1 else out.outer // several) * (blocks // out.block)
            return Split(first + channel.outer, channel.inner, out.block)
    return group * inner + whole(channel)


def _known(extent: Dim) -> int | None:
    found = getattr(extent, "value", extent)
    return found if isinstance(found, int) else None


def reference(inputs: Sequence[AnyArray], attributes: ConvAttrs) -> AnyArray:
    """Sums of shifted products, tap by tap."""
    x, w = inputs
    a = attributes
    return convolve(x, w, a, orders(a))


def _samples(record: type[ConvAttrs], spatial: int) -> tuple[Sample, ...]:
    s = (6,) * (spatial - 1)
    kernel = (3,) * spatial
    names = {1: ("W", "NWC", "WIO"), 2: ("HW", "NHWC", "HWIO"), 3: ("DHW", "NDHWC", "DHWIO")}[spatial]
    plain = (
        Sample((Arr(("n", 4, *s, 7)), Arr((2, 4, *kernel))), record(strides=1, padding=1), rtol=1e-4, atol=1e-4),
        Sample(
            (Arr((1, 4, *s, "w")), Arr((6, 2, *kernel))), record(strides=2, padding=1, groups=2), rtol=1e-4, atol=1e-4
        ),
        Sample(
            (Arr((1, *s, 7, 4)), Arr((*kernel, 4, 2))),
            record(data_layout=names[1], kernel_layout=names[2]),
            rtol=1e-4,
            atol=1e-4,
        ),
        Sample(
            (Arr((1, 4, *s, 7)), Arr((4, 1, *kernel))), record(groups=4, dilation=2, padding=2), rtol=1e-4, atol=1e-4
        ),
    )
    if spatial != 2:
        return plain
    blocked = record(data_layout="NCHW4c", kernel_layout="OIHW4i4o", padding=(1, 0, 1, 0))
    return (
        *plain,
        Sample((Arr((1, 2, 5, 6, 4)), Arr((3, 2, 3, 3, 4, 4))), blocked, rtol=1e-4, atol=1e-4),
        Sample((Arr((1, 4, 5, 6, 4)), Arr((4, 2, 3, 3, 4, 4))), blocked.with_attrs(groups=2), rtol=1e-4, atol=1e-4),
        Sample(
            (Arr((1, 2, 5, 6, 8), "int8", -9, 9), Arr((3, 2, 3, 3, 2, 4, 4), "int8", -9, 9)),
            record(data_layout="NCHW8c", kernel_layout="OIHW2i4o4i", out_layout="NCHW4c", out_dtype="int32"),
        ),
        Sample((Arr((1, 4, 5, 5), "float16"), Arr((2, 4, 3, 3), "float16")), record(), rtol=2e-2, atol=2e-2),
        Sample((Arr((1, 4, 5, 5), "int8", -9, 9), Arr((2, 4, 3, 3), "int8", -9, 9)), record(out_dtype="int32")),
    )


def _define(spatial: int, record: type[ConvAttrs]) -> OpDef[ConvAttrs]:
    return OpDef(
        f"nn.conv{spatial}d",
        record,
        inputs=(Input("data", "the images"), Input("weight", "the kernel")),
        infer=infer,
        compute=compute,
        reference=reference,
        gradient=gradient,
        infer_inputs=infer_inputs,
        decompose=decompose,
        fusion=Fusion.OUT_EWISE_FUSABLE,
        layout=Anchor("data_layout", "kernel_layout", "out_layout"),
        samples=lambda: _samples(record, spatial),
        summary=f"Convolution over {spatial} spatial {'axis' if spatial == 1 else 'axes'}.",
    )


CONV1D = _define(1, Conv1DAttrs)
CONV2D = _define(2, Conv2DAttrs)
CONV3D = _define(3, Conv3DAttrs)

CONV2D_BLOCKED = dataclasses.replace(
    CONV2D,
    name="nn.contrib_conv2d_NCHWc",
    relay_name="",
    in_relax=False,
    samples=lambda: _samples(Conv2DAttrs, 2)[4:5],
    summary="2D convolution with blocked channels (NCHWc), as AlterOpLayout writes it for nn.conv2d.",
)

"""Transposed convolution ("deconvolution"): the adjoint of convolution, used for upsampling.

Kernels are (I, O / groups, spatial...). Output extent: (x - 1) * stride - begin - end + (k - 1) * dilation + 1 +
output_padding. Computed as a convolution of the dilated, bordered data with the mirrored kernel.
Source: facts relax-ops-passes-vm §1 (nn), relay-language §6 level 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from baton._src.ir.attrs import attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layout_names import AxisOrder, whole
from baton._src.ops.layouts import Anchor
from baton._src.ops.linalg.products import rounded
from baton._src.ops.linear_axes import known_dims, named_dims
from baton._src.ops.mixed_dtypes import like_operands, like_result
from baton._src.ops.nn.convolution.geometry import (
    Extents,
    Geometry,
    infer_extents,
    infer_kernel,
    normalise_geometry,
    orders,
)
from baton._src.ops.nn.convolution.reference import convolve_transposed
from baton._src.ops.nn.convolution.transpose_few_points import decompose
from baton._src.ops.precision import accumulator
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import SPATIAL, per_axis
from baton._src.support.diagnostics import fail
from baton._src.te.tag import PAD_TAG, default_tag
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class ConvTransposeAttrs(Geometry):
    """The geometry of the convolution whose adjoint this is."""

    spatial: ClassVar[int] = 2

    strides: tuple[int, ...] = attr(1, "distance of the spread elements")
    padding: tuple[int, ...] = attr(0, "what is cut off: one, one per axis, or begins then ends")
    output_padding: tuple[int, ...] = attr(0, "extra extent at the end of every axis")
    dilation: tuple[int, ...] = attr(1, "dilation of the kernel")
    groups: int = attr(1, "the number of independent groups of channels")
    channels: Dim | None = attr(None, "number of output channels", relay_only=True)
    kernel_size: tuple[int, ...] | None = attr(None, "spatial extents of the kernel", relay_only=True)
    data_layout: str = attr("", "layout of the data")
    kernel_layout: str = attr("", "layout of the kernel")
    out_layout: str = attr("", "layout of the result; empty: that of the data")
    out_dtype: DataType = attr("", "dtype of the result; empty: that of the data")

    def __post_init__(self) -> None:
        normalise_geometry(self, "IO")
        set_attr(self, "output_padding", per_axis(self.output_padding, self.spatial, "output_padding"))


@attrs
class Conv1DTransposeAttrs(ConvTransposeAttrs):
    """One spatial axis (W)."""

    spatial: ClassVar[int] = 1

    data_layout: str = attr("NCW", "layout of the data")
    kernel_layout: str = attr("IOW", "layout of the kernel")


@attrs
class Conv2DTransposeAttrs(ConvTransposeAttrs):
    """Two spatial axes (H, W)."""

    data_layout: str = attr("NCHW", "layout of the data")
    kernel_layout: str = attr("IOHW", "layout of the kernel")


@attrs
class Conv3DTransposeAttrs(ConvTransposeAttrs):
    """Three spatial axes (D, H, W)."""

    spatial: ClassVar[int] = 3

    data_layout: str = attr("NCDHW", "layout of the data")
    kernel_layout: str = attr("IODHW", "layout of the kernel")


def relay_builder(
    make: OwnMaker,
    data: GraphExpr,
    weight: GraphExpr,
    strides: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    channels: Dim | None = None,
    kernel_size: int | Sequence[int] | None = None,
    data_layout: str = "",
    kernel_layout: str = "",
    out_layout: str = "",
    output_padding: int | Sequence[int] = 0,
    out_dtype: object = "",
) -> GraphExpr:
    """Relay's order of attributes."""
    fields = {key: value for key, value in locals().items() if key not in ("make", "data", "weight")}
    return make(data, weight, **fields)


def infer(call: OpCall[ConvTransposeAttrs]) -> Info:
    """The result's shape from the formula."""
    return infer_extents(call, _result)


def _result(call: OpCall[ConvTransposeAttrs], math: DimMath, data: Extents, weights: Extents) -> Extents:
    a = call.attrs
    if "I" in weights and math.equal(data["C"], weights["I"]) is False:
        call.fail(f"the data has {data['C']} channels, the kernel takes {weights['I']}")
    if math.divides(a.groups, data["C"]) is False:
        call.fail(f"{data['C']} channels cannot be divided into {a.groups} groups")
    channels = weights["O"] if "I" not in weights else math.multiply(weights["O"], a.groups)
    if a.channels is not None and math.equal(channels, a.channels) is False:
        help = "leave channels out: the kernel says it"
        call.fail(f"channels is {a.channels}, but the kernel has {channels} output channels", help=help)
    result: Extents = {"N": data["N"], "C": channels}
    for i, letter in enumerate(SPATIAL[a.spatial]):
        if a.output_padding[i] and not 0 <= a.output_padding[i] < max(a.strides[i], a.dilation[i]):
            call.fail(f"output_padding {a.output_padding} must be smaller than strides or dilation, and not negative")
        spread = math.multiply(math.subtract(data[letter], 1), a.strides[i])
        reach = math.multiply(math.subtract(weights[letter], 1), a.dilation[i])
        extra = 1 + a.output_padding[i] - a.padding[i] - a.padding[i + a.spatial]
        size = math.add(math.add(spread, reach), extra)
        empty = any(math.at_most(1, extents[letter]) is False for extents in (data, weights))
        if empty or math.at_most(0, size) is False:
            shapes = [show_shape(call.tensor(n).shape) for n in (0, 1)]
            call.fail(
                f"the data {shapes[0]} and the kernel {shapes[1]} leave no extent {letter}",
                help=f"both need elements, and padding {a.padding} may cut no more than there are",
            )
        result[letter] = size
    return result


def infer_inputs(call: OpCall[ConvTransposeAttrs]) -> Sequence[TensorInfo | None]:
    """A kernel of unknown type: (C, channels / groups, kernel_size...)."""
    a = call.attrs
    return infer_kernel(call, lambda math, c, o: {"O": math.floor_divide(o, a.groups), "I": c})


def _spread(x: k.Tensor, data: AxisOrder, a: ConvTransposeAttrs, kernel: Sequence[k.Scalar]) -> k.Tensor:
    """The data with stride - 1 zeros between elements and the border that the mirrored kernel needs."""
    letters = SPATIAL[a.spatial]
    plan: dict[int, tuple[int, k.Scalar, k.Scalar]] = {}
    for i, letter in enumerate(letters):
        reach = (k.index(kernel[i]) - 1) * a.dilation[i]
        begin = reach - a.padding[i]
        end = reach - a.padding[i + a.spatial] + a.output_padding[i]
        plan[data.position(letter)] = (a.strides[i], begin, end)
    shape = [d if i not in plan else (d - 1) * plan[i][0] + 1 + plan[i][1] + plan[i][2] for i, d in enumerate(x.shape)]

    def body(*indices: k.Scalar) -> k.Scalar:
        where = list(indices)
        inside: list[k.Scalar] = []
        for axis, (stride, begin, _) in plan.items():
            at = indices[axis] - begin
            inside += [at >= k.index(0), at < (x.shape[axis] - 1) * stride + 1]
            if stride > 1:
                inside.append(k.tir.EQ(at % stride, k.index(0)))
            where[axis] = at // stride if stride > 1 else at
        return k.if_then_else(k.all_of(inside), x(*where), k.const(0, x.dtype))

    with default_tag(PAD_TAG):
        return k.compute(shape, body, "pad_temp")


def compute(inputs: Sequence[k.Tensor], attributes: ConvTransposeAttrs, out: k.Result) -> k.Tensor:
    """Spread the data, then one reduction with the kernel read backwards."""
    x, w = inputs
    a = attributes
    data, kernel, result = orders(a)
    letters = SPATIAL[a.spatial]
    extents = [w.shape[kernel.position(letter)] for letter in letters]
    source = _spread(x, data, a, extents)
    taps = [k.reduce_axis(e, f"r{letter.lower()}") for e, letter in zip(extents, letters)]
    kept = accumulator(out.dtype)
    each = w.shape[kernel.position("O")] * kernel.block("O")
    inner = (w.shape[kernel.position("I")] * kernel.block("I")) // a.groups
    channel = k.reduce_axis(inner, "rc")

    def body(*indices: k.Scalar) -> k.Scalar:
        at = result.split(indices)
        output = whole(at["C"])
        group = k.index(0) if a.groups == 1 else output // k.divisor(each)
        read = {"N": at["N"], "C": channel.var if a.groups == 1 else group * inner + channel.var}
        weight = {"I": read["C"], "O": at["C"] if a.groups == 1 else output % k.divisor(each)}
        for i, letter in enumerate(letters):
            step = taps[i].var if a.dilation[i] == 1 else taps[i].var * a.dilation[i]
            read[letter] = whole(at[letter]) + step
            weight[letter] = extents[i] - 1 - taps[i].var
        value = k.cast(kept, source(*data.indices(read))) * k.cast(kept, w(*kernel.indices(weight)))
        return k.reduce_sum(value, [channel, *taps])

    return rounded(k.compute(out.shape, body, f"conv{a.spatial}d_transpose"), out.dtype)


def reference(inputs: Sequence[AnyArray], attributes: ConvTransposeAttrs) -> AnyArray:
    """Every element of the data adds the kernel, scaled, to the result."""
    return convolve_transposed(inputs[0], inputs[1], attributes, attributes.output_padding, orders(attributes))


def gradient(b: CallMaker, args: Exprs, a: ConvTransposeAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Towards the data the convolution itself; towards the kernel the data slides over the gradient."""
    count = a.spatial
    letters = SPATIAL[count]
    layouts = (a.data_layout, a.kernel_layout, a.out_layout or a.data_layout)
    if a.groups != 1 or layouts != ("NC" + letters, "IO" + letters, "NC" + letters):
        raise fail(
            "op-gradient",
            "the gradient of a transposed convolution is implemented for one group with channels first only",
        )
    x, w = like_result(b, args, grad)
    to_data = b.op(f"nn.conv{count}d", grad, w, strides=a.strides, padding=a.padding, dilation=a.dilation)
    if any(more >= step for more, step in zip(a.output_padding, a.strides)):  # windows behind those of the data
        to_data = _cut(b, to_data, _extents(args[0]))
    swap = (1, 0, *range(2, count + 2))
    slid = b.op(
        f"nn.conv{count}d",
        b.op("permute_dims", grad, axes=swap),
        b.op("permute_dims", x, axes=swap),
        strides=a.dilation,
        dilation=a.strides,
        padding=a.padding,
    )
    to_kernel = _cut(b, slid, known_dims(_extents(args[1]), "a transposed convolution"))
    return like_operands(b, [to_data, b.op("permute_dims", to_kernel, axes=swap)], args, grad)


def _extents(x: GraphExpr) -> tuple[Dim, ...]:
    return named_dims(x.struct_info, "a transposed convolution")[2:]


def _cut(b: CallMaker, x: GraphExpr, extents: Sequence[Dim]) -> GraphExpr:
    """The first elements of `x` along its spatial axes."""
    count = len(extents)
    return b.op("strided_slice", x, tuple(range(2, count + 2)), (0,) * count, tuple(extents))


def _samples(record: type[ConvTransposeAttrs], spatial: int) -> tuple[Sample, ...]:
    s = (4,) * (spatial - 1)
    kernel = (3,) * spatial
    strided = record(strides=2, padding=1, output_padding=1)
    return (
        Sample((Arr(("n", 4, *s, 5)), Arr((4, 2, *kernel))), record(), rtol=1e-4, atol=1e-4),
        Sample((Arr((1, 4, *s, "w")), Arr((4, 3, *kernel))), strided, rtol=1e-4, atol=1e-4),
        Sample(
            (Arr((1, 4, *s, 5)), Arr((4, 2, *kernel))), record(groups=2, dilation=2, padding=2), rtol=1e-4, atol=1e-4
        ),
        Sample(
            (Arr((1, 2, *s, "w")), Arr((2, 3, *kernel))), record(dilation=2, output_padding=1), rtol=1e-4, atol=1e-4
        ),
    )


def _define(spatial: int, record: type[ConvTransposeAttrs]) -> OpDef[ConvTransposeAttrs]:
    return OpDef(
        f"nn.conv{spatial}d_transpose",
        record,
        inputs=(Input("data", "the images"), Input("weight", "the kernel")),
        infer=infer,
        compute=compute,
        reference=reference,
        decompose=decompose if spatial == 2 else NotApplicable("computed directly"),
        gradient=gradient,
        relay_builder=relay_builder,
        infer_inputs=infer_inputs,
        fusion=Fusion.OUT_EWISE_FUSABLE,
        layout=Anchor("data_layout", "kernel_layout", "out_layout"),
        samples=lambda: _samples(record, spatial),
        summary=f"Transposed convolution over {spatial} spatial {'axis' if spatial == 1 else 'axes'}.",
    )


CONV1D_TRANSPOSE = _define(1, Conv1DTransposeAttrs)
CONV2D_TRANSPOSE = _define(2, Conv2DTransposeAttrs)
CONV3D_TRANSPOSE = _define(3, Conv3DTransposeAttrs)

"""Products of integers of very few bits, bit by bit: nn.bitserial_conv2d, nn.bitserial_dense.

Operands are packed by `bitpack`. A product of packed operands is

    sum over places p, q of popcount(x[p] & w[q]) << (p + q)                               bipolar: x * w
    sum over places p, q of (popcount(x[p] & w[q]) - popcount(x[p] & ~w[q])) << (p + q)    unipolar: x * (2w - 2**b + 1)

with b the places of w: one bit of weight stands for -1 or 1. Weights may come packed: (O, I / word, H, W, bits) and
(H, W, I / word, O, bits) for convolutions, (units, bits, inputs / word) for dense layers.
Source: facts relay-language §6 levels 1 and 2; Umuroglu and Jahre, Streamlined Deployment for Quantized Networks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layout_names import layout_over
from baton._src.ops.nn.bitpack import BitPackAttrs, packed_words, word_count
from baton._src.ops.nn.convolution.convolution import Conv2DAttrs
from baton._src.ops.nn.convolution.convolution import reference as reference_convolution
from baton._src.ops.operand_checks import check_integers
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import both_sides, padded, per_axis, steps, window_extent
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

_NO_SLOPE = NotApplicable("integers")


# -------------------------------------------------------------------------------------------------- products


@attrs
class BitserialDenseAttrs(Attrs):
    """Places and dtypes."""

    units: int | None = attr(None, "the number of units; inferred from the weight")
    data_bits: int = attr(1, "places of the data")
    weight_bits: int = attr(1, "places of the weight")
    pack_dtype: DataType = attr("uint32", "dtype of the words")
    out_dtype: DataType = attr("int16", "dtype of the result")
    unipolar: bool = attr(True, "a bit of weight stands for -1 or 1, else for 0 or 1")

    def __post_init__(self) -> None:
        set_attr(self, "pack_dtype", DataType(self.pack_dtype))
        set_attr(self, "out_dtype", DataType(self.out_dtype or "int16"))


@attrs
class BitserialConvAttrs(Attrs):
    """Geometry, places, layouts, dtypes."""

    strides: tuple[int, ...] = attr(1, "strides of the window")
    padding: tuple[int, ...] = attr(0, "zero padding: one value, one per axis, or begins then ends")
    channels: int | None = attr(None, "number of output channels; known from the weight")
    kernel_size: tuple[int, ...] = attr((3, 3), "spatial extents of the kernel")
    activation_bits: int = attr(1, "places of the data")
    weight_bits: int = attr(1, "places of the weight")
    data_layout: str = attr("NCHW", "NCHW or NHWC")
    kernel_layout: str = attr("OIHW", "OIHW for NCHW, HWIO for NHWC")
    pack_dtype: DataType = attr("uint32", "dtype of the words")
    out_dtype: DataType = attr("int16", "dtype of the result")
    unipolar: bool = attr(True, "a bit of weight stands for -1 or 1, else for 0 or 1")

    def __post_init__(self) -> None:
        set_attr(self, "strides", steps(self.strides, 2, "strides"))
        set_attr(self, "padding", both_sides(self.padding, 2))
        set_attr(self, "kernel_size", per_axis(self.kernel_size, 2, "kernel_size"))
        set_attr(self, "pack_dtype", DataType(self.pack_dtype))
        set_attr(self, "out_dtype", DataType(self.out_dtype or "int16"))


def _check(
    call: OpCall[BitserialDenseAttrs | BitserialConvAttrs], data_bits: int, packed_rank: int, bit_axis: int
) -> None:
    """Integers; a weight like the data, or words with as many places as it has."""
    x, w, a = call.tensor(0), call.tensor(1), call.attrs
    places = (data_bits, a.weight_bits)
    if not all(1 <= bits <= 32 for bits in places):
        call.fail(f"data and weight have 1 to 32 places, got {places}", code="op-attribute")
    check_integers(call, 0, 1)
    if x.ndim not in (-1, packed_rank - 1) or w.ndim not in (-1, packed_rank - 1, packed_rank):
        call.fail(f"got {show_shape(x.shape, x.ndim)} and {show_shape(w.shape, w.ndim)}")
    if w.ndim == packed_rank and not w.dtype.is_void and w.dtype != a.pack_dtype:
        call.fail(f"a packed weight must have dtype {a.pack_dtype}, got {w.dtype}", code="op-dtype")
    bits = w.shape[bit_axis] if w.ndim == packed_rank and w.shape is not None else a.weight_bits
    if DimMath(call.prover).equal(bits, a.weight_bits) is False:
        call.fail(f"the packed weight {show_shape(w.shape)} must have {a.weight_bits} places in axis {bit_axis}")


def infer_dense(call: OpCall[BitserialDenseAttrs]) -> Info:
    """(rows, units)"""
    x, w, a = call.tensor(0), call.tensor(1), call.attrs
    _check(call, a.data_bits, 3, 1)
    if x.shape is None or w.shape is None:
        return TensorInfo(None, a.out_dtype, 2)
    math = DimMath(call.prover)
    words = word_count(call, x.shape[1], a.pack_dtype)
    wanted = words if w.ndim == 3 else x.shape[1]
    if math.equal(w.shape[-1], wanted) is False:
        call.fail(f"the data {show_shape(x.shape)} and the weight {show_shape(w.shape)} differ in their inputs")
    if a.units is not None and math.equal(w.shape[0], a.units) is False:
        call.fail(f"units is {a.units}, but the weight has {w.shape[0]}")
    return TensorInfo((x.shape[0], w.shape[0]), a.out_dtype)


def _alike(x: k.Scalar, w: k.Scalar, unipolar: bool, dtype: DataType, places: k.Scalar) -> k.Scalar:
    """What two words add to the sum."""
    value = k.cast(dtype, k.call("popcount", x & w))
    if unipolar:
        value = value - k.cast(dtype, k.call("popcount", x & k.call("bitwise_not", w)))
    return k.call("shift_left", value, k.cast(dtype, places))


def compute_dense(inputs: Sequence[k.Tensor], a: BitserialDenseAttrs, out: k.Result) -> k.Tensor:
    """Pack, then one reduction over places and words."""
    x, w = inputs
    x = packed_words(x, BitPackAttrs(a.data_bits, 1, 1, a.pack_dtype, "packed_data"))
    w = w if w.ndim == 3 else packed_words(w, BitPackAttrs(a.weight_bits, 1, 1, a.pack_dtype, "packed_weight"))
    axes = [k.reduce_axis(e, n) for e, n in ((a.data_bits, "p"), (a.weight_bits, "q"), (w.shape[2], "k"))]
    p, q, word = (axis.var for axis in axes)

    def body(m: k.Scalar, n: k.Scalar) -> k.Scalar:
        return k.reduce_sum(_alike(x(m, p, word), w(n, q, word), a.unipolar, out.dtype, p + q), axes)

    return k.compute(out.shape, body, "bitserial_dense")


def infer_conv(call: OpCall[BitserialConvAttrs]) -> Info:
    """Extents as those of a convolution."""
    x, w, a = call.tensor(0), call.tensor(1), call.attrs
    if (a.data_layout, a.kernel_layout) not in (("NCHW", "OIHW"), ("NHWC", "HWIO")):
        call.fail(f"layouts must be NCHW and OIHW or NHWC and HWIO, got {a.data_layout}, {a.kernel_layout}")
    _check(call, a.activation_bits, 5, 4)
    if x.shape is None or w.shape is None:
        return TensorInfo(None, a.out_dtype, 4)
    math = DimMath(call.prover)
    data, kernel = dict(zip(a.data_layout, x.shape)), dict(zip(a.kernel_layout, w.shape))
    wanted = word_count(call, data["C"], a.pack_dtype) if w.ndim == 5 else data["C"]
    word_count(call, data["C"], a.pack_dtype)
    if math.equal(kernel["I"], wanted) is False:
        call.fail(
            f"the data has {data['C']} channels, the {a.kernel_layout} weight {show_shape(w.shape)} has {kernel['I']}"
        )
    said = {"H": a.kernel_size[0], "W": a.kernel_size[1], "O": kernel["O"] if a.channels is None else a.channels}
    if any(math.equal(kernel[letter], size) is False for letter, size in said.items()):
        call.fail(f"kernel_size {a.kernel_size} or channels {a.channels} is not the weight's {show_shape(w.shape)}")
    result: dict[str, Dim] = {"N": data["N"], "C": kernel["O"]}
    for i, letter in enumerate("HW"):
        borders = (a.padding[i], a.padding[i + 2])
        size = window_extent(math, data[letter], kernel[letter], a.strides[i], 1, *borders)
        if math.at_most(1, size) is False:
            call.fail(f"the kernel {show_shape(w.shape)} is larger than the padded data {show_shape(x.shape)}")
        result[letter] = size
    return TensorInfo(tuple(result[letter] for letter in a.data_layout), a.out_dtype)


def compute_conv(inputs: Sequence[k.Tensor], a: BitserialConvAttrs, out: k.Result) -> k.Tensor:
    """Pack, pad, then one reduction over places, words and taps. No bit of the border is set."""
    x, w = inputs
    layout = a.data_layout
    channel = layout.index("C")
    x = packed_words(x, BitPackAttrs(a.activation_bits, channel, 4, a.pack_dtype, "packed_data"))
    if w.ndim == 4:
        place = a.kernel_layout.index("I")
        w = packed_words(w, BitPackAttrs(a.weight_bits, place, 4, a.pack_dtype, "packed_weight"))
    source = padded(x, layout_over(layout + "B", "NCHWB", "layout"), "HW", a.padding[:2], a.padding[2:], 0)
    extents = dict(zip(a.kernel_layout, w.shape))
    named = (
        (a.activation_bits, "p"),
        (a.weight_bits, "q"),
        (extents["I"], "k"),
        (extents["H"], "h"),
        (extents["W"], "w"),
    )
    axes = [k.reduce_axis(extent, name) for extent, name in named]
    p, q, word, row, column = (axis.var for axis in axes)

    def body(*indices: k.Scalar) -> k.Scalar:
        at = dict(zip(layout, indices))
        seen = {"N": at["N"], "C": word, "H": at["H"] * a.strides[0] + row, "W": at["W"] * a.strides[1] + column}
        tap = {"O": at["C"], "I": word, "H": row, "W": column}
        data = source(*(seen[letter] for letter in layout), p)
        weight = w(*(tap[letter] for letter in a.kernel_layout), q)
        return k.reduce_sum(_alike(data, weight, a.unipolar, out.dtype, p + q), axes)

    return k.compute(out.shape, body, "bitserial_conv2d")


def _plain_weight(
    w: AnyArray, rank: int, pack_axis: int, bit_axis: int, a: BitserialDenseAttrs | BitserialConvAttrs
) -> AnyArray:
    """What the places of a weight stand for, as int64."""
    bits = a.weight_bits
    if w.ndim == rank:
        w = w.astype(np.int64) & ((1 << bits) - 1)
    else:
        count = a.pack_dtype.bits
        words = np.moveaxis(w.astype(np.uint64), bit_axis, 0)
        places = []
        for place in words:
            spread = np.moveaxis(place, pack_axis, -1)[..., None] >> np.arange(count - 1, -1, -1, dtype=np.uint64)
            spread = (spread & np.uint64(1)).astype(np.int64).reshape(*spread.shape[:-2], spread.shape[-2] * count)
            places.append(np.moveaxis(spread, -1, pack_axis))
        w = sum(place << b for b, place in enumerate(places))
    found: AnyArray = 2 * w - (1 << bits) + 1 if a.unipolar else w
    return found


def reference_dense(inputs: Sequence[AnyArray], a: BitserialDenseAttrs) -> AnyArray:
    """A product of what the places stand for."""
    x, w = inputs
    x = x.astype(np.int64) & ((1 << a.data_bits) - 1)
    return (x @ _plain_weight(w, 2, 1, 1, a).T).astype(a.out_dtype.numpy)


def reference_conv(inputs: Sequence[AnyArray], a: BitserialConvAttrs) -> AnyArray:
    """A convolution of what the places stand for."""
    x, w = inputs
    x = x.astype(np.int64) & ((1 << a.activation_bits) - 1)
    geometry = {n: getattr(a, n) for n in ("strides", "padding", "data_layout", "kernel_layout")}
    weight = _plain_weight(w, 4, a.kernel_layout.index("I"), 4, a)
    return reference_convolution((x, weight), Conv2DAttrs(**geometry, out_dtype="int64")).astype(a.out_dtype.numpy)


_DENSE = {"data_bits": 2, "pack_dtype": "uint8"}
_CONV = {"activation_bits": 2, "weight_bits": 2, "padding": 1, "pack_dtype": "uint8"}
_NHWC = {"data_layout": "NHWC", "kernel_layout": "HWIO"}

BITSERIAL_DENSE = OpDef(
    "nn.bitserial_dense",
    BitserialDenseAttrs,
    inputs=(Input("data", "(rows, inputs)"), Input("weight", "(units, inputs), or packed")),
    infer=infer_dense,
    compute=compute_dense,
    reference=reference_dense,
    gradient=_NO_SLOPE,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 16), "uint8", 0, 4), Arr((3, 16), "uint8", 0, 2)), BitserialDenseAttrs(**_DENSE)),
        Sample(
            (Arr((2, 16), "uint8", 0, 4), Arr((3, 2, 2), "uint8", 0, 255)), BitserialDenseAttrs(weight_bits=2, **_DENSE)
        ),
    ),
    summary="Dense layer of low-bit integers, computed bit-serially.",
)
BITSERIAL_CONV2D = OpDef(
    "nn.bitserial_conv2d",
    BitserialConvAttrs,
    inputs=(Input("data", "the images"), Input("weight", "the kernel, maybe packed")),
    infer=infer_conv,
    compute=compute_conv,
    reference=reference_conv,
    gradient=_NO_SLOPE,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=lambda: (
        Sample(
            (Arr(("n", 8, 5, 4), "uint8", 0, 4), Arr((3, 8, 3, 3), "uint8", 0, 4)),
            BitserialConvAttrs(unipolar=False, **_CONV),
        ),
        Sample(
            (Arr((1, 5, 4, 8), "uint8", 0, 4), Arr((3, 3, 1, 3, 2), "uint8", 0, 255)),
            BitserialConvAttrs(strides=(2, 1), **_CONV, **_NHWC),
        ),
    ),
    summary="2D convolution of low-bit integers, computed bit-serially.",
)

BITSERIAL: tuple[Definition, ...] = (BITSERIAL_DENSE, BITSERIAL_CONV2D)

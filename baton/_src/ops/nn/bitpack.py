"""Bits of integers put together in words, place by place: nn.bitpack.

The bits of one place, of 8 to 64 elements along `pack_axis`, are one word, the first element in the highest bit; the
places are a new axis `bit_axis`. Source: facts relay-language §6 level 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath
from baton._src.ops.operand_checks import check_integers
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class BitPackAttrs(Attrs):
    """Places, axes, words."""

    bits: int = attr(1, "how many places elements have")
    pack_axis: int = attr(1, "the axis along which elements share words")
    bit_axis: int = attr(2, "where the axis of places goes")
    pack_type: DataType = attr("uint32", "dtype of the words")
    name: str = attr("BitPack", "name of the kernel")

    def __post_init__(self) -> None:
        set_attr(self, "pack_type", DataType(self.pack_type))


def word_count(call: OpCall[Attrs], extent: Dim, dtype: DataType) -> Dim:
    """The number of words that a number of elements fill."""
    if dtype.kind != "uint":
        call.fail(f"words must be unsigned integers, got {dtype}", code="op-dtype")
    math = DimMath(call.prover)
    if math.divides(dtype.bits, extent) is False:
        call.fail(f"{extent} elements do not fill words of {dtype.bits} bits", help="choose a smaller word, or pad")
    return math.floor_divide(extent, dtype.bits)


def infer_pack(call: OpCall[BitPackAttrs]) -> Info:
    """Words in the place of elements; an axis of places."""
    x, a = call.tensor(0), call.attrs
    check_integers(call, 0)
    if x.ndim == -1:
        return TensorInfo(None, a.pack_type)
    if not 0 <= a.pack_axis < x.ndim or not 0 <= a.bit_axis <= x.ndim or not 1 <= a.bits <= 32:
        call.fail(
            f"pack_axis {a.pack_axis}, bit_axis {a.bit_axis} or bits {a.bits} is out of range", code="op-attribute"
        )
    if x.shape is None:
        return TensorInfo(None, a.pack_type, x.ndim + 1)
    shape = list(x.shape)
    shape[a.pack_axis] = word_count(call, shape[a.pack_axis], a.pack_type)
    shape.insert(a.bit_axis, a.bits)
    return TensorInfo(tuple(shape), a.pack_type)


def packed_words(x: k.Tensor, a: BitPackAttrs) -> k.Tensor:
    """A sum of bits in their places: no two are the same."""
    count = a.pack_type.bits
    shape = list(k.dims(x.shape))
    shape[a.pack_axis] = shape[a.pack_axis] // k.index(count)
    shape.insert(a.bit_axis, k.index(a.bits))
    axis = k.reduce_axis(count, "e")

    def body(*indices: k.Scalar) -> k.Scalar:
        at = list(indices)
        place = at.pop(a.bit_axis)
        at[a.pack_axis] = at[a.pack_axis] * k.index(count) + axis.var
        element = k.cast("int64", x(*at))
        bit = k.cast(a.pack_type, k.call("shift_right", element, place) & k.const(1, "int64"))
        last = k.const(count - 1, a.pack_type)
        return k.reduce_sum(k.call("shift_left", bit, last - k.cast(a.pack_type, axis.var)), [axis])

    return k.compute(shape, body, a.name or "bitpack")


def reference_pack(inputs: Sequence[AnyArray], a: BitPackAttrs) -> AnyArray:
    """Place by place."""
    (x,) = inputs
    count = a.pack_type.bits
    x = np.moveaxis(x.astype(np.int64), a.pack_axis, -1)
    x = x.reshape(*x.shape[:-1], x.shape[-1] // count, count)
    weights = np.left_shift(np.uint64(1), np.arange(count - 1, -1, -1, dtype=np.uint64))
    places = [(((x >> b) & 1).astype(np.uint64) * weights).sum(axis=-1, dtype=np.uint64) for b in range(a.bits)]
    found = [np.moveaxis(p, -1, a.pack_axis).astype(a.pack_type.numpy) for p in places]
    return np.stack(found, axis=a.bit_axis)


BITPACK = OpDef(
    "nn.bitpack",
    BitPackAttrs,
    inputs=(Input("data", "integers of few bits"),),
    infer=infer_pack,
    compute=lambda inputs, a, out: packed_words(inputs[0], a),
    reference=reference_pack,
    gradient=NotApplicable("integers"),
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 16, 3), "uint8", 0, 4),), BitPackAttrs(2, 1, 2, "uint8")),
        Sample((Arr((2, 3, 32), "int32", 0, 8),), BitPackAttrs(3, 2, 0, "uint32")),
        Sample((Arr((2, 64), "uint8", 0, 2),), BitPackAttrs(1, 1, 1, "uint64")),
    ),
    summary="Split integers into bit planes and pack each plane into words.",
)

"""`tvm.topi.nn`: layers of numbers that are 1 or -1, packed as bits, and of integers of few bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call, number_of, shape_of
from baton._src.driver.tvm_names.topi.convolutions import KERNEL_LAYOUTS, border
from baton._src.driver.tvm_names.topi.tagging import with_tag
from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.te.computation import compute, reduce_axis
from baton._src.te.reduction import sum as te_sum
from baton._src.te.tensor import Tensor
from baton._src.tir.builders.scalar_functions import popcount
from baton._src.tir.operators import bitwise_xor, cast, const

_BITS = 32


def binarize_pack(data: Tensor, axis: int | None = None, name: str = "PackedInput") -> Any:
    """Whether elements are 0 or more, 32 along an axis (default: the last) to a word, the first in the highest bit."""
    place = data.ndim - 1 if axis is None else axis % data.ndim
    size = number_of(data.shape[place])
    if not isinstance(size, int) or size % _BITS:
        raise fail("topi", f"binarize_pack packs {_BITS} elements to a word: axis {place} of {data.name} has {size}")

    def word(*at: Any) -> Any:
        found = const(0, "uint32")
        for bit in range(_BITS):
            element = data(*(i * _BITS + bit if n == place else i for n, i in enumerate(at)))
            found = found * const(2, "uint32") + cast("uint32", element >= 0)
        return found

    shape: tuple[PrimExpr | int, ...] = (*data.shape[:place], size // _BITS, *data.shape[place + 1 :])
    return compute(shape, word, name=name, tag="binarize_pack")


def binary_dense(data: Tensor, weight: Tensor) -> Any:
    """data weightᵀ of numbers that are 1 or -1, packed by `binarize_pack`: (m, k) and (n, k) give float32 (m, n)."""
    if not data.dtype == weight.dtype == "uint32" or not data.ndim == weight.ndim == 2:
        raise fail("topi", "binary_dense multiplies matrices of uint32 words", help="binarize_pack makes them")
    k = reduce_axis((0, data.shape[1]), "k")
    shape = (data.shape[0], weight.shape[0])
    differ = compute(shape, lambda i, j: te_sum(popcount(bitwise_xor(data[i, k], weight[j, k])), k), tag="binary_dense")
    bits = data.shape[1] * _BITS
    return compute(shape, lambda i, j: cast("float32", bits) - cast("float32", differ[i, j]) * 2.0, tag="elemwise")


def _bitserial(layout: str) -> Callable[..., Any]:
    """bitserial_conv2d_nchw(data, kernel, stride, padding, activation_bits, weight_bits, pack_dtype, out_dtype, ...)"""
    kernel_layout = KERNEL_LAYOUTS[layout]

    def function(
        data: Tensor,
        kernel: Tensor,
        stride: Any,
        padding: Any,
        activation_bits: int,
        weight_bits: int,
        pack_dtype: Any = "uint32",
        out_dtype: Any = "int16",
        unipolar: bool = True,
    ) -> Any:
        """A convolution of integers of few bits, in the layout of its name; bits of 0 and 1, or of -1 and 1."""
        place = kernel_layout.index
        size = tuple(shape_of(kernel)[place(letter)] for letter in "HW")
        options = {"activation_bits": activation_bits, "weight_bits": weight_bits, "kernel_size": size}
        options |= {"data_layout": layout, "kernel_layout": kernel_layout, "pack_dtype": pack_dtype}
        options |= {"out_dtype": out_dtype, "unipolar": unipolar}
        sides = border(padding, kernel, kernel_layout, 1) if isinstance(padding, str) else padding
        found = call("nn.bitserial_conv2d", data, kernel, strides=stride, padding=sides, **options)
        return with_tag(found, f"spatial_bitserial_conv_{layout.lower()}")

    return function


def bitserial_dense(
    data: Tensor,
    weight: Tensor,
    data_bits: int,
    weight_bits: int,
    pack_dtype: Any = "uint32",
    out_dtype: Any = "int16",
    unipolar: bool = True,
) -> Any:
    """A dense layer of integers of few bits."""
    options = {"pack_dtype": pack_dtype, "out_dtype": out_dtype, "unipolar": unipolar}
    found = call("nn.bitserial_dense", data, weight, data_bits=data_bits, weight_bits=weight_bits, **options)
    return with_tag(found, "bitserial_dense")


BINARY_LAYERS: Mapping[str, Callable[..., Any]] = {
    "nn.binarize_pack": binarize_pack,
    "nn.binary_dense": binary_dense,
    "nn.bitserial_conv2d_nchw": _bitserial("NCHW"),
    "nn.bitserial_conv2d_nhwc": _bitserial("NHWC"),
    "nn.bitserial_dense": bitserial_dense,
}
"""By names below `topi`."""

"""`tvm.topi.nn`: layers of bits, quantisation in floats, gradients of depthwise convolutions, Winograd's ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call, number_of, shape_of
from baton._src.driver.tvm_names.topi.convolutions import CONVOLUTIONS
from baton._src.driver.tvm_names.topi.shapes import const_matrix
from baton._src.ops.nn.convolution.winograd import matrices
from baton._src.support.diagnostics import fail
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.gradient import gradient
from baton._src.te.reduction import sum as te_sum
from baton._src.te.tensor import Tensor
from baton._src.tir.operators import bitwise_xor, cast, const
from baton._src.tir.scalar_functions import popcount

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

    shape = (*data.shape[:place], size // _BITS, *data.shape[place + 1 :])
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


def simulated_quantize(
    data: Tensor, out_dtype: Any, output_scale: Any = None, output_zero_point: Any = None, axis: int = -1
) -> Any:
    """Quantised in floats; `out_dtype` is a number: 0 none, 1 int8, 2 uint8, 3 int32."""
    return call("qnn.simulated_quantize", data, _scalar(out_dtype), output_scale, output_zero_point, axis=axis)


def simulated_dequantize(
    data: Tensor, in_dtype: Any, input_scale: Any = None, input_zero_point: Any = None, axis: int = -1
) -> Any:
    """Dequantised in floats; `in_dtype` is a number: 0 none, else one that `simulated_quantize` takes."""
    return call("qnn.simulated_dequantize", data, _scalar(in_dtype), input_scale, input_zero_point, axis=axis)


def _scalar(number: Any) -> Any:
    """A number, a variable or a tensor as a tensor without axes."""
    return number if isinstance(number, Tensor) else compute((), lambda: cast("int32", number), "code")


def depthwise_conv2d_backward_input_nhwc(
    Filter: Tensor, Out_grad: Tensor, oshape: Any, ishape: Any, stride: Any, padding: Any
) -> Any:
    """The gradient of a depthwise convolution by its data of shape `ishape`; filter (h, w, channels, multiplier)."""
    data = placeholder(tuple(ishape), Out_grad.dtype, "data")
    return _of_depthwise(data, Filter, Out_grad, oshape, stride, padding, by=data)


def depthwise_conv2d_backward_weight_nhwc(
    Input: Tensor, Out_grad: Tensor, oshape: Any, fshape: Any, stride: Any, padding: Any
) -> Any:
    """The gradient of a depthwise convolution by its filter of shape `fshape`."""
    weight = placeholder(tuple(fshape), Out_grad.dtype, "weight")
    return _of_depthwise(Input, weight, Out_grad, oshape, stride, padding, by=weight)


def _of_depthwise(
    data: Tensor, weight: Tensor, head: Tensor, oshape: Any, stride: Any, padding: Any, by: Tensor
) -> Any:
    """A convolution is linear in either operand: its gradient by one does not read that one."""
    out = CONVOLUTIONS["nn.depthwise_conv2d_nhwc"](data, weight, stride, padding, 1)
    shape = tuple(number_of(dim) for dim in out.shape)
    if shape != tuple(number_of(dim) for dim in oshape):
        raise fail("topi", f"the convolution gives {shape}, and oshape is {tuple(oshape)}")
    return gradient(out, [by], head)[0]


def winograd_transform_matrices(tile_size: int, kernel_size: int, out_dtype: Any) -> tuple[Any, Any, Any]:
    """(A, B, G) of shapes (n, m), (n, n), (n, r), n = m + r - 1: (A^T ((G g) * (B^T d))) convolves d by g.

    The points are baton's own: the three matrices belong together, and not to those of another table.
    """
    names = ("matA", "matB", "matG")
    a, b, g = (const_matrix(table, name) for table, name in zip(matrices(tile_size, kernel_size), names))
    return call("astype", a, dtype=out_dtype), call("astype", b, dtype=out_dtype), call("astype", g, dtype=out_dtype)


def conv2d_winograd_nchw(
    data: Tensor, weight: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: Any, pre_computed: bool = False
) -> Any:
    """A convolution with stride 1 from fewer products; data NCHW, kernel OIHW or, computed beforehand, what the
    operator nn.contrib_conv2d_winograd_weight_transform gives."""
    tile = _tile(weight, pre_computed)
    kernel = weight if pre_computed else call(f"{_WINOGRAD}_weight_transform", weight, tile_size=tile)
    geometry = {"strides": strides, "padding": padding, "dilation": dilation, "out_dtype": out_dtype or data.dtype}
    taps = shape_of(kernel)[0] - tile + 1
    options = {"tile_size": tile, "kernel_size": (taps, taps), "channels": shape_of(kernel)[2]}
    return call(f"{_WINOGRAD}_without_weight_transform", data, kernel, **options, **geometry)


def conv2d_winograd_nhwc(
    data: Tensor, weight: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: Any, pre_computed: bool = False
) -> Any:
    """`conv2d_winograd_nchw` of data NHWC; kernel HWIO, or computed beforehand."""
    images = call("permute_dims", data, axes=(0, 3, 1, 2))
    kernel = weight if pre_computed else call("permute_dims", weight, axes=(3, 2, 0, 1))
    found = conv2d_winograd_nchw(images, kernel, strides, padding, dilation, out_dtype, pre_computed)
    return call("permute_dims", found, axes=(0, 2, 3, 1))


_WINOGRAD = "nn.contrib_conv2d_winograd"


def _tile(weight: Tensor, pre_computed: bool) -> int:
    """Tiles of 4 x 4 results; of kernels computed beforehand, which are for taps of 3, what their extent says."""
    return shape_of(weight)[0] - 2 if pre_computed else 4


_WRITTEN: tuple[Callable[..., Any], ...] = (
    *(binarize_pack, binary_dense, simulated_quantize, simulated_dequantize),
    *(depthwise_conv2d_backward_input_nhwc, depthwise_conv2d_backward_weight_nhwc),
    *(winograd_transform_matrices, conv2d_winograd_nchw, conv2d_winograd_nhwc),
)
RARE_LAYERS: Mapping[str, Callable[..., Any]] = {f"nn.{function.__name__}": function for function in _WRITTEN}
"""Those functions, by their names below `topi`."""

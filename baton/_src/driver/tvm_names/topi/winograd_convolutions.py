"""`tvm.topi.nn`: Winograd's convolutions, and the matrices they are made with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call, shape_of
from baton._src.driver.tvm_names.topi.parameter_names import with_layouts_as_given
from baton._src.driver.tvm_names.topi.shapes import const_matrix
from baton._src.ops.nn.convolution.winograd import matrices
from baton._src.te.tensor import Tensor

_WINOGRAD = "nn.contrib_conv2d_winograd"


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


def conv2d_winograd_weight_transform(kernel: Tensor, tile_size: int) -> Any:
    """A kernel OIHW as convolutions with `pre_computed` take it: (tile_size + 2, tile_size + 2, O, I) for taps of 3."""
    return call(f"{_WINOGRAD}_weight_transform", kernel, tile_size=tile_size)


def _of_transformed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A convolution whose kernel is `conv2d_winograd_weight_transform`'s."""

    def convolution(data: Tensor, weight: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: Any) -> Any:
        """A convolution of stride 1 with a kernel transformed beforehand."""
        return function(data, weight, strides, padding, dilation, out_dtype, pre_computed=True)

    return convolution


def _tile(weight: Tensor, pre_computed: bool) -> int:
    """Tiles of 4 x 4 results; of kernels computed beforehand, which are for taps of 3, what their extent says."""
    return shape_of(weight)[0] - 2 if pre_computed else 4


_NCHW, _NHWC = with_layouts_as_given(conv2d_winograd_nchw), with_layouts_as_given(conv2d_winograd_nhwc)
WINOGRAD_CONVOLUTIONS: Mapping[str, Callable[..., Any]] = {
    "nn.winograd_transform_matrices": winograd_transform_matrices,
    "nn.conv2d_winograd_weight_transform": conv2d_winograd_weight_transform,
    "nn.conv2d_winograd_nchw": _NCHW,
    "nn.conv2d_winograd_nhwc": _NHWC,
    "nn.conv2d_winograd_nchw_without_weight_transform": with_layouts_as_given(_of_transformed(_NCHW)),
    "nn.conv2d_winograd_nhwc_without_weight_transform": with_layouts_as_given(_of_transformed(_NHWC)),
}
"""By names below `topi`."""

"""`tvm.topi.nn`: transposed convolutions and their parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call, shape_of
from baton._src.driver.tvm_names.topi.convolutions import border
from baton._src.driver.tvm_names.topi.parameter_names import under_names
from baton._src.driver.tvm_names.topi.tagging import with_tag
from baton._src.ops.windows import per_axis
from baton._src.te.computation import compute
from baton._src.te.tensor import Tensor

_KERNELS = {"NCW": "IOW", "NCHW": "IOHW", "NCDHW": "IODHW"}


def _transposed(layout: str) -> Callable[..., Any]:
    """group_conv3d_transpose_ncdhw(data, kernel, strides, padding, out_dtype, output_padding, groups) and its like."""
    count = len(layout) - 2

    def function(
        data: Tensor,
        kernel: Tensor,
        strides: Any,
        padding: Any,
        out_dtype: Any = None,
        output_padding: Any = 0,
        groups: int = 1,
    ) -> Any:
        """A transposed convolution, in the layout of its name; the kernel's input channels come first."""
        options = {"data_layout": layout, "kernel_layout": _KERNELS[layout], "groups": groups, "strides": strides}
        options |= {"output_padding": output_padding, "out_dtype": out_dtype or data.dtype}
        sides = border(padding, kernel, _KERNELS[layout], 1)
        found = call(f"nn.conv{count}d_transpose", data, kernel, padding=sides, **options)
        return with_tag(found, f"{'group_' if groups > 1 else ''}conv{count}d_transpose_{layout.lower()}")

    return function


def _preprocess(layout: str) -> Callable[..., Any]:
    """conv2d_transpose_nchw_preprocess(data, kernel, strides, padding, out_dtype, output_padding) and its like."""
    count = len(layout) - 2

    def function(
        data: Tensor, kernel: Tensor, strides: Any, padding: Any, out_dtype: Any = None, output_padding: Any = 0
    ) -> tuple[Any, Any]:
        """(data, kernel) that a convolution of stride 1 without a border takes to the transposed convolution."""
        steps, extra = per_axis(strides, count, "strides"), per_axis(output_padding, count, "output_padding")
        extents = shape_of(kernel)[2:]
        sides = border(padding, kernel, _KERNELS[layout], 1)
        before = [extent - 1 - side for extent, side in zip(extents, sides[:count])]
        after = [extent - 1 - side + more for extent, side, more in zip(extents, sides[count:], extra)]
        widths = [0, 0, 0, 0, *(int(w) for pair in zip(before, after) for w in pair)]
        spread = call("nn.dilate", data, strides=(1, 1, *steps), dilation_value=0.0)
        return call("nn.pad", spread, pad_width=widths, pad_value=0.0), _mirrored(kernel)

    return function


def _mirrored(kernel: Tensor) -> Any:
    """Output channels first, and back to front along all other axes but that of input channels."""
    units, channels, *extents = (shape_of(kernel)[axis] for axis in (1, 0, *range(2, kernel.ndim)))

    def element(out: Any, into: Any, *at: Any) -> Any:
        return kernel(into, out, *(extent - 1 - i for extent, i in zip(extents, at)))

    return compute((units, channels, *extents), element, "kernel_transform")


_CONV1D, _CONV2D, _CONV3D = (_transposed(layout) for layout in _KERNELS)
TRANSPOSED_CONVOLUTIONS: Mapping[str, Callable[..., Any]] = {
    "nn.conv1d_transpose_ncw": under_names(_CONV1D, strides="stride"),
    "nn.group_conv1d_transpose_ncw": under_names(_CONV1D, strides="stride"),
    "nn.conv2d_transpose_nchw": under_names(_CONV2D, data="Input", kernel="Filter"),
    "nn.group_conv2d_transpose_nchw": under_names(_CONV2D, strides="stride"),
    "nn.conv3d_transpose_ncdhw": under_names(_CONV3D, data="Input", kernel="Filter"),
    "nn.group_conv3d_transpose_ncdhw": under_names(_CONV3D),
    "nn.declaration_conv2d_transpose_impl": under_names(_CONV2D),
    "nn.declaration_conv3d_transpose_impl": under_names(_CONV3D),
    "nn.conv1d_transpose_ncw_preprocess": under_names(_preprocess("NCW"), strides="stride"),
    "nn.conv2d_transpose_nchw_preprocess": _preprocess("NCHW"),
    "nn.conv3d_transpose_ncdhw_preprocess": _preprocess("NCDHW"),
}
"""By names below `topi`."""

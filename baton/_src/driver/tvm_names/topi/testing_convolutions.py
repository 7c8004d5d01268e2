"""NumPy references of convolutions by the names of `tvm.topi.testing`, taken from the catalogue.

A border is a number, one for each axis or each side, "VALID" or "SAME" (extents kept for a stride of 1, the greater
half in front). The parameters behind it differ from name to name, as in TVM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.topi.pads import get_pad_tuple_generic
from baton._src.driver.tvm_names.topi.testing_places import reference
from baton._src.ops.windows import per_axis


def _border(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    before, after = get_pad_tuple_generic(int(padding) if isinstance(padding, np.integer) else padding, kernel)
    return (*map(int, before), *map(int, after))


def _convolution(layout: str, kernel_layout: str, behind: str) -> Callable[..., Any]:
    """conv2d_nchw_python(a, w, stride, padding, groups) and its like; `behind`: the parameters after the padding."""
    letters, names = [letter for letter in layout if letter in "DHW"], behind.split()
    name = f"nn.conv{len(letters)}d{'_transpose' if 'output_padding' in behind else ''}"

    def function(a_np: Any, w_np: Any, stride: Any, padding: Any, *more: Any, **named: Any) -> Any:
        if len(more) > len(names):
            raise TypeError(f"behind the padding come {behind.replace(' ', ', ')}, got {len(more)} arguments more")
        options = {**dict(zip(names, more)), **named}
        steps = per_axis(options.get("dilation", 1), len(letters), "dilation")
        extents = (w_np.shape[kernel_layout.index(letter)] for letter in letters)
        border = _border(padding, [(extent - 1) * step + 1 for extent, step in zip(extents, steps)])
        options |= {"data_layout": layout, "kernel_layout": kernel_layout, "strides": stride, "padding": border}
        return reference(name, a_np, w_np, **options)

    function.__doc__ = f"The convolution of its name over NumPy: (data, kernel, stride, padding, {behind})."
    return function


def conv2d_transpose_nhwc_python(
    a_nhwc: Any, weight: Any, weight_format: str, stride: Any, padding: Any, output_padding: Any = (0, 0)
) -> Any:
    """A transposed convolution of data NHWC; `weight_format` has the letters I (the data's channels), O, H and W."""
    kernel = weight.transpose([weight_format.index(letter) for letter in "IOHW"])
    transposed = _TRANSPOSED["conv2d_transpose_nchw_python"]
    found = transposed(a_nhwc.transpose(0, 3, 1, 2), kernel, stride, padding, output_padding)
    return np.ascontiguousarray(found.transpose(0, 2, 3, 1))


def depthwise_conv2d_python_nchw(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    """Kernel (channels, multiplier, rows, columns)."""
    channels, multiplier, *extents = filter_np.shape
    kernel = filter_np.reshape(channels * multiplier, 1, *extents)
    options = {"strides": stride, "padding": _border(padding, extents), "groups": channels}
    return reference("nn.conv2d", input_np, kernel, **options)


def depthwise_conv2d_python_nchwc(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    """Channels in blocks: data (n, c / b, rows, columns, b), kernel (c / b, m / k, rows, columns, k, b)."""
    blocks, multiplier, rows, columns, inner, block = filter_np.shape
    kernel = filter_np.transpose(0, 5, 1, 4, 2, 3).reshape(blocks * block, multiplier * inner, rows, columns)
    images = input_np.transpose(0, 1, 4, 2, 3)
    images = images.reshape(images.shape[0], -1, *images.shape[3:])
    found = depthwise_conv2d_python_nchw(images, kernel, stride, padding)
    found = found.reshape(found.shape[0], -1, block, *found.shape[2:])
    return np.ascontiguousarray(found.transpose(0, 1, 3, 4, 2))


def depthwise_conv2d_python_nhwc(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    """Kernel (rows, columns, channels, multiplier)."""
    found = depthwise_conv2d_python_nchw(
        input_np.transpose(0, 3, 1, 2), filter_np.transpose(2, 3, 0, 1), stride, padding
    )
    return np.ascontiguousarray(found.transpose(0, 2, 3, 1))


def correlation_nchw_python(
    data1: Any,
    data2: Any,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    padding: Any,
    is_multiply: bool,
) -> Any:
    """The correlation of patches of two images."""
    options = {"kernel_size": kernel_size, "max_displacement": max_displacement, "stride1": stride1}
    options |= {"stride2": stride2, "padding": padding, "is_multiply": is_multiply}
    return reference("nn.correlation", data1, data2, **options)


def _deformable(layout: str, kernel_layout: str) -> Callable[..., Any]:
    def function(
        a_np: Any,
        offset_np: Any,
        w_np: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        deformable_groups: int,
        groups: int,
    ) -> Any:
        """The deformable convolution over NumPy, in the layout of its name."""
        extents = [w_np.shape[kernel_layout.index(letter)] for letter in "HW"]
        options = {"strides": stride, "padding": _border(padding, extents), "dilation": dilation, "groups": groups}
        options |= {"data_layout": layout, "kernel_layout": kernel_layout, "deformable_groups": deformable_groups}
        return reference("nn.deformable_conv2d", a_np, offset_np, w_np, **options)

    return function


def conv2d_backward_weight_nchw_python(
    dy_np: Any, x_np: Any, kernel_size: Any, stride: Any, padding: Any, groups: int = 1, channels: Any = None
) -> Any:
    """The gradient of a convolution towards its kernel."""
    size = per_axis(kernel_size, 2, "kernel_size")
    options = {"kernel_size": size, "strides": stride, "padding": _border(padding, size), "groups": groups}
    return reference("nn.conv2d_backward_weight", dy_np, x_np, **options)


_ALONG_ONE_AXIS = _convolution("NCW", "OIW", "dilation groups")
_TRANSPOSED_ALONG_ONE_AXIS = _convolution("NCW", "IOW", "output_padding groups")
_PLAIN: Mapping[str, Callable[..., Any]] = {
    "conv1d_ncw_python": _ALONG_ONE_AXIS,
    "group_conv1d_ncw_python": _ALONG_ONE_AXIS,
    "conv2d_nchw_python": _convolution("NCHW", "OIHW", "groups"),
    "conv2d_nhwc_python": _convolution("NHWC", "HWIO", "groups"),
    "conv2d_hwcn_python": _convolution("HWCN", "HWIO", "groups"),
    "conv3d_ncdhw_python": _convolution("NCDHW", "OIDHW", "groups"),
    "conv3d_ndhwc_python": _convolution("NDHWC", "DHWIO", "groups"),
}
_TRANSPOSED: Mapping[str, Callable[..., Any]] = {
    "conv1d_transpose_ncw_python": _TRANSPOSED_ALONG_ONE_AXIS,
    "group_conv1d_transpose_ncw_python": _TRANSPOSED_ALONG_ONE_AXIS,
    "conv2d_transpose_nchw_python": _convolution("NCHW", "IOHW", "output_padding groups"),
    "conv3d_transpose_ncdhw_python": _convolution("NCDHW", "IODHW", "output_padding groups"),
}
CONVOLUTIONS: Mapping[str, Callable[..., Any]] = {
    **_PLAIN,
    **_TRANSPOSED,
    "deformable_conv2d_nchw_python": _deformable("NCHW", "OIHW"),
    "deformable_conv2d_nhwc_python": _deformable("NHWC", "HWIO"),
    **{
        function.__name__: function
        for function in (
            *(conv2d_transpose_nhwc_python, depthwise_conv2d_python_nchw, depthwise_conv2d_python_nchwc),
            *(depthwise_conv2d_python_nhwc, correlation_nchw_python, conv2d_backward_weight_nchw_python),
        )
    },
}
"""By name."""

"""`tvm.topi.nn` where its names or the order of its arguments are its own: convolutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call, shape_of
from baton._src.driver.tvm_names.topi.parameter_names import with_layouts_as_given
from baton._src.driver.tvm_names.topi.tagging import with_tag
from baton._src.ops.layout_names import layout_over
from baton._src.ops.windows import SPATIAL, both_sides, per_axis
from baton._src.support.diagnostics import fail
from baton._src.te.computation import compute
from baton._src.te.tensor import Tensor
from baton._src.tir.operators import floordiv, floormod

KERNEL_LAYOUTS = {"NCW": "OIW", "NWC": "WIO", "NCHW": "OIHW", "NHWC": "HWIO", "HWCN": "HWIO", "NCDHW": "OIDHW"}
KERNEL_LAYOUTS |= {"NDHWC": "DHWIO"}
"""The layout of a kernel where none is given, by that of the data."""


def border(padding: Any, kernel: Tensor, layout: str, dilation: Any) -> tuple[int, ...]:
    """A border in numbers: "VALID" is none, "SAME" what keeps extents for a stride of 1, the greater half in front."""
    letters = SPATIAL.get(sum(c in "DHW" for c in layout))
    if letters is None:
        raise fail("layout", f"{layout!r} is no layout of a kernel", help="OIHW and HWIO are")
    if not isinstance(padding, str):
        return both_sides(padding if isinstance(padding, int) else tuple(int(p) for p in padding), len(letters))
    if padding.upper() == "VALID":
        return (0,) * (2 * len(letters))
    order = layout_over(layout, "".join(c for c in layout if c.isupper()), "kernel_layout")
    extents = [shape_of(kernel)[order.position(letter)] for letter in letters]
    if not all(isinstance(extent, int) for extent in extents):
        raise fail("topi", f"the border SAME of a kernel of open size {extents}", help="give it in numbers")
    steps = per_axis(dilation, len(letters), "dilation")
    lost = [(extent - 1) * step for extent, step in zip(extents, steps)]
    return (*((n + 1) // 2 for n in lost), *(n // 2 for n in lost))


def _convolve(
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    kernel_layout: str = "",
    groups: int = 1,
    out_dtype: Any = None,
    out_layout: str = "",
    tag: str = "",
) -> Any:
    kernel_layout = kernel_layout or KERNEL_LAYOUTS[layout]
    count = sum(c in "DHW" for c in layout)
    options = {"strides": strides, "dilation": dilation, "groups": groups, "out_dtype": out_dtype or data.dtype}
    options |= {"data_layout": layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    sides = border(padding, kernel, kernel_layout, dilation)
    found = call(f"nn.conv{count}d", data, kernel, padding=sides, **options)
    return with_tag(found, tag or f"{'group_' if groups > 1 else ''}conv{count}d_{layout.lower()}")


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: Any = None,
) -> Any:
    """A convolution over one axis."""
    return _convolve(data, kernel, strides, padding, dilation, data_layout, kernel_layout, groups, out_dtype)


def conv(
    inp: Tensor,
    filt: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    data_layout: str,
    kernel_layout: str = "",
    out_dtype: Any = None,
) -> Any:
    """A convolution over as many axes as the layout has."""
    return _convolve(inp, filt, stride, padding, dilation, data_layout, kernel_layout, groups, out_dtype)


def conv2d(
    input: Tensor,
    filter: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: Any = None,
) -> Any:
    """A convolution over two axes."""
    return _convolve(input, filter, strides, padding, dilation, data_layout, kernel_layout, 1, out_dtype)


def _by_layout(layout: str, out_dtype: Any = None) -> Callable[..., Any]:
    """conv2d_nchw(Input, Filter, stride, padding, dilation, out_dtype) and its like."""
    default = out_dtype

    def function(
        Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: Any = default
    ) -> Any:
        """A convolution, in the layout of its name."""
        return _convolve(Input, Filter, stride, padding, dilation, layout, out_dtype=out_dtype)

    return function


def _along_one_axis(layout: str) -> Callable[..., Any]:
    """conv1d_ncw(data, kernel, strides, padding, dilation, out_dtype) and its like."""

    def function(
        data: Tensor, kernel: Tensor, strides: Any = 1, padding: Any = "VALID", dilation: Any = 1, out_dtype: Any = None
    ) -> Any:
        """A convolution over one axis, in the layout of its name."""
        return _convolve(data, kernel, strides, padding, dilation, layout, out_dtype=out_dtype)

    return function


def _along_one_axis_in_groups(layout: str) -> Callable[..., Any]:
    """group_conv1d_ncw(data, kernel, strides, padding, dilation, groups, out_dtype) and its like."""

    def function(
        data: Tensor,
        kernel: Tensor,
        strides: Any = 1,
        padding: Any = "VALID",
        dilation: Any = 1,
        groups: int = 1,
        out_dtype: Any = None,
    ) -> Any:
        """A convolution over one axis in groups of channels, in the layout of its name."""
        return _convolve(data, kernel, strides, padding, dilation, layout, groups=groups, out_dtype=out_dtype)

    return function


def _in_groups(layout: str, out_dtype: Any = None) -> Callable[..., Any]:
    """group_conv2d_nchw(Input, Filter, stride, padding, dilation, groups, out_dtype) and its like."""
    default = out_dtype

    def function(
        Input: Tensor,
        Filter: Tensor,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int = 1,
        out_dtype: Any = default,
    ) -> Any:
        """A convolution in groups of channels, in the layout of its name."""
        return _convolve(Input, Filter, stride, padding, dilation, layout, groups=groups, out_dtype=out_dtype)

    return function


def conv2d_nchwc(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: Any = "float32",
) -> Any:
    """A convolution of channels in blocks; the kernel's blocks are its own last two extents."""
    inner, outer = shape_of(kernel)[-2:]
    blocks = f"OIHW{inner}i{outer}o"
    return _convolve(
        data, kernel, stride, padding, dilation, layout, blocks, 1, out_dtype, out_layout, tag="conv2d_NCHWc"
    )


def conv2d_nchwc_int8(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: Any = "int32",
    n_elems: int = 4,
) -> Any:
    """`conv2d_nchwc` with a kernel (O, I, rows, columns, i / n_elems, o, n_elems), as dot products of bytes take it."""
    outer, blocks, rows, columns, inner, units, _ = shape_of(kernel)
    ordered = call("permute_dims", kernel, axes=(0, 1, 2, 3, 4, 6, 5))
    plain = call("reshape", ordered, (outer, blocks, rows, columns, inner * n_elems, units))
    return conv2d_nchwc(data, plain, stride, padding, dilation, layout, out_layout, out_dtype)


def unpack_nchwc_to_nchw(packed_out: Tensor, out_dtype: Any) -> Any:
    """Channels in blocks (n, c / b, h, w, b) as (n, c, h, w)."""
    batch, blocks, rows, columns, within = shape_of(packed_out)

    def element(n: Any, c: Any, h: Any, w: Any) -> Any:
        return packed_out(n, floordiv(c, within), h, w, floormod(c, within)).astype(out_dtype)

    shape = (batch, blocks * within, rows, columns)
    return compute(shape, element, "output_unpack", tag="injective,unpack_nchwc")


def depthwise_conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Any:
    """Every channel on its own: kernel (channels, multiplier, rows, columns)."""
    channels, multiplier, rows, columns = shape_of(Filter)
    kernel = call("reshape", Filter, (channels * multiplier, 1, rows, columns))
    return _convolve(
        Input, kernel, stride, padding, dilation, "NCHW", "OIHW", channels, out_dtype, tag="depthwise_conv2d_nchw"
    )


def depthwise_conv2d_nchwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: Any = None,
) -> Any:
    """Every channel on its own, in blocks: the data's last extent, and the kernel's."""
    blocks, within, multiplied = shape_of(Input)[1], shape_of(Input)[-1], shape_of(Filter)[-1]
    options = {"kernel_layout": f"OIHW1i{multiplied}o", "groups": blocks * within, "out_layout": out_layout}
    tag = "depthwise_conv2d_NCHWc"
    return _convolve(Input, Filter, stride, padding, dilation, layout, out_dtype=out_dtype, tag=tag, **options)


def depthwise_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    kernel_layout: str = "HWOI",
    out_dtype: Any = None,
) -> Any:
    """Every channel on its own: kernel (rows, columns, channels, multiplier), or with "HWIO" the multiplier first."""
    if kernel_layout == "HWIO":
        Filter = call("permute_dims", Filter, axes=(0, 1, 3, 2))
    rows, columns, channels, multiplier = shape_of(Filter)
    kernel = call("reshape", Filter, (rows, columns, 1, channels * multiplier))
    return _convolve(
        Input, kernel, stride, padding, dilation, "NHWC", "HWIO", channels, out_dtype, tag="depthwise_conv2d_nhwc"
    )


def _deformable(layout: str, kernel_layout: str) -> Callable[..., Any]:
    """deformable_conv2d_nchw(data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype)"""

    def function(
        data: Tensor,
        offset: Tensor,
        kernel: Tensor,
        strides: Any,
        padding: Any,
        dilation: Any,
        deformable_groups: int,
        groups: int,
        out_dtype: Any = None,
    ) -> Any:
        """A convolution whose taps are moved by `offset`, in the layout of its name."""
        options = {"deformable_groups": deformable_groups, "groups": groups, "out_dtype": out_dtype or data.dtype}
        options |= {"data_layout": layout, "kernel_layout": kernel_layout}
        sides = border(padding, kernel, kernel_layout, dilation)
        operands = (data, offset, kernel)
        options |= {"strides": strides, "padding": sides, "dilation": dilation}
        return with_tag(call("nn.deformable_conv2d", *operands, **options), f"deformable_conv2d_{layout.lower()}")

    return function


def correlation_nchw(
    data1: Tensor,
    data2: Tensor,
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
    return with_tag(call("nn.correlation", data1, data2, **options), "correlation_nchw")


_OF_LAYOUT: Mapping[str, Callable[..., Any]] = {
    "conv1d_ncw": _along_one_axis("NCW"),
    "conv1d_nwc": _along_one_axis("NWC"),
    "conv2d_nchw": _by_layout("NCHW"),
    "conv2d_nhwc": with_layouts_as_given(_by_layout("NHWC", "float32")),
    "conv2d_hwcn": _by_layout("HWCN"),
    "conv2d_NCHWc": conv2d_nchwc,
    "conv2d_NCHWc_int8": conv2d_nchwc_int8,
    "unpack_NCHWc_to_nchw": unpack_nchwc_to_nchw,
    "depthwise_conv2d_nchw": depthwise_conv2d_nchw,
    "depthwise_conv2d_nhwc": depthwise_conv2d_nhwc,
    "depthwise_conv2d_NCHWc": depthwise_conv2d_nchwc,
    "group_conv1d_ncw": _along_one_axis_in_groups("NCW"),
    "group_conv1d_nwc": _along_one_axis_in_groups("NWC"),
    "group_conv2d_nchw": _in_groups("NCHW"),
    "group_conv2d_nhwc": _in_groups("NHWC"),
    "conv3d_ncdhw": _in_groups("NCDHW"),
    "conv3d_ndhwc": with_layouts_as_given(_in_groups("NDHWC", "float32")),
    "deformable_conv2d_nchw": _deformable("NCHW", "OIHW"),
    "deformable_conv2d_nhwc": _deformable("NHWC", "HWIO"),
    "conv": with_layouts_as_given(conv),
    "conv1d": conv1d,
    "conv2d": conv2d,
    "correlation_nchw": correlation_nchw,
}
CONVOLUTIONS: Mapping[str, Callable[..., Any]] = {f"nn.{name}": function for name, function in _OF_LAYOUT.items()}
"""Convolutions of topi.nn, by their names below `topi`."""

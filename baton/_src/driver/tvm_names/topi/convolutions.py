"""`tvm.topi.nn` where its names or the order of its arguments are its own: convolutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call, shape_of
from baton._src.ops.layout_names import layout_over
from baton._src.ops.windows import SPATIAL, both_sides, per_axis
from baton._src.te.tensor import Tensor

_DEFAULT_KERNELS = {"NCW": "OIW", "NWC": "WIO", "NCHW": "OIHW", "NHWC": "HWIO", "HWCN": "HWIO", "NCDHW": "OIDHW"}
_DEFAULT_KERNELS |= {"NDHWC": "DHWIO"}


def _border(padding: Any, kernel: Tensor, layout: str, dilation: Any) -> tuple[int, ...]:
    """A border in numbers: "VALID" is none, "SAME" what keeps extents for a stride of 1, the greater half in front."""
    letters = SPATIAL[sum(c in "DHW" for c in layout)]
    if not isinstance(padding, str):
        return both_sides(padding if isinstance(padding, int) else tuple(int(p) for p in padding), len(letters))
    if padding.upper() == "VALID":
        return (0,) * (2 * len(letters))
    order = layout_over(layout, "".join(c for c in layout if c.isupper()), "kernel_layout")
    extents = [int(shape_of(kernel)[order.position(letter)]) for letter in letters]
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
) -> Any:
    kernel_layout = kernel_layout or _DEFAULT_KERNELS[layout]
    count = sum(c in "DHW" for c in layout)
    options = {"strides": strides, "dilation": dilation, "groups": groups, "out_dtype": out_dtype or data.dtype}
    options |= {"data_layout": layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    border = _border(padding, kernel, kernel_layout, dilation)
    return call(f"nn.conv{count}d", data, kernel, padding=border, **options)


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
    inp: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: Any = None,
) -> Any:
    """A convolution over two axes."""
    return _convolve(inp, kernel, strides, padding, dilation, data_layout, kernel_layout, 1, out_dtype)


def _by_layout(layout: str, kernel_layout: str = "", defaults: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """conv2d_nchw(data, kernel, stride, padding, dilation, out_dtype) and its like."""

    def function(data: Tensor, kernel: Tensor, *geometry: Any, **named: Any) -> Any:
        """A convolution: (data, kernel, stride, padding, dilation, out_dtype), in the layout of its name."""
        given = dict(zip(("strides", "padding", "dilation", "out_dtype"), defaults))
        given |= dict(zip(("strides", "padding", "dilation", "out_dtype"), geometry)) | named
        strides = given.pop("stride", given.get("strides"))
        return _convolve(
            data, kernel, strides, given["padding"], given["dilation"], layout, kernel_layout, 1, given.get("out_dtype")
        )

    return function


def _in_groups(layout: str) -> Callable[..., Any]:
    """group_conv2d_nchw(data, kernel, stride, padding, dilation, groups, out_dtype) and its like."""

    def function(
        data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any, groups: int = 1, out_dtype: Any = None
    ) -> Any:
        """A convolution in groups of channels, in the layout of its name."""
        return _convolve(data, kernel, stride, padding, dilation, layout, "", groups, out_dtype)

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
    return _convolve(data, kernel, stride, padding, dilation, layout, f"OIHW{inner}i{outer}o", 1, out_dtype, out_layout)


def depthwise_conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Any:
    """Every channel on its own: kernel (channels, multiplier, rows, columns)."""
    channels, multiplier, rows, columns = shape_of(Filter)
    kernel = call("reshape", Filter, (channels * multiplier, 1, rows, columns))
    return _convolve(Input, kernel, stride, padding, dilation, "NCHW", "OIHW", channels, out_dtype)


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
    kernel_layout = f"OIHW1i{multiplied}o"
    groups = blocks * within
    return _convolve(Input, Filter, stride, padding, dilation, layout, kernel_layout, groups, out_dtype, out_layout)


def depthwise_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    kernel_layout: str = "HWOI",
    out_dtype: Any = None,
) -> Any:
    """Every channel on its own: kernel (rows, columns, channels, multiplier)."""
    rows, columns, channels, multiplier = shape_of(Filter)
    kernel = call("reshape", Filter, (rows, columns, 1, channels * multiplier))
    return _convolve(Input, kernel, stride, padding, dilation, "NHWC", "HWIO", channels, out_dtype)


def _transposed(layout: str, kernel_layout: str) -> Callable[..., Any]:
    """conv2d_transpose_nchw(data, kernel, strides, padding, out_dtype, output_padding) and its like."""
    count = sum(c in "DHW" for c in layout)

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
        options = {"data_layout": layout, "kernel_layout": kernel_layout, "groups": groups}
        options |= {"output_padding": output_padding, "out_dtype": out_dtype or data.dtype}
        border = _border(padding, kernel, kernel_layout, 1)
        return call(f"nn.conv{count}d_transpose", data, kernel, strides=strides, padding=border, **options)

    return function


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
        border = _border(padding, kernel, kernel_layout, dilation)
        operands = (data, offset, kernel)
        return call("nn.deformable_conv2d", *operands, strides=strides, padding=border, dilation=dilation, **options)

    return function


# ------------------------------------------------------------------------------------- other kinds of products


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
    """How alike patches of two images are."""
    options = {"kernel_size": kernel_size, "max_displacement": max_displacement, "stride1": stride1}
    options |= {"stride2": stride2, "padding": padding, "is_multiply": is_multiply}
    return call("nn.correlation", data1, data2, **options)


def _bitserial(layout: str) -> Callable[..., Any]:
    """bitserial_conv2d_nchw(data, kernel, stride, padding, activation_bits, weight_bits, pack_dtype, out_dtype, ...)"""
    kernel_layout = _DEFAULT_KERNELS[layout]

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
        border = _border(padding, kernel, kernel_layout, 1) if isinstance(padding, str) else padding
        return call("nn.bitserial_conv2d", data, kernel, strides=stride, padding=border, **options)

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
    return call("nn.bitserial_dense", data, weight, data_bits=data_bits, weight_bits=weight_bits, **options)


_OF_LAYOUT: Mapping[str, Callable[..., Any]] = {
    "conv1d_ncw": _by_layout("NCW", "", (1, "VALID", 1)),
    "conv1d_nwc": _by_layout("NWC", "", (1, "VALID", 1)),
    "conv2d_nchw": _by_layout("NCHW"),
    "conv2d_nhwc": _by_layout("NHWC", "", (None, None, None, "float32")),
    "conv2d_hwcn": _by_layout("HWCN"),
    "conv2d_NCHWc": conv2d_nchwc,
    "depthwise_conv2d_nchw": depthwise_conv2d_nchw,
    "depthwise_conv2d_nhwc": depthwise_conv2d_nhwc,
    "depthwise_conv2d_NCHWc": depthwise_conv2d_nchwc,
    "group_conv1d_ncw": _in_groups("NCW"),
    "group_conv1d_nwc": _in_groups("NWC"),
    "group_conv2d_nchw": _in_groups("NCHW"),
    "group_conv2d_nhwc": _in_groups("NHWC"),
    "conv3d_ncdhw": _in_groups("NCDHW"),
    "conv3d_ndhwc": _in_groups("NDHWC"),
    "conv1d_transpose_ncw": _transposed("NCW", "IOW"),
    "conv2d_transpose_nchw": _transposed("NCHW", "IOHW"),
    "conv3d_transpose_ncdhw": _transposed("NCDHW", "IODHW"),
    "deformable_conv2d_nchw": _deformable("NCHW", "OIHW"),
    "deformable_conv2d_nhwc": _deformable("NHWC", "HWIO"),
    "group_conv1d_transpose_ncw": _transposed("NCW", "IOW"),
    "group_conv2d_transpose_nchw": _transposed("NCHW", "IOHW"),
    "group_conv3d_transpose_ncdhw": _transposed("NCDHW", "IODHW"),
    "bitserial_conv2d_nchw": _bitserial("NCHW"),
    "bitserial_conv2d_nhwc": _bitserial("NHWC"),
}
_WRITTEN: tuple[Callable[..., Any], ...] = (conv, conv1d, conv2d, correlation_nchw, bitserial_dense)
CONVOLUTIONS: Mapping[str, Callable[..., Any]] = {
    **{f"nn.{name}": function for name, function in _OF_LAYOUT.items()},
    **{f"nn.{function.__name__}": function for function in _WRITTEN},
}
"""Convolutions of topi.nn, by their names below `topi`."""

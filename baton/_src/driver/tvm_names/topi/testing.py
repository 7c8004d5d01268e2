"""`tvm.topi.testing`: NumPy references of operators by TVM's names, taken from the catalogue.

topi.testing.conv2d_nchw_python(a, w, 1, 1);  topi.testing.softmax_python(a, axis=-1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.topi.schedules import default_schedule
from baton._src.driver.tvm_names.topi.testing_places import PLACES, reference
from baton._src.ops.shape.slicing import end_of_size
from baton._src.ops.windows import per_axis


def _border(padding: Any, kernel: tuple[int, ...]) -> tuple[int, ...]:
    """A border in numbers; "SAME" keeps extents for a stride of 1, the greater half in front."""
    if padding == "VALID":
        return (0,) * (2 * len(kernel))
    if padding == "SAME":
        return (*(n // 2 for n in kernel), *((n - 1) // 2 for n in kernel))
    if isinstance(padding, (int, np.integer)):
        return (int(padding),) * (2 * len(kernel))
    found = tuple(int(p) for p in padding)
    return found * 2 if len(found) == len(kernel) else found


def _convolution(layout: str, kernel_layout: str, is_transposed: bool = False) -> Callable[..., Any]:
    """conv2d_nchw_python(a, w, stride, padding, groups) and its like; transposed: output_padding before groups."""
    count = sum(c in "DHW" for c in layout)

    def function(a_np: Any, w_np: Any, stride: Any, padding: Any, *more: Any, **named: Any) -> Any:
        """The convolution of its name over NumPy: (data, kernel, stride, padding, groups)."""
        names = ("output_padding", "groups") if is_transposed else ("groups",)
        options = {**dict(zip(names, more)), **named}
        extents = tuple(w_np.shape[kernel_layout.index(letter)] for letter in "DHW"[3 - count :])
        border = _border(padding, extents)
        options |= {"data_layout": layout, "kernel_layout": kernel_layout, "strides": stride, "padding": border}
        return reference(f"nn.conv{count}d{'_transpose' if is_transposed else ''}", a_np, w_np, **options)

    return function


def depthwise_conv2d_python_nchw(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    """Kernel (channels, multiplier, rows, columns)."""
    channels, multiplier, *extents = filter_np.shape
    kernel = filter_np.reshape(channels * multiplier, 1, *extents)
    options = {"strides": stride, "padding": _border(padding, tuple(extents)), "groups": channels}
    return reference("nn.conv2d", input_np, kernel, **options)


def depthwise_conv2d_python_nhwc(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    """Kernel (rows, columns, channels, multiplier)."""
    found = depthwise_conv2d_python_nchw(
        input_np.transpose(0, 3, 1, 2), filter_np.transpose(2, 3, 0, 1), stride, padding
    )
    return np.ascontiguousarray(found.transpose(0, 2, 3, 1))


def dilate_python(input_np: Any, strides: Any, dilation_value: float = 0.0, out_dtype: Any = None) -> Any:
    """Elements with others between them."""
    found = reference("nn.dilate", input_np, strides=strides, dilation_value=dilation_value)
    return found if out_dtype is None else found.astype(out_dtype)


def softmax_python(a_np: Any, axis: int = 1) -> Any:
    """exp(a) over its sum."""
    return reference("nn.softmax", a_np, axis=axis)


def log_softmax_python(a_np: Any, axis: int = 1) -> Any:
    """The logarithm of softmax."""
    return reference("nn.log_softmax", a_np, axis=axis)


def lrn_python(a_np: Any, size: int, axis: int, bias: float, alpha: float, beta: float) -> Any:
    """Local response normalisation."""
    return reference("nn.lrn", a_np, size=size, axis=axis, bias=bias, alpha=alpha, beta=beta)


def l2_normalize_python(a_np: Any, eps: float, axis: Any = None) -> Any:
    """Divided by the norm."""
    return reference("nn.l2_normalize", a_np, eps=eps, axis=axis)


def layer_norm_python(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Normalised over axes."""
    beta = np.zeros_like(gamma) if beta is None else beta
    return reference("nn.layer_norm", data, gamma, beta, axes=_axes(axis), epsilon=epsilon)


def instance_norm_python(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Normalised over axes, channels in axis 1."""
    options = {"channel_axis": 1, "axes": _axes(axis), "epsilon": epsilon}
    return reference("nn.instance_norm", data, gamma, beta, **options)


def group_norm_python(
    data: Any, gamma: Any, beta: Any, num_groups: int, channel_axis: int, axes: Any, epsilon: float = 1e-5
) -> Any:
    """Normalised over groups of channels and axes."""
    options = {"num_groups": num_groups, "channel_axis": channel_axis, "axes": _axes(axes), "epsilon": epsilon}
    return reference("nn.group_norm", data, gamma, beta, **options)


def rms_norm_python(data: Any, weight: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Divided by the root of the mean square."""
    return reference("nn.rms_norm", data, weight, axes=_axes(axis), epsilon=epsilon)


def _axes(axis: Any) -> tuple[int, ...]:
    return (axis,) if isinstance(axis, int) else tuple(axis)


def adaptive_pool(np_data: Any, out_size: Any, pool_type: str, layout: str = "NCHW") -> Any:
    """Pooling with an output of the given size."""
    name = f"nn.adaptive_{pool_type}_pool{sum(c in 'DHW' for c in layout)}d"
    return reference(name, np_data, output_size=out_size, layout=layout)


def poolnd_python(
    np_data: Any,
    kernel: Any,
    strides: Any,
    dilation: Any,
    padding_before: Any,
    padding_after: Any,
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: Any = "float32",
    layout: Any = None,
) -> Any:
    """Maxima or means of windows."""
    count = len(padding_before)
    layout = layout or {1: "NCW", 2: "NCHW", 3: "NCDHW"}[count]
    options = {"pool_size": kernel, "strides": strides, "dilation": dilation, "layout": layout}
    options |= {"padding": (*padding_before, *padding_after), "ceil_mode": ceil_mode}
    found = reference(f"nn.{pool_type}_pool{count}d", np_data, **options, count_include_pad=count_include_pad)
    return found.astype(dtype)


def batch_matmul(x: Any, y: Any, out_dtype: Any = None, trans_x: bool = False, trans_y: bool = True) -> Any:
    """A product of matrices, batch by batch."""
    options = {"transpose_a": trans_x, "transpose_b": trans_y, "out_dtype": out_dtype or x.dtype}
    return reference("nn.batch_matmul", x, y, **options)


def dense(
    x: Any, y: Any, bias: Any = None, use_bias: bool = False, use_relu: bool = False, out_dtype: Any = None
) -> Any:
    """x yᵀ (+ bias)"""
    dtype = out_dtype or x.dtype
    found = np.dot(x.astype(dtype), y.T.astype(dtype))
    found = found + bias if use_bias else found
    return np.maximum(found, 0) if use_relu else found


def strided_slice_python(
    data: Any, begin: Any, end: Any, strides: Any, slice_mode: str = "end", axes: Any = None
) -> Any:
    """A part of an array."""
    places = range(len(begin)) if axes is None else [int(axis) for axis in axes]
    cuts: list[Any] = [slice(None)] * data.ndim
    for n, axis in enumerate(places):
        step = 1 if slice_mode == "size" or n >= len(strides or ()) else int(strides[n])
        first, last = int(begin[n]), None if end is None or n >= len(end) else int(end[n])
        if slice_mode == "size":
            last = end_of_size(first, last)
        cuts[axis] = slice(first, last, step)
    return data[tuple(cuts)]


def strided_set_python(data: Any, v: Any, begin: Any, end: Any, strides: Any) -> Any:
    """`v` put in the place of a part."""
    found = data.copy()
    steps = [1 if n >= len(strides or ()) else strides[n] for n in range(len(begin))]
    found[tuple(slice(*cut) for cut in zip(begin, end, steps))] = v
    return found


def gather_python(data: Any, axis: int, indices: Any) -> Any:
    """An index for each element."""
    return np.take_along_axis(data, indices, axis)


def gather_nd_python(a_np: Any, indices_np: Any, batch_dims: int = 0) -> Any:
    """Slices at coordinates, which are along the first axis of the indices."""
    return reference("relay_gather_nd", a_np, indices_np, batch_dims=batch_dims)


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int, dtype: Any) -> Any:
    """A row of off_value with on_value at the index."""
    rank = np.ndim(indices) + 1
    hot = np.expand_dims(indices, axis) == np.arange(depth).reshape(
        [-1 if i == axis % rank else 1 for i in range(rank)]
    )
    return np.where(hot, on_value, off_value).astype(dtype)


def sequence_mask(data: Any, valid_length: Any, mask_value: float, axis: int) -> Any:
    """Sequences with a number in the places after their end."""
    return reference("sequence_mask", data, valid_length, mask_value=mask_value, axis=axis)


def reorg_python(a_np: Any, stride: int) -> Any:
    """YOLO's reorganisation of space as channels."""
    return reference("vision.yolo_reorg", a_np, stride=stride)


def depth_to_space_python(data: Any, block_size: int, mode: str = "DCR") -> Any:
    """Channels as blocks of space."""
    return reference("nn.depth_to_space", data, block_size=block_size, mode=mode)


def space_to_depth_python(data: Any, block_size: int) -> Any:
    """Blocks of space as channels."""
    return reference("nn.space_to_depth", data, block_size=block_size)


def roi_align_nchw_python(
    a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float, sample_ratio: int, mode: Any = b"avg"
) -> Any:
    """Means or maxima of the bins of boxes."""
    kind = mode.decode() if isinstance(mode, bytes) else mode
    options = {"pooled_size": pooled_size, "spatial_scale": spatial_scale, "sample_ratio": sample_ratio}
    return reference("vision.roi_align", a_np, rois_np, mode=kind, **options)


def roi_pool_nchw_python(a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float) -> Any:
    """Maxima of the bins of boxes."""
    return reference("vision.roi_pool", a_np, rois_np, pooled_size=pooled_size, spatial_scale=spatial_scale)


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
        extents = tuple(w_np.shape[kernel_layout.index(letter)] for letter in "HW")
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


def searchsorted_ref(sorted_sequence: Any, values: Any, right: bool, out_dtype: Any) -> Any:
    """The insertion positions of values in sorted sequences."""
    return reference("searchsorted", sorted_sequence, values, right=right).astype(out_dtype)


def _schedule_getter(target: Any = None) -> Callable[..., Any]:
    """The scheduling function of such kernels for a target: the default schedule for every target."""
    return default_schedule


_LAYOUTS = {
    "conv1d_ncw_python": ("NCW", "OIW"),
    "conv2d_nchw_python": ("NCHW", "OIHW"),
    "conv2d_nhwc_python": ("NHWC", "HWIO"),
    "conv2d_hwcn_python": ("HWCN", "HWIO"),
    "conv3d_ncdhw_python": ("NCDHW", "OIDHW"),
    "conv3d_ndhwc_python": ("NDHWC", "DHWIO"),
}
_TRANSPOSED = {
    "conv1d_transpose_ncw_python": ("NCW", "IOW"),
    "conv2d_transpose_nchw_python": ("NCHW", "IOHW"),
    "conv3d_transpose_ncdhw_python": ("NCDHW", "IODHW"),
}
_WRITTEN: tuple[Callable[..., Any], ...] = (
    *(depthwise_conv2d_python_nchw, depthwise_conv2d_python_nhwc, dilate_python, softmax_python, log_softmax_python),
    *(lrn_python, l2_normalize_python, layer_norm_python, instance_norm_python, group_norm_python, rms_norm_python),
    *(adaptive_pool, poolnd_python, batch_matmul, dense, strided_slice_python, strided_set_python, gather_python),
    *(gather_nd_python, one_hot, sequence_mask, reorg_python, depth_to_space_python, space_to_depth_python),
    *(roi_align_nchw_python, roi_pool_nchw_python, correlation_nchw_python, conv2d_backward_weight_nchw_python),
    *(searchsorted_ref,),
)


def numpy_functions() -> Mapping[str, Any]:
    """All of them, by name; schedules for tests of targets too."""
    return {
        **{name: _convolution(*layouts) for name, layouts in _LAYOUTS.items()},
        **{name: _convolution(*layouts, is_transposed=True) for name, layouts in _TRANSPOSED.items()},
        "deformable_conv2d_nchw_python": _deformable("NCHW", "OIHW"),
        "deformable_conv2d_nhwc_python": _deformable("NHWC", "HWIO"),
        **{function.__name__: function for function in _WRITTEN},
        **PLACES,
        **{f"get_{kind}_schedule": _schedule_getter for kind in ("injective", "broadcast", "elemwise", "reduce")},
    }

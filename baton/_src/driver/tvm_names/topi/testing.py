"""`tvm.topi.testing`: NumPy references of operators by TVM's names, taken from the catalogue.

topi.testing.conv2d_nchw_python(a, w, 1, 1);  topi.testing.softmax_python(a, axis=-1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.topi.convolutions import CONVOLUTIONS as KERNELS
from baton._src.driver.tvm_names.topi.for_targets import compare_numpy_tvm
from baton._src.driver.tvm_names.topi.layers import axes_of
from baton._src.driver.tvm_names.topi.schedules import default_schedule
from baton._src.driver.tvm_names.topi.testing_convolutions import CONVOLUTIONS
from baton._src.driver.tvm_names.topi.testing_layers import LAYERS
from baton._src.driver.tvm_names.topi.testing_places import PLACES, reference
from baton._src.ops.shape.slicing import end_of_size


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
    return reference("nn.layer_norm", data, gamma, beta, axes=axes_of(axis), epsilon=epsilon)


def instance_norm_python(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Normalised over axes, channels in axis 1."""
    options = {"channel_axis": 1, "axes": axes_of(axis), "epsilon": epsilon}
    return reference("nn.instance_norm", data, gamma, beta, **options)


def group_norm_python(
    data: Any, gamma: Any, beta: Any, num_groups: int, channel_axis: int, axes: Any, epsilon: float = 1e-5
) -> Any:
    """Normalised over groups of channels and axes."""
    options = {"num_groups": num_groups, "channel_axis": channel_axis, "axes": axes_of(axes), "epsilon": epsilon}
    return reference("nn.group_norm", data, gamma, beta, **options)


def rms_norm_python(data: Any, weight: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Divided by the root of the mean square."""
    return reference("nn.rms_norm", data, weight, axes=axes_of(axis), epsilon=epsilon)


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
        cuts[axis] = slice(first, end_of_size(first, last) if slice_mode == "size" else last, step)
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


def _roi_align(layout: str) -> Callable[..., Any]:
    """roi_align_nchw_python(a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode)"""

    def function(
        a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float, sample_ratio: int, mode: Any = b"avg"
    ) -> Any:
        """Means (`mode`: avg, 0) or maxima (max, 1) of the bins of boxes."""
        kind = {b"avg": "avg", b"max": "max", 0: "avg", 1: "max"}.get(mode, mode)
        options = {"pooled_size": pooled_size, "spatial_scale": spatial_scale, "sample_ratio": sample_ratio}
        return reference("vision.roi_align", a_np, rois_np, mode=kind, layout=layout, **options)

    return function


def roi_pool_nchw_python(a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float) -> Any:
    """Maxima of the bins of boxes."""
    return reference("vision.roi_pool", a_np, rois_np, pooled_size=pooled_size, spatial_scale=spatial_scale)


def searchsorted_ref(sorted_sequence: Any, values: Any, right: bool, out_dtype: Any) -> Any:
    """The insertion positions of values in sorted sequences."""
    return reference("searchsorted", sorted_sequence, values, right=right).astype(out_dtype)


def _schedule_getter(target: Any = None) -> Callable[..., Any]:
    """The scheduling function of such kernels for a target: the default schedule for every target."""
    return default_schedule


def _conv2d_nchw_implement(target: Any = None) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The computation of a convolution and its schedule, for every target the same."""
    return KERNELS["nn.conv2d_nchw"], default_schedule


_WRITTEN: tuple[Callable[..., Any], ...] = (
    *(dilate_python, softmax_python, log_softmax_python, lrn_python, l2_normalize_python, layer_norm_python),
    *(instance_norm_python, group_norm_python, rms_norm_python, adaptive_pool, poolnd_python, batch_matmul, dense),
    *(strided_slice_python, strided_set_python, gather_python, gather_nd_python, one_hot, sequence_mask),
    *(reorg_python, depth_to_space_python, space_to_depth_python, roi_pool_nchw_python, searchsorted_ref),
)


def numpy_functions() -> Mapping[str, Any]:
    """All of them, by name; schedules for tests of targets too."""
    return {
        **CONVOLUTIONS,
        **LAYERS,
        **{function.__name__: function for function in _WRITTEN},
        **{f"roi_align_{layout.lower()}_python": _roi_align(layout) for layout in ("NCHW", "NHWC")},
        **PLACES,
        "compare_numpy_tvm": compare_numpy_tvm,
        "get_conv2d_nchw_implement": _conv2d_nchw_implement,
        **{f"get_{kind}_schedule": _schedule_getter for kind in ("injective", "broadcast", "elemwise", "reduce")},
    }

"""`tvm.topi.image` and `tvm.topi.vision` where their names or the order of their arguments are their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import apply, call
from baton._src.driver.tvm_names.topi.shapes import get_const_int
from baton._src.ops.catalogue import CATALOGUE
from baton._src.te.computation import compute
from baton._src.te.tensor import Tensor


def _resize(count: int, layout: str) -> Callable[..., Any]:
    """resize2d(data, roi, size, layout, method, coordinate_transformation_mode, rounding_method, ...)"""
    default = layout

    def function(
        data: Tensor,
        roi: Any,
        size: Any,
        layout: str = default,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.5,
        bicubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: Any = None,
        output_shape: Any = None,
    ) -> Any:
        """The images at another size; options as of `relay.image.resize2d`. `output_shape` follows from `size`."""
        options = {"layout": layout, "method": method, "rounding_method": rounding_method, "roi": roi or None}
        options |= {"coordinate_transformation_mode": coordinate_transformation_mode, "out_dtype": out_dtype}
        options |= {"cubic_alpha": bicubic_alpha, "cubic_exclude": bicubic_exclude}
        extents = (size,) if isinstance(size, int) else tuple(size)
        name = f"image.resize{count}d"
        return call(name, data, extents, **options, extrapolation_value=extrapolation_value)

    return function


def crop_and_resize(
    data: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    crop_size: Any,
    layout: str = "NCHW",
    method: str = "bilinear",
    extrapolation_value: float | None = None,
    out_dtype: Any = None,
) -> Any:
    """Boxes of images, resized."""
    options = {"layout": layout, "method": method, "extrapolation_value": extrapolation_value or 0.0}
    operands = (data, boxes, box_indices)
    return call("image.crop_and_resize", *operands, crop_size=crop_size, out_dtype=out_dtype, **options)


def _dilation(layout: str, kernel_layout: str) -> Callable[..., Any]:
    """dilation2d_nchw(input, filter, stride, padding, dilations, out_dtype) and its like."""

    def function(
        input: Tensor, filter: Tensor, stride: Any, padding: Any, dilations: Any, out_dtype: Any = None
    ) -> Any:
        """Grey-scale dilation: the greatest sum of the filter and the window it lies on."""
        options = {"strides": stride, "padding": padding, "dilations": dilations, "out_dtype": out_dtype}
        return call("image.dilation2d", input, filter, data_layout=layout, kernel_layout=kernel_layout, **options)

    return function


def affine_grid(data: Tensor, target_shape: Any) -> Any:
    """The sampling grid of an affine map."""
    return call("image.affine_grid", data, tuple(target_shape))


def _roi_align(layout: str) -> Callable[..., Any]:
    """roi_align_nchw(data, rois, pooled_size, spatial_scale, mode, sample_ratio)"""

    def function(
        data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, mode: Any, sample_ratio: int = -1
    ) -> Any:
        """Boxes of images sampled at points between pixels; `mode`: their mean (avg, 0) or maximum (max, 1)."""
        kind = {b"avg": "avg", b"max": "max", 0: "avg", 1: "max"}.get(mode, mode)
        options = {"pooled_size": pooled_size, "spatial_scale": spatial_scale, "sample_ratio": sample_ratio}
        return call("vision.roi_align", data, rois, mode=kind, layout=layout, **options)

    return function


def roi_pool_nchw(data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float) -> Any:
    """The maxima of the bins of boxes."""
    return call("vision.roi_pool", data, rois, pooled_size=pooled_size, spatial_scale=spatial_scale)


def reorg(data: Tensor, stride: int) -> Any:
    """YOLO's reorganisation of space as channels."""
    return call("vision.yolo_reorg", data, stride=stride)


def non_max_suppression(
    data: Tensor,
    valid_count: Tensor,
    indices: Tensor,
    max_output_size: Any = -1,
    iou_threshold: Any = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
) -> Any:
    """Select boxes, suppressing those that overlap better ones."""
    options = {"force_suppress": force_suppress, "top_k": top_k, "coord_start": coord_start}
    options |= {"score_index": score_index, "id_index": id_index, "return_indices": return_indices}
    most = max_output_size if isinstance(max_output_size, Tensor) else get_const_int(max_output_size)
    operands = (data, valid_count, indices, most, iou_threshold)
    found = call("vision.non_max_suppression", *operands, invalid_to_bottom=invalid_to_bottom, **options)
    return list(found) if isinstance(found, tuple) else found


def get_valid_counts(data: Tensor, score_threshold: Any = 0.0, id_index: int = 0, score_index: int = 1) -> list[Any]:
    """[how many boxes count, those boxes first, where they stood]"""
    limit = score_threshold if isinstance(score_threshold, Tensor) else float(score_threshold)
    return list(call("vision.get_valid_counts", data, limit, id_index=id_index, score_index=score_index))


def multibox_detection(
    cls_prob: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    clip: bool = True,
    threshold: float = 0.01,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Any = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
) -> Any:
    """The boxes a single-shot detector finds: (batch, anchors, 6), what is suppressed as -1."""
    options = {"clip": clip, "threshold": threshold, "variances": tuple(variances)}
    boxes, counts = call("vision.multibox_transform_loc", cls_prob, loc_pred, anchor, **options)
    everything = compute(boxes.shape[:2], lambda image, box: box, "box_indices")
    return non_max_suppression(
        boxes, counts, everything, -1, nms_threshold, force_suppress, top_k=nms_topk, return_indices=False
    )


def _operator(name: str) -> Callable[..., Any]:
    """An operator under another name, with its own order of arguments."""

    def function(*args: Any, **options: Any) -> Any:
        return apply(CATALOGUE.get(name), *args, **options)

    function.__doc__ = f"The tensors that the operator {name} computes."
    return function


IMAGES: Mapping[str, Callable[..., Any]] = {
    "image.resize1d": _resize(1, "NCW"),
    "image.resize2d": _resize(2, "NCHW"),
    "image.resize3d": _resize(3, "NCDHW"),
    "image.crop_and_resize": crop_and_resize,
    "image.dilation2d_nchw": _dilation("NCHW", "IHW"),
    "image.dilation2d_nhwc": _dilation("NHWC", "HWI"),
    "image.affine_grid": affine_grid,
    "vision.roi_align_nchw": _roi_align("NCHW"),
    "vision.roi_align_nhwc": _roi_align("NHWC"),
    "vision.roi_pool_nchw": roi_pool_nchw,
    "vision.rcnn.roi_align_nchw": _roi_align("NCHW"),
    "vision.rcnn.roi_align_nhwc": _roi_align("NHWC"),
    "vision.rcnn.roi_pool_nchw": roi_pool_nchw,
    "vision.rcnn.proposal": _operator("vision.proposal"),
    "vision.ssd.multibox_prior": _operator("vision.multibox_prior"),
    "vision.ssd.multibox_transform_loc": _operator("vision.multibox_transform_loc"),
    "vision.ssd.multibox_detection": multibox_detection,
    "vision.reorg": reorg,
    "vision.non_max_suppression": non_max_suppression,
    "vision.get_valid_counts": get_valid_counts,
}
"""Functions of topi.image and topi.vision by their names below `topi`."""

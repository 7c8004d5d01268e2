"""More of `tvm.topi.testing`: NumPy references of operators that move elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.ir.target import Target
from baton._src.ops.call_maker import make_attrs
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.shape.triangles import alignment, bands
from baton._src.support.diagnostics import fail


def reference(name: str, *operands: Any, **attributes: Any) -> Any:
    """The result of an operator of the catalogue, computed by its reference."""
    definition = CATALOGUE.get(name)
    if not callable(definition.reference):
        raise fail("topi", f"{name} has no reference over NumPy")
    record = make_attrs(definition, attributes)
    return definition.reference(operands, record if record is not None else definition.attrs())


def _resize(count: int) -> Callable[..., Any]:
    def function(
        data: Any,
        scale: Sequence[float],
        layout: str,
        method: str = "linear",
        coordinate_transformation_mode: str = "align_corners",
    ) -> Any:
        """The image scaled over NumPy, axis by axis of its layout."""
        extents = [data.shape[layout.index(letter)] for letter in "DHW"[3 - count :]]
        options: dict[str, Any] = {"size": [int(n * s) for n, s in zip(extents, scale)], "layout": layout}
        options |= {"method": method, "coordinate_transformation_mode": coordinate_transformation_mode}
        if method == "nearest_neighbor":
            is_asymmetric = coordinate_transformation_mode == "asymmetric"
            options["rounding_method"] = "floor" if is_asymmetric else "round"
        return reference(f"image.resize{count}d", data, **options)

    return function


def grid_sample_python(
    data: Any,
    grid: Any,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Any:
    """An image read at the places of a grid."""
    options = {"method": method, "layout": layout, "padding_mode": padding_mode, "align_corners": align_corners}
    return reference("image.grid_sample", data, grid, **options)


def affine_grid_python(data: Any, target_shape: Any) -> Any:
    """The sampling grid of an affine map for an image."""
    return reference("image.affine_grid", data, target_shape=target_shape)


def crop_and_resize_python(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    layout: str,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Any:
    """Parts of images, resized."""
    options = {"crop_size": crop_size, "layout": layout, "method": method, "extrapolation_value": extrapolation_value}
    return reference("image.crop_and_resize", image, boxes, box_indices, **options)


def space_to_batch_nd_python(
    data: Any, block_shape: Any, pad_before: Any, pad_after: Any, pad_value: float = 0.0
) -> Any:
    """Blocks of space as batches."""
    paddings = list(zip(pad_before, pad_after))
    return reference("nn.space_to_batch_nd", data, block_shape=block_shape, paddings=paddings, pad_value=pad_value)


def batch_to_space_nd_python(data: Any, block_shape: Any, crop_begin_list: Any, crop_end_list: Any) -> Any:
    """Batches as blocks of space."""
    crops = list(zip(crop_begin_list, crop_end_list))
    return reference("nn.batch_to_space_nd", data, block_shape=block_shape, crops=crops)


def matrix_set_diag(input_np: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """Matrices with other diagonals: that of number `k`, or those from `k[0]` to `k[1]`."""
    return reference("matrix_set_diag", input_np, diagonal, **bands(k), **alignment(align))


def slice_axis_python(data: Any, axis: int, begin: int, end: int | None = None) -> Any:
    """A part along one axis."""
    cuts = [slice(None)] * data.ndim
    cuts[axis] = slice(begin, end)
    return data[tuple(cuts)]


def nll_loss(predictions: Any, targets: Any, weights: Any, reduction: str = "mean", ignore_index: int = -100) -> Any:
    """The negative log likelihood of targets."""
    return reference("nn.nll_loss", predictions, targets, weights, reduction=reduction, ignore_index=ignore_index)


def dispatch(target: Any, dispatch_map: Mapping[str, Any]) -> Any:
    """The entry of a table for a target: by one of its keys or its kind, else under "generic"."""
    found = Target(target)
    names = (*found.keys, found.kind.name)
    return next((dispatch_map[name] for name in names if name in dispatch_map), dispatch_map["generic"])


PLACES: Mapping[str, Callable[..., Any]] = {
    **{f"resize{count}d_python": _resize(count) for count in (1, 2, 3)},
    **{
        function.__name__: function
        for function in (
            *(grid_sample_python, affine_grid_python, crop_and_resize_python, space_to_batch_nd_python),
            *(batch_to_space_nd_python, matrix_set_diag, slice_axis_python, nll_loss, dispatch),
        )
    },
}
"""By name."""

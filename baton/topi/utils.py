"""Helpers for shapes, layouts, indices and constant tables (`tvm.topi.utils`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.topi.shapes",
            "get_const_int get_const_float get_const_tuple get_float_tuple get_max_power2_factor prod equal_const_int "
            "simplify ravel_index unravel_index const_matrix const_vector is_empty_shape traverse_inline ceil_div swap "
            "is_dynamic_shape",
        ),
        **names("driver.tvm_names.topi.layout_shapes", "InvalidShapeError nchw_pack_layout nchw_xc_layout get_shape"),
        **names("driver.tvm_names.topi.layout_shapes", "ncw_pack_layout ncw_xc_layout"),
        **names("driver.tvm_names.topi.for_targets", "is_target"),
        **names("driver.tvm_names.topi.slice_places", "within_index make_idx"),
    },
    before=wire,
)

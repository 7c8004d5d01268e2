"""Helpers for writing importers (`tvm.relay.frontend.common`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.relay.importing",
            "infer_type infer_shape infer_channels infer_value try_infer_value fold_constant new_var get_name",
        ),
        **names("driver.tvm_names.relay.importing", "get_relay_op to_int_list set_span"),
        **names("driver.tvm_names.relay.converters", "AttrCvt Renamer StrAttrsDict ExprTable RequiredAttr logger"),
        **names("driver.tvm_names.relay.converters", "shape_of unbind ensure_scalar_shape try_resolve_var_to_const"),
    },
    before=wire,
)

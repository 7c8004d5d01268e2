"""Registering operators (`tvm.relay.op.op`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.operators", "get"),
        **names(
            "driver.tvm_names.relay.user_operators",
            "register register_compute register_pattern register_stateful register_gradient register_legalize "
            "register_alter_op_layout register_convert_op_layout register_infer_correct_layout register_schedule "
            "register_external_compiler register_fake_quantization_to_integer register_mixed_precision_conversion "
            "register_optional_fake_quantization_to_integer register_injective_schedule register_broadcast_schedule register_reduce_schedule "
            "register_shape_func",
        ),
        **names("driver.tvm_names.relay.strategies", "OpStrategy OpImplementation OpSpecialization register_strategy"),
        **names("ir.expr", "Op"),
        **names("driver.tvm_names.relay.words", "debug"),
        **renamed("ir.op_def", OpPattern="Fusion"),
    },
    before=wire,
)

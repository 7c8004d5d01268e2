"""Which operators compute in reduced precision (`tvm.relay.transform.mixed_precision`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed(
            "passes.relay.operators.mixed_precision_rules",
            MIXED_PRECISION_ALWAYS="ALWAYS",
            MIXED_PRECISION_FOLLOW="FOLLOW",
            MIXED_PRECISION_NEVER="NEVER",
        ),
        **names(
            "passes.relay.operators.mixed_precision_rules",
            "DEFAULT_ALWAYS_LIST DEFAULT_FOLLOW_LIST DEFAULT_NEVER_LIST get_generic_out_dtypes generic_always_op "
            "generic_follow_op generic_never_op",
        ),
        **names("driver.tvm_names.relay.mixed_precision", "register_func_to_op_list"),
        **names("driver.tvm_names.relay.user_operators", "register_mixed_precision_conversion"),
    },
    before=wire,
)

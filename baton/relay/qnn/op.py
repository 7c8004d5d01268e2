"""Builders of `relay.qnn.op` (`tvm.relay.qnn.op`)."""

from __future__ import annotations

from functools import partial

from baton._src.driver.tvm_names.builders import relay_builders
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.user_operators", "register_qnn_legalize"),
        **names(
            "passes.relay.quantize.requantize_config", "RequantizeConfig current_requantize_config requantize_config"
        ),
    },
    before=wire,
    more=partial(relay_builders, "qnn"),
)

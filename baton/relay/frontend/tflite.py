"""TensorFlow Lite to Relay (`tvm.relay.frontend.tflite`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("frontends.tflite.relay_graph", "from_tflite"),
    },
    before=wire,
)

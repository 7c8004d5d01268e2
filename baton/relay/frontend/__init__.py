"""Importers to Relay (`tvm.relay.frontend`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("frontends.onnx.relay_graph", "from_onnx"),
        **names("frontends.tflite.relay_graph", "from_tflite"),
        **names("frontends.torch.relay_graph", "from_pytorch"),
        **submodules("baton.relay.frontend", "common onnx pytorch tflite"),
    },
    before=wire,
)

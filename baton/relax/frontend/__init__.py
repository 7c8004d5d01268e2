"""Importers to Relax (`tvm.relax.frontend`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **submodules("baton.relax.frontend", "nn onnx stablehlo tflite torch"),
        **names("driver.tvm_names.relay.params", "detach_params"),
    },
    before=wire,
)

"""ONNX's interface for back ends: `prepare`, `run_model`, `run_node`, `supports_device`."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.frontends.onnx_backend", "BatonBackend BatonBackendRep is_compatible prepare run_model run_node"
        ),
        **names("driver.frontends.onnx_backend", "supports_device"),
    },
)

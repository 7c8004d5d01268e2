"""Tensors on devices (`tvm.runtime.ndarray`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("values.tensor", "NDArray array empty"),
        **names("driver.devices", "cpu device cuda"),
    },
)

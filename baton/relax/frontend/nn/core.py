"""Base classes of modules (`tvm.relax.frontend.nn.core`)."""

from __future__ import annotations

from baton._src.driver.frontends.nn_wiring import wire_nn
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("frontends.nn.tensor", "Tensor Parameter Object set_default_dtype wrap_nested"),
        **renamed("frontends.nn.tensor", get_default_dtype="default_dtype"),
        **names("frontends.nn.module", "Module ModuleList"),
        **names("frontends.nn.effects", "Effect"),
    },
    before=wire_nn,
)

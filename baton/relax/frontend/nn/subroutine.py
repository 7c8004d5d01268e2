"""Exporting modules as separate functions (`tvm.relax.frontend.nn.subroutine`)."""

from __future__ import annotations

from baton._src.driver.frontends.nn_wiring import wire_nn
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("frontends.nn.subroutine", "SubroutineMixin"),
    },
    before=wire_nn,
)

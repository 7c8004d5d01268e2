"""StableHLO to Relax (`tvm.relax.frontend.stablehlo`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("frontends.stablehlo.relax_graph", "from_stablehlo"),
    },
    before=wire,
)

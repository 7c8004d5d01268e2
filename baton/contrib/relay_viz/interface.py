"""Interfaces of plotters and of the graphs they draw (`tvm.contrib.relay_viz.interface`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.viz", "DefaultVizParser Plotter VizEdge VizGraph VizNode VizParser"),
    },
    before=wire,
)

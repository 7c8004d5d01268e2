"""Drawings of Relay programs (`tvm.contrib.relay_viz`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.viz", "RelayVisualizer DotPlotter DotVizParser TermPlotter TermVizParser"),
        **names("driver.tvm_names.relay.viz", "Plotter VizParser"),
        **submodules("baton.contrib.relay_viz", "dot interface plotter terminal"),
    },
    before=wire,
)

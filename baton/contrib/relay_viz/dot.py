"""Graphs in Graphviz's language (`tvm.contrib.relay_viz.dot`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.viz", "DotPlotter DotVizParser DotGraph"),
    },
    before=wire,
)

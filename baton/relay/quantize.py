"""Post-training quantisation (`tvm.relay.quantize`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relay.quantize.config", "QConfig qconfig current_qconfig"),
        **names("driver.relay.quantization", "quantize prerequisite_optimize annotate calibrate realize collect_stats"),
        **names("passes.relay.quantize.config", "QAnnotateKind kind2str"),
    },
    before=wire,
)

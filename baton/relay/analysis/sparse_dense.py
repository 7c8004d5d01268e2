"""Weights of dense layers that are mostly zeros (`tvm.relay.analysis.sparse_dense`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("passes.relay.operators.sparse_weights", process_params="process_dense"),
        **names("passes.relay.operators.sparse_weights", "SparseWeights"),
    },
    before=wire,
)

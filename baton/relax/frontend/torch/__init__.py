"""PyTorch to Relax (`tvm.relax.frontend.torch`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("frontends.torch.relax_graph", "from_exported_program from_fx"),
        **names("driver.frontends.torch_dynamo", "relax_dynamo dynamo_capture_subgraphs"),
    },
    before=wire,
)

"""Networks and helpers for trying things out (`tvm.relay.testing`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.networks.workload", "create_workload run_opt_pass run_infer_type"),
        **submodules("baton.relay.testing", "dcgan init layers mlp mobilenet resnet squeezenet vgg"),
    },
    before=wire,
)

"""Networks and helpers for trying things out (`tvm.relay.testing`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.networks.workload", "create_workload run_opt_pass run_infer_type"),
        **submodules("baton.relay.testing", "dcgan densenet dqn inception_v3 init layers lstm mlp mobilenet resnet resnet_3d squeezenet vgg"),
    },
    before=wire,
)

"""3D ResNet, as an example network (`tvm.relay.testing.resnet_3d`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.networks.resnet_3d", "get_net get_workload"),
    },
    before=wire,
)

"""Example networks and test helpers (`tvm.relay.testing`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.networks.workload", "create_workload run_opt_pass run_infer_type"),
        **names(
            "driver.tvm_names.relay.testing",
            "rand enabled_targets ctx_list add_nat_definitions make_nat_expr make_nat_value count check_grad",
        ),
        **names("driver.tvm_names.relay.to_python", "to_python run_as_python"),
        **names("driver.relay.prelude", "Prelude"),
        **names("passes.relay.gradients.gradient", "gradient"),
        **submodules("baton.relay.testing", "dcgan densenet dqn inception_v3 init layers lstm mlp mobilenet nat"),
        **submodules("baton.relay.testing", "py_converter resnet resnet_3d squeezenet synthetic"),
        **submodules("baton.relay.testing", "python_words temp_op_attr vgg"),
        **names("driver.tvm_names.relay.counts", "count_ops"),
        **names("driver.tvm_names.relay.testing", "TempOpAttr"),
    },
    before=wire,
)

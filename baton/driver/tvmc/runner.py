"""Running packages (`tvm.driver.tvmc.runner`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tvmc.inputs", "generate_tensor_data make_inputs_dict"),
        **names("driver.tvm_names.tvmc.runner", "run_module"),
    },
    before=wire,
)

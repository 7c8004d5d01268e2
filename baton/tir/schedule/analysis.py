"""Questions about schedules (`tvm.tir.schedule.analysis`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tir.tensorize_mapping", "TensorizeInfo get_tensorize_loop_mapping has_block"),
        **renamed("driver.tvm_names.tuning.meta_schedule.block_facts", is_output_block="is_output"),
    },
    before=wire,
)

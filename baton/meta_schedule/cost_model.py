"""Cost models (`tvm.meta_schedule.cost_model`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.cost_models", "CostModel RandomModel XGBModel"),
        **renamed(
            "driver.tvm_names.tuning.meta_schedule.cost_models", PyCostModel="CostModel", create="CostModel.create"
        ),
    },
    before=wire,
)

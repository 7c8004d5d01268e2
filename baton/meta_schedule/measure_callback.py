"""Callbacks that get the results of each batch (`tvm.meta_schedule.measure_callback`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.tuning.meta_schedule.callbacks",
            "MeasureCallback AddToDatabase RemoveBuildArtifact UpdateCostModel",
        ),
        **renamed(
            "driver.tvm_names.tuning.meta_schedule.callbacks",
            PyMeasureCallback="MeasureCallback",
            create="MeasureCallback.create",
        ),
    },
    before=wire,
)

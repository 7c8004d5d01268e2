"""Strategies of search (`tvm.meta_schedule.search_strategy`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.tuning.meta_schedule.strategies",
            "SearchStrategy ReplayFunc ReplayTrace EvolutionarySearch",
        ),
        **names("driver.tvm_names.tuning.meta_schedule.records", "MeasureCandidate"),
        **renamed(
            "driver.tvm_names.tuning.meta_schedule.strategies",
            PySearchStrategy="SearchStrategy",
            create="SearchStrategy.create",
        ),
    },
    before=wire,
)

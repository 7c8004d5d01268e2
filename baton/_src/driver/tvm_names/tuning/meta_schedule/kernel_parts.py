"""Custom parts of the search for a kernel: schedule rules, postprocessors, mutators.

A rule gives the schedules of a block, a postprocessor changes or rejects each candidate, a mutator changes a trace.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

from baton._src.driver.wiring import later
from baton._src.tir.schedule.handles import BlockRV
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.traces.trace import Trace

_DEFAULTS = "baton._src.driver.tvm_names.tuning.meta_schedule.default_parts"


class _Part:
    """A part of a space; scripts derive from the classes below."""

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Take note of the task that is searched."""

    def clone(self) -> Self:
        """An independent part of the same kind."""
        return copy.copy(self)


class ScheduleRule(_Part):
    """A rule that generates schedules of a block. `create("llvm")` gives TVM's for CPUs."""

    create = staticmethod(later(_DEFAULTS, "rules"))

    def apply(self, sch: Schedule, block: BlockRV) -> Sequence[Schedule]:
        """The schedules that there are of the block: the one given, changed, copies of it, or as it is."""
        raise NotImplementedError


class Postproc(_Part):
    """The final transformation of each candidate. `create("llvm")` gives TVM's for CPUs."""

    create = staticmethod(later(_DEFAULTS, "postprocs"))

    def apply(self, sch: Schedule) -> bool:
        """Change the schedule; whether it may be measured."""
        raise NotImplementedError


class Mutator(_Part):
    """A mutation of a candidate. `create("llvm")` gives TVM's for CPUs."""

    create = staticmethod(later(_DEFAULTS, "mutators"))

    def apply(self, trace: Trace) -> Trace | None:
        """The steps with other decisions; None if there are none."""
        raise NotImplementedError

"""The primitive that leaves a kernel's loops to the schedule rules, with values for their tunable choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.tir.prim_func import CHOICES, PrimFunc
from baton._src.tir.schedule.primitives.recording import recorded
from baton._src.tir.schedule.tree import refuse


class RulePrimitives:
    """See the module; a part of `Schedule`."""

    func: PrimFunc
    decision: Any

    @recorded
    def schedule_by_rule(self, *, decision: Mapping[str, int] | None = None) -> None:
        """Let the rule for the target schedule the kernel when it is compiled; `decision` gives values, by name, for
        its tunable choices. A value is used only if the rule offers it for this kernel.
        """
        if self.func.loops_chosen:
            raise refuse("the kernel's loops were changed already: a rule only schedules unchanged kernels")
        answers = dict(decision or {})
        if not all(type(answer) is int for answer in answers.values()):
            raise refuse(f"decisions for a rule are numbers by name, not {answers!r}")
        self.decision = answers
        self.func = self.func.with_attr(CHOICES, answers)

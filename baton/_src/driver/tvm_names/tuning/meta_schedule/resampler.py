"""Propose schedules with the steps of known ones and new decisions."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from baton._src.driver.tvm_names.tuning.rule_space import RuleSpace
from baton._src.driver.tvm_names.tuning.workloads import only_kernel
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.traces.instruction_kinds import KINDS
from baton._src.tir.schedule.traces.trace import Trace

_RULE = KINDS["schedule_by_rule"].name


class Resampler:
    """Takes the steps of schedules again with other decisions, by draws of its own."""

    def __init__(self, mod: IRModule, target: Target, seed: int) -> None:
        self.mod = mod
        self.random = random.Random(seed)
        self._rule_space = RuleSpace(only_kernel(mod), target)

    def drawn(self, trace: Trace) -> Schedule:
        """All decisions drawn anew."""
        return self._replayed(trace, lambda number, decision: None, self._rule_space.drawn)

    def changed(self, trace: Trace) -> Schedule:
        """One decision changed: a draw, or a neighbouring answer to what a rule leaves open."""
        open_places = [n for n, inst in enumerate(trace.before_postproc()) if inst in trace.decisions]
        if not open_places:
            return self._replayed(trace, lambda number, decision: decision, lambda random: {})
        place = self.random.choice(open_places)
        answers = trace.get_decision(trace.insts[place])
        return self._replayed(
            trace,
            lambda number, decision: None if number == place else decision,
            lambda random: self._rule_space.changed(answers, random),
        )

    def taken(self, trace: Trace) -> Schedule:
        """The steps with the decisions that a trace has; those it has none for are drawn."""
        made = Schedule(self.mod, seed=self.random.getrandbits(31))
        trace.apply_to_schedule(made)
        return made

    def _replayed(
        self,
        trace: Trace,
        decided: Callable[[int, Any], Any],
        answers: Callable[[random.Random], dict[str, int]],
    ) -> Schedule:
        """The steps on a new schedule. `decided` gives decisions that stay; others are drawn, those of rules by
        `answers`.
        """
        steps, decisions = trace.as_json(remove_postproc=True)
        kept = []
        for number, decision in decisions:
            chosen = decided(number, decision)
            if chosen is None and steps[number][0] == _RULE:
                chosen = answers(self.random)
            if chosen is not None:
                kept.append([number, chosen])
        made = Schedule(self.mod, seed=self.random.getrandbits(31))
        Trace.apply_json_to_schedule([steps, kept], made)
        return made

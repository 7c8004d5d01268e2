"""Spaces of schedules: functions of a script that schedule a kernel, or what the rule for the target leaves open."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.driver.targets import chosen_target
from baton._src.driver.tvm_names.tuning.rule_space import RuleSpace
from baton._src.driver.tvm_names.tuning.workloads import CONSTANT_WEIGHT, only_kernel
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import fail
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.trace import Trace

_RULE = "schedule_by_rule"
_PARTS = "postprocs and mutators are not implemented: candidates are run as the space makes them"
_DEFAULTS = (None, "from-target")


class SpaceGenerator:
    """Makes the schedules that a search begins with."""

    def __init__(self, sch_rules: Any = None, postprocs: Any = None, mutator_probs: Any = None) -> None:
        for name, given in (("sch_rules", sch_rules), ("postprocs", postprocs), ("mutator_probs", mutator_probs)):
            if given is not None and given != "from-target" and len(given):
                raise fail("api", f"{name} of a space: {_PARTS}", help="leave them out")
        self.target: Any = None
        self.seed = 0

    @staticmethod
    def create(kind: Any, *args: Any, **kwargs: Any) -> SpaceGenerator:
        """A space by its name ("post-order-apply", "union"), or of a function that schedules."""
        if isinstance(kind, SpaceGenerator):
            return kind
        if callable(kind):
            return ScheduleFn(kind, *args, **kwargs)
        if kind == "post-order-apply":
            return PostOrderApply(*args, **kwargs)
        if kind == "union":
            return SpaceGeneratorUnion(*args, **kwargs)
        raise fail("api", f"there is no space {kind!r}", help='"post-order-apply", or a function', kind=ValueError)

    def initialize(self, target: Any, seed: int) -> None:
        """Take over the target of a task, and the seed of its random choices."""
        self.target, self.seed = chosen_target(target), seed

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The schedules that a search begins with."""
        raise NotImplementedError

    def clone(self) -> SpaceGenerator:
        """An independent space of the same kind."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made


class ScheduleFn(SpaceGenerator):
    """A function of a script: it schedules what it is given, or returns one or several schedules."""

    def __init__(
        self,
        sch_fn: Callable[[Schedule], Any],
        sch_rules: Any = None,
        postprocs: Any = None,
        mutator_probs: Any = None,
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.sch_fn = sch_fn

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        schedule = Schedule(mod, seed=self.seed)
        self.seed = schedule.fork_seed()
        found = self.sch_fn(schedule)
        made = [schedule] if found is None else [found] if isinstance(found, Schedule) else list(found)
        if not all(isinstance(one, Schedule) for one in made):
            raise fail("api", "a schedule function returns None, a Schedule or a list of them", kind=TypeError)
        return made


class PostOrderApply(SpaceGenerator):
    """What the rule for the target leaves open; the space begins at the rule's own choice.

    TVM's generator has rules of its own for each block; here one rule schedules a whole kernel (docs: kernels).
    """

    def __init__(
        self, f_block_filter: Any = None, sch_rules: Any = None, postprocs: Any = None, mutator_probs: Any = None
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        if f_block_filter is not None:
            raise fail("api", "f_block_filter chooses blocks; rules schedule whole kernels", help="leave it out")

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        schedule = Schedule(mod, seed=self.seed)
        schedule.schedule_by_rule()
        return [schedule]


class SpaceGeneratorUnion(SpaceGenerator):
    """Several spaces as one."""

    def __init__(self, space_generators: Sequence[Any], **parts: Any) -> None:
        super().__init__(**parts)
        self.space_generators = [SpaceGenerator.create(space) for space in space_generators]

    def initialize(self, target: Any, seed: int) -> None:
        super().initialize(target, seed)
        for space in self.space_generators:
            space.initialize(target, seed)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        return [schedule for space in self.space_generators for schedule in space.generate_design_space(mod)]

    def clone(self) -> SpaceGenerator:
        return SpaceGeneratorUnion([space.clone() for space in self.space_generators])


class Resampler:
    """Takes the steps of schedules again with other decisions, by draws of its own."""

    def __init__(self, mod: IRModule, target: Any, seed: int) -> None:
        kernel = only_kernel(mod)
        self.mod = mod
        self.random = random.Random(seed)
        self._rule_space = RuleSpace(kernel, chosen_target(target), bool(kernel.attrs.get(CONSTANT_WEIGHT)))

    def drawn(self, trace: Trace) -> Schedule:
        """All decisions drawn anew."""
        return self._replayed(trace, lambda number, decision: None, self._rule_space.drawn)

    def changed(self, trace: Trace) -> Schedule:
        """One decision changed: a draw, or a neighbouring answer to what a rule leaves open."""
        open_places = [n for n, inst in enumerate(trace.insts) if inst.decision is not None]
        if not open_places:
            return self._replayed(trace, lambda number, decision: decision, lambda random: {})
        place = self.random.choice(open_places)
        answers = trace.insts[place].decision
        return self._replayed(
            trace,
            lambda number, decision: None if number == place else decision,
            lambda random: self._rule_space.changed(answers, random),
        )

    def _replayed(
        self,
        trace: Trace,
        decided: Callable[[int, Any], Any],
        answers: Callable[[random.Random], dict[str, int]],
    ) -> Schedule:
        """The steps on a new schedule. `decided` gives decisions that stay; others are drawn, those of rules by
        `answers`.
        """
        steps, decisions = trace.as_json()
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

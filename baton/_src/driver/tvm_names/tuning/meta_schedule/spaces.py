"""Spaces of schedules: functions of a script that schedule a kernel, or what the rule for the target leaves open."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.driver.targets import chosen_target
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import fail
from baton._src.tir.schedule.schedule import Schedule

_PARTS = "postprocs and mutators are not implemented: candidates are run as the space makes them"


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
        return copy.copy(self)


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

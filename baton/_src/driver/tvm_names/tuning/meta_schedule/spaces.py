"""Search spaces: a script's functions that schedule a kernel, or the tunable choices of the rule for the target."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from baton._src.driver.tvm_names.tuning.meta_schedule.cpu_postprocs import default_postprocs
from baton._src.driver.tvm_names.tuning.meta_schedule.kernel_parts import Mutator, Postproc, ScheduleRule
from baton._src.driver.tvm_names.tuning.workloads import only_kernel
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.support.diagnostics import fail
from baton._src.tir import stmt as st
from baton._src.tir.schedule.handles import BlockRV
from baton._src.tir.schedule.schedule import Schedule

FROM_TARGET = ("from-target", "llvm", "default")
"""Words for baton's own rules, postprocessors and mutators."""


class Task(Protocol):
    """The interface of a `TuneContext` for spaces."""

    target: Target
    rand_state: int


class SpaceGenerator:
    """Makes the schedules that a search begins with. A script's own gives `generate_design_space`.

    `sch_rules` are for spaces that visit blocks; `postprocs` end each candidate; `mutator_probs` has mutators, and
    how often each is to be used. None: baton's own; for rules of a script, TVM's postprocessors.
    """

    sch_rules: Sequence[ScheduleRule] | None = None
    postprocs: Sequence[Postproc] = ()
    mutator_probs: Mapping[Mutator, float] | None = None

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

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Take over the task that is searched."""

    def generate_design_space(self, mod: IRModule) -> Sequence[Schedule]:
        """The schedules that a search begins with."""
        raise NotImplementedError

    def clone(self) -> SpaceGenerator:
        """An independent space of the same kind."""
        return copy.copy(self)


class _SpaceOfParts(SpaceGenerator):
    """What baton's spaces share: parts of a script's own, and a seed."""

    def __init__(
        self,
        sch_rules: Sequence[ScheduleRule] | str | None = None,
        postprocs: Sequence[Postproc] | str | None = None,
        mutator_probs: Mapping[Mutator, float] | str | None = None,
    ) -> None:
        self.sch_rules = _given("sch_rules", sch_rules)
        ends = _given("postprocs", postprocs)
        self.postprocs = ends if ends is not None else default_postprocs() if self.sch_rules else ()
        self.mutator_probs = _given("mutator_probs", mutator_probs)
        self.seed = 0

    def _initialize_with_tune_context(self, context: Task) -> None:
        self.seed = context.rand_state
        for part in (*(self.sch_rules or ()), *self.postprocs, *(self.mutator_probs or ())):
            part._initialize_with_tune_context(context)

    def clone(self) -> SpaceGenerator:
        made = copy.copy(self)
        made.sch_rules = None if self.sch_rules is None else [rule.clone() for rule in self.sch_rules]
        made.postprocs = [postproc.clone() for postproc in self.postprocs]
        if self.mutator_probs is not None:
            made.mutator_probs = {mutator.clone(): share for mutator, share in self.mutator_probs.items()}
        return made

    def _new_schedule(self, mod: IRModule) -> Schedule:
        schedule = Schedule(mod, seed=self.seed)
        self.seed = schedule.fork_seed()
        return schedule


def _given(name: str, parts: Any) -> Any:
    """Parts of a script's own; None for baton's. Error `api`: there are none of that name."""
    if not isinstance(parts, str):
        return parts
    if parts in FROM_TARGET:
        return None
    help = "give a list of your own, or leave it out"
    raise fail("api", f"{name}: there are none for {parts!r}: code is made for CPUs", help=help, kind=ValueError)


class ScheduleFn(_SpaceOfParts):
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
        schedule = self._new_schedule(mod)
        found = self.sch_fn(schedule)
        return [schedule] if found is None else _schedules(found, "a schedule function")


class PostOrderApply(_SpaceOfParts):
    """Rules of a script's own, each applied to all blocks from the last to the first; or what baton's rule leaves open.

    baton's rule for the target schedules whole kernels (docs: kernels), and its space begins at the rule's own choice.
    `f_block_filter(block)` says which blocks are for the script's rules.
    """

    def __init__(
        self,
        f_block_filter: Callable[[st.Block], bool] | None = None,
        sch_rules: Any = None,
        postprocs: Any = None,
        mutator_probs: Any = None,
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.f_block_filter = f_block_filter
        if f_block_filter is not None and self.sch_rules is None:
            help = "give sch_rules of your own, or leave it out"
            raise fail("api", "f_block_filter chooses blocks, and baton's rule schedules whole kernels", help=help)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        schedule = self._new_schedule(mod)
        if self.sch_rules is None:
            schedule.schedule_by_rule()
            return [schedule]
        blocks = self._blocks(schedule)
        found = [schedule]
        for rule in self.sch_rules:
            found = [made for one in found for made in _applied(rule, one, blocks)]
        return found

    def _blocks(self, schedule: Schedule) -> list[BlockRV]:
        """The blocks to visit, the last one first."""
        nodes = [node for node in st.statements(only_kernel(schedule.mod).body) if isinstance(node, st.Block)]
        kept = [node for node in nodes if self.f_block_filter is None or self.f_block_filter(node)]
        return [schedule.get_block(node.name_hint) for node in reversed(kept)]


def _applied(rule: ScheduleRule, schedule: Schedule, blocks: Sequence[BlockRV]) -> list[Schedule]:
    """What a rule makes of a schedule, block by block; blocks that are gone (inlined ones) are left out."""
    found = [schedule]
    for block in blocks:
        left = [(one, _has(one, block)) for one in found]
        found = [
            made
            for one, has in left
            for made in (_schedules(rule.apply(one, block), type(rule).__name__) if has else [one])
        ]
    return found


def _has(schedule: Schedule, block: BlockRV) -> bool:
    names = (node.name_hint for node in st.statements(schedule.func.body) if isinstance(node, st.Block))
    return block.name in names


def _schedules(found: Any, whose: str) -> list[Schedule]:
    made = [found] if isinstance(found, Schedule) else list(found)
    if not all(isinstance(one, Schedule) for one in made):
        raise fail("api", f"{whose} gave something that is not a Schedule or a list of them", kind=TypeError)
    return made


class SpaceGeneratorUnion(_SpaceOfParts):
    """Several spaces as one."""

    def __init__(self, space_generators: Sequence[Any], **parts: Any) -> None:
        super().__init__(**parts)
        self.space_generators = [SpaceGenerator.create(space) for space in space_generators]
        if any(space.postprocs or space.mutator_probs is not None for space in self.space_generators):
            help = "give them to the union"
            raise fail("api", "postprocs and mutators of a part of a union would be left out", help=help)

    def _initialize_with_tune_context(self, context: Task) -> None:
        super()._initialize_with_tune_context(context)
        for space in self.space_generators:
            space._initialize_with_tune_context(context)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        return [schedule for space in self.space_generators for schedule in space.generate_design_space(mod)]

    def clone(self) -> SpaceGenerator:
        made = super().clone()
        assert isinstance(made, SpaceGeneratorUnion)
        made.space_generators = [space.clone() for space in self.space_generators]
        return made

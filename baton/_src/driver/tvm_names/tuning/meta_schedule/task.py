"""`TuneContext`: a kernel to be tuned, its target, the space of its schedules and how that is searched."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from baton._src.driver.targets import chosen_target
from baton._src.driver.tvm_names.tuning.meta_schedule.kernel_parts import Mutator, Postproc
from baton._src.driver.tvm_names.tuning.meta_schedule.records import MeasureCandidate, RunnerResult
from baton._src.driver.tvm_names.tuning.meta_schedule.spaces import SpaceGenerator
from baton._src.driver.tvm_names.tuning.meta_schedule.strategies import SearchStrategy
from baton._src.driver.tvm_names.tuning.workloads import normalized
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule

T = TypeVar("T")
_DRAWN = -1
"""The seed that stands for any."""


class TuneContext:
    """See the module. `num_threads` is accepted: candidates are made and measured one after the other."""

    def __init__(
        self,
        mod: IRModule | PrimFunc | None = None,
        *,
        target: Any = None,
        space_generator: Any = None,
        search_strategy: Any = None,
        task_name: str = "main",
        rand_state: int = _DRAWN,
        num_threads: int | str = "physical",
        logger: logging.Logger | None = None,
    ) -> None:
        self.mod = None if mod is None else normalized(mod)
        self.target = chosen_target(target)
        self.task_name = task_name
        self.rand_state = random.SystemRandom().getrandbits(31) if rand_state == _DRAWN else rand_state
        self.num_threads = num_threads
        self.logger = logger or logging.getLogger(__name__)
        self.space_generator = None if space_generator is None else SpaceGenerator.create(space_generator)
        self.search_strategy = None if search_strategy is None else SearchStrategy.create(search_strategy)
        self.initialize()

    def initialize(self) -> None:
        """Tell the space and the strategy of the task."""
        for part in (self.space_generator, self.search_strategy):
            if part is not None:
                part._initialize_with_tune_context(self)

    @property
    def module(self) -> IRModule:
        """The kernel as a module; refuses contexts without one."""
        return _needed(self.mod, "mod")

    def generate_design_space(self) -> list[Schedule]:
        """The schedules that the search begins with."""
        return list(_needed(self.space_generator, "space_generator").generate_design_space(self.module))

    @property
    def postprocs(self) -> Sequence[Postproc]:
        """The space's final transformation of each candidate."""
        return () if self.space_generator is None else self.space_generator.postprocs

    @property
    def mutator_probs(self) -> Mapping[Mutator, float] | None:
        """The space's mutators, and how often each is to be used; None: baton's own."""
        return None if self.space_generator is None else self.space_generator.mutator_probs

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int = 64,
        design_spaces: Sequence[Schedule] | None = None,
        database: Any = None,
        cost_model: Any = None,
    ) -> None:
        """Begin a search of at most `max_trials` measurements."""
        spaces = self.generate_design_space() if design_spaces is None else design_spaces
        self._strategy.pre_tuning(max_trials, num_trials_per_iter, spaces, database, cost_model)

    def generate_measure_candidates(self) -> Sequence[MeasureCandidate] | None:
        """The schedules to be measured next; None if the search is over."""
        return self._strategy.generate_measure_candidates()

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Tell how long the candidates took."""
        self._strategy.notify_runner_results(measure_candidates, results)

    def post_tuning(self) -> None:
        """End the search."""
        self._strategy.post_tuning()

    @property
    def _strategy(self) -> SearchStrategy:
        return _needed(self.search_strategy, "search_strategy")

    def clone(self) -> TuneContext:
        """An independent task of the same kind."""
        return TuneContext(
            self.mod,
            target=self.target,
            space_generator=None if self.space_generator is None else self.space_generator.clone(),
            search_strategy=None if self.search_strategy is None else self.search_strategy.clone(),
            task_name=self.task_name,
            rand_state=self.rand_state,
            num_threads=self.num_threads,
            logger=self.logger,
        )


def _needed(value: T | None, name: str) -> T:
    if value is None:
        help = f"give it: TuneContext(..., {name}=...)"
        raise fail("api", f"the TuneContext has no {name}", help=help, kind=ValueError)
    return value
